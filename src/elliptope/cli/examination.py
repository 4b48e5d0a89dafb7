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
    kind_of,
    mostly_missing,
    row_names,
    values_of,
)
from .doubts import doubts_of, names_something
from .errors import CommandError, counted, listing, shown
from .preparation import MOST_VALUES, Feature, Options, Preparation, as_days, missing_cells
from .selection import Roles, check_names
from .tables import Raw, Reader
from .tables.cells import Texts

# Columns that an error has a line on before it, and those that it repeats for --drop.
_MOST_LINES, _MOST_NAMED = 40, 12
# Kinds of problems, and the option that helps.
_CURES = {
    "mixed": "--numeric-only leaves out columns with text among their numbers",
    "text": "--one-hot makes columns of 0 and 1 of text",
    "dates": "--dates makes numbers of dates",
}


class Problem(NamedTuple):
    """Why a column cannot be used: ``kind`` is a key of the options that help, or "missing"."""

    column: int
    kind: str
    text: str


class Prepared(NamedTuple):
    """Numbers for the estimator, and weights, of the rows ``rows`` of the table (None: all of them).

    ``id`` is the column that a first look has found to name the rows, ``doubts`` are warnings on what the table holds.
    """

    X: Array
    weight: Array | None
    rows: Array | None
    preparation: Preparation
    notes: list[str]
    id: int | None = None
    doubts: Sequence[str] = ()


def learn(reader: Reader, raw: Raw, roles: Roles, options: Options) -> Prepared:
    """Decide how the columns of a training table are used, and use them."""
    features, columns, left_out, problems = [], [], [], []
    unnamed = roles.id if roles.names_rows and counts_rows(as_numbers(raw.others[0])) else None
    looks = options.first_look and not roles.chosen and roles.id == unnamed
    id = row_names(reader, raw, roles.features) if looks else None
    if id is not None and unnamed is not None:
        left_out.append((reader.title(unnamed), COUNTS_ROWS))
        roles = replace(roles, id=None, names_rows=False)
    for k, j in enumerate(roles.features):
        found = NAMES_ROWS if j == id else _decide(reader, j, raw.X[:, k], raw.texts.get(j), roles.chosen, options)
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
        raise CommandError(f"{reader.source}: no column of numbers ({held}); {_CURES['text']}, {_CURES['dates']}")
    preparation = Preparation(tuple(features), len(reader.names), tuple(left_out), options.drop_missing)
    prepared = _use(reader, raw, roles, preparation, columns, problems, options)
    notes, doubts = [*_asides(reader, roles, prepared), *prepared.notes], doubts_of(reader, raw, roles, columns)
    return prepared._replace(notes=notes, id=id, doubts=doubts)


def follow(reader: Reader, raw: Raw, roles: Roles, preparation: Preparation, options: Options) -> Prepared:
    """Use the columns of another table as those of the training table were."""
    check_count(reader, roles, preparation)
    check_names(reader, roles, roles.features)
    problems, notes = [], []
    for k, (feature, j) in enumerate(zip(preparation.features, roles.features, strict=True)):
        x, texts = raw.X[:, k], raw.texts.get(j)
        if problem := _unlike_before(reader, feature, j, x, texts):
            problems.append(problem)
        if unseen := feature.unseen(x, texts):
            notes.append(f"{reader.column(j)}: values that the model has not seen, {listing(unseen)}: all its columns are 0")
        if feature.fill is not None and (missing := int(missing_cells(x, texts).sum())):
            filled = f"{counted(missing, 'missing value')} filled in by {feature.shown_fill}, as in training"
            notes.append(f"{reader.column(j)}: {filled}")
    preparation = replace(preparation, drop_missing=preparation.drop_missing or options.drop_missing, dropped=(), sample=())
    prepared = _use(reader, raw, roles, preparation, roles.features, problems, options, training=False)
    return prepared._replace(notes=[*notes, *prepared.notes])


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
    reader: Reader, j: int, x: Array, texts: Texts | None, chosen: bool, options: Options
) -> Feature | Problem | str:
    """How column ``j`` is used: a feature, a problem, or, where it is left out, what it holds."""
    kind, what = kind_of(reader, x, texts)
    by_itself = options.first_look and not chosen
    if by_itself and (why := _not_embedded(reader.names[j], x, texts, kind, options)):
        return why
    if kind == "numbers":
        return _check_finite(reader, j, x) or Feature(reader.names[j], j)
    if kind == "dates" and options.dates:
        return Feature(reader.names[j], j, "date")
    if kind == "text" and options.one_hot:
        values = values_of(x, texts)
        if len(values) <= MOST_VALUES:
            return Feature(reader.names[j], j, "text", tuple(sorted(values)))
        what += f", more than the {MOST_VALUES} that --one-hot takes"
    where = _where_text(reader, texts, what)
    if kind == "mixed" and by_itself and texts is not None and not reader.hint(texts.cells[0]):
        return where
    return Problem(j, kind, where) if (chosen or kind == "mixed") and not options.numeric_only else what


def _not_embedded(name: str | None, x: Array, texts: Texts | None, kind: str, options: Options) -> str | None:
    """Why a first look leaves out a column that could be used."""
    if kind == "numbers" and counts_rows(x):
        return COUNTS_ROWS
    if kind == "numbers" and names_something(name, x):
        return NAMES_THINGS
    given = options.drop_missing or options.impute is not None
    return None if given or kind == "empty" else mostly_missing(x, texts)


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


def _unlike_before(reader: Reader, feature: Feature, j: int, x: Array, texts: Texts | None) -> Problem | None:
    """The problem with a column that does not hold what it did in the training table."""
    if feature.kind == "number":
        if texts is not None and len(texts.rows):
            return Problem(
                j, "changed", _where_text(reader, texts, f"{counted(len(texts.rows), 'cell')} of text, not numbers")
            )
        return _check_finite(reader, j, x)
    if feature.kind == "date" and texts is not None:
        wrong = [k for k, cell in enumerate(texts.cells) if as_days(cell) is None]
        if wrong:
            odd = Texts(texts.rows[wrong], [texts.cells[k] for k in wrong])
            return Problem(j, "changed", _where_text(reader, odd, f"{counted(len(wrong), 'cell')} of text, not dates"))
    if feature.kind == "date" and not np.isnan(x).all():
        return Problem(j, "changed", "numbers, not dates")
    return None


def _use(
    reader: Reader,
    raw: Raw,
    roles: Roles,
    preparation: Preparation,
    columns: Sequence[int],
    problems: list[Problem],
    options: Options,
    *,
    training: bool = True,
) -> Prepared:
    """Encode the columns, and drop rows with missing values or fill these in; an error that lists all problems."""
    places = [roles.features.index(j) for j in columns]
    fills = training and (options.impute is not None or (options.first_look and not options.drop_missing))
    incomplete = np.zeros(len(raw.X), dtype=bool)
    for feature, j, k in zip(preparation.features, columns, places, strict=True):
        bad = missing_cells(raw.X[:, k], raw.texts.get(j))
        if not bad.any() or fills or feature.fill is not None:
            continue
        incomplete |= bad
        if not preparation.drop_missing:
            problems.append(Problem(j, "missing", _where_missing(reader, bad)))
    if roles.weight is not None:
        problems += _weight_problems(reader, raw, roles.weight, incomplete, preparation.drop_missing)
    if problems:
        raise _unusable(reader, sorted(problems), f"{counted(int(incomplete.sum()), 'row')} of {len(incomplete)}", training)
    if incomplete.all():
        raise CommandError(
            f"{reader.source}: no row is without missing values; --drop the columns with most of them, or --impute median"
        )
    Z = preparation.encode(raw.X, raw.texts, columns, places)
    weight = None if roles.weight is None else raw.X[:, -1]
    rows = None
    if incomplete.any():
        rows = np.flatnonzero(~incomplete)
        Z, weight = Z[rows], None if weight is None else weight[rows]
        preparation = replace(preparation, dropped=tuple(np.flatnonzero(incomplete).tolist()))
    if fills:
        pairs = zip(preparation.features, preparation.spans, strict=True)
        preparation = replace(preparation, features=tuple(feature.learn_fill(Z[:, span]) for feature, span in pairs))
    preparation.fill_in(Z)
    return Prepared(np.ascontiguousarray(Z), weight, rows, preparation, [])


def _where_missing(reader: Reader, bad: Array) -> str:
    return f"{counted(int(bad.sum()), 'missing value')}, the first in {reader.row(int(bad.argmax()))}"


def _weight_problems(reader: Reader, raw: Raw, j: int, incomplete: Array, drop_missing: bool) -> list[Problem]:
    """What is wrong with the column of weights; rows without one are added to ``incomplete``."""
    w, texts = raw.X[:, -1], raw.texts.get(j)
    if texts is not None and len(texts.rows):
        return [Problem(j, "weight", _where_text(reader, texts, f"{counted(len(texts.rows), 'cell')} of text, not weights"))]
    bad = np.isnan(w)
    if bad.any():
        incomplete |= bad
        return [] if drop_missing else [Problem(j, "missing", _where_missing(reader, bad))]
    return [problem] if (problem := _check_finite(reader, j, w)) else []


def _unusable(reader: Reader, problems: Sequence[Problem], incomplete: str, training: bool) -> CommandError:
    """The error that lists all columns that cannot be used, in a line before it each if there are several."""
    kinds = {problem.kind for problem in problems}
    cures = [cure for kind, cure in _CURES.items() if kind in kinds and training]
    if "missing" in kinds:
        filled = ", --impute median fills in medians" if training else ""
        cures.append(f"--drop-missing leaves out {incomplete}{filled}")
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
    for feature, span in zip(prepared.preparation.features, prepared.preparation.spans, strict=True):
        x = prepared.X[:, span.start]
        if feature.kind == "number" and prepared.rows is None and counts_rows(x):
            handle = reader.handle(feature.position)
            notes.append(f"{reader.column(feature.position)} counts the rows, and is used like any other (--id {handle}?)")
    return notes
