"""The contract of all readers of tables, and names for places in a table.

Rows and columns are counted from 1 in everything that users see.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set

import numpy as np

from ..._utils.arrays import Array
from ..errors import TableError, shown

# Names that need no quotes and fit into a line.
_PLAIN = re.compile(r"[\w.][\w.-]{0,39}")


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
    has_label : bool
        Whether a column has been chosen as the label.
    unread : list of str
        Names of columns that cannot be read.
    index : set of int
        Columns that name or number the rows, and are no features unless chosen.
    """

    source: str
    names: list[str | None]
    header: bool | None = None
    has_label: bool = False
    unread: Sequence[str] = ()
    index: Set[int] = frozenset()

    @property
    def default(self) -> list[int]:
        return list(range(len(self.names)))

    @abstractmethod
    def read(self, numbers: Sequence[int], others: Sequence[int]) -> tuple[Array, list[Array]]:
        """The columns ``numbers`` as a float64 matrix, not necessarily finite, and the columns ``others`` as they are."""

    def row(self, i: int) -> str:
        """Name of row ``i`` (from 0) in messages."""
        return f"row {i + 1}"

    def column(self, j: int) -> str:
        """Name of column ``j`` (from 0) in messages."""
        name = self.names[j]
        return f"column {j + 1} ({shown(name)})" if name else f"column {j + 1}"

    def handle(self, j: int) -> str:
        """Column ``j`` on the command line: its name, or its position if the name would need quotes."""
        name = self.names[j]
        return name if name and _PLAIN.fullmatch(name) else str(j + 1)

    def unnamed(self, j: int) -> str:
        """Why column ``j`` may have no name, in a format that has names."""
        return "row numbers, written by another program?"

    def error(self, problem: str, i: int | None = None, j: int | None = None) -> TableError:
        places = [] if i is None else [self.row(i)]
        places += [] if j is None else [self.column(j)]
        return TableError(self.source, problem, ", ".join(places))

    def check_finite(self, X: Array, columns: Sequence[int]) -> None:
        """Raise for the first value, row by row, that is missing or infinite."""
        bad = ~np.isfinite(X)
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            problem = "a value is missing (NaN)" if np.isnan(X[i, j]) else f"{X[i, j]} is not a finite number"
            count = int(bad.any(axis=1).sum())
            more = f"; {count} rows have such values" if count > 1 else ""
            raise self.error(f"{problem}{more}; {self.cure(columns[j])}", i, columns[j])

    def not_numbers(self, j: int, kind: str) -> TableError:
        return self.error(f"{kind} where numbers are expected; {self.remedy(j)}", j=j)

    def remedy(self, j: int) -> str:
        """What to do about a column without numbers."""
        name = self.handle(j)
        keep = "" if self.has_label else f", or keep it with --label {name}"
        return f"leave the column out with --drop {name}{keep}"

    def cure(self, j: int) -> str:
        """What to do about missing values."""
        return f"fill it in, take such rows out of the table, or leave the column out with --drop {self.handle(j)}"
