"""Read a table and its options into a matrix, with labels, identifiers and weights of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .errors import CommandError, counted
from .selection import Roles, Selection, resolve
from .streams import open_input, source_name
from .tables import Form, Reader, format_of, open_reader


class Column(NamedTuple):
    """A column that goes to the output and is not a feature."""

    name: str
    values: Array


@dataclass(frozen=True)
class Data:
    """A table as input of a model.

    Attributes
    ----------
    source : str
        The file, as the user calls it.
    X : (n, p) array, or sparse matrix in compressed rows
        Features, finite.
    names : list of str or None
        Of the features, where all have one.
    handles : list of str
        Names or positions of the features, for messages and the command line.
    label, id : Column or None
    weight : (n,) array or None
    no_header : bool
        Whether line 1 was read as data without an option that says so.
    name_row : callable
        Where in the file row i, counted from 0, is.
    """

    source: str
    X: Any
    names: list[str] | None
    handles: list[str]
    label: Column | None
    id: Column | None
    weight: Array | None
    no_header: bool
    name_row: Callable[[int], str]

    def describe(self) -> str:
        """Number of rows and features, in a line."""
        n, p = self.X.shape
        header = "; line 1 is data (--header if it names the columns)" if self.no_header else ""
        stored = f", {self.X.nnz / (n * p):.2g} of the entries stored" if self.is_sparse else ""
        return f"{self.source}: {counted(n, 'row')}, {counted(p, 'feature')}{stored}{header}"

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def kept(self) -> dict[str, Array]:
        """Columns that are copied to the output."""
        return {column.name: column.values for column in (self.id, self.label) if column is not None}


def read_data(path: str, form: Form, selection: Selection, wanted: Sequence[str] | None = None) -> Data:
    """Read a table. ``wanted``: names of a model's features, by which columns are found where they have names."""
    format = format_of(path, form.format)
    source = source_name(path)
    with open_input(path) as stream:
        reader = open_reader(stream, source, format, form)
        roles = resolve(selection, reader, wanted)
        reader.has_label = roles.label is not None
        return _read(reader, roles, form.header is None and reader.header is False)


def _read(reader: Reader, roles: Roles, no_header: bool) -> Data:
    numbers = [*roles.features, *([] if roles.weight is None else [roles.weight])]
    others = [j for j in (roles.id, roles.label) if j is not None]
    X, kept = reader.read(numbers, others)
    reader.check_finite(X, numbers)
    columns = dict(zip(others, kept, strict=True))
    p = len(roles.features)
    names = [reader.names[j] for j in roles.features]
    weight = None if roles.weight is None else _check_weight(reader, roles.weight, _vector(X, p))
    return Data(
        source=reader.source,
        X=X[:, :p] if sparse.issparse(X) else np.ascontiguousarray(X[:, :p]),
        names=[name for name in names if name] if all(names) else None,
        handles=[reader.handle(j) for j in roles.features],
        label=None if roles.label is None else Column(reader.names[roles.label] or "label", columns[roles.label]),
        id=None if roles.id is None else Column(reader.names[roles.id] or "id", columns[roles.id]),
        weight=weight,
        no_header=no_header,
        name_row=reader.row,
    )


def _vector(X: Any, j: int) -> Array:
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


def _check_weight(reader: Reader, j: int, w: Array) -> Array:
    if (w < 0).any():
        i = int(np.flatnonzero(w < 0)[0])
        raise reader.error(f"a weight must not be negative, got {w[i]:g}", i, j)
    if (w > 0).sum() < 2:
        raise CommandError(f"{reader.source}: {reader.column(j)}: fewer than 2 rows have a positive weight")
    return w.copy()
