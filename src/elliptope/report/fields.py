"""Columns by which rows are coloured, compared and described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..plotting.targets import Target, Values, check_target
from .labels import read_column

# Columns of a page: at most so many, and bytes of all of them together.
_MAX_COLUMNS, _MAX_BYTES = 200, 16_000_000
# A number takes 4 bytes.
_BYTES = 4

# Names, which may be equal, and columns.
Fields = tuple[tuple[str, Target], ...]


def embedded_fields(points: Any, names: list[str]) -> Fields:
    """The leading columns of the rows that were embedded, as many as a page can hold."""
    values = points[:, : _room(*points.shape)]
    if sparse.issparse(values):
        values = values.toarray()
    return tuple((name, Values(column)) for name, column in zip(names, values.T, strict=False))


def given_fields(columns: Any, n: int, rows: Array) -> Fields:
    """Columns that the user gives, of n rows, at the ``rows`` that are shown: as many as a page can hold."""
    if hasattr(columns, "columns"):  # a data frame
        columns = {name: columns[name] for name in columns.columns}
    if not isinstance(columns, Mapping):
        raise TypeError(f"`columns` must be a data frame or a mapping of names to values, got {columns!r}.")
    room = _room(len(rows), len(columns))
    checked = [(str(name), check_target(f"columns[{name!r}]", values, n)[rows]) for name, values in columns.items()]
    return tuple((name, read_column(values)) for name, values in checked[:room])


def _room(n: int, p: int) -> int:
    """How many of p columns of n rows a page can hold."""
    return min(p, _MAX_COLUMNS, max(1, _MAX_BYTES // (_BYTES * n)))


def single_precision(values: Array) -> Array:
    """Numbers as the page has them; the largest ones that there are in place of larger ones."""
    most = np.finfo(np.float32).max
    return np.clip(values, -most, most).astype(np.float32)
