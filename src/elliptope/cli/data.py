"""Read a table and its options into a matrix, with labels, identifiers and weights of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .columns import as_shown, as_text
from .errors import CommandError, counted
from .examination import Prepared, check_count, follow, learn
from .preparation import Options, Preparation
from .selection import Roles, Selection, resolve
from .streams import open_input, source_name
from .tables import Form, Raw, Reader, format_of, open_reader
from .tables.cells import Texts, is_number


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
        Whether line 1, which is all numbers, was read as data without an option that says so.
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
        header = "; line 1 is data (--header if it names the columns)" if self.no_header else ""
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
        used = (self.preparation.row_numbers(n)[rows] - 1).tolist()
        label, id = (None if c is None else Column(c.name, c.values[rows]) for c in (self.label, self.id))
        return replace(
            self,
            X=self.X[rows],
            label=label,
            id=id,
            weight=None if self.weight is None else self.weight[rows],
            preparation=replace(self.preparation, sample=tuple(used), n_sampled=n),
            columns={name: values[rows] for name, values in self.columns.items()},
            name_row=lambda i: self.name_row(int(rows[i])),
        )


def kept_columns(id: Column | None, label: Column | None, preparation: Preparation, n: int) -> dict[str, Array]:
    """Columns that are copied to the output, and the numbers of its ``n`` rows where some may have been left out."""
    columns = {column.name: column.values for column in (id, label) if column is not None}
    return {"row": preparation.row_numbers(n), **columns} if preparation.drop_missing or preparation.sample else columns


def read_data(
    path: str, form: Form, selection: Selection, options: Options | None = None, known: Preparation | None = None
) -> Data:
    """Read a table. ``known``: the preparation of a model, which is done to this table, too."""
    format = format_of(path, form.format)
    options = options or Options()
    with open_input(path) as stream:
        reader = open_reader(stream, source_name(path), format, form)
        roles = resolve(selection, reader, None if known is None else known.wanted)
        numbers = [*roles.features, *([] if roles.weight is None else [roles.weight])]
        raw = reader.read(numbers, [j for j in (roles.id, roles.label) if j is not None])
    if selection.missing:
        raw = _without(raw, selection.missing, reader.source)
    looks = options.first_look and not sparse.issparse(raw.X)
    columns = as_shown(reader, raw, roles.features) if looks else {}
    if sparse.issparse(raw.X):
        if known is not None:
            check_count(reader, roles, known)
        prepared = _take_sparse(reader, raw, roles, options)
    elif known is None:
        prepared = learn(reader, raw, roles, options)
    else:
        prepared = follow(reader, raw, roles, known, options)
    rows, others = prepared.rows, iter(raw.others)
    id, label = (
        None if j is None else _column(reader, j, role, next(others), rows)
        for role, j in (("id", roles.id), ("label", roles.label))
    )
    if prepared.id is not None:
        x = raw.X[:, roles.features.index(prepared.id)]
        id = _column(reader, prepared.id, "id", as_text(x, raw.texts.get(prepared.id)), rows)
        del columns[reader.title(prepared.id)]
    return Data(
        source=reader.source,
        X=prepared.X,
        label=label,
        id=id,
        weight=None if prepared.weight is None else _check_weight(reader, roles.weight, prepared),
        preparation=prepared.preparation,
        notes=[*reader.notes, *prepared.notes],
        no_header=form.header is None and reader.header is False and not reader.doubts,
        doubts=[*reader.doubts, *prepared.doubts],
        name_row=reader.row if rows is None else lambda i: reader.row(int(rows[i])),
        first_look=options.first_look,
        columns=columns if rows is None else {name: values[rows] for name, values in columns.items()},
    )


def _without(raw: Raw, missing: Sequence[str], source: str) -> Raw:
    """The columns without the cells ``missing``: the same text, or the same number."""
    if sparse.issparse(raw.X):
        raise CommandError(f"{source}: a sparse matrix has no missing values, and --missing does not apply to it")
    numbers = [float(cell) for cell in missing if is_number(cell)]
    X = np.where(np.isin(raw.X, numbers), np.nan, raw.X)
    texts = {}
    for j, (rows, cells) in raw.texts.items():
        kept = [k for k, cell in enumerate(cells) if cell not in missing]
        texts[j] = Texts(rows[kept], [cells[k] for k in kept])
    others = [
        np.array(["" if value in missing else value for value in values.tolist()], values.dtype) for values in raw.others
    ]
    return Raw(X, others, texts)


def _column(reader: Reader, j: int, role: str, values: Array, rows: Array | None) -> Column:
    return Column(reader.names[j] or role, values if rows is None else values[rows])


def _take_sparse(reader: Reader, raw: Raw, roles: Roles, options: Options) -> Prepared:
    """A sparse matrix as it is; an error for one with entries that are not finite."""
    if given := options.given():
        raise CommandError(f"{reader.source}: a sparse matrix holds numbers only, and {given[0]} does not apply to it")
    entries, p = sparse.coo_array(raw.X), len(roles.features)
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad):
        i, k, value = int(entries.row[bad[0]]), int(entries.col[bad[0]]), entries.data[bad[0]]
        j = roles.features[k] if k < p else roles.weight
        raise reader.error(f"{value} is not a finite number", i, j)
    weight = None if roles.weight is None else raw.X[:, [p]].toarray().ravel()
    return Prepared(raw.X[:, :p], weight, None, Preparation.plain(None, p), [])


def _check_weight(reader: Reader, j: int | None, prepared: Prepared) -> Array:
    w, rows = prepared.weight, prepared.rows
    assert w is not None
    assert j is not None
    if (w < 0).any():
        i = int(np.flatnonzero(w < 0)[0])
        raise reader.error(f"a weight must not be negative, got {w[i]:g}", i if rows is None else int(rows[i]), j)
    if (w > 0).sum() < 2:
        raise CommandError(f"{reader.source}: {reader.column(j)}: fewer than 2 rows have a positive weight")
    return w.copy()
