"""Look at the columns of a table: what each of them holds, how it is used, and what is wrong with those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._utils.arrays import Array
from .columns import (
    COUNTS_ROWS,
    NAMES_ROWS,
    NAMES_THINGS,
    as_numbers,
    counts_rows,
    doubts_of,
    kind_of,
    mostly_missing,
    names_something,
    row_names,
)
from .errors import CommandError, counted, listing, shown
from .preparation import Feature, Preparation, missing_cells
from .selection import Roles, check_names
from .tables import Raw, Reader, Texts

# Columns that an error has a line on before it, and those that it repeats for --drop.
_MOST_LINES, _MOST_NAMED = 40, 12
# Kinds of problems, and what helps.
_CURES = {
    "mixed": "correct or empty these cells",
    "text": "pandas.get_dummies makes columns of 0 and 1 of text",
    "dates": "pandas.to_datetime makes numbers of dates",
}


class Problem(NamedTuple):
    """Why a column cannot be used: ``kind`` is a key of what helps, or another word."""

    column: int
    kind: str
    text: str


class Prepared(NamedTuple):
    """Numbers for the estimator, and weights.

    ``id`` is the column that a first look has found to name the rows, ``doubts`` are warnings on what the table holds.
    """

    X: Array
    weight: Array | None
    preparation: Preparation
    notes: list[str]
    id: int | None = None
    doubts: Sequence[str] = ()


def learn(reader: Reader, raw: Raw, roles: Roles, first_look: bool) -> Prepared:
    """Decide how the columns of a training table are used, and use them.

    ``first_look``: as `report` does. Missing values are filled in; columns that are mostly missing, count or name the rows,
    or have text among their numbers, are left out where no option has chosen them.
    """
    features, columns, left_out, problems = [], [], [], []
    unnamed = roles.id if roles.names_rows and counts_rows(as_numbers(raw.others[0])) else None
    looks = first_look and not roles.chosen and roles.id == unnamed
    id = row_names(reader, raw, roles.features) if looks else None
    if id is not None and unnamed is not None:
        left_out.append((reader.title(unnamed), COUNTS_ROWS))
        roles = replace(roles, id=None, names_rows=False)
    for k, j in enumerate(roles.features):
        found = NAMES_ROWS if j == id else _decide(reader, j, raw.X[:, k], raw.texts.get(j), roles.chosen, first_look)
        if isinstance(found, Problem):
            problems.append(found)
        elif isinstance(found, Feature):
            features.append(found)
            columns.append(j)
        else:
            left_out.append((reader.title(j), found))
    check_names(reader, roles, [*columns, *(problem.column for problem in problems)])
    if not columns and not problems:
        held = listing([f"{name}: {what}" for name, what in left_out])
        raise CommandError(f"{reader.source}: no column of numbers ({held}); {_CURES['text']}")
    preparation = Preparation(tuple(features), len(reader.names), tuple(left_out))
    prepared = _use(reader, raw, roles, preparation, columns, problems, fills=first_look)
    notes, doubts = _asides(reader, roles, prepared), doubts_of(reader, raw, roles, columns)
    return prepared._replace(notes=notes, id=id, doubts=doubts)


def follow(reader: Reader, raw: Raw, roles: Roles, preparation: Preparation) -> Prepared:
    """Use the columns of another table as those of the training table were."""
    check_count(reader, roles, preparation)
    check_names(reader, roles, roles.features)
    problems, notes = [], []
    for k, (feature, j) in enumerate(zip(preparation.features, roles.features, strict=True)):
        x, texts = raw.X[:, k], raw.texts.get(j)
        if problem := _unlike_before(reader, j, x, texts):
            problems.append(problem)
        if feature.fill is not None and (missing := int(missing_cells(x, texts).sum())):
            filled = f"{counted(missing, 'missing value')} filled in by {feature.fill:.6g}, as in training"
            notes.append(f"{reader.column(j)}: {filled}")
    preparation = replace(preparation, sample=())
    return _use(reader, raw, roles, preparation, roles.features, problems, training=False)._replace(notes=notes)


def check_count(reader: Reader, roles: Roles, preparation: Preparation) -> None:
    """Raise if a table has not as many features as the model."""
    p, got = len(preparation.features), len(roles.features)
    if got != p:
        names = preparation.wanted.names
        wanted = f" ({listing(names)})" if names else ""
        given = {"label": roles.label, "id": None if roles.names_rows else roles.id, "weight": roles.weight}
        used = [f"--{role} takes {reader.column(j)}" for role, j in given.items() if j is not None]
        advice = f"; {', '.join(used)}, and the model needs all its columns" if used else ""
        message = f"{counted(got, 'column')}, but the model takes {p}{wanted}{advice}; choose with --columns or --drop"
        raise CommandError(f"{reader.source}: {message}")


def _decide(
    reader: Reader, j: int, x: Array, texts: Texts | None, chosen: bool, first_look: bool
) -> Feature | Problem | str:
    """How column ``j`` is used: a feature, a problem, or, where it is left out, what it holds."""
    kind, what = kind_of(reader, x, texts)
    by_itself = first_look and not chosen
    if by_itself and (why := _not_embedded(reader.names[j], x, texts, kind)):
        return why
    if kind == "numbers":
        return _check_finite(reader, j, x) or Feature(reader.names[j], j)
    where = _where_text(reader, texts, what)
    if kind == "mixed" and by_itself and texts is not None and not reader.hint(texts.cells[0]):
        return where
    return Problem(j, kind, where) if chosen or kind == "mixed" else what


def _not_embedded(name: str | None, x: Array, texts: Texts | None, kind: str) -> str | None:
    """Why a first look leaves out a column that could be used."""
    if kind == "numbers" and counts_rows(x):
        return COUNTS_ROWS
    if kind == "numbers" and names_something(name, x):
        return NAMES_THINGS
    return None if kind == "empty" else mostly_missing(x, texts)


def _where_text(reader: Reader, texts: Texts | None, what: str) -> str:
    if texts is None or not len(texts.rows):
        return what
    hint = reader.hint(texts.cells[0])
    first = f"the first {shown(texts.cells[0])} in {reader.row(int(texts.rows[0]))}"
    return f"{what}, {first}{f' ({hint})' if hint else ''}"


def _check_finite(reader: Reader, j: int, x: Array) -> Problem | None:
    bad = np.flatnonzero(np.isinf(x))
    if not len(bad):
        return None
    return Problem(j, "infinite", f"{counted(len(bad), 'infinite number')}, the first in {reader.row(int(bad[0]))}")


def _unlike_before(reader: Reader, j: int, x: Array, texts: Texts | None) -> Problem | None:
    """The problem with a column that does not hold numbers, as it did in the training table."""
    if texts is not None and len(texts.rows):
        return Problem(j, "changed", _where_text(reader, texts, f"{counted(len(texts.rows), 'cell')} of text, not numbers"))
    return _check_finite(reader, j, x)


def _use(
    reader: Reader,
    raw: Raw,
    roles: Roles,
    preparation: Preparation,
    columns: Sequence[int],
    problems: list[Problem],
    *,
    fills: bool = False,
    training: bool = True,
) -> Prepared:
    """Take the columns, or raise an error that lists all problems.

    Missing values are filled in where the preparation does that, or is to learn it (``fills``).
    """
    places = [roles.features.index(j) for j in columns]
    incomplete = np.zeros(len(raw.X), dtype=bool)
    for feature, j, k in zip(preparation.features, columns, places, strict=True):
        bad = missing_cells(raw.X[:, k], raw.texts.get(j))
        if bad.any() and not fills and feature.fill is None:
            incomplete |= bad
            problems.append(Problem(j, "missing", _where_missing(reader, bad)))
    if roles.weight is not None:
        problems += _weight_problems(reader, raw, roles.weight, incomplete)
    if problems:
        raise _unusable(reader, sorted(problems), f"{counted(int(incomplete.sum()), 'row')} of {len(incomplete)}", training)
    p = len(places)
    X = np.ascontiguousarray(raw.X[:, :p] if places == list(range(p)) else raw.X[:, places])
    if fills:
        pairs = zip(preparation.features, X.T, strict=True)
        preparation = replace(preparation, features=tuple(feature.learn_fill(x) for feature, x in pairs))
    preparation.fill_in(X)
    return Prepared(X, None if roles.weight is None else raw.X[:, -1], preparation, [])


def _where_missing(reader: Reader, bad: Array) -> str:
    return f"{counted(int(bad.sum()), 'missing value')}, the first in {reader.row(int(bad.argmax()))}"


def _weight_problems(reader: Reader, raw: Raw, j: int, incomplete: Array) -> list[Problem]:
    """What is wrong with the column of weights; rows without one are added to ``incomplete``."""
    w, texts = raw.X[:, -1], raw.texts.get(j)
    if texts is not None and len(texts.rows):
        return [Problem(j, "weight", _where_text(reader, texts, f"{counted(len(texts.rows), 'cell')} of text, not weights"))]
    bad = np.isnan(w)
    if bad.any():
        incomplete |= bad
        return [Problem(j, "missing", _where_missing(reader, bad))]
    return [problem] if (problem := _check_finite(reader, j, w)) else []


def _unusable(reader: Reader, problems: Sequence[Problem], incomplete: str, training: bool) -> CommandError:
    """The error that lists all columns that cannot be used, in a line before it each if there are several."""
    kinds = {problem.kind for problem in problems}
    cures = [cure for kind, cure in _CURES.items() if kind in kinds and training]
    if "missing" in kinds:
        cures.append(f"leave out {incomplete} or fill in the cells, as table.dropna() and table.fillna(...) do in pandas")
    if training and (dropped := [reader.handle(problem.column) for problem in problems if problem.kind != "weight"]):
        named = ",".join(dropped) if len(dropped) <= _MOST_NAMED else "LIST"
        cures.append(f"--drop {named} leaves out the column{'' if len(dropped) == 1 else 's'}")
    lines = [f"{reader.column(problem.column)}: {problem.text}" for problem in problems]
    what = lines[0] if len(lines) == 1 else f"{len(lines)} columns cannot be used as they are"
    error = CommandError(f"{reader.source}: {'; '.join([what, *cures])}")
    if len(lines) > 1:
        more = [f"and {len(lines) - _MOST_LINES} more columns"] if len(lines) > _MOST_LINES else []
        error.details = [f"{reader.source}: {line}" for line in [*lines[:_MOST_LINES], *more]]
    return error


def _asides(reader: Reader, roles: Roles, prepared: Prepared) -> list[str]:
    """Notes on columns that name or count the rows."""
    notes = []
    if reader.repeated:
        notes.append(f"several columns have the name {listing(reader.repeated)}")
    if roles.names_rows and roles.id is not None:
        notes.append(f"{reader.column(roles.id)} has the names of the rows, as with --id {roles.id + 1}")
    for feature, x in zip(prepared.preparation.features, prepared.X.T, strict=True):
        if counts_rows(x):
            handle = reader.handle(feature.position)
            notes.append(f"{reader.column(feature.position)} counts the rows, and is used like any other (--id {handle}?)")
    return notes
