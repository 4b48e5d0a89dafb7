"""Seconds of a fit with default parameters, on one thread, for growing parts of the digits."""

from __future__ import annotations

import csv
import warnings
from functools import partial
from pathlib import Path
from time import process_time

import machine
import numpy as np
from quality_methods import METHODS
from sklearn.datasets import load_digits
from timing import best

from report import table

SIZES = (250, 500, 1000)
REPEATS = 3

NOTE = """\
Processor seconds of `fit_transform` with default parameters on rows of the digits, one thread, best of {repeats}; methods
that compile were run once before. SDPEmbedding's time includes the proof. Indicative: a busy machine slows all of them."""


def write_times(folder: Path, methods: list[str]) -> None:
    X = load_digits().data / 16
    X = X[np.random.default_rng(0).permutation(len(X))]
    rows = []
    for name in methods:
        _fit(name, X[: SIZES[0]])
        times = [best(partial(_fit, name, X[:n]), REPEATS, process_time) for n in SIZES]
        rows.append([name, *(f"{seconds:.3f}" for seconds in times)])
        print(*rows[-1], flush=True)
    header = ["method", *(f"n = {n}" for n in SIZES)]
    with (folder / "quality_time.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    machine_lines = "\n".join(f"- {line}" for line in machine.describe())
    parts = ["# Time of a fit", NOTE.format(repeats=REPEATS), machine_lines, table(header, rows)]
    (folder / "quality_time.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _fit(name: str, X: np.ndarray) -> None:
    method = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that a seed means one thread
        method.make(X, 0, **method.default).fit_transform(X)
