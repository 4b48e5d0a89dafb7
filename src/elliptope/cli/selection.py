"""Which columns of a table are features, and which one is the label, the identifier or the weight."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


class Wanted(NamedTuple):
    """The columns that a model takes: their names, if they have any, and their positions in a table of ``width`` columns."""

    names: Sequence[str] | None
    positions: Sequence[int]
    width: int


@dataclass(frozen=True)
class Roles:
    """Positions of columns, from 0.

    Attributes
    ----------
    chosen : bool
        Whether an option has named the features.
    names_rows : bool
        Whether ``id`` is a column without a name, or the index of a pandas table, that no option has asked for.
    """

    features: list[int]
    label: int | None = None
    id: int | None = None
    weight: int | None = None
    chosen: bool = False
    names_rows: bool = False


def split_items(text: str) -> list[str]:
    """``a,b,3-7`` as a list; an item with a comma stands in double quotes."""
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    if not items or not all(items):
        raise ValueError(f"must be names or positions of columns, separated by commas, got {text!r}")
    return items


def resolve(selection: Selection, reader: Reader, wanted: Wanted | None = None) -> Roles:
    """Find the columns, and check that each has one role.

    ``wanted`` are the features of a model, which are taken where no option chooses others.
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
    used = {*dropped, *(j for _, j in taken)}
    names_rows = None if selection.columns is not None or single["id"] is not None else _row_names(reader, used)
    if names_rows is not None:
        single["id"] = names_rows
    features = [j for j in _choose(selection, reader, wanted) if j not in dropped and j not in single.values()]
    if not features:
        raise CommandError(f"{reader.source}: no column is left to embed")
    if selection.columns is None and (index := [j for j in features if j in reader.index]):
        several = listing([reader.handle(j) for j in index])
        raise CommandError(f"{reader.source}: an index of several columns, {several}; use --drop, and --id for one of them")
    return Roles(features, **single, chosen=selection.columns is not None, names_rows=names_rows is not None)


def _choose(selection: Selection, reader: Reader, wanted: Wanted | None) -> list[int]:
    """The features, before those with another role are taken out."""
    if selection.columns is not None:
        chosen = [j for item in selection.columns for j in _find(item, reader, "--columns")]
        repeated = next((j for k, j in enumerate(chosen) if j in chosen[:k]), None)
        if repeated is not None:
            raise CommandError(f"{reader.source}: --columns takes {reader.column(repeated)} twice")
        return chosen
    if wanted is not None and wanted.names is not None and any(name is not None for name in reader.names):
        return _find_wanted(wanted.names, reader)
    if wanted is not None and len(reader.names) == wanted.width > len(wanted.positions):
        return list(wanted.positions)
    return reader.default


def _row_names(reader: Reader, used: set[int]) -> int | None:
    """The column that names the rows: the first, if it has no name, or the index of a pandas table; None without one."""
    index = sorted(reader.index - used) or ([0] if reader.names[0] == "" and 0 not in used else [])
    return index[0] if len(index) == 1 and len(reader.names) > 1 else None


def _find(item: str, reader: Reader, option: str) -> list[int]:
    """The columns of one item: a name, or else a position or a range of positions, counted from 1."""
    named = [j for j, name in enumerate(reader.names) if name == item]
    if len(named) > 1:
        places = ", ".join(str(j + 1) for j in named)
        raise CommandError(f"{reader.source}: {option} {item}: columns {places} have this name; give a position instead")
    if named:
        return named
    if between := _named_range(item, reader):
        return between
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


def check_names(reader: Reader, roles: Roles, features: Sequence[int]) -> None:
    """Raise if one of the columns that are used, ``features`` among them, has no name, or that of another."""
    used = [*features, *(j for j in (roles.label, roles.id) if j is not None)]
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


def _named_range(item: str, reader: Reader) -> list[int]:
    """The columns from one name to another, as 2000-2005; none if there are no such names."""
    for cut in (i for i, character in enumerate(item) if character == "-"):
        low, high = item[:cut], item[cut + 1 :]
        if reader.names.count(low) == reader.names.count(high) == 1 and reader.names.index(low) <= reader.names.index(high):
            return list(range(reader.names.index(low), reader.names.index(high) + 1))
    return []


def _describe(reader: Reader, sought: str = "") -> str:
    names = [name for name in reader.names if name]
    close = difflib.get_close_matches(sought, names, n=1)
    text = f"is it {shown(close[0])}? " if close else ""
    text += f"its columns are {listing(names)}" if names else f"it has {counted(len(reader.names), 'column')} without names"
    return f"{text}; not read, for they hold Python objects: {listing(reader.unread)}" if reader.unread else text
