"""From the columns of a table to the numbers that a model takes: which are used, left out and filled in.

What was done to the training table is part of the model, and is done to other tables by `transform`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .errors import counted, plain, shown, some
from .selection import Wanted
from .tables import Texts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_FIRST = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
# Columns that a sentence lists.
_LISTED = 12


@dataclass(frozen=True)
class Feature:
    """A column of numbers of the table that the model takes.

    Attributes
    ----------
    name : str or None
    position : int
        From 0, in the table.
    fill : float or None
        What missing values become: the median. None: they are not filled in.
    n_filled : int
        Missing values in the training table that were filled in.
    """

    name: str | None
    position: int
    fill: float | None = None
    n_filled: int = 0

    @property
    def handle(self) -> str:
        """Its name in messages."""
        return plain(self.name) if self.name else f"column {self.position + 1}"

    @classmethod
    def unpack(cls, stored: Any) -> Feature:
        """A feature of a model file, checked."""
        name, position, fill, n_filled = stored
        right = (
            isinstance(name, str | None)
            and all(type(number) is int and number >= 0 for number in (position, n_filled))
            and (fill is None or (isinstance(fill, float) and math.isfinite(fill)))
        )
        if not right:
            raise ValueError(f"no column of a table: {shown(stored)}")
        return cls(name, position, fill, n_filled)

    def learn_fill(self, x: Array) -> Feature:
        """This feature, which remembers the median of its column ``x``."""
        return replace(self, fill=float(np.nanmedian(x)), n_filled=int(np.isnan(x).sum()))


@dataclass(frozen=True)
class Preparation:
    """What was done to a table.

    Attributes
    ----------
    features : tuple of Feature
        In the order of the model.
    width : int
        Columns of the table.
    left_out : tuple of (str, str)
        Columns that are not used, and what they hold.
    sample : tuple of int
        Rows of the training table, from 0, that were used, where they are a sample of ``n_sampled`` rows; else empty.
    n_sampled : int
    """

    features: tuple[Feature, ...]
    width: int
    left_out: tuple[tuple[str, str], ...] = ()
    sample: tuple[int, ...] = ()
    n_sampled: int = 0

    @classmethod
    def plain(cls, names: Sequence[str] | None, p: int) -> Preparation:
        """Columns of numbers, taken as they are."""
        return cls(tuple(Feature(names[k] if names else None, k) for k in range(p)), p)

    @property
    def is_plain(self) -> bool:
        return self == Preparation.plain(self.names, len(self.features))

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.names, [feature.position for feature in self.features], self.width)

    @property
    def names(self) -> list[str] | None:
        """Of the features, where all have one."""
        names = [feature.name for feature in self.features if feature.name is not None]
        return names if len(names) == len(self.features) else None

    @property
    def handles(self) -> list[str]:
        """Names of the features, or their places where they have none."""
        return [feature.name or feature.handle for feature in self.features]

    def row_numbers(self, n: int) -> Array:
        """Numbers in the training table, counted from 1, of the ``n`` rows that were used."""
        return np.array(self.sample) + 1 if self.sample else np.arange(1, n + 1)

    def fill_in(self, X: Array) -> None:
        """Put the medians of the training table in place of missing values."""
        for x, feature in zip(X.T, self.features, strict=True):
            if feature.fill is not None:
                x[np.isnan(x)] = feature.fill

    def sentences(self) -> list[str]:
        """What was done to the training table, for messages and the page."""
        said = []
        if self.left_out:
            columns = some([f"{plain(name)} ({what})" for name, what in self.left_out], _LISTED)
            said.append(f"{counted(len(self.left_out), 'column')} left out: {columns}.")
        if filled := [f for f in self.features if f.n_filled]:
            columns = some([f"{f.handle} ({f.n_filled} by {f.fill:.6g})" for f in filled], _LISTED)
            said.append(
                f"Missing values filled in by the median: {columns}. "
                "Rows that were filled in alike may form a group for that reason alone."
            )
        if self.sample:
            said.append(f"{len(self.sample)} of {self.n_sampled} rows used, a random sample.")
        return said

    def pack(self) -> dict[str, Any]:
        """Values that JSON can hold, for a model file."""
        return {
            "features": [[f.name, f.position, f.fill, f.n_filled] for f in self.features],
            "width": self.width,
            "left_out": [list(pair) for pair in self.left_out],
            "sample": list(self.sample),
            "n_sampled": self.n_sampled,
        }

    @classmethod
    def unpack(cls, stored: Any) -> Preparation:
        """What :meth:`pack` made; a TypeError or ValueError for anything else."""
        features = tuple(Feature.unpack(entry) for entry in stored["features"])
        left_out = tuple((name, what) for name, what in stored["left_out"])
        sample = tuple(stored["sample"])
        if not all(isinstance(text, str) for pair in left_out for text in pair):
            raise ValueError("columns that were left out must have names")
        ascending = [*sample] == sorted({*sample})
        if not ascending or not all(type(i) is int and i >= 0 for i in (stored["width"], stored["n_sampled"], *sample)):
            raise ValueError("its rows and columns must be counted from 0")
        return cls(features, stored["width"], left_out, sample, stored["n_sampled"])

    def facts(self) -> dict[str, Any]:
        """The same as plain values, for JSON; rows are counted from 1."""
        return {
            "columns_left_out": dict(self.left_out),
            "filled": {f.handle: {"by": f.fill, "cells": f.n_filled} for f in self.features if f.fill is not None},
            "rows_sampled": [i + 1 for i in self.sample],
            "summary": " ".join(self.sentences()),
        }


def missing_cells(x: Array, texts: Texts | None) -> Array:
    """Whether the cells of a column are missing."""
    bad = np.isnan(x)
    if texts is not None:
        bad[texts.rows] = False
    return bad


def _year_first(found: re.Match[str]) -> str:
    return f"{found[3]}-{found[2]:0>2}-{found[1]:0>2}"


@lru_cache(maxsize=2**16)  # dates repeat
def as_days(cell: str) -> float | None:
    """Days since 1970-01-01 of a date or time in ISO 8601, in UTC where it names no other zone; None for other texts.

    A date with points, 31.05.2024, begins with the day.
    """
    try:
        moment = datetime.fromisoformat(_DAY_FIRST.sub(_year_first, cell).replace("/", "-"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / 86_400


def as_dates(days: Array) -> Array:
    """Days since 1970-01-01 as moments of NumPy, to the second."""
    seconds = np.round(days * 86_400)
    return np.where(np.isnan(seconds), np.datetime64("NaT", "s"), np.nan_to_num(seconds).astype("M8[s]"))
