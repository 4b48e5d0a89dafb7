"""Labels of rows, and columns by which they are coloured, compared and described."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..plotting.targets import Classes, Target, Values, check_target, read_target

# Classes with a colour and a symbol of their own.
_MAX_CLASSES = 20
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


def check_labels(y: Any, labels: Any, n: int, rows: Array) -> tuple[Target | None, tuple[str, ...] | None]:
    """Classes or values of the ``rows``, and a label for each row where it is not the name of its class."""
    names: Mapping | None = None
    per_row: Array | None = None
    if isinstance(labels, Mapping):
        if y is None:
            raise ValueError(f"`labels` must hold a label for every row when `y` is not given, got {labels!r}.")
        names = labels
    elif labels is not None:
        per_row = _known(check_target("labels", labels, n)[rows])
    coloured_by = per_row if y is None else _known(check_target("y", y, n)[rows])
    if coloured_by is None:
        return None, None
    target = read_target(coloured_by, labels=names)
    limited = _limit(target)
    if per_row is not None and (y is not None or limited is not target):
        return limited, texts(per_row)
    if isinstance(target, Classes) and limited is not target:
        return limited, tuple(target.names[code] if code >= 0 else "" for code in target.codes)
    return limited, None


def read_column(values: Array) -> Target:
    """A column as classes, of which there are at most 20, or as numbers or dates. These are no classes, however few."""
    known = _known(values)
    if known.dtype.kind == "M":
        return Values((known - np.datetime64("1970-01-01")) / np.timedelta64(1, "D"), dates=True)
    try:
        return _limit(read_target(known, categorical=known.dtype.kind == "b"))
    except ValueError:  # not all are numbers
        return _limit(read_target(known, categorical=True))


def _known(values: Array) -> Array:
    """Values with empty text replaced by None."""
    if values.dtype.kind not in "OU":
        return values
    blank = np.array([isinstance(value, str) and not value.strip() for value in values.tolist()], dtype=bool)
    if not blank.any():
        return values
    known = values.astype(object)
    known[blank] = None
    return known


def texts(values: Array) -> tuple[str, ...]:
    """Every entry as text; empty where it is missing."""
    return tuple("" if value is None else str(value) for value in values.tolist())


def _limit(target: Target) -> Target:
    """At most 20 classes: the most frequent ones, and one for all others."""
    if not isinstance(target, Classes) or len(target.names) <= _MAX_CLASSES:
        return target
    counts = np.bincount(target.codes[target.codes >= 0], minlength=len(target.names))
    kept = np.sort(np.argsort(-counts, kind="stable")[: _MAX_CLASSES - 1])
    place = np.full(len(target.names) + 1, len(kept))
    place[kept], place[-1] = np.arange(len(kept)), -1  # the last entry is the one of -1, no label
    rest = len(target.names) - len(kept)
    is_other = place[:-1] == len(kept)
    number = np.where(np.append(is_other, False), np.cumsum(np.append(is_other, False)) - 1, -1)
    others = Classes(tuple(itertools.compress(target.names, is_other)), number[target.codes])
    return Classes((*(target.names[k] for k in kept), f"{rest} other classes"), place[target.codes], rest, others)
