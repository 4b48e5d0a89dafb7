"""Read a table and its options into a matrix, with labels, identifiers and weights of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .columns import as_shown, as_text
from .errors import CommandError, counted
from .examination import Prepared, check_count, follow, learn
from .preparation import Preparation
from .selection import Roles, Selection, resolve
from .streams import open_input, source_name
from .tables import Raw, Reader, format_of, open_reader


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
    label, id : Column or None
    weight : (n,) array or None
    preparation : Preparation
        What was done to the table.
    notes : list of str
        What else users should know about its columns.
    no_header : bool
        Whether line 1, which is all numbers, was read as data.
    doubts : list of str
        What was understood in one way and may be meant in another.
    name_row : callable
        Where in the file row i, counted from 0, is.
    first_look : bool
        Whether choices that no option has made were made here.
    columns : dict of str to (n,) array
        Columns as a page shows them, used or not, in a first look; else empty.
    """

    source: str
    X: Any
    label: Column | None
    id: Column | None
    weight: Array | None
    preparation: Preparation
    notes: list[str]
    no_header: bool
    doubts: list[str]
    name_row: Callable[[int], str]
    first_look: bool
    columns: dict[str, Array]

    def describe(self) -> str:
        """Number of rows and features, in a line."""
        n, p = self.X.shape
        header = "; line 1 is data, for its cells are numbers" if self.no_header else ""
        stored = f", {self.X.nnz / (n * p):.2g} of the entries stored" if self.is_sparse else ""
        return f"{self.source}: {counted(n, 'row')}, {counted(p, 'feature')}{stored}{header}"

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def kept(self) -> dict[str, Array]:
        return kept_columns(self.id, self.label, self.preparation, self.X.shape[0])

    def sampled(self, count: int, seed: int) -> Data:
        """At most ``count`` rows, chosen at random."""
        n = self.X.shape[0]
        if n <= count:
            return self
        rows = np.sort(np.random.default_rng(seed).choice(n, count, replace=False))
        label, id = (None if c is None else Column(c.name, c.values[rows]) for c in (self.label, self.id))
        return replace(
            self,
            X=self.X[rows],
            label=label,
            id=id,
            weight=None if self.weight is None else self.weight[rows],
            preparation=replace(self.preparation, sample=tuple(rows.tolist()), n_sampled=n),
            columns={name: values[rows] for name, values in self.columns.items()},
            name_row=lambda i: self.name_row(int(rows[i])),
        )


def kept_columns(id: Column | None, label: Column | None, preparation: Preparation, n: int) -> dict[str, Array]:
    """Columns that are copied to the output, and the numbers of its ``n`` rows where they are a sample."""
    columns = {column.name: column.values for column in (id, label) if column is not None}
    return {"row": preparation.row_numbers(n), **columns} if preparation.sample else columns


def read_data(path: str, selection: Selection, *, first_look: bool = False, known: Preparation | None = None) -> Data:
    """Read a table. ``known``: the preparation of a model, which is done to this table, too."""
    format = format_of(path)
    with open_input(path) as stream:
        reader = open_reader(stream, source_name(path), format)
        roles = resolve(selection, reader, None if known is None else known.wanted)
        numbers = [*roles.features, *([] if roles.weight is None else [roles.weight])]
        raw = reader.read(numbers, [j for j in (roles.id, roles.label) if j is not None])
    looks = first_look and not sparse.issparse(raw.X)
    columns = as_shown(reader, raw, roles.features) if looks else {}
    if sparse.issparse(raw.X):
        if known is not None:
            check_count(reader, roles, known)
        prepared = _take_sparse(reader, raw, roles)
    elif known is None:
        prepared = learn(reader, raw, roles, first_look)
    else:
        prepared = follow(reader, raw, roles, known)
    others = iter(raw.others)
    id, label = (
        None if j is None else Column(reader.names[j] or role, next(others))
        for role, j in (("id", roles.id), ("label", roles.label))
    )
    if prepared.id is not None:
        x = raw.X[:, roles.features.index(prepared.id)]
        id = Column(reader.names[prepared.id] or "id", as_text(x, raw.texts.get(prepared.id)))
        del columns[reader.title(prepared.id)]
    return Data(
        source=reader.source,
        X=prepared.X,
        label=label,
        id=id,
        weight=None if prepared.weight is None else _check_weight(reader, roles.weight, prepared.weight),
        preparation=prepared.preparation,
        notes=[*reader.notes, *prepared.notes],
        no_header=reader.header is False and not reader.doubts,
        doubts=[*reader.doubts, *prepared.doubts],
        name_row=reader.row,
        first_look=first_look,
        columns=columns,
    )


def _take_sparse(reader: Reader, raw: Raw, roles: Roles) -> Prepared:
    """A sparse matrix as it is; an error for one with entries that are not finite."""
    entries, p = sparse.coo_array(raw.X), len(roles.features)
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad):
        i, k, value = int(entries.row[bad[0]]), int(entries.col[bad[0]]), entries.data[bad[0]]
        j = roles.features[k] if k < p else roles.weight
        raise reader.error(f"{value} is not a finite number", i, j)
    weight = None if roles.weight is None else raw.X[:, [p]].toarray().ravel()
    return Prepared(raw.X[:, :p], weight, Preparation.plain(None, p), [])


def _check_weight(reader: Reader, j: int | None, w: Array) -> Array:
    assert j is not None
    if (w < 0).any():
        i = int(np.flatnonzero(w < 0)[0])
        raise reader.error(f"a weight must not be negative, got {w[i]:g}", i, j)
    if (w > 0).sum() < 2:
        raise CommandError(f"{reader.source}: {reader.column(j)}: fewer than 2 rows have a positive weight")
    return w.copy()
