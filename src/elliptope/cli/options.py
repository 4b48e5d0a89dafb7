"""Options that commands share, and the objects that they describe."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from .errors import UsageError
from .methods import whole
from .preparation import MOST_VALUES, Options
from .selection import Selection, split_items
from .streams import STANDARD, check_distinct
from .tables import FORMATS, WRITTEN_FORMATS, Form

_FIRST_LOOK = (
    "Left out are columns of text or dates, those that count or name the rows, and those that are mostly missing; the page "
    "can colour by them. Other missing values are filled in by medians. Messages and page say what was done."
)
# Attributes of the parsed command line that name files, and what users call them.
INPUTS = {"model": "MODEL", "input": "INPUT"}
OUTPUTS = {
    "output": "-o",
    "save_model": "--save-model",
    "embeddings": "--embeddings",
    "coordinates": "--coordinates",
    "checkpoint": "--checkpoint",
}


def character(text: str) -> str:
    value = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(value) != 1 or value in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}")
    return value


def items(text: str) -> list[str]:
    try:
        return split_items(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class Once(argparse.Action):
    """An option that may be given only once."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "takes one column, and was given twice")
        setattr(namespace, self.dest, values)


def add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("messages")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress and no notes; warnings and errors remain")
    group.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    group.add_argument("--debug", action="store_true", help="show where in the program an error arose")


def add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = False) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=required, default=STANDARD, help=help)
    parser.add_argument("-f", "--force", action="store_true", help="replace files that exist")


def add_outlier_score(parser: argparse.ArgumentParser) -> None:
    text = "a column outlier_score, too: high for rows far from others, 0 for the median row of the training table"
    parser.add_argument("--outlier-score", action="store_true", help=text)


def add_output_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output-format", choices=WRITTEN_FORMATS, help="of the output (default: by its suffix, else --format, else csv)"
    )


def check_files(args: argparse.Namespace) -> None:
    """Raise if the name of a file is empty, or if an output is the same file as an input or another output."""
    inputs, outputs = (
        {called: path for name, called in names.items() if (path := getattr(args, name, None)) is not None}
        for names in (INPUTS, OUTPUTS)
    )
    for called, path in {**inputs, **outputs}.items():
        if not path:
            raise UsageError(f"{called} must be the name of a file, got {path!r}")
    files = {called: path for called, path in outputs.items() if path != STANDARD}
    check_distinct(inputs, {"standard output": STANDARD, **files})


def add_table(parser: argparse.ArgumentParser, *, training: bool = True, first_look: bool = False) -> None:
    """Options for reading a table, and for the roles of its columns."""
    group = parser.add_argument_group("reading the table", "Columns go by name, or by position counted from 1.")
    group.add_argument("--columns", type=items, metavar="LIST", help="features, as in a,b,3-7 (default: all with numbers)")
    group.add_argument("--drop", type=items, metavar="LIST", default=[], help="columns to leave out")
    group.add_argument("--label", action=Once, metavar="COLUMN", help="kept in the output, used for colours, not a feature")
    group.add_argument("--id", action=Once, metavar="COLUMN", help="names of rows, kept in the output, not a feature")
    if training:
        group.add_argument("--weight", action=Once, metavar="COLUMN", help="weights of rows: 2 is a row given twice")
    group.add_argument("--format", choices=FORMATS, help="of the input (default: by its suffix, csv for -)")
    group.add_argument(
        "--header", action=argparse.BooleanOptionalAction, help="line 1 names the columns (default: found out)"
    )
    group.add_argument("--delimiter", type=character, metavar="CHAR", help="between cells (default: , for csv, tab for tsv)")
    group.add_argument("--decimal", choices=(".", ","), help="decimal point or comma (default: .)")
    group.add_argument("--thousands", type=character, metavar="CHAR", help="between groups of three digits, as in 1,234.5")
    group.add_argument(
        "--missing", type=items, metavar="LIST", default=[], help="more cells without a value, as in --missing=-999,x"
    )
    group.add_argument("--skip", type=whole(0), metavar="N", default=0, help="lines above the header, such as a title")
    group.add_argument("--encoding", metavar="NAME", help="of text (default: utf-8)")
    group.add_argument("--array", metavar="NAME", help="of the matrix, where an npz file has several")

    _add_preparation(parser, training, first_look)


def _add_preparation(parser: argparse.ArgumentParser, training: bool, first_look: bool) -> None:
    """Options for text, dates and missing values. What is learned in training is taken from the model later."""
    group = parser.add_argument_group(
        "text, dates and missing values",
        _FIRST_LOOK
        if first_look
        else "Columns of text or dates are left out; missing values are an error."
        if training
        else "As in the training table, by what the model remembers of it.",
    )
    missing = group.add_mutually_exclusive_group()
    missing.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    if not training:
        return
    missing.add_argument("--impute", choices=("median",), help="fill in missing values by the median of their column")
    group.add_argument(
        "--one-hot",
        action="store_true",
        help=f"use text: a column of 0 and 1 for every value, up to {MOST_VALUES} of them",
    )
    group.add_argument("--dates", action="store_true", help="use dates (ISO 8601), as days since 1970-01-01")
    group.add_argument(
        "--numeric-only", action="store_true", help="leave out every column that holds text, also among numbers"
    )


def form_of(args: argparse.Namespace) -> Form:
    decimal = args.decimal or ("," if args.thousands == "." else ".")
    if args.thousands == decimal:
        raise UsageError(f"--thousands and --decimal are both {decimal!r}, and must differ")
    return Form(
        args.format,
        args.delimiter,
        decimal,
        args.encoding or "utf-8",
        args.header,
        args.thousands,
        args.skip,
        args.array,
    )


def selection_of(args: argparse.Namespace) -> Selection:
    return Selection(args.columns, args.drop, args.label, args.id, getattr(args, "weight", None), args.missing)


def preparation_of(args: argparse.Namespace) -> Options:
    return Options(
        **{name: value for field in fields(Options) if (value := getattr(args, name := field.name, None)) is not None}
    )
