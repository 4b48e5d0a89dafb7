"""Labels and values by which points are coloured or ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._utils.arrays import Array

# Whole numbers of more distinct values than this are read as measurements, not as classes.
_MAX_INTEGER_CLASSES = 20


@dataclass(frozen=True)
class Classes:
    """Class names, and the class of every row: an index into ``names``, -1 where there is no label.

    Where ``rest`` is not zero, the last entry stands for that many other classes; ``others`` has their names, and of the
    rows which of them they are.
    """

    names: tuple[str, ...]
    codes: Array
    rest: int = 0
    others: Classes | None = None

    def split(self, n: int) -> tuple[Classes, Classes]:
        """The first n rows, and the others."""
        return replace(self, codes=self.codes[:n]), replace(self, codes=self.codes[n:])


@dataclass(frozen=True)
class Values:
    """A number for every row, NaN where there is none. ``dates``: days since 1970-01-01."""

    values: Array
    dates: bool = False

    def split(self, n: int) -> tuple[Values, Values]:
        return replace(self, values=self.values[:n]), replace(self, values=self.values[n:])


Target = Classes | Values


def check_target(name: str, y: Any, n: int) -> Array:
    """``y`` as an array with an entry per row, None for missing values."""
    values = np.asarray(y)
    if values.shape != (n,):
        raise ValueError(f"`{name}` must have one entry per row, shape ({n},), got shape {values.shape}.")
    if values.dtype == object:
        values = np.array([None if _is_missing(value) else value for value in values.tolist()], dtype=object)
    return values


def read_target(y: Array, categorical: bool | None = None, labels: Mapping | None = None) -> Target:
    """``y`` as classes or values: as ``categorical`` says, or by its contents.

    Text, truth values and at most 20 distinct whole numbers are classes. ``labels`` names classes, which come first, in its
    order.
    """
    number = _as_numbers(y)
    if categorical is None:
        categorical = labels is not None or number is None or y.dtype.kind == "b" or _few_integers(number)
    if not categorical:
        if number is None:
            raise ValueError(f"`y` must be numeric for `categorical`=False, got entries such as {y.tolist()[0]!r}.")
        return Values(number)
    missing = np.array([_is_missing(value) for value in y.tolist()], dtype=bool)
    present = _sorted(set(y[~missing].tolist()))
    labels = {} if labels is None else labels
    ordered = [value for value in labels if value in present] + [value for value in present if value not in labels]
    place = {value: k for k, value in enumerate(ordered)}
    codes = np.array([-1 if gone else place[value] for value, gone in zip(y.tolist(), missing, strict=True)], dtype=np.int64)
    return Classes(tuple(str(labels.get(value, _text(value))) for value in ordered), codes)


def stack_targets(y: Array | None, new_y: Array | None, n: int, m: int) -> Array | None:
    """y for n rows followed by new_y for m rows; entries that are not given are missing."""
    if y is None and new_y is None:
        return None
    if y is not None and m == 0:
        return y
    parts = [np.full(size, None) if part is None else part.astype(object) for part, size in ((y, n), (new_y, m))]
    return np.concatenate(parts)


def _as_numbers(y: Array) -> Array | None:
    """``y`` in double precision; None where an entry is not a number. Text is never a number here."""
    if y.dtype.kind in "US" or any(isinstance(value, str | bytes) for value in (y.tolist() if y.dtype == object else ())):
        return None
    try:
        number = y.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return number


def _few_integers(number: Array) -> bool:
    known = number[np.isfinite(number)]
    return bool((known == np.round(known)).all()) and len(np.unique(known)) <= _MAX_INTEGER_CLASSES


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # the missing value of pandas has no truth value
        return True


def _sorted(values: set) -> list:
    try:
        return sorted(values)
    except TypeError:  # numbers beside text
        return sorted(values, key=str)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
