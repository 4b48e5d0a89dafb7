"""CSV and TSV. Rows are converted one by one, so that only numbers are kept in memory.

Errors name the line of the file. Numbers are what Python reads as such, except digits grouped by underscores; true and false
are 1 and 0, as in Parquet.

Spreadsheets run text that looks like a formula. It is written with an apostrophe before it, which the reader takes away.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..._utils.arrays import Array
from ..errors import TableError, UsageError
from .base import Raw, Reader
from .cells import Texts, is_missing, is_number, truth

# Delimiters that are used when line 1 does not have the usual one.
_DELIMITERS = (";", "\t", "|", ",")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
# 1.234,5; with a decimal comma, 1.234, too.
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


class Dialect(NamedTuple):
    """How to read a text file. ``header=None``: decide by the first two rows.

    ``thousands`` stands between groups of three digits. The first ``skip`` lines are not read. A line of ``longest_line``
    characters is no row of a table, and might fill the memory.
    """

    delimiter: str
    decimal: str = "."
    thousands: str | None = None
    skip: int = 0
    encoding: str = "utf-8"
    header: bool | None = None
    guess: bool = True  # whether the delimiter may be wrong
    longest_line: int = 2**26


class TextReader(Reader):
    """A text file with one row per line."""

    def __init__(self, stream: BinaryIO, source: str, dialect: Dialect) -> None:
        self.source, self.dialect = source, dialect
        self.notes: list[str] = []
        self.doubts: list[str] = []
        self._lines = array("q")  # line of the file at which each row begins
        self._n_empty = 0  # lines of empty cells
        self._grouped = _grouped(dialect)
        self._rows = self._parse(stream)
        first = next(self._rows, None)
        if first is None:
            raise TableError(source, "the file is empty")
        second = next(self._rows, None)
        cells = first[1]
        if cells[0].lstrip().startswith("#") and (second is None or len(second[1]) != len(cells)):
            raise TableError(source, "a comment, which tables do not have here: remove it", f"line {first[0]}")
        self._refuse_title(first, second)
        found = looks_like_header(cells, second and second[1], self._number)
        self.header = found if dialect.header is None else dialect.header
        if dialect.header is None:
            self.doubts += _doubts(cells, second and second[1], found, self._number)
        self.names = [_without_mark(cell.strip()) for cell in cells] if self.header else [None] * len(cells)
        self._first_rows = [row for row in (None if self.header else first, second) if row is not None]
        if not self._first_rows:
            raise TableError(source, "there is a header, but no row of data (--no-header if line 1 is data)")

    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        values = array("d")
        odd: dict[int, tuple[list[int], list[str]]] = {
            j: ([], []) for j in numbers
        }  # rows and texts of cells that are neither numbers nor missing
        kept: list[list[str]] = [[] for _ in others]
        known: dict[str, str] = {}  # one copy of every text
        width, converted = len(self.names), self.dialect.decimal != "." or self.dialect.thousands is not None
        points = _Points(numbers if self.dialect.delimiter == ";" and not converted else ())
        for line, row in self._all_rows():
            self._lines.append(line)
            if len(row) != width:
                raise self._ragged(line, row)
            cells = [row[j] for j in numbers]
            points.look(row)
            if converted:
                cells = [self._with_point(cell) for cell in cells]
            try:
                numeric = None if "_" in "".join(cells) else list(map(float, cells))
            except ValueError:
                numeric = None
            if numeric is None:
                numeric = list(map(self._value, cells))
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
            return "is line 1 a title? --skip 1"
        return "do lines end with a delimiter?" if j == len(self.names) - 1 else super().unnamed(j)

    def _all_rows(self) -> Iterator[tuple[int, list[str]]]:
        yield from self._first_rows
        yield from self._rows

    def _parse(self, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not empty, each with the line at which it begins."""
        lines, skipped = self._decode(stream), self.dialect.skip
        first = next(itertools.islice(lines, skipped, None), "")
        while first.isspace():
            first, skipped = next(lines, ""), skipped + 1
        if found := _SEPARATOR.fullmatch(first):
            skipped += 1
            if self.dialect.guess:
                self.dialect = self.dialect._replace(delimiter=found[1])
        else:
            lines = itertools.chain([first], lines)
            self._find_delimiter(first)
        reader = csv.reader(lines, delimiter=self.dialect.delimiter, skipinitialspace=True, strict=True)
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
        encoding = self.dialect.encoding
        name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
        try:
            text = io.TextIOWrapper(stream, name, "surrogateescape", newline="")
        except LookupError:
            raise UsageError(f"--encoding must name a text encoding that Python knows, got {encoding!r}") from None
        number = 0
        try:
            while line := text.readline(self.dialect.longest_line):
                number += 1
                self._check_line(line, number)
                yield line
        except UnicodeError as error:
            raise TableError(self.source, f"not {encoding} text ({error})", f"line {number + 1}") from None
        finally:
            # The caller closes the stream, possibly before this generator ends.
            with contextlib.suppress(ValueError):
                text.detach()

    def _check_line(self, line: str, number: int) -> None:
        place, longest = f"line {number}", self.dialect.longest_line
        if len(line) == longest:
            raise TableError(self.source, f"more than {longest} characters in one line: this is not a table", place)
        if "\0" in line:
            raise TableError(self.source, "NUL bytes: not a text file, or UTF-16 (--encoding utf-16)", place)
        if not line.isascii() and (found := _UNDECODABLE.search(line)):
            byte = ord(found.group()) - 0xDC00
            problem = f"byte 0x{byte:02x} is not {self.dialect.encoding}; try --encoding latin-1"
            raise TableError(self.source, problem, place)

    def _find_delimiter(self, first: str) -> None:
        """Take another delimiter, unless one was given, if line 1 has that and not the usual one."""
        used = self.dialect.delimiter
        other = next((d for d in _DELIMITERS if d in first), None)
        if self.dialect.guess and used not in first and other is not None:
            self.dialect = self.dialect._replace(delimiter=other)
            self.notes.append(
                f"cells are split at {other!r}, for the first line has no {used!r} (--delimiter names another)"
            )

    def _refuse_title(self, first: tuple[int, list[str]], second: tuple[int, list[str]] | None) -> None:
        """Raise if the first row has one cell, and the second more; or if it needs another delimiter."""
        (line, cells), used = first, self.dialect.delimiter
        place, below = f"line {line}", second[1] if second is not None else []
        alone = bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])
        more = sum(bool(cell.strip()) for cell in below) > 1 or (
            self.dialect.guess and len(below) == 1 and any(d in below[0] for d in _DELIMITERS)
        )
        if alone and more and len(cells) != 2 and self.dialect.header is not False:
            assert second is not None
            problem = f"one cell, where line {second[0]} has more; if it is a title, use --skip {line}"
            raise TableError(self.source, problem, place)
        if self.dialect.guess and len(cells) == 1 and " " in cells[0].strip():
            problem = f"only one column when split at {used!r}; try --delimiter ' ' (or confirm --delimiter {used!r})"
            raise TableError(self.source, problem, place)

    def _say_what_was_found(self, points: _Points) -> None:
        """Notes, and doubts, on all rows."""
        if self._n_empty:
            self.notes.append(f"{self._n_empty} line{'s' * (self._n_empty > 1)} of empty cells left out")
        if found := points.found():
            names = ", ".join(self.column(j) for j in found)
            self.doubts.append(
                f"points were read as decimal points in {names}; if they separate thousands, use --thousands ."
            )

    def _ragged(self, line: int, row: list[str]) -> TableError:
        source = "the header has" if self.header else "row 1 has"
        problem = f"{_count(len(row))} where {source} {len(self.names)}"
        if len(row) == len(self.names) + 1 and not row[-1].strip():
            problem += f" (the line ends with {self.dialect.delimiter!r}: remove that, or name one more column)"
        elif len(row) > len(self.names) and self.dialect.delimiter == ",":
            title = "; if line 1 is no header, use --skip 1" if self.header and len(self._lines) == 1 else ""
            problem += f" (a cell with a comma, decimal or other, needs quotes{title})"
        return TableError(self.source, problem, f"row {len(self._lines)} (line {line})")

    def hint(self, cell: str) -> str | None:
        decimal = self.dialect.decimal == "." and _DECIMAL_COMMA.fullmatch(cell)
        if self.dialect.decimal == "." and _THOUSANDS.fullmatch(cell):
            other = "; if it is a decimal comma, use --decimal ," if decimal and self.dialect.delimiter != "," else ""
            return f"if the comma separates thousands, use --thousands ,{other}"
        if decimal:
            return "if that is a decimal comma, use --decimal ,"
        if _POINTS_AND_COMMA.fullmatch(cell) and self.dialect.thousands is None:
            comma = " and --decimal ," if self.dialect.decimal == "." else ""
            return f"if the point separates thousands, use --thousands .{comma}"
        if self.dialect.decimal != "." and is_number(cell):
            return "it has a decimal point, and --decimal , was given"
        parts = {d: cell.split(d) for d in ";\t|" if d in cell}
        numeric = (d for d, cells in parts.items() if all(is_number(part.replace(",", ".")) for part in cells))
        delimiter = next(numeric, None)
        return None if delimiter is None else f"is the delimiter {delimiter!r}? (--delimiter)"

    def _value(self, cell: str) -> float:
        """The number in a cell with a decimal point; NaN where there is none."""
        value = truth(cell)
        return (float(cell) if is_number(cell) else np.nan) if value is None else value

    def _number(self, cell: str) -> bool:
        return truth(cell) is not None or is_number(self._with_point(cell))

    def _with_point(self, cell: str) -> str:
        """The cell with a decimal point, without separators of thousands. A cell with the wrong point is made invalid."""
        decimal = self.dialect.decimal
        if self._grouped is not None and (found := self._grouped.fullmatch(cell)):
            cell = re.sub(r"[^\d+-]", "", found[1]) + (found[2] or "")
        return cell if decimal == "." else cell.replace(".", "_").replace(decimal, ".")


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


def _grouped(dialect: Dialect) -> re.Pattern[str] | None:
    """A number with digits in groups of three, and what follows them."""
    if dialect.thousands is None:
        return None
    between = r"\s" if dialect.thousands == " " else re.escape(dialect.thousands)
    return re.compile(rf"\s*([+-]?[1-9]\d{{0,2}}(?:{between}\d{{3}})+)({re.escape(dialect.decimal)}\d*)?\s*")


def _count(cells: int) -> str:
    return f"{cells} cell{'' if cells == 1 else 's'}"


def _looks_like_formula(cell: str) -> bool:
    return _FORMULA.fullmatch(cell) is not None and not is_number(cell.lstrip("'").replace(",", "."))


def _with_mark(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _looks_like_formula(cell) else cell


def _without_mark(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell) else cell


def looks_like_header(first: Sequence[str], second: Sequence[str] | None, number: Callable[[str], bool] = is_number) -> bool:
    """Whether the first row names the columns.

    It does if a column has a word in the first row and a number in the second. Where no column decides (all are text, or
    there is no second row), it does if the first row has no number at all, or if its numbers are a series, such as years,
    and those of the second row are not. A missing value is not a word. Numbers alone are names if they are years in a row.
    """
    if _names_numbers(first, second, number):
        return True
    words = [not number(cell) and not is_missing(cell) for cell in first]
    series = second is not None and _is_series(first) and not _is_series(second)
    if not any(words):
        return series and all(is_number(cell) and _is_year(float(cell)) for cell in first)
    return series or not any(number(cell) for cell in first)


def _names_numbers(first: Sequence[str], second: Sequence[str] | None, number: Callable[[str], bool]) -> bool:
    """Whether a column has a word in the first row and a number in the second."""
    pairs = zip(first, second or (), strict=False)
    return any(number(below) and not number(cell) and not is_missing(cell) for cell, below in pairs)


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


def _doubts(first: Sequence[str], second: Sequence[str] | None, header: bool, number: Callable[[str], bool]) -> list[str]:
    """What was made of a first row with numbers that may be names or data; nothing where that is clear."""
    kinds = {number(cell) for cell in first if not is_missing(cell)}
    if header and False not in kinds:
        return ["line 1 has years, and was read as the names of the columns (--no-header if it is data)"]
    if len(kinds) < 2 or _names_numbers(first, second, number) or (header and _has_years(first)):
        return []
    use = "the names of the columns (--no-header if it is data)" if header else "data (--header if it names the columns)"
    return [f"line 1 has text and numbers, and was read as {use}"]


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
