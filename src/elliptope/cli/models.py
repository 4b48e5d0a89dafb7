"""Models with the preparation and scaling of their columns, and the labels and identifiers of their rows.

These are metadata of the model file, under the key ``table``, and are checked when they are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import persistence
from .._utils.arrays import Array
from .data import Column
from .errors import CommandError
from .preparation import Preparation
from .streams import STANDARD, check_output, exists
from .tables import has_table_suffix

_KEY = "table"
_WHEN_LOADED = (
    "this is the estimator alone, whose rows were chosen, filled in or scaled before it got them; for rows as they are in a "
    "table, use the command `elliptope transform`."
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
