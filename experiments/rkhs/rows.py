"""Tables of the study as CSV files, and back, and as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
# Digits of a number in a file.
_DIGITS = 8


def write_rows(path: Path, rows: list[Row]) -> None:
    """Columns in the order of their first appearance; empty where a row has no value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _written(value) for key, value in row.items()} for row in rows)


def read_rows(path: Path) -> list[Row]:
    """What :func:`write_rows` wrote, to eight digits; empty cells are left out."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: _value(text) for key, text in row.items() if text} for row in csv.DictReader(file)]


def _written(value: Any) -> Any:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else value


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def markdown(header: str, lines: Iterable[Iterable[str]]) -> str:
    """A table; the columns of ``header`` are separated by bars."""
    columns = header.split("|")
    body = ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *lines)]
    return "\n".join(body) + "\n"
