"""Draws of the labelled data sets: splits, and outliers to spoil them with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from quality_sets import SETS
from sklearn.model_selection import train_test_split

Array = np.ndarray

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


def with_outliers(X: Array, share: float, rng: np.random.Generator) -> Array:
    """X with round(share · n) rows appended, uniform in a box of three times the range of every column."""
    low, high = X.min(axis=0), X.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    extra = rng.uniform(middle - BOX * half, middle + BOX * half, (round(share * len(X)), X.shape[1]))
    return np.vstack([X, extra])


def draw(name: str, share: float, seed: int) -> Sample:
    """Rows, split and outliers all follow from the seed; the split does not depend on the share of outliers."""
    X, y = SETS[name].load(seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_PART, stratify=y, random_state=seed)
    X_fit = with_outliers(X_train, share, np.random.default_rng([seed, 1]))
    return Sample(X_fit, y_train, X_test, y_test)
