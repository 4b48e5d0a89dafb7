"""Labelled data sets, splits, and the classifiers that judge an embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from elliptope.datasets import two_moons

from ..loaders import load_htru2
from .domains import standardize
from .rows import Row

Labelled = tuple[np.ndarray, np.ndarray]
TEST_PART = 0.3
NEIGHBOURS = 5


@dataclass(frozen=True)
class Task:
    """A classifier on the leading components of an embedding; all of them if None."""

    classifier: str
    components: int | None

    def __str__(self) -> str:
        return f"{self.classifier}, {self.components or 'all'}"

    def predict(self, Z: np.ndarray, y: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
        """Labels of the new rows.

        One factor brings the mean square length of the training rows to 1. Of all classifiers only the linear SVC sees
        that: its weight C then means the same for embeddings whose scales differ by orders of magnitude. On all components
        its kernel is, up to this factor, the learned one, b(x, y) = Ξ(x)·Ξ(y).
        """
        Z, Z_new = Z[:, : self.components], Z_new[:, : self.components]
        unit = float(np.sqrt(np.mean(np.sum(Z**2, axis=1)))) or 1.0
        return CLASSIFIERS[self.classifier]().fit(Z / unit, y).predict(Z_new / unit)


def _logistic() -> ClassifierMixin:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


CLASSIFIERS: dict[str, Callable[[], ClassifierMixin]] = {
    "5-NN": lambda: KNeighborsClassifier(NEIGHBOURS),
    "logistic": _logistic,
    "SVC": lambda: SVC(kernel="linear"),
    "SVC, Gaussian": SVC,
}


def scores(y: np.ndarray, predicted: np.ndarray) -> Row:
    """Accuracy, and for two classes the precision, recall and F1 of class 1."""
    row: Row = {"accuracy": accuracy_score(y, predicted)}
    if len(np.unique(y)) == 2:
        values = precision_recall_fscore_support(y, predicted, average="binary", zero_division=0)
        row |= dict(zip(("precision", "recall", "f1"), values, strict=False))
    return row


def splits(X: np.ndarray, y: np.ndarray, n_splits: int, seed: int, **sizes: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stratified random splits; a test part of 30 % unless ``sizes`` say otherwise."""
    yield from StratifiedShuffleSplit(n_splits, random_state=seed, **(sizes or {"test_size": TEST_PART})).split(X, y)


def split_data(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[Labelled, Labelled]:
    """Both parts, z-scored by the statistics of the first."""
    A, B = standardize(X[train], X[test])
    return (A, y[train]), (B, y[test])


def htru2(seed: int, rows: int) -> Labelled:
    X, y = load_htru2()
    chosen = np.random.default_rng(seed).choice(len(X), rows, replace=False)
    return X[chosen], y[chosen]


def moons(seed: int) -> Labelled:
    return two_moons(standardize=False, random_state=seed)


def wine(seed: int) -> Labelled:
    return load_wine(return_X_y=True)


def _digits() -> Labelled:
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


# For the choice of defaults: none of the three sets of the comparison, so that these stay a test.
DEVELOPMENT: dict[str, Callable[[], Labelled]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits[:500]": _digits,
    "circles": lambda: make_circles(300, noise=0.1, factor=0.5, random_state=0),
    "blobs, p=10": lambda: make_blobs(300, n_features=10, centers=5, cluster_std=3.0, random_state=0)[:2],
    "noisy, p=40": lambda: make_classification(400, 40, n_informative=5, n_redundant=5, class_sep=1.5, random_state=0),
}
