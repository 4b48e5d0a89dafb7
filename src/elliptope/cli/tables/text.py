"""CSV and TSV, compressed by gzip or not. Rows are converted one by one, so that only numbers are kept in memory.

Errors name the line of the file. Numbers are what Python reads as such, except digits grouped by underscores; true and false
are 1 and 0, as in Parquet.

Spreadsheets run text that looks like a formula. It is written with an apostrophe before it, which the reader takes away.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

import numpy as np

from ..._utils.arrays import Array
from ..errors import TableError
from .base import Raw, Reader, Texts, is_missing, is_number, truth

_GZIP = b"\x1f\x8b"
# A line of so many characters is no row of a table, and might fill the memory.
_LONGEST_LINE = 2**26
# Delimiters that are used when line 1 does not have the usual one.
_DELIMITERS = (";", "\t", "|", ",")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
_POINTS_AND_COMMA = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?\s*")
# Cells of a column in which a point may separate thousands, and those beside them.
_POINT_OF_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_BELOW_THOUSAND = re.compile(r"[+-]?\d{1,3}")
# The first line that names the delimiter for spreadsheets.
_SEPARATOR = re.compile(r"\"?sep=(.)\"?\s*", flags=re.IGNORECASE)
# The csv module quotes cells that contain a character of its line end. With this one it quotes line ends of all kinds, and
# spaces, which the reader skips at the beginning of a cell that has no quotes. Files get "\n".
_LINE_END = " \r\n"
# What spreadsheets may take for a formula (https://owasp.org/www-community/attacks/CSV_Injection), with the apostrophes that
# mark it as text; numbers are among it.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20].+", flags=re.DOTALL)
# What `errors="surrogateescape"` makes of bytes that cannot be decoded.
_UNDECODABLE = re.compile("[\udc80-\udcff]")


def uncompressed(stream: BinaryIO, source: str) -> BinaryIO:
    """The stream, or what it holds in compressed form, by its first two bytes."""
    if not hasattr(stream, "peek"):  # without reading ahead one cannot look at the first bytes and put them back
        stream = io.BufferedReader(stream)  # type: ignore[type-var]
    packed = stream.peek(2)[:2] == _GZIP
    return cast(BinaryIO, _Gunzip(stream, source)) if packed else stream


class _Gunzip(gzip.GzipFile):
    """The decompressed contents; an error that names the file where they are damaged."""

    def __init__(self, stream: BinaryIO, source: str) -> None:
        super().__init__(fileobj=stream)
        self.source = source

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read, size)

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1, size)

    def _checked(self, read: Any, size: int | None) -> bytes:
        try:
            return read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(self.source, f"compressed by gzip, and damaged ({error})") from None


class TextReader(Reader):
    """A text file in UTF-8 with one row per line, and the cells split at ``delimiter``, or at another that line 1 has."""

    def __init__(self, stream: BinaryIO, source: str, delimiter: str) -> None:
        self.source, self.delimiter = source, delimiter
        self.notes: list[str] = []
        self.doubts: list[str] = []
        self._lines = array("q")  # line of the file at which each row begins
        self._n_empty = 0  # lines of empty cells
        self._rows = self._parse(stream)
        first = next(self._rows, None)
        if first is None:
            raise TableError(source, "the file is empty")
        second = next(self._rows, None)
        cells = first[1]
        if cells[0].lstrip().startswith("#") and (second is None or len(second[1]) != len(cells)):
            raise TableError(source, "a comment, which tables do not have here: remove it", f"line {first[0]}")
        self._refuse_title(first, second)
        self.header = looks_like_header(cells, second and second[1])
        self.doubts += _doubts(cells, second and second[1], self.header)
        self.names = [_without_mark(cell.strip()) for cell in cells] if self.header else [None] * len(cells)
        self._first_rows = [row for row in (None if self.header else first, second) if row is not None]
        if not self._first_rows:
            raise TableError(source, "there is a header, but no row of data")

    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        values = array("d")
        odd: dict[int, tuple[list[int], list[str]]] = {
            j: ([], []) for j in numbers
        }  # rows and texts of cells that are neither numbers nor missing
        kept: list[list[str]] = [[] for _ in others]
        known: dict[str, str] = {}  # one copy of every text
        width = len(self.names)
        points = _Points(numbers if self.delimiter == ";" else ())
        for line, row in self._all_rows():
            self._lines.append(line)
            if len(row) != width:
                raise self._ragged(line, row)
            cells = [row[j] for j in numbers]
            points.look(row)
            try:
                numeric = None if "_" in "".join(cells) else list(map(float, cells))
            except ValueError:
                numeric = None
            if numeric is None:
                numeric = list(map(_value, cells))
                for j, value in zip(numbers, numeric, strict=True):
                    if value != value and not is_missing(row[j]):
                        text = _without_mark(row[j].strip())
                        odd[j][0].append(len(self._lines) - 1)
                        odd[j][1].append(known.setdefault(text, text))
            values.extend(numeric)
            for column, j in zip(kept, others, strict=True):
                column.append(_without_mark(row[j]))
        self._say_what_was_found(points)
        X = np.frombuffer(values, dtype=np.float64).reshape(len(self._lines), len(numbers))
        texts = {j: Texts(np.array(rows), cells) for j, (rows, cells) in odd.items() if rows}
        return Raw(X, [np.array(column, dtype=object) for column in kept], texts)

    def row(self, i: int) -> str:
        return f"row {i + 1} (line {self._lines[i]})"

    def unnamed(self, j: int) -> str:
        if j > 0 and sum(name == "" for name in self.names) > len(self.names) / 2:
            return "is line 1 a title? remove it"
        return "do lines end with a delimiter?" if j == len(self.names) - 1 else super().unnamed(j)

    def _all_rows(self) -> Iterator[tuple[int, list[str]]]:
        yield from self._first_rows
        yield from self._rows

    def _parse(self, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not empty, each with the line at which it begins."""
        lines, skipped = self._decode(stream), 0
        first = next(lines, "")
        while first.isspace():
            first, skipped = next(lines, ""), skipped + 1
        if found := _SEPARATOR.fullmatch(first):
            skipped += 1
            self.delimiter = found[1]
        else:
            lines = itertools.chain([first], lines)
            self._find_delimiter(first)
        reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        while True:
            line = skipped + reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"{error} (are quotes closed, and is the file a table?)"
                raise TableError(self.source, problem, f"line {line}") from None
            if len(row) > 1 and not any(map(str.strip, row)):
                self._n_empty += 1
            elif row:
                yield line, row

    def _decode(self, stream: BinaryIO) -> Iterator[str]:
        """Lines of text; an error if they are not in the encoding, or not text."""
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        number = 0
        try:
            while line := text.readline(_LONGEST_LINE):
                number += 1
                self._check_line(line, number)
                yield line
        finally:
            # The caller closes the stream, possibly before this generator ends.
            with contextlib.suppress(ValueError):
                text.detach()

    def _check_line(self, line: str, number: int) -> None:
        place = f"line {number}"
        if len(line) == _LONGEST_LINE:
            raise TableError(self.source, f"more than {_LONGEST_LINE} characters in one line: this is not a table", place)
        if "\0" in line:
            problem = f"NUL bytes: not a text file, or UTF-16 ({self._converted(encoding='utf-16')})"
            raise TableError(self.source, problem, place)
        if not line.isascii() and (found := _UNDECODABLE.search(line)):
            byte = ord(found.group()) - 0xDC00
            problem = f"byte 0x{byte:02x} is not utf-8; if it is latin-1: {self._converted(encoding='latin-1')}"
            raise TableError(self.source, problem, place)

    def _converted(self, **options: str) -> str:
        """How the file is written again in the form that is read, by pandas with these options."""
        given = options if self.delimiter == "," else {"sep": self.delimiter, **options}
        words = ", ".join([repr(self.source), *(f"{name}={value!r}" for name, value in given.items())])
        return f"in Python, pandas.read_csv({words}).to_csv('new.csv', index=False) converts it"

    def _find_delimiter(self, first: str) -> None:
        """Take another delimiter if line 1 has that and not the usual one."""
        used = self.delimiter
        other = next((d for d in _DELIMITERS if d in first), None)
        if used not in first and other is not None:
            self.delimiter = other
            self.notes.append(f"cells are split at {other!r}, for the first line has no {used!r}")

    def _refuse_title(self, first: tuple[int, list[str]], second: tuple[int, list[str]] | None) -> None:
        """Raise if the first row has one cell, and the second more; or if it needs another delimiter."""
        (line, cells), used = first, self.delimiter
        place, below = f"line {line}", second[1] if second is not None else []
        alone = bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])
        split = len(below) == 1 and any(d in below[0] for d in _DELIMITERS)
        more = split or sum(bool(cell.strip()) for cell in below) > 1
        if alone and more and len(cells) != 2:
            assert second is not None
            problem = f"one cell, where line {second[0]} has more; if it is a title, remove it"
            raise TableError(self.source, problem, place)
        if len(cells) == 1 and " " in cells[0].strip():
            blanks = self._converted(sep=r"\s+")
            problem = f"only one column when split at {used!r}; if blanks separate columns: {blanks}"
            raise TableError(self.source, problem, place)

    def _say_what_was_found(self, points: _Points) -> None:
        """Notes, and doubts, on all rows."""
        if self._n_empty:
            self.notes.append(f"{self._n_empty} line{'s' * (self._n_empty > 1)} of empty cells left out")
        if found := points.found():
            names = ", ".join(self.column(j) for j in found)
            convert = self._converted(thousands=".", decimal=",")
            self.doubts.append(f"points were read as decimal points in {names}; if they separate thousands: {convert}")

    def _ragged(self, line: int, row: list[str]) -> TableError:
        source = "the header has" if self.header else "row 1 has"
        problem = f"{_count(len(row))} where {source} {len(self.names)}"
        if len(row) == len(self.names) + 1 and not row[-1].strip():
            problem += f" (the line ends with {self.delimiter!r}: remove that, or name one more column)"
        elif len(row) > len(self.names) and self.delimiter == ",":
            title = "; if line 1 is no header, remove it" if self.header and len(self._lines) == 1 else ""
            problem += f" (a cell with a comma, decimal or other, needs quotes{title})"
        return TableError(self.source, problem, f"row {len(self._lines)} (line {line})")

    def hint(self, cell: str) -> str | None:
        decimal = _DECIMAL_COMMA.fullmatch(cell)
        if _THOUSANDS.fullmatch(cell):
            other = "; if it is a decimal comma, with decimal=','" if decimal and self.delimiter != "," else ""
            return f"if the comma separates thousands: {self._converted(thousands=',')}{other}"
        if decimal:
            return f"if that is a decimal comma: {self._converted(decimal=',')}"
        if _POINTS_AND_COMMA.fullmatch(cell):
            return f"if the point separates thousands: {self._converted(thousands='.', decimal=',')}"
        parts = {d: cell.split(d) for d in ";\t|" if d in cell}
        numeric = (d for d, cells in parts.items() if all(is_number(part.replace(",", ".")) for part in cells))
        delimiter = next(numeric, None)
        return None if delimiter is None else f"if {delimiter!r} is the delimiter: {self._converted(sep=delimiter)}"


def _value(cell: str) -> float:
    """The number in a cell; NaN where there is none."""
    value = truth(cell)
    return (float(cell) if is_number(cell) else np.nan) if value is None else value


def _is_value(cell: str) -> bool:
    return truth(cell) is not None or is_number(cell)


class _Points:
    """Looks for columns in which a point may separate thousands: 1.549 beside 994, and no other numbers."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._seen = dict.fromkeys(columns, (False, False))  # cells of the one and of the other kind

    def look(self, row: Sequence[str]) -> None:
        for j, (grouped, small) in list(self._seen.items()):
            cell = row[j].strip()
            if _POINT_OF_THOUSANDS.fullmatch(cell):
                self._seen[j] = (True, small)
            elif _BELOW_THOUSAND.fullmatch(cell):
                self._seen[j] = (grouped, True)
            elif not is_missing(cell):
                del self._seen[j]

    def found(self) -> list[int]:
        return [j for j, seen in self._seen.items() if all(seen)]


def _count(cells: int) -> str:
    return f"{cells} cell{'' if cells == 1 else 's'}"


def _looks_like_formula(cell: str) -> bool:
    return _FORMULA.fullmatch(cell) is not None and not is_number(cell.lstrip("'").replace(",", "."))


def _with_mark(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _looks_like_formula(cell) else cell


def _without_mark(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell) else cell


def looks_like_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Whether the first row names the columns.

    It does if a column has a word in the first row and a number in the second. Where no column decides (all are text, or
    there is no second row), it does if the first row has no number at all, or if its numbers are a series, such as years,
    and those of the second row are not. A missing value is not a word. Numbers alone are names if they are years in a row.
    """
    if _names_numbers(first, second):
        return True
    words = [not _is_value(cell) and not is_missing(cell) for cell in first]
    series = second is not None and _is_series(first) and not _is_series(second)
    if not any(words):
        return series and all(is_number(cell) and _is_year(float(cell)) for cell in first)
    return series or not any(_is_value(cell) for cell in first)


def _names_numbers(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Whether a column has a word in the first row and a number in the second."""
    pairs = zip(first, second or (), strict=False)
    return any(_is_value(below) and not _is_value(cell) and not is_missing(cell) for cell, below in pairs)


def _is_series(row: Sequence[str]) -> bool:
    """Whether the numbers of a row are whole and grow in equal steps: at least three of them, or two years."""
    values = [float(cell) for cell in row if is_number(cell) and not is_missing(cell)]
    steps = {b - a for a, b in itertools.pairwise(values)}
    enough = len(values) >= 3 or (len(values) == 2 and all(map(_is_year, values)))
    return enough and len(steps) == 1 and min(steps) > 0 and all(value.is_integer() for value in values)


def _has_years(row: Sequence[str]) -> bool:
    """Whether the numbers of a row are three years or more, in equal steps."""
    values = [float(cell) for cell in row if is_number(cell) and not is_missing(cell)]
    return len(values) >= 3 and all(map(_is_year, values)) and _is_series(row)


def _is_year(value: float) -> bool:
    return 1000 <= value < 3000


def _doubts(first: Sequence[str], second: Sequence[str] | None, header: bool) -> list[str]:
    """What was made of a first row with numbers that may be names or data; nothing where that is clear."""
    kinds = {_is_value(cell) for cell in first if not is_missing(cell)}
    if header and False not in kinds:
        return ["line 1 has years, and was read as the names of the columns; if it is data, write names above it"]
    if len(kinds) < 2 or _names_numbers(first, second) or (header and _has_years(first)):
        return []
    names, data = "the names of the columns; if it is data, write names above it", "data; if it names the columns, use words"
    return [f"line 1 has text and numbers, and was read as {names if header else data}"]


def write_text(columns: dict[str, Array], stream: BinaryIO, delimiter: str) -> None:
    """A header and one line per row; numbers with as many digits as it takes to read them back exactly."""
    writer = csv.writer(_Encoder(stream), delimiter=delimiter, lineterminator=_LINE_END)
    writer.writerow(map(_with_mark, columns))
    writer.writerows(zip(*(map(_with_mark, column.tolist()) for column in columns.values()), strict=True))


class _Encoder:
    """Writes rows as bytes. Unlike a ``TextIOWrapper`` it never closes the stream, nor flushes a broken pipe."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, row: str) -> None:
        self.stream.write(row.removesuffix(_LINE_END).encode() + b"\n")
