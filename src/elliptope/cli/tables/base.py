"""The contract of all readers of tables, names for places in a table, and cells: missing ones, numbers and text.

Rows and columns are counted from 1 in everything that users see.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._utils.arrays import Array
from ..errors import TableError, shown

# Names that need no quotes and fit into a line.
_PLAIN = re.compile(r"[\w.][\w.-]{0,39}")


_MISSING = {"", "na", "n/a", "nan", "nat", "null", "none", "<na>", "?", "-", ".", ".."}
_TRUTH = {"true": 1.0, "false": 0.0}


class Texts(NamedTuple):
    """The cells of a column that are neither numbers nor missing: their rows, from 0 and ascending, and what they say."""

    rows: Array
    cells: list[str]


class Raw(NamedTuple):
    """Columns as they were read.

    Attributes
    ----------
    X : (n, p) array of float64, or sparse matrix in compressed rows
        NaN where a cell is missing or text.
    others : list of (n,) arrays
        Columns that were not read as numbers.
    texts : dict of int to Texts
        The cells that are text, by the position of their column, where a column has any.
    """

    X: Any
    others: list[Array]
    texts: dict[int, Texts]


class Reader(ABC):
    """A table whose columns are known and whose rows are still to be read.

    Attributes
    ----------
    source : str
        The file, as the user calls it.
    names : list of str or None
        One per column: None where the format has no names, ``""`` where a name is missing.
    default : list of int
        The columns that are features by default.
    header : bool or None
        Whether names were found in the first line; None for formats that have no such line.
    doubts : list of str
        What was understood in one way and may be meant in another, such as a first line that may be names or data.
    notes : list of str
        What else was found out about the file, in part while it is read.
    unread : list of str
        Names of columns that cannot be read.
    index : set of int
        Columns that name or number the rows, and are no features unless chosen.
    """

    source: str
    names: list[str | None]
    notes: Sequence[str] = ()
    header: bool | None = None
    doubts: Sequence[str] = ()
    unread: Sequence[str] = ()
    index: Set[int] = frozenset()

    @property
    def default(self) -> list[int]:
        return list(range(len(self.names)))

    @cached_property
    def repeated(self) -> list[str]:
        """Names that several columns have."""
        return [name for name, count in Counter(self.names).items() if name and count > 1]

    @abstractmethod
    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        """The columns ``numbers`` as float64, and the columns ``others`` as they are."""

    def hint(self, cell: str) -> str | None:
        """What to do about a text that looks like a number written in another way; None for other texts."""
        return None

    def row(self, i: int) -> str:
        """Name of row ``i`` (from 0) in messages."""
        return f"row {i + 1}"

    def column(self, j: int) -> str:
        """Name of column ``j`` (from 0) in messages."""
        name = self.names[j]
        return f"column {j + 1} ({shown(name)})" if name else f"column {j + 1}"

    def title(self, j: int) -> str:
        """Name of column ``j`` that no other column has, for pages and lists."""
        name = self.names[j]
        if not name:
            return f"column {j + 1}"
        return f"{name} (column {j + 1})" if name in self.repeated else name

    def handle(self, j: int) -> str:
        """Column ``j`` on the command line: its name, or its position if the name needs quotes or is another's, too."""
        name = self.names[j]
        return name if name and _PLAIN.fullmatch(name) and name not in self.repeated else str(j + 1)

    def unnamed(self, j: int) -> str:
        """Why column ``j`` may have no name, in a format that has names."""
        return "row numbers, written by another program?"

    def error(self, problem: str, i: int | None = None, j: int | None = None) -> TableError:
        places = [] if i is None else [self.row(i)]
        places += [] if j is None else [self.column(j)]
        return TableError(self.source, problem, ", ".join(places))


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number; in a table it is a name


def truth(cell: str) -> float | None:
    """1 for true, 0 for false, None for anything else."""
    return _TRUTH.get(cell.strip().lower())


def texts_of(cells: Iterable[str]) -> Texts:
    """The cells, of a column of text, that are not missing."""
    given = [(i, cell.strip()) for i, cell in enumerate(cells) if not is_missing(cell)]
    return Texts(np.array([i for i, _ in given], dtype=np.int64), [cell for _, cell in given])
