"""Which columns of a table are features, and which one is the label, the identifier or the weight."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import CommandError, counted, listing, shown
from .tables import Reader

_RANGE = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True)
class Selection:
    """The columns that the options name; None where an option is not given."""

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    label: str | None = None
    id: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class Roles:
    """Positions of columns, from 0."""

    features: list[int]
    label: int | None = None
    id: int | None = None
    weight: int | None = None


def split_items(text: str) -> list[str]:
    """``a,b,3-7`` as a list; an item with a comma stands in double quotes."""
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    if not items or not all(items):
        raise ValueError(f"must be names or positions of columns, separated by commas, got {text!r}")
    return items


def resolve(selection: Selection, reader: Reader, wanted: Sequence[str] | None = None) -> Roles:
    """Find the columns, and check that each has one role and a name that no other has.

    ``wanted`` are the features of a model: they are taken where columns have names and no option chooses features.
    """
    single = {
        role: None if item is None else _find_one(item, reader, f"--{role}")
        for role, item in (("label", selection.label), ("id", selection.id), ("weight", selection.weight))
    }
    taken = [(role, j) for role, j in single.items() if j is not None]
    for k, (role, j) in enumerate(taken):
        for other, i in taken[:k]:
            if i == j:
                raise CommandError(f"{reader.source}: --{other} and --{role} both take {reader.column(j)}")
    dropped = {j for item in selection.drop for j in _find(item, reader, "--drop")}
    if selection.columns is not None:
        chosen = [j for item in selection.columns for j in _find(item, reader, "--columns")]
        repeated = next((j for k, j in enumerate(chosen) if j in chosen[:k]), None)
        if repeated is not None:
            raise CommandError(f"{reader.source}: --columns takes {reader.column(repeated)} twice")
    elif wanted is not None and any(name is not None for name in reader.names):
        chosen = _find_wanted(wanted, reader)
    else:
        chosen = reader.default
        _check_index(reader, [j for j in chosen if j not in dropped and j not in single.values()])
    features = [j for j in chosen if j not in dropped and j not in single.values()]
    if not features:
        raise CommandError(f"{reader.source}: no column is left to embed")
    roles = Roles(features, **single)
    _check_names(reader, [*features, *(j for j in (roles.label, roles.id) if j is not None)], features)
    return roles


def _find(item: str, reader: Reader, option: str) -> list[int]:
    """The columns of one item: a name, or else a position or a range of positions, counted from 1."""
    named = [j for j, name in enumerate(reader.names) if name == item]
    if len(named) > 1:
        places = ", ".join(str(j + 1) for j in named)
        raise CommandError(f"{reader.source}: {option} {item}: columns {places} have this name; give a position instead")
    if named:
        return named
    width = len(reader.names)
    if item.isascii() and item.isdigit():
        low = high = int(item)
    elif found := _RANGE.fullmatch(item):
        low, high = int(found[1]), int(found[2])
    else:
        raise CommandError(f"{reader.source}: {option}: there is no column {shown(item)}; {_describe(reader, item)}")
    if not 1 <= low <= high <= width:
        raise CommandError(f"{reader.source}: {option} {item}: columns are counted from 1 to {width}")
    return list(range(low - 1, high))


def _find_one(item: str, reader: Reader, option: str) -> int:
    found = _find(item, reader, option)
    if len(found) > 1:
        raise CommandError(f"{reader.source}: {option} takes one column, got {item}")
    return found[0]


def _find_wanted(wanted: Sequence[str], reader: Reader) -> list[int]:
    missing = [name for name in wanted if name not in reader.names]
    if missing:
        raise CommandError(
            f"{reader.source}: the model needs {listing(missing)}, which the table lacks; {_describe(reader)} "
            f"(--columns says which columns to take instead, in the order of the model's)"
        )
    return [_find(name, reader, "the model's column")[0] for name in wanted]


def _check_index(reader: Reader, features: list[int]) -> None:
    """Raise if the index of a table would be a feature, unasked."""
    for j in features:
        if j in reader.index and reader.names[j]:
            raise CommandError(
                f"{reader.source}: {reader.column(j)} is the index of a pandas table; use --id or --drop, or choose the "
                "features with --columns"
            )


def _check_names(reader: Reader, used: list[int], features: list[int]) -> None:
    seen: dict[str, int] = {}
    for j in used:
        name = reader.names[j]
        if name == "" and j in features:
            raise CommandError(
                f"{reader.source}: column {j + 1} has no name ({reader.unnamed(j)}); use --id {j + 1} or --drop {j + 1}, "
                "or name it"
            )
        if name and name in seen:
            raise CommandError(
                f"{reader.source}: columns {seen[name] + 1} and {j + 1} are both named {shown(name)}; "
                f"rename one, or leave one out with --drop {j + 1}"
            )
        if name:
            seen[name] = j


def _describe(reader: Reader, sought: str = "") -> str:
    names = [name for name in reader.names if name]
    close = difflib.get_close_matches(sought, names, n=1)
    text = f"is it {shown(close[0])}? " if close else ""
    text += f"its columns are {listing(names)}" if names else f"it has {counted(len(reader.names), 'column')} without names"
    return f"{text}; not read, for they hold Python objects: {listing(reader.unread)}" if reader.unread else text
