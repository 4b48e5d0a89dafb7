"""What columns of a table hold: which of them name the rows or are hardly there, and what in them may be no data."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .._utils.arrays import Array
from .errors import counted, listing, shown
from .preparation import as_dates, as_days, missing_cells
from .selection import Roles
from .tables import Raw, Reader, Texts, is_number

# A column with a larger part of its cells missing is left out of a first look.
_MOST_MISSING = 0.5
# Dates that begin with the day or the month, of which it is not known which.
_OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})(\D.*)?")
# Numbers with a unit, or written in another way.
_WITH_UNIT = re.compile(r"[-+<>~≈$€£¥₹\s]*\d[\d.,'’\s]*([%‰°$€£¥₹]|[A-Za-zµ]{1,3}\.?)?")
# Numbers that stand for a missing value in many files.
_CODES = (-9, *(sign * (10**digits - 1) for digits in range(2, 6) for sign in (-1, 1)))
_SUMS = re.compile(
    r"(grand |sub)?totals?|sums?|summe|gesamt|gesamtsumme|insgesamt|suma|totale|averages?|means?|mittelwert", re.I
)
# Names of identifiers: id, car_id, "Sample ID", PassengerId; not "paid". Names of postal codes.
_IDENTIFIER = re.compile(r"(.*[^a-zA-Z])?[iI][dD]|.*[a-z]I[dD]")
_POSTAL_CODE = re.compile(r"(.*[ _-])?(zip|plz|(zip|post|postal)[ _-]?codes?)", re.I)
NAMES_ROWS, COUNTS_ROWS, NAMES_THINGS = "names of the rows", "counts the rows", "identifiers"


def kind_of(reader: Reader, x: Array, texts: Texts | None) -> tuple[str, str]:
    """What a column holds: a key, and words. It is text if more of its cells are text than numbers."""
    numbers = int(np.count_nonzero(~np.isnan(x)))
    if texts is None or not len(texts.rows):
        return ("numbers", "numbers") if numbers else ("empty", "empty")
    if numbers >= len(texts.rows) or reader.hint(texts.cells[0]):
        return "mixed", f"{counted(len(texts.rows), 'cell')} of text among {counted(numbers, 'number')}"
    values = values_of(x, texts)
    if not numbers and all(as_days(cell) is not None for cell in values):
        return "dates", "dates"
    return "text", f"text, {counted(len(values), 'value')}{_advice(values)}"


def _advice(values: set[str]) -> str:
    """What to change in the file, where text looks like dates or numbers."""
    if _other_dates(values):
        return "; dates are read as YYYY-MM-DD"
    if all(_WITH_UNIT.fullmatch(value) for value in values):
        return f"; numbers are read without units and separators, unlike {shown(min(values))}"
    return ""


def _other_dates(values: set[str]) -> bool:
    return all(_OTHER_DATE.fullmatch(value) for value in values)


def values_of(x: Array, texts: Texts | None) -> set[str]:
    """Different values of a column of text, in which there may be numbers."""
    return {*(texts.cells if texts else ()), *(f"{value:.15g}" for value in x[~np.isnan(x)].tolist())}


def counts_rows(x: Array) -> bool:
    """Whether numbers are 0, 1, 2 and so on, or 1, 2, 3."""
    return bool(x[0] in (0, 1) and (np.diff(x) == 1).all())


def as_numbers(cells: Array) -> Array:
    """Numbers in a column of cells as they are in the file; NaN for all else."""
    return np.array([float(cell) if is_number(str(cell)) else np.nan for cell in cells.tolist()])


def mostly_missing(x: Array, texts: Texts | None) -> str | None:
    """How many cells are missing, if that is most of them."""
    missing = int(missing_cells(x, texts).sum())
    return f"{missing} of {len(x)} cells missing" if missing > _MOST_MISSING * len(x) else None


def row_names(reader: Reader, raw: Raw, features: Sequence[int]) -> int | None:
    """The first column of text, or of whole numbers that is called an identifier, with another value in every row."""
    for k, j in enumerate(features):
        x, texts = raw.X[:, k], raw.texts.get(j)
        kind, _ = kind_of(reader, x, texts)
        whole = kind == "numbers" and is_called_identifier(reader.names[j]) and (x == np.rint(x)).all()
        values = values_of(x, texts) if kind == "text" or whole else set()
        if len(values) == len(x) and not _other_dates(values):
            return j
    return None


def as_shown(reader: Reader, raw: Raw, features: Sequence[int]) -> dict[str, Array]:
    """Columns as a page shows them, used or not: numbers, text and dates. Empty ones are left out."""
    found: dict[str, Array] = {}
    for k, j in enumerate(features):
        x, texts = raw.X[:, k], raw.texts.get(j)
        kind, _ = kind_of(reader, x, texts)
        name = reader.title(j)
        if kind == "text":
            found[name] = as_text(x, texts)
        elif kind == "dates":
            assert texts is not None
            days = np.full(len(x), np.nan)
            days[texts.rows] = [as_days(cell) for cell in texts.cells]
            found[name] = as_dates(days)
        elif kind != "empty":
            found[name] = x.copy()  # missing values will be filled in
    return found


def as_text(x: Array, texts: Texts | None) -> Array:
    """The cells of a column as text; empty where they are missing."""
    cells = np.array(["" if np.isnan(value) else f"{value:.15g}" for value in x.tolist()], dtype=object)
    if texts is not None:
        cells[texts.rows] = texts.cells
    return cells


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
    return f"{where}, far from all other numbers there; if that means a missing value, empty these cells"


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
