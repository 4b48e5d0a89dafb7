"""Somebody who means harm: files that want to run code, to take all memory, or to write elsewhere; text that is a script."""

from __future__ import annotations

import csv
import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import elliptope
from commandline import EMBED, GOOD, npy, npz
from elliptope import ModelFileError, SDPEmbedding, datasets
from elliptope.report import write_report
from faults.case import Case, Command, Error, Right, refused, run_command
from html_page import Page
from model_files import build, edited, entries, model, with_array, with_header

case = partial(Case, "security")
X = np.random.default_rng(0).standard_normal((20, 3))
GIGABYTE = 2**30


class Harm:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("harmed",)


def harmless(run: Callable[[], Any]) -> Any:
    """Run, and make sure that nothing was unpickled and no file made but those that are meant to be there."""
    parent = set(os.listdir(".."))
    try:
        return run()
    finally:
        assert not Path("harmed").exists()
        assert set(os.listdir("..")) == parent


def load(content: bytes) -> Any:
    Path("m").write_bytes(content)
    return harmless(lambda: elliptope.load("m"))


def with_pickle() -> bytes:
    """A sealed model, one array of which is a pickle."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([[Harm()] * 2] * 10, dtype=object), allow_pickle=True)
    return build({**entries(model()), "embedding.npy": buffer.getvalue()}.items())


def bomb() -> bytes:
    """A zip archive of a megabyte with a gigabyte of zeros in it."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as entry,
    ):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({GIGABYTE // 64}, 8), }}".encode().ljust(117) + b"\n"
        entry.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for _ in range(16):
            entry.write(bytes(2**20))  # a part is enough: what is declared must not be believed
    return buffer.getvalue()


def link_to(content: bytes) -> str:
    Path("target").write_bytes(content)
    os.symlink("target", "link")
    return "link"


MODELS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a pickle": (lambda: pickle.dumps(Harm()), "it is a pickle. Unpickling runs whatever code"),
    "an array of pickled objects": (with_pickle, "declared with shape .* and dtype <f8, which does not fit"),
    "an array that the header calls pickled objects": (
        lambda: with_array(model(), "embedding", np.full((10, 2), None)),
        "object arrays, which hold pickles",
    ),
    "compressed entries (zip bombs)": (
        lambda: build(entries(model()).items(), compression=zipfile.ZIP_DEFLATED),
        "compressed or encrypted",
    ),
    "names that lead out of the folder": (
        lambda: build([*entries(model()).items(), ("../../harmed.npy", b"boo")]),
        r"belong to nothing: \['../../harmed.npy'\]",
    ),
    "a reference to a file elsewhere": (
        lambda: edited(model(), "fitted", "embedding", "array", value="/etc/passwd"),
        "must refer to the array of that name",
    ),
    "a header of 17 megabytes": (
        lambda: with_header(model(), b'{"a": "' + b"x" * 2**24 + b'"}'),
        "more than the 16777216 that are allowed",
    ),
    "a header nested 100 000 deep": (lambda: with_header(model(), b"[" * 100_000), "JSON"),
    "an integer of 5000 digits": (lambda: with_header(model(), b'{"a": ' + b"1" * 5000 + b"}"), "JSON"),
    "a shape of 8 terabytes": (
        lambda: edited(model(), "fitted", "embedding", "shape", value=[10**12, 2]),
        "does not fit the|must",
    ),
    "65 entries": (
        lambda: build([("header.json", b"{}"), *((f"{i}.npy", b"") for i in range(64))]),
        "65 entries, more than the 64",
    ),
    "the name of a function as its class": (
        lambda: edited(model(), "class", value="os.system"),
        "class must be one of SDPEmbedding",
    ),
    "the name of a function as its kernel": (
        lambda: edited(model(), "parameters", "kernel", value={"class": "os.system"}),
        "must be of class Gaussian or",
    ),
}
LOADING = [
    case(
        f"model file with {name}",
        lambda make=make: load(make()),
        Error(f"^'m' cannot be loaded: .*{reason}", ModelFileError),
    )
    for name, (make, reason) in MODELS.items()
] + [
    case(
        "model file that is a symbolic link to a pickle",
        lambda: harmless(lambda: elliptope.load(link_to(pickle.dumps(Harm())))),
        Error("'link' cannot be loaded: it is a pickle", ModelFileError),
    ),
    case(
        "folder of data sets, by environment variable, with pickled objects",
        lambda: (
            Path("htru2.npz").write_bytes(npz(X=np.array([[Harm()]], dtype=object), y=np.zeros(1))),
            with_variable("ELLIPTOPE_DATA", ".", lambda: harmless(datasets.load_htru2)),
        ),
        Error("allow_pickle=False|pickle"),
    ),
    case(
        "folder of data sets, by environment variable, that does not exist",
        lambda: with_variable("ELLIPTOPE_DATA", "nowhere", datasets.load_htru2),
        Error(
            "No file 'htru2.npz' in the folder 'nowhere', which the environment variable ELLIPTOPE_DATA names",
            FileNotFoundError,
        ),
    ),
]


def with_variable(name: str, value: str, run: Callable[[], Any]) -> Any:
    with mock.patch.dict(os.environ, {name: value}):
        return run()


TABLES = [
    case(f"command line: {name}", *pair)
    for name, pair in {
        "npy of pickled objects": refused(
            "embed t.npy -o out.csv",
            "Python objects, which are not loaded: they could run code",
            1,
            {"t.npy": npy(np.array([[Harm(), 1.0]], dtype=object))},
        ),
        "npy that is a pickle": refused(
            "embed t.npy -o out.csv", "t.npy: not NPY data, or", 1, {"t.npy": pickle.dumps(Harm())}
        ),
        "npz of pickled objects": refused(
            "embed t.npz -o out.csv", "which are not loaded", 1, {"t.npz": npz(A=np.array([[Harm()]], dtype=object))}
        ),
        "npz with a gigabyte of zeros, which it does not hold": refused(
            "embed t.npz -o out.csv", "(t.npz: not NPZ data|not enough memory)", 1, {"t.npz": bomb()}
        ),
        "csv with a field of a megabyte": refused(
            EMBED, "t.csv: line 1: field larger than field limit (131072)", 1, {"t.csv": "a" * 2**20 + "," + GOOD}
        ),
        "model that is a pickle": refused(
            "info bad", "'bad' cannot be loaded: it is a pickle", 1, {"bad": pickle.dumps(Harm())}
        ),
    }.items()
]
SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
# Text that a spreadsheet would run, text with the apostrophe that keeps it from that, and text that it would not run.
FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "=,", '="', "-1_0", "'=1", "''=1"]
TEXTS = ["-5", "+1e3", "-1,5", "'-5", "-", "=", "'", "it's", "a=b", "", "'a", "-inf", " x", " =1"]


def report(**options: Any) -> str:
    write_report(SDPEmbedding(bandwidth=2.0, random_state=0).fit(X), "r.html", **options)
    return Path("r.html").read_text("utf-8")


def no_script(text: str) -> None:
    """The page has the elements that it has without the text, and shows the text."""
    plain, found = Page(report_plain()), Page(text)
    assert [tag for tag, _ in found.attributes if tag in ("script", "img")] == [
        tag for tag, _ in plain.attributes if tag in ("script", "img")
    ]
    assert not any(name.startswith("on") for _, attributes in found.attributes for name in attributes)


def report_plain() -> str:
    write_report(SDPEmbedding(bandwidth=2.0, random_state=0).fit(X), "plain.html")
    return Path("plain.html").read_text("utf-8")


def embedded(table: str, line: str = "embed t.csv --label kind") -> str:
    outcome, _ = Command(line, {"t.csv": table})()
    assert outcome.code == 0, outcome.err
    return outcome.out.decode()


def formulas_there_and_back() -> tuple[str, pd.DataFrame]:
    """The CSV file of a table with such labels and names; and what is read from it, written as Parquet."""
    labels = (FORMULAS + TEXTS) * 2
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((len(labels), 3)), columns=list("abc"))
    frame.assign(**{"=kind": labels, "@id": labels[::-1]}).to_parquet("t.parquet")
    for line in ("embed t.parquet -o out.csv", "embed out.csv -o again.parquet"):
        outcome = run_command(*line.split(), "--label", "=kind", "--id", "@id")
        assert outcome.code == 0, outcome.err
    return Path("out.csv").read_bytes().decode(), pd.read_parquet("again.parquet")


def no_formulas(seen: tuple[str, pd.DataFrame]) -> None:
    text, frame = seen
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[:2] == ["'@id", "'=kind"]
    assert [row[1] for row in rows] == ([f"'{label}" for label in FORMULAS] + TEXTS) * 2
    assert frame["=kind"].tolist() == (FORMULAS + TEXTS) * 2
    assert frame["@id"].tolist() == ((FORMULAS + TEXTS) * 2)[::-1]


PAGES = [
    case(f"report: a script as {name}", lambda options=options: report(**options), Right("text, not a script", no_script))
    for name, options in {
        "title": {"title": SCRIPT},
        "names of rows": {"row_names": [SCRIPT] * 20},
        "names of columns": {"feature_names": [SCRIPT, "b", "c"]},
        "labels": {"y": [SCRIPT, "v"] * 10},
    }.items()
] + [
    case(
        "csv: a label that a spreadsheet would take for a formula",
        lambda: embedded(GOOD.replace(",u\n", ",=HYPERLINK(1)\n")),
        Right("an apostrophe before it", lambda out: out.count("\n'=HYPERLINK(1),") == 15 and "\n=" not in out),
    ),
    case(
        "csv: labels and names that a spreadsheet would take for formulas, written and read again",
        formulas_there_and_back,
        Right("in the file an apostrophe before them; then as they were", no_formulas),
    ),
    case(
        "csv: a column name with an escape sequence of the terminal",
        lambda: Command(EMBED, {"t.csv": GOOD.replace("b", "\x1b[31mb", 1).replace("u", "x\x1b[0m")})()[0].err,
        Right("printed as text", lambda err: "\x1b" not in err),
    ),
    case(
        "csv: a cell with an escape sequence of the terminal",
        lambda: Command("embed t.csv --columns 1-4", {"t.csv": GOOD.replace(",u\n", ",\x1b[31m\n")})()[0].err,
        Right("printed as text", lambda err: "text, 2 values, the first" in err and "\x1b" not in err),
    ),
    case(
        "csv: a column of text, left out, whose name has an escape sequence of the terminal",
        lambda: Command("embed t.csv", {"t.csv": GOOD.replace("kind", "\x1b[31mb", 1)})()[0].err,
        Right("printed as text", lambda err: "1 column left out: '" in err and "\x1b" not in err),
    ),
]
CASES = [*LOADING, *TABLES, *PAGES]
