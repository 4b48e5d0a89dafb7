"""Write results: a table to a file or to standard output, facts about it as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._utils.arrays import Array
from .console import Console
from .errors import CommandError
from .streams import STANDARD, check_output, open_output
from .tables import check_writer, flatten, format_of, is_compressed, write_table


@dataclass(frozen=True)
class Target:
    """Where to write a table. ``within_json``: as part of the JSON on standard output."""

    path: str
    format: str
    force: bool
    within_json: bool = False

    @classmethod
    def of(cls, args: argparse.Namespace, console: Console) -> Target:
        """The target that the options describe; an error, before anything is computed, if it cannot be written."""
        path = args.output
        format = format_of(path)
        check_output(path, args.force)
        within = console.json and path == STANDARD
        if not within:
            check_writer(format, path)
        return cls(path, format, args.force, within)

    @classmethod
    def beside(cls, path: str | None, force: bool, option: str) -> Target | None:
        """A second output, which is always a file."""
        if path is None:
            return None
        if path == STANDARD:
            raise CommandError(f"{option} takes a file, not standard output")
        check_output(path, force)
        format = format_of(path)
        check_writer(format, path)
        return cls(path, format, force)

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise, before anything is computed, if the format cannot hold these columns."""
        others = ", ".join(map(repr, names))
        if others and self.format == "npy" and not self.within_json:
            raise CommandError(f"{self.path}: npy holds numbers only, without {others}; write csv, tsv, npz or parquet")

    def write(self, table: dict[str, Array], console: Console, names: Sequence[str] | None = None) -> None:
        """Write the table; ``names`` are those of the columns of its matrix."""
        with open_output(self.path, self.force) as stream:
            write_table(table, stream, self.format, names, compress=is_compressed(self.path))
        if self.path != STANDARD:
            console.note(f"written: {self.path}")


def write_result(
    target: Target, table: dict[str, Array], facts: dict[str, Any], console: Console, names: Sequence[str] | None = None
) -> None:
    """Write the table and report the facts, which include the table if it goes to JSON. ``names`` as for a target."""
    if target.within_json:
        columns = flatten(table, names)
        rows = [list(row) for row in zip(*(column.tolist() for column in columns.values()), strict=True)]
        console.result({**facts, "columns": list(columns), "rows": rows})
        return
    target.write(table, console, names)
    if target.path != STANDARD:
        console.result({**facts, "output": target.path})
