"""From the columns of a table to the numbers that a model takes: which are used, left out, encoded and filled in.

What was done to the training table is part of the model, and is done to other tables by `transform`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .errors import counted, plain, shown
from .selection import Wanted
from .tables.cells import Texts

# Text with more values than this is left out with --one-hot, too: names and identifiers, hardly groups of rows.
MOST_VALUES = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_FIRST = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
_NO_TEXTS = Texts(np.empty(0, dtype=np.int64), [])
# Columns that a sentence lists.
_LISTED = 12


@dataclass(frozen=True)
class Options:
    """What to do with columns that are not numbers, and with missing values.

    ``first_look``: what `report` does to a table where no option says otherwise. Missing values are filled in; columns that
    are mostly missing, count or name the rows, or have text among their numbers, are left out.
    """

    numeric_only: bool = False
    one_hot: bool = False
    dates: bool = False
    drop_missing: bool = False
    impute: str | None = None
    first_look: bool = False

    def given(self) -> list[str]:
        """The options as they are on the command line."""
        names = [field.name for field in fields(self) if field.name != "first_look" and getattr(self, field.name)]
        return [f"--{name.replace('_', '-')}" for name in names]


@dataclass(frozen=True)
class Feature:
    """A column of the table that the model takes.

    Attributes
    ----------
    name : str or None
    position : int
        From 0, in the table.
    kind : {"number", "date", "text"}
        A date becomes a number of days since 1970; a text columns of 0 and 1, one for every value.
    values : tuple of str
        Of a text.
    fill : float, str or None
        What missing values become: the median, or the most frequent text. None: they are not filled in.
    n_filled : int
        Missing values in the training table that were filled in.
    """

    name: str | None
    position: int
    kind: str = "number"
    values: tuple[str, ...] = ()
    fill: float | str | None = None
    n_filled: int = 0

    @property
    def handle(self) -> str:
        """Its name in messages."""
        return plain(self.name) if self.name else f"column {self.position + 1}"

    @property
    def shown_fill(self) -> str:
        if isinstance(self.fill, str):
            return plain(self.fill)
        assert self.fill is not None
        return str(as_dates(np.array(self.fill)).astype("M8[D]")) if self.kind == "date" else f"{self.fill:.6g}"

    @property
    def outputs(self) -> list[str] | None:
        """Names of the columns that it becomes, if it has a name."""
        if self.name is None:
            return None
        return [f"{self.name}={value}" for value in self.values] if self.kind == "text" else [self.name]

    def encode(self, x: Array, texts: Texts | None) -> Array:
        """A matrix with one column, or one for every value of a text; NaN in the rows where the cell is missing."""
        rows, cells = texts or _NO_TEXTS
        if self.kind == "number":
            return x[:, None]
        if self.kind == "date":
            days = x.copy()
            days[rows] = [as_days(cell) for cell in cells]
            return days[:, None]
        place = {value: k for k, value in enumerate(self.values)}
        Z = np.zeros((len(x), len(self.values)))
        given = np.flatnonzero(~np.isnan(x))
        for i, cell in (*zip(rows.tolist(), cells, strict=True), *((i, f"{x[i]:.15g}") for i in given.tolist())):
            if cell in place:
                Z[i, place[cell]] = 1.0
        Z[missing_cells(x, texts)] = np.nan
        return Z

    def unseen(self, x: Array, texts: Texts | None) -> list[str]:
        """Values of a text that the training table did not have: all its columns are 0 there."""
        found = {*(texts or _NO_TEXTS).cells, *(f"{value:.15g}" for value in x[~np.isnan(x)].tolist())}
        return sorted(found - {*self.values}) if self.kind == "text" else []

    @classmethod
    def unpack(cls, stored: Any) -> Feature:
        """A feature of a model file, checked."""
        name, position, kind, values, fill, n_filled = stored
        text = kind == "text"
        right = (
            isinstance(name, str | None)
            and all(type(number) is int and number >= 0 for number in (position, n_filled))
            and kind in ("number", "date", "text")
            and all(isinstance(value, str) for value in values)
            and bool(values) == text
            and (fill is None or (fill in values if text else isinstance(fill, float) and math.isfinite(fill)))
        )
        if not right:
            raise ValueError(f"no column of a table: {shown(stored)}")
        return cls(name, position, kind, tuple(values), fill, n_filled)

    def learn_fill(self, Z: Array) -> Feature:
        """This feature, which remembers the median of its encoded column ``Z``, or its most frequent value."""
        bad = np.isnan(Z[:, 0])
        fill = self.values[int(np.nansum(Z, axis=0).argmax())] if self.kind == "text" else float(np.nanmedian(Z[:, 0]))
        return replace(self, fill=fill, n_filled=int(bad.sum()))

    def fill_in(self, Z: Array) -> None:
        """Put ``fill`` in place of missing values of the encoded column ``Z``."""
        if self.fill is None:
            return
        bad = np.isnan(Z[:, 0])
        Z[bad] = [value == self.fill for value in self.values] if self.kind == "text" else self.fill


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
    drop_missing : bool
        Whether rows with missing values are left out.
    dropped : tuple of int
        Rows of the training table, from 0, that were left out for missing values.
    sample : tuple of int
        Rows of the training table, from 0, that were used, where they are a sample of ``n_sampled`` rows; else empty.
    n_sampled : int
    """

    features: tuple[Feature, ...]
    width: int
    left_out: tuple[tuple[str, str], ...] = ()
    drop_missing: bool = False
    dropped: tuple[int, ...] = ()
    sample: tuple[int, ...] = ()
    n_sampled: int = 0

    @classmethod
    def plain(cls, names: Sequence[str] | None, p: int) -> Preparation:
        """Columns of numbers, taken as they are."""
        return cls(tuple(Feature(names[k] if names else None, k) for k in range(p)), p)

    @property
    def is_plain(self) -> bool:
        return self == Preparation.plain(self.wanted.names, len(self.features))

    @property
    def wanted(self) -> Wanted:
        names = [feature.name for feature in self.features if feature.name is not None]
        positions = [feature.position for feature in self.features]
        return Wanted(names if len(names) == len(self.features) else None, positions, self.width)

    @property
    def names(self) -> list[str] | None:
        """Of the columns that the estimator is given, where all have one."""
        found = [feature.outputs for feature in self.features]
        return None if None in found else [name for names in found for name in names or ()]

    @property
    def handles(self) -> list[str]:
        """Names of the columns that the estimator is given, in messages."""
        found = [(f.outputs or [f.handle] * max(1, len(f.values))) for f in self.features]
        return [name for names in found for name in names]

    @property
    def spans(self) -> list[slice]:
        """The columns that the estimator is given for every feature."""
        ends = np.cumsum([len(feature.values) or 1 for feature in self.features]).tolist()
        return [slice(low, high) for low, high in zip([0, *ends[:-1]], ends, strict=True)]

    def row_numbers(self, n: int) -> Array:
        """Numbers in the training table, counted from 1, of the ``n`` rows that were used."""
        if self.sample:
            return np.array(self.sample) + 1
        return np.delete(np.arange(1, n + len(self.dropped) + 1), self.dropped)

    def encode(self, X: Array, texts: dict[int, Texts], columns: Sequence[int], places: Sequence[int]) -> Array:
        """The columns ``columns`` of a table as the estimator takes them, but for missing values.

        Their numbers are the columns ``places`` of ``X``, which is not copied where it can be used as it is.
        """
        if all(feature.kind == "number" for feature in self.features):
            p = len(places)
            return X[:, :p] if list(places) == list(range(p)) else X[:, places]
        triples = zip(self.features, columns, places, strict=True)
        return np.hstack([feature.encode(X[:, k], texts.get(j)) for feature, j, k in triples])

    def fill_in(self, Z: Array) -> None:
        for feature, span in zip(self.features, self.spans, strict=True):
            feature.fill_in(Z[:, span])

    def sentences(self) -> list[str]:
        """What was done to the training table, for messages and the page."""
        said = []
        if self.left_out:
            columns = _some(f"{plain(name)} ({what})" for name, what in self.left_out)
            said.append(f"{counted(len(self.left_out), 'column')} left out: {columns}.")
        if texts := [f"{f.handle} ({len(f.values)})" for f in self.features if f.kind == "text"]:
            said.append(f"Text as columns of 0 and 1, one for every value: {_some(texts)}.")
        if dates := [f.handle for f in self.features if f.kind == "date"]:
            said.append(f"Dates as days since 1970-01-01: {_some(dates)}.")
        if self.dropped:
            said.append(f"{counted(len(self.dropped), 'row')} with missing values left out.")
        if filled := [f for f in self.features if f.n_filled]:
            columns = _some(f"{f.handle} ({f.n_filled} by {f.shown_fill})" for f in filled)
            said.append(
                f"Missing values filled in by the median, or the most frequent text: {columns}. "
                "Rows that were filled in alike may form a group for that reason alone."
            )
        if self.sample:
            said.append(f"{len(self.sample)} of {self.n_sampled} rows used, a random sample.")
        return said

    def pack(self) -> dict[str, Any]:
        """Values that JSON can hold, for a model file."""
        return {
            "features": [[f.name, f.position, f.kind, list(f.values), f.fill, f.n_filled] for f in self.features],
            "width": self.width,
            "left_out": [list(pair) for pair in self.left_out],
            "drop_missing": self.drop_missing,
            "dropped": list(self.dropped),
            "sample": list(self.sample),
            "n_sampled": self.n_sampled,
        }

    @classmethod
    def unpack(cls, stored: Any) -> Preparation:
        """What :meth:`pack` made; a TypeError or ValueError for anything else."""
        features = tuple(Feature.unpack(entry) for entry in stored["features"])
        left_out = tuple((name, what) for name, what in stored["left_out"])
        dropped, sample = tuple(stored["dropped"]), tuple(stored["sample"])
        if not all(isinstance(text, str) for pair in left_out for text in pair):
            raise ValueError("columns that were left out must have names")
        counts = (stored["width"], stored["n_sampled"], *dropped, *sample)
        ascending = all([*rows] == sorted({*rows}) for rows in (dropped, sample))
        if not ascending or not all(type(i) is int and i >= 0 for i in counts):
            raise ValueError("its rows and columns must be counted from 0")
        return cls(features, stored["width"], left_out, bool(stored["drop_missing"]), dropped, sample, stored["n_sampled"])

    def facts(self) -> dict[str, Any]:
        """The same as plain values, for JSON; rows are counted from 1."""
        return {
            "columns_left_out": dict(self.left_out),
            "one_hot": {f.handle: list(f.values) for f in self.features if f.kind == "text"},
            "dates": [f.handle for f in self.features if f.kind == "date"],
            "filled": {f.handle: {"by": f.fill, "cells": f.n_filled} for f in self.features if f.fill is not None},
            "rows_left_out": [i + 1 for i in self.dropped],
            "rows_sampled": [i + 1 for i in self.sample],
            "summary": " ".join(self.sentences()),
        }


def missing_cells(x: Array, texts: Texts | None) -> Array:
    """Whether the cells of a column are missing."""
    bad = np.isnan(x)
    bad[(texts or _NO_TEXTS).rows] = False
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


def _some(names: Any) -> str:
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
