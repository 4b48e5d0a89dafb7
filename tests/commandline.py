"""Run the command line within this process; tables for it, good and bad."""

import csv
import io
import json
import re
import struct
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_wine

from elliptope.cli import main

RAW = load_wine()
NAMES = [name.split("/")[0] for name in RAW.feature_names]
CLASSES = [str(RAW.target_names[k]) for k in RAW.target]

# A small table, and a command that embeds it.
X = np.random.default_rng(0).standard_normal((30, 3)).round(3)
ROWS = [f"{a},{b},{c},{'uv'[i % 2]}" for i, (a, b, c) in enumerate(X.tolist())]
GOOD = "\n".join(["a,b,c,kind", *ROWS]) + "\n"
EMBED = "embed t.csv --label kind -o out.csv"
# The paper's program, which is not the default.
SDP = ("--method", "sdp")
# The same numbers computed in the same way: equal to the last bit.
same = np.testing.assert_array_equal


class Outcome(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def table(self):
        """Standard output as CSV: the header, and the rows as text."""
        header, *rows = csv.reader(io.StringIO(self.out.decode()))
        return header, rows

    @property
    def numbers(self):
        """The coordinates in standard output."""
        header, rows = self.table
        return coordinates(header, rows)


def coordinates(header, rows):
    chosen = [j for j, name in enumerate(header) if re.fullmatch(r"z\d+|(scale\d+_|zero)\d+", name)]
    return np.array([[float(row[j]) for j in chosen] for row in rows])


class Runner:
    """``cli("embed", path, ...)`` gives the outcome."""

    def __init__(self, monkeypatch, capture):
        self.monkeypatch, self.capture = monkeypatch, capture

    def __call__(self, *argv, stdin=None):
        if stdin is not None:
            self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.capture.readouterr()
        code = main([str(arg) for arg in argv])
        out, err = self.capture.readouterr()
        return Outcome(code, out, err.decode())


def write_csv(path, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def wine_rows(data=RAW.data, names=NAMES):
    """The Wine data, with a column of classes, as rows of a file."""
    header = [[*names, "class"]] if names else []
    return [*header, *([*row, name] for row, name in zip(data.tolist(), CLASSES, strict=True))]


def snapshot(folder):
    """Every file in a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def changed(row, column, cell):
    """The good table with another cell; rows and columns are counted from 1."""
    lines = GOOD.splitlines()
    cells = lines[row].split(",")
    cells[column - 1] = cell
    lines[row] = ",".join(cells)
    return "\n".join(lines) + "\n"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def huge_npy():
    """Three numbers, declared as a million million."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(24)


def check(outcome, code, message):
    assert outcome.code == code, outcome
    assert outcome.out == b""
    assert "Traceback" not in outcome.err
    lines = outcome.err.splitlines()
    errors = [line for line in lines if line.startswith("elliptope: error: ")]
    assert errors == lines[-1:], outcome.err
    # Parentheses are meant as such; a message with wildcards or alternatives is an expression.
    expression = message if ".*" in message or "|" in message else re.escape(message)
    assert re.search(expression, errors[0]), errors[0]
    assert len(errors[0]) < 700
