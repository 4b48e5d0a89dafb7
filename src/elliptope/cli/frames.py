"""Data frames and arrays, prepared as the command line has prepared the table of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._utils.arrays import Array
from .preparation import Feature, Preparation, as_days, missing_cells
from .tables.cells import Texts, is_missing, is_number, truth


class TablePreparation(TransformerMixin, BaseEstimator):
    """The columns of a data frame as numbers: chosen, encoded and filled in as those of a training table were.

    Parameters
    ----------
    preparation : Preparation
        What the command line did to the training table, from the model.
    """

    def __init__(self, preparation: Preparation) -> None:
        self.preparation = preparation

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> TablePreparation:
        """Nothing is learned from X."""
        return self

    def transform(self, X: Any) -> Array:
        """Columns are found by their names, or in an array by their positions. Rows with missing values that are not filled
        in are an error, for a transformer keeps all rows."""
        columns = self._columns(X)
        read = [_read(column) for column in columns]
        for feature, (x, texts) in zip(self.preparation.features, read, strict=True):
            _check(feature, x, texts)
        Z = np.hstack([f.encode(x, texts) for f, (x, texts) in zip(self.preparation.features, read, strict=True)])
        self.preparation.fill_in(Z)
        return Z

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that the estimator is given."""
        return np.array(self.preparation.handles, dtype=object)

    def _columns(self, X: Any) -> list[Array]:
        names, positions, width = self.preparation.wanted
        if names is not None and hasattr(X, "columns"):
            missing = [name for name in names if name not in X.columns]
            if missing:
                raise ValueError(f"`X` must have the columns {names}, and lacks {missing}.")
            return [np.asarray(X[name]) for name in names]
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] not in (width, len(positions)):
            raise ValueError(f"`X` must have {width} columns as the training table, got shape {X.shape}.")
        return [X[:, j] for j in (positions if X.shape[1] == width else range(len(positions)))]


def _read(column: Array) -> tuple[Array, Texts]:
    """Numbers of a column, NaN where there is none, and the cells that are text."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64), Texts(np.empty(0, dtype=np.int64), [])
    x, odd = np.full(len(column), np.nan), {}
    for i, value in enumerate(column.astype(str).tolist()):  # as the cells of a file
        given = truth(value)
        if given is not None or is_number(value):
            x[i] = float(value) if given is None else given
        elif not is_missing(value):
            odd[i] = value.strip()
    return x, Texts(np.array(list(odd), dtype=np.int64), list(odd.values()))


def _check(feature: Feature, x: Array, texts: Texts) -> None:
    """Raise if a column does not hold what it did in the training table."""
    wrong = [cell for cell in texts.cells if feature.kind == "number" or (feature.kind == "date" and as_days(cell) is None)]
    if wrong:
        raise ValueError(f"`X` must hold a {feature.kind} in every row of {feature.handle}, got {wrong[0]!r}.")
    bad = missing_cells(x, texts)
    if feature.fill is None and bad.any():
        raise ValueError(
            f"`X` must have no missing values in {feature.handle}, got {int(bad.sum())}, the first in row "
            f"{int(bad.argmax())}; leave out such rows."
        )
