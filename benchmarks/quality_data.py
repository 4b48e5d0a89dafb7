"""Labelled data sets for the quality benchmark, their splits, and outliers to spoil them with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from elliptope.datasets import DATA_VARIABLE, load_htru2, two_moons

Array = np.ndarray
Labelled = tuple[Array, Array]

# Half-width of the box of the outliers, in half-ranges of the data.
BOX = 3.0
# Part of the rows that is kept out of the fit.
TEST_PART = 0.3


@dataclass(frozen=True)
class Sample:
    """One draw of a data set: training rows, then the outliers among them, and rows to be embedded later."""

    X_fit: Array  # (n_train + n_outliers, p)
    y_train: Array  # (n_train,)
    X_test: Array  # (n_test, p)
    y_test: Array  # (n_test,)

    @property
    def n_train(self) -> int:
        return len(self.y_train)

    @property
    def X_all(self) -> Array:
        """Training rows, outliers and test rows."""
        return np.vstack([self.X_fit, self.X_test])


def standardize(X: Array) -> Array:
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def with_outliers(X: Array, share: float, rng: np.random.Generator) -> Array:
    """X with round(share · n) rows appended, uniform in a box of three times the range of every column."""
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    extra = rng.uniform(middle - BOX * half, middle + BOX * half, (round(share * len(X)), X.shape[1]))
    return np.vstack([X, extra])


def draw(name: str, share: float, seed: int) -> Sample:
    """Rows, split and outliers all follow from the seed; the split does not depend on the share of outliers."""
    X, y = DATA[name](seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_PART, stratify=y, random_state=seed)
    X_fit = with_outliers(X_train, share, np.random.default_rng([seed, 1]))
    return Sample(X_fit, y_train, X_test, y_test)


def available(names: list[str]) -> list[str]:
    """Those of the data sets that can be had; says which cannot."""
    if "HTRU2" in names and not os.environ.get(DATA_VARIABLE):
        print(f"HTRU2 left out: set {DATA_VARIABLE} to the folder that holds it")
        return [name for name in names if name != "HTRU2"]
    return names


def _wine(seed: int) -> Labelled:
    X, y = datasets.load_wine(return_X_y=True)
    return standardize(X), y


def _breast_cancer(seed: int) -> Labelled:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return standardize(X), y


def _digits(seed: int) -> Labelled:
    X, y = datasets.load_digits(return_X_y=True)
    rows = _per_class(y, 60, seed)
    return X[rows] / 16, y[rows]  # pixels from 0 to 16


def _htru2(seed: int) -> Labelled:
    X, y = load_htru2()
    rows = _per_class(y, 300, seed)
    return standardize(X[rows]), y[rows]


def _blobs(seed: int) -> Labelled:
    X, y = datasets.make_blobs(400, n_features=10, centers=4, cluster_std=2.0, random_state=seed)
    return standardize(X), y


def _moons(seed: int) -> Labelled:
    return two_moons(random_state=seed)


def _per_class(y: Array, count: int, seed: int) -> Array:
    rng = np.random.default_rng([seed, 0])
    return np.concatenate([rng.choice(np.flatnonzero(y == label), count, replace=False) for label in np.unique(y)])


DATA: dict[str, Callable[[int], Labelled]] = {
    "wine": _wine,
    "digits": _digits,
    "breast cancer": _breast_cancer,
    "HTRU2": _htru2,
    "blobs": _blobs,
    "two moons": _moons,
}
