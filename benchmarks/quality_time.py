"""Time and memory of a fit with default parameters, and time of ``transform``, side by side, on rows of Covertype.

Every fit runs in a process of its own, which fits 500 rows first, so that what compiles has compiled. Every run is added to
``quality_time.csv``, and runs found there are not repeated; ``quality_time.md`` has the tables. Use a quiet
machine with Linux.

    python benchmarks/quality_time.py --output benchmarks/results
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import machine
import numpy as np
from quality_methods import METHODS
from quality_sets import standardize

from report import table

sys.path.append(str(Path(__file__).parents[1]))
from experiments.loaders import load_covertype

FIELDS = ["method", "n", "threads", "seconds", "transform_seconds", "peak_mb", "note"]
WARM_UP = 500
NEW_ROWS = 20_000
# Methods that hold n² numbers are not run beyond this.
DENSE_LIMIT = 10_000
DENSE = ("SDPEmbedding", "RKHSEmbedding", "DiffusionMap", "KernelPCA")
Row = dict[str, Any]

NOTE = """\
Seconds from rows to embedding (our times include the certificates), seconds of `transform` for {new:,} new rows, and the
peak memory of the process, both included, above what it had before. Ten z-scored columns of Covertype, default parameters,
{threads} thread(s), no seed where a seed means one thread (UMAP), one run each, after a fit of {warm_up} rows. Methods that
hold n² numbers stop at n = {dense:,}."""


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    if options.single:
        method, folder = options.single
        print(json.dumps(measure(method, Path(folder))))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "quality_time.csv"
    rows = read(path)
    known = {(row["method"], int(row["n"])) for row in rows}
    for n, method in itertools.product(options.sizes, options.methods):
        if (method, n) not in known and not (method in DENSE and n > DENSE_LIMIT):
            rows.append(run(method, n, options))
            print(*rows[-1].values(), flush=True)
            write(path, rows)
    (options.output / "quality_time.md").write_text(report(rows, options), encoding="utf-8")


def run(method: str, n: int, options: argparse.Namespace) -> Row:
    """One measurement, in a process that is ended at the limit."""
    threads = {name: str(options.threads) for name in machine.THREAD_VARIABLES}
    identity = {"method": method, "n": n, "threads": options.threads}
    with tempfile.TemporaryDirectory() as folder:
        save_rows(n, Path(folder))
        command = [sys.executable, __file__, "--output", str(options.output), "--single", method, folder]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=options.limit, env={**os.environ, **threads}
            )
        except subprocess.TimeoutExpired:
            return {**identity, "note": f"over {options.limit:g} s"}
    if done.returncode:
        return {**identity, "note": (done.stderr.strip().splitlines() or ["ended by the system"])[-1][:100]}
    return {**identity, **json.loads(done.stdout.strip().splitlines()[-1])}


def save_rows(n: int, folder: Path) -> None:
    """Rows to fit and new rows, in files: a process that reads the whole of Covertype needs more memory than many a fit."""
    X = standardize(load_covertype()[0])
    order = np.random.default_rng(0).permutation(len(X))
    np.save(folder / "fit.npy", X[order[:n]])
    np.save(folder / "new.npy", X[order[n : n + NEW_ROWS]])


def measure(name: str, folder: Path) -> Row:
    warnings.simplefilter("ignore")  # UMAP warns of its threads
    X_fit, X_new = np.load(folder / "fit.npy"), np.load(folder / "new.npy")
    _timed(name, X_fit[:WARM_UP], X_new[:WARM_UP])
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak of memory counts from here
    floor = _memory("VmRSS")
    row = _timed(name, X_fit, X_new)
    return {**row, "peak_mb": _memory("VmHWM") - floor}


def _timed(name: str, X: np.ndarray, X_new: np.ndarray) -> Row:
    start = time.perf_counter()
    estimator = METHODS[name].make(X, None, **METHODS[name].candidates[0])
    estimator.fit_transform(X)
    row = {"seconds": time.perf_counter() - start}
    if hasattr(estimator, "transform"):
        start = time.perf_counter()
        estimator.transform(X_new)
        row["transform_seconds"] = time.perf_counter() - start
    return row


def _memory(field: str) -> float:
    """Resident memory of this process, now ("VmRSS") or at most ("VmHWM"), in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"No {field} in /proc/self/status.")


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        writer.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def report(rows: list[Row], options: argparse.Namespace) -> str:
    sizes = sorted({int(row["n"]) for row in rows})
    found = {(row["method"], int(row["n"])): row for row in rows}
    parts = ["# Time and memory of a fit"]
    parts += [NOTE.format(new=NEW_ROWS, threads=options.threads, warm_up=WARM_UP, dense=DENSE_LIMIT)]
    parts += ["\n".join(f"- {line}" for line in machine.describe())]
    titles = {"seconds": "Fit, seconds", "transform_seconds": "Transform, seconds", "peak_mb": "Peak memory, MB"}
    for field, title in titles.items():
        lines = [
            [m, *(_cell(found.get((m, n)), field) for n in sizes)] for m in METHODS if any((m, n) in found for n in sizes)
        ]
        parts += [f"## {title}", table(["method", *(f"n = {n:,}" for n in sizes)], lines)]
    return "\n\n".join(parts) + "\n"


def _cell(row: Row | None, field: str) -> str:
    if row is None:
        return "-"
    value = row.get(field, "")
    return (row.get("note") or "-") if value in ("", None) else f"{float(value):.3g}"


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    timed = [name for name, method in METHODS.items() if len(method.candidates) == 1 and name != "no embedding"]
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--methods", nargs="+", choices=timed, metavar="NAME", default=timed, help=", ".join(timed))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which a run is ended")
    parser.add_argument("--single", nargs=2, metavar=("METHOD", "FOLDER"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
