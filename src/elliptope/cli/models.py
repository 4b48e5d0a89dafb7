"""Models with the preparation and scaling of their columns, and the labels and identifiers of their rows.

These are metadata of the model file, under the key ``table``, and are checked when they are read.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .. import persistence
from .._utils.arrays import Array
from ..estimators.base import Embedding
from .data import Column, kept_columns
from .errors import CommandError
from .preparation import Feature, Preparation
from .streams import STANDARD, check_output, exists
from .tables import has_table_suffix, is_missing, is_number, truth

_KEY = "table"
_WHEN_LOADED = (
    "this is the estimator alone, whose rows were chosen, filled in or scaled before it got them; for rows as they are in a "
    "table, open the file with `elliptope.cli.load_pipeline`."
)


@dataclass(frozen=True, eq=False)
class Standardizer:
    r"""z-scores, :math:`(x - \text{mean}) / \text{scale}` by column.

    ``scale`` is the sample standard deviation (ddof = 1); 1 for a constant column, which becomes zero.
    """

    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: Array) -> Standardizer:
        """Unchecked: for numbers beyond 1e154 or below 1e-154 the scale may be infinite or zero."""
        with np.errstate(over="ignore", invalid="ignore"):
            constant = np.ptp(X, axis=0) == 0
            # The mean of equal numbers may differ from them by rounding, and so may the deviation from zero.
            return cls(np.where(constant, X[0], X.mean(axis=0)), np.where(constant, 1.0, X.std(axis=0, ddof=1)))

    def __call__(self, X: Array) -> Array:
        return (X - self.mean) / self.scale


class TablePreparation(TransformerMixin, BaseEstimator):
    """The columns of a data frame as numbers: chosen and filled in as those of a training table were.

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
        pairs = zip(self.preparation.features, self._columns(X), strict=True)
        Z = np.column_stack([_numbers(feature, column) for feature, column in pairs])
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


def _numbers(feature: Feature, column: Array) -> Array:
    """A column of a data frame, NaN where a value is missing; an error where it holds text, or what is not filled in."""
    if column.dtype.kind in "biuf":
        x = column.astype(np.float64)
    else:
        x = np.array([_number(feature, value) for value in column.astype(str).tolist()])  # as the cells of a file
    bad = np.isnan(x)
    if feature.fill is None and bad.any():
        raise ValueError(
            f"`X` must have no missing values in {feature.handle}, got {int(bad.sum())}, the first in row "
            f"{int(bad.argmax())}; leave out such rows."
        )
    return x


def _number(feature: Feature, cell: str) -> float:
    if (given := truth(cell)) is not None:
        return given
    if is_number(cell):
        return float(cell)
    if not is_missing(cell):
        raise ValueError(f"`X` must hold a number in every row of {feature.handle}, got {cell.strip()!r}.")
    return np.nan


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator, for rows as they are in the table."""

    est: Any
    preparation: Preparation
    standardizer: Standardizer | None = None
    label: Column | None = None
    id: Column | None = None
    source: str | None = None

    @property
    def names(self) -> list[str] | None:
        names = getattr(self.est, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def kept(self) -> dict[str, Array]:
        return kept_columns(self.id, self.label, self.preparation, len(self.est.embedding_))

    def inputs(self, X: Array) -> Array:
        """The rows ``X`` of a table, prepared already, scaled as the estimator expects."""
        return X if self.standardizer is None else self.standardizer(X)


def save_model(model: Model, path: str, force: bool) -> None:
    """Write a model file. An existing file is replaced only by a complete one."""
    scaled = model.standardizer
    table = {
        "source": model.source,
        "preparation": None if model.preparation.is_plain else model.preparation.pack(),
        "standardize": None if scaled is None else {"mean": scaled.mean.tolist(), "scale": scaled.scale.tolist()},
        "label": _packed(model.label),
        "id": _packed(model.id),
    }
    changed = table["preparation"] is not None or scaled is not None
    metadata = {_KEY: table, **({"when_loaded": _WHEN_LOADED} if changed else {})}
    try:
        persistence.save(model.est, path, overwrite=force, metadata=metadata)
    except FileExistsError:
        raise exists(path) from None


def check_model_output(path: str | None, force: bool) -> None:
    if path == STANDARD:
        raise CommandError("a model is written to a file, not to standard output")
    check_output(path, force)


def load_model(path: str, hint: str = "") -> Model:
    """The model in a file, its metadata checked. ``hint`` ends the error for a table in its place."""
    try:
        est, header = persistence.read(path)
    except persistence.ModelFileError:
        if has_table_suffix(path):
            raise CommandError(f"{path}: a table by its suffix, not a model (--save-model writes one){hint}") from None
        raise
    table = header["metadata"].get(_KEY)
    if table is None:  # saved from Python
        return Model(est, _plain(est))
    try:
        return _unpack(est, table)
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{path}: the description of its table is not valid ({error})") from None


def load_pipeline(path: str | os.PathLike) -> Embedding | Pipeline:
    """A model that the command line has fitted, as an estimator or pipeline of scikit-learn.

    It does to a data frame what the command line did to the training table: ``"prepare"``, a
    :class:`~elliptope.cli.models.TablePreparation`, chooses columns and fills in missing values, and
    ``"standardize"``, a ``StandardScaler``, has the means and scales of the training rows. A step that would change nothing
    is left out.
    :func:`elliptope.load` returns the estimator alone, which expects rows that are prepared and scaled already.
    """
    model = load_model(os.fspath(path))
    steps: list[tuple[str, Any]] = []
    if not model.preparation.is_plain:
        steps.append(("prepare", TablePreparation(model.preparation)))
    if model.standardizer is not None:
        steps.append(("standardize", _scaler(model, named=not steps)))
    if not steps:
        return model.est
    if model.names is not None:  # the first step gets them; its output, an array, has none
        del model.est.feature_names_in_
    return Pipeline([*steps, ("embed", model.est)])


def _scaler(model: Model, named: bool) -> StandardScaler:
    scaler, scaled = StandardScaler(), model.standardizer
    assert scaled is not None
    scaler.mean_, scaler.scale_ = scaled.mean, scaled.scale
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(scaler.mean_)
    scaler.n_samples_seen_ = len(model.est.embedding_)
    if named and model.names is not None:
        scaler.feature_names_in_ = model.est.feature_names_in_
    return scaler


def _packed(column: Column | None) -> dict[str, Any] | None:
    """A column for JSON. If a number is not finite, all values become text."""
    if column is None:
        return None
    values = column.values.tolist()
    if not all(isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)) for value in values):
        values = [str(value) for value in values]
    return {"name": column.name, "values": values}


def _unpack(est: Any, table: Any) -> Model:
    n, p = len(est.embedding_), est.n_features_in_
    scaled = table["standardize"]
    standardizer = None
    if scaled is not None:
        standardizer = Standardizer(_vector(scaled["mean"], p), _vector(scaled["scale"], p))
        if not (standardizer.scale > 0).all():
            raise ValueError("a scale is not positive")
    source = table["source"]
    if not isinstance(source, str | None):
        raise TypeError("its source is not a name")
    stored = table.get("preparation")
    preparation = _plain(est) if stored is None else Preparation.unpack(stored)
    if len(preparation.features) != p:
        raise ValueError(f"its columns must become {p} features")
    return Model(est, preparation, standardizer, _column(table["label"], n), _column(table["id"], n), source)


def _plain(est: Any) -> Preparation:
    names = getattr(est, "feature_names_in_", None)
    return Preparation.plain(None if names is None else [str(name) for name in names], est.n_features_in_)


def _vector(values: Any, length: int) -> Array:
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (length,) or not np.isfinite(vector).all():
        raise ValueError(f"mean and scale must have {length} finite entries")
    return vector


def _column(stored: Any, n: int) -> Column | None:
    if stored is None:
        return None
    name, values = stored["name"], stored["values"]
    text = all(isinstance(value, str) for value in values)
    if not isinstance(name, str) or len(values) != n or not (text or all(isinstance(v, int | float) for v in values)):
        raise ValueError(f"label and id must be {n} texts or {n} numbers with a name")
    return Column(name, np.array(values, dtype=object if text else None))
