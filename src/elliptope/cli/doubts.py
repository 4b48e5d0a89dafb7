"""What in a training table may be no data: numbers that mean a missing value, a row of sums, columns of identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .._utils.arrays import Array
from .errors import listing
from .selection import Roles
from .tables import Raw, Reader

# Numbers that stand for a missing value in many files.
_CODES = (-9, *(sign * (10**digits - 1) for digits in range(2, 6) for sign in (-1, 1)))
_SUMS = re.compile(
    r"(grand |sub)?totals?|sums?|summe|gesamt|gesamtsumme|insgesamt|suma|totale|averages?|means?|mittelwert", re.I
)
# Names of identifiers: id, car_id, "Sample ID", PassengerId; not "paid". Names of postal codes.
_IDENTIFIER = re.compile(r"(.*[^a-zA-Z])?[iI][dD]|.*[a-z]I[dD]")
_POSTAL_CODE = re.compile(r"(.*[ _-])?(zip|plz|(zip|post|postal)[ _-]?codes?)", re.I)


def is_called_identifier(name: str | None) -> bool:
    return _IDENTIFIER.fullmatch(name or "") is not None


def names_something(name: str | None, x: Array) -> bool:
    """Whether a column of numbers is called an identifier or postal code, and has whole numbers."""
    called = is_called_identifier(name) or _POSTAL_CODE.fullmatch(name or "")
    return bool(called) and bool((np.isnan(x) | (x == np.rint(x))).all())


def doubts_of(reader: Reader, raw: Raw, roles: Roles, columns: Sequence[int]) -> list[str]:
    """Warnings on the features ``columns``, and on the last row."""
    places = {j: raw.X[:, roles.features.index(j)] for j in columns}
    found = [_missing_codes(reader, places), _last_row(reader, raw)]
    if not roles.chosen:
        named = [j for j, x in places.items() if names_something(reader.names[j], x)]
        found += [f"{reader.column(j)} is used as a number; --drop {reader.handle(j)} leaves it out" for j in named]
    return [doubt for doubt in found if doubt]


def _missing_codes(reader: Reader, columns: dict[int, Array]) -> str | None:
    codes: dict[int, list[int]] = {}
    for j, x in columns.items():
        if (code := _far_code(x)) is not None:
            codes.setdefault(code, []).append(j)
    if not codes:
        return None
    where = " and ".join(f"{code} in {listing([reader.handle(j) for j in among])}" for code, among in codes.items())
    option = ",".join(map(str, codes))
    return f"{where}, far from all other numbers there; if that means a missing value, use --missing={option}"


def _far_code(x: Array) -> int | None:
    """The lowest or highest number, if it is a code and farther from the others than these are from each other."""
    values = np.unique(x[np.isfinite(x)])
    if len(values) < 4:
        return None
    ends = ((values[0], values[1], values[-1]), (values[-1], values[-2], values[0]))
    for value, nearest, farthest in ends:
        if value in _CODES and abs(value - nearest) > abs(nearest - farthest):
            return int(value)
    return None


def _last_row(reader: Reader, raw: Raw) -> str | None:
    last = len(raw.X) - 1
    ends = [texts.cells[-1] for texts in raw.texts.values() if len(texts.rows) and texts.rows[-1] == last]
    ends += [str(values[-1]) for values in raw.others if len(values)]
    name = next((cell.strip() for cell in ends if _SUMS.fullmatch(cell.strip().rstrip(":"))), None)
    return None if name is None else f"{reader.row(last)}, the last, is called {name!r}; if it sums up the others, remove it"
