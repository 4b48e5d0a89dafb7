"""The command line, run within this process; and tables for it."""

import csv
import io
import json
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_wine

from elliptope.cli import main

RAW = load_wine()
NAMES = [name.split("/")[0] for name in RAW.feature_names]
CLASSES = [str(RAW.target_names[k]) for k in RAW.target]


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
        """The columns z1, z2, … of standard output."""
        header, rows = self.table
        return coordinates(header, rows)


def coordinates(header, rows):
    chosen = [j for j, name in enumerate(header) if name.startswith("z")]
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


def wine_rows(names=NAMES):
    """The Wine data, with a column of classes, as rows of a file."""
    header = [[*names, "class"]] if names else []
    return [*header, *([*row, name] for row, name in zip(RAW.data.tolist(), CLASSES, strict=True))]


def snapshot(folder):
    """Every file in a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
