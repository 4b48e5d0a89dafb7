"""Damaged files, given to everything that reads files: a reason comes out or the right contents, and nothing else.

Model files, checkpoints and tables are damaged at random: bytes flipped, parts cut out, doubled and exchanged, arrays
swapped, shapes, dtypes and numbers changed. A run fails if anything is raised but the error for such files, if reading takes
too much time or memory, if a model that was accepted cannot transform, or if a file is accepted with other contents than

- the undamaged file has, for models and checkpoints, which have a checksum; such models transform as before;
- zipfile and json read from it, where the damage was given the right checksum;
- the csv module and float() read from it, for tables.

    python benchmarks/fuzz.py --mutations 10000 --output benchmarks/results
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import signal
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import machine
import numpy as np
from fuzz_mutations import ARCHIVES, TABLES, Mutation, entries, sealed
from numpy.random import Generator

import elliptope
from elliptope import DiffusionMap, ModelFileError, RKHSEmbedding, SDPEmbedding, bandwidth_path
from elliptope.cli.data import Data, read_data
from elliptope.cli.errors import CommandError
from elliptope.cli.selection import Selection
from elliptope.cli.tables import Form
from elliptope.estimators.path.checkpoint import Checkpoint

# Memory that reading may take: some for every byte of the file, and a chunk for the checksum.
PER_BYTE, CONSTANT = 50, 4 * 2**20
# Seconds that reading may take; it takes a few thousandths.
PATIENCE = 10
HEADER = ["files", "mutations", "refused", "accepted, same contents", "accepted, other contents", "crashed", "seconds"]
X = np.random.default_rng(0).standard_normal((10, 2))
LABELS = ["u", "v w", "", '"', "a,b", "'=1", "x;y", "-", "ü", "z"]


class Sample(NamedTuple):
    """An undamaged file; what reads such files; what is in them by that reading, and by other means."""

    data: bytes
    read: Callable[[Path], Any]
    contents: Callable[[Any], Any]
    expected: Callable[[bytes], Any]


class Subject(NamedTuple):
    """A kind of files. ``checksum``: whether damage is found by one, unless it is given the right one."""

    name: str
    samples: list[Sample]
    mutations: list[Mutation]
    refusal: type[Exception]
    checksum: bool


def archive_contents(data: bytes) -> Any:
    """Header and arrays; without what differs from writer to writer."""
    parts = entries(data)
    header = json.loads(parts.pop("header.json"))
    return {key: value for key, value in header.items() if key not in ("versions", "metadata")}, parts


def models(folder: Path) -> Subject:
    def saved(est: Any) -> bytes:
        est.save(folder / "again", overwrite=True)
        return (folder / "again").read_bytes()

    estimators = [
        SDPEmbedding(bandwidth=1.0, random_state=0),
        SDPEmbedding(kernel="neighbors", n_neighbors=5, random_state=0),
        RKHSEmbedding(random_state=0, diagonal=np.ones(10)),
        DiffusionMap(bandwidth=2.0),
    ]

    def sample(est: Any) -> Sample:
        data, Z = saved(est.fit(X, sample_weight=np.arange(1.0, 11.0))), est.transform(X + 0.1)

        def contents(loaded: Any) -> Any:
            found, its = archive_contents(saved(loaded)), loaded.transform(X + 0.1)
            assert found != archive_contents(data) or (its == Z).all()
            return found

        return Sample(data, elliptope.load, contents, archive_contents)

    samples = [sample(est) for est in estimators]
    return Subject("models", samples, ARCHIVES, ModelFileError, checksum=True)


def checkpoints(folder: Path) -> Subject:
    bandwidth_path(X, [2.0, 1.0], random_state=0, checkpoint=folder / "checkpoint")
    data = (folder / "checkpoint").read_bytes()
    fingerprint = json.loads(entries(data)["header.json"])["fingerprint"]

    def contents(records: Any) -> Any:
        Checkpoint(folder / "again", fingerprint, len(X)).write(records)
        return archive_contents((folder / "again").read_bytes())

    def read(path: Path) -> Any:
        return Checkpoint(path, fingerprint, len(X)).read()

    return Subject("checkpoints", [Sample(data, read, contents, archive_contents)], ARCHIVES, ValueError, checksum=True)


def tables(folder: Path) -> Subject:
    def sample(form: Form, header: str, end: str = "\n") -> Sample:
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=form.delimiter or "," if form.format == "csv" else "\t", lineterminator=end)
        for i, ((a, b), label) in enumerate(zip(X.tolist(), LABELS, strict=True)):
            writer.writerow([*(str(number).replace(".", form.decimal) for number in (a, b, i % 3)), label])
        data = (header + stream.getvalue()).encode(form.encoding)
        return Sample(data, lambda path: read_data(str(path), form, Selection(label="4")), table_contents, parser(form))

    samples = [
        sample(Form("csv"), "a,b,c,kind\n"),
        sample(Form("csv", header=False), "", "\r\n"),
        sample(Form("tsv", header=True), "a\tb\tc\tkind\n"),
        sample(Form("csv", delimiter=";", decimal=","), "a;b;c;kind\n"),
        sample(Form("csv", encoding="latin-1"), "ä,b,c,kind\r", "\r"),
    ]
    return Subject("CSV and TSV", samples, TABLES, CommandError, checksum=False)


def table_contents(data: Data) -> Any:
    assert data.label is not None
    return data.preparation.names, data.X.tolist(), data.label.values.tolist()


def parser(form: Form) -> Callable[[bytes], Any]:
    """Names, numbers and labels by the csv module, float() and the documented rules; for either reading of line 1."""
    delimiter = form.delimiter or {"csv": ",", "tsv": "\t"}[form.format or "csv"]

    def number(cell: str) -> float:
        truth = {"true": 1.0, "false": 0.0}.get(cell.strip().lower())
        if truth is not None:
            return truth
        if "_" in cell or (form.decimal == "," and "." in cell):
            raise ValueError(cell)
        return float(cell.replace(form.decimal, "."))

    def text(cell: str) -> str:
        """Without the apostrophe that keeps spreadsheets from running a formula."""
        bare = cell.lstrip("'")
        if bare == cell or len(bare) < 2 or bare[0] not in "=+-@\t\r":
            return cell
        try:
            return cell if "_" not in bare and float(bare.replace(",", ".")) is not None else cell[1:]
        except ValueError:
            return cell[1:]

    def expected(data: bytes, header: bool) -> Any:
        stream = io.StringIO(data.decode("utf-8-sig" if form.encoding == "utf-8" else form.encoding), newline="")
        rows = [row for row in csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True) if row]
        names = [text(cell.strip()) for cell in rows.pop(0)] if header else []
        label = names.index("4") if "4" in names else 3
        features = [j for j in range(len(rows[0])) if j != label]
        if any(len(row) != len(names or rows[0]) for row in rows):
            raise ValueError("rows of different lengths")
        numbers = [[number(row[j]) for j in features] for row in rows]
        if not np.isfinite(numbers).all():
            raise ValueError("not finite")
        return [names[j] for j in features] if header else None, numbers, [text(row[label]) for row in rows]

    def either(data: bytes) -> list[Any]:
        found = []
        for header in (False, True) if form.header is None else (form.header,):
            try:
                found.append(expected(data, header))
            except (ValueError, csv.Error):
                continue
        return found

    return either


def outcome(subject: Subject, sample: Sample, file: Path, rng: Generator) -> str:
    """What becomes of one damaged file."""
    mutation = subject.mutations[rng.integers(len(subject.mutations))]
    data = mutation(sample.data, rng)
    resealed = subject.checksum and bool(rng.integers(2))
    data = sealed(data) if resealed else data
    file.write_bytes(data)
    try:
        try:
            found = limited(lambda: sample.read(file), PER_BYTE * len(data) + CONSTANT)
        except subject.refusal:
            return "refused"
        contents = sample.contents(found)
    except (Exception, Hang) as error:
        return f"crashed: {type(error).__name__} {error} ({mutation.__name__})"
    expected = sample.expected(data if resealed or not subject.checksum else sample.data)
    same = contents == expected if subject.checksum else contents in expected
    return "same" if same else f"other: {mutation.__name__}"


class Hang(BaseException):
    """No code may catch this as an error of its own."""


def limited(function: Callable[[], Any], memory: int) -> Any:
    """What ``function`` returns; an error where it takes too long, or more than so many bytes."""

    def stop(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    tracemalloc.start()
    try:
        result = function()
    finally:
        signal.alarm(0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > memory:
            raise MemoryError(f"more than {memory} bytes")
    return result


def run(subject: Subject, mutations: int, folder: Path, seed: int) -> tuple[Counter[str], float]:
    """Counts of outcomes, and seconds."""
    rng = np.random.default_rng(seed)
    begin = time.perf_counter()
    file = folder / "damaged"
    samples = [subject.samples[i] for i in rng.integers(len(subject.samples), size=mutations)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Counter(outcome(subject, sample, file, rng) for sample in samples), time.perf_counter() - begin


SUBJECTS = (models, checkpoints, tables)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mutations", type=int, default=10_000, help="of each kind of files")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--output", type=Path, help="folder for fuzz.md")
    args = options.parse_args()
    rows, wrong = [], Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        for make in SUBJECTS:
            subject = make(Path(name))
            counts, seconds = run(subject, args.mutations, Path(name), args.seed)
            bad = {start: sum(n for text, n in counts.items() if text.startswith(start)) for start in ("other", "crashed")}
            figures = [args.mutations, counts["refused"], counts["same"], bad["other"], bad["crashed"], f"{seconds:.0f}"]
            rows.append([subject.name, *map(str, figures)])
            wrong.update({f"{subject.name}: {text}": n for text, n in counts.items() if text not in ("refused", "same")})
            print(*rows[-1], flush=True)
    lines = ["# Damaged files", "", f"`python benchmarks/fuzz.py --mutations {args.mutations} --seed {args.seed}`", ""]
    lines += ["| " + " | ".join(row) + " |" for row in [HEADER, ["---"] * len(HEADER), *rows]]
    lines += ["", *(f"- {line}" for line in machine.describe())]
    print("\n".join([*lines, *(f"{text}: {n}" for text, n in wrong.items())]))
    if args.output is not None:
        (args.output / "fuzz.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
