"""One page for the browser, in one file: the embedding to explore, and its certificate in plain words.

examples:
  elliptope report wine.csv --label class -o report.html
  elliptope report wine.elliptope -o report.html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ...persistence import ModelFileError
from ...report.content import collect
from ...report.render import equal_rows
from ...report.rows import shown_rows
from ...report.write import page_bytes
from ..console import Console
from ..data import Column
from ..errors import CommandError, UsageError
from ..fitting import exit_code, facts, fit, preparation, read_training_data
from ..models import Model, check_model_output, load_model, save_model
from ..options import add_estimator, add_output, add_save_model, add_table, estimator_of, training_options, whole
from ..streams import STANDARD, check_output, open_output
from ..tables import SUFFIXES, has_table_suffix, is_number, refuse_spreadsheet
from ..writing import Target

_PAGES = ("", ".html", ".htm")
# Rows of a table that a page shows by default, whose fit takes less than a minute or not much longer.
_MOST_ROWS = 4000
_TABLE = """\
Columns that have names are standardised. Left out are columns of text or dates,
those that count or name the rows, and those that are mostly missing; the page
can colour by them. Other missing values are filled in by medians. Messages and
page say what was done."""


def rows(text: str) -> int | str:
    """A number of rows, or ``all``."""
    return text if text == "all" else whole(2)(text)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT|MODEL", help="table, - for standard input, or file that --save-model wrote")
    add_output(parser, "the page", required=True)
    parser.add_argument("--title", help="(default: the name of the input, without its folder)")
    parser.add_argument("--coordinates", metavar="FILE", help="write the coordinates, too")
    add_save_model(parser)
    add_table(parser, _TABLE)
    parser.add_argument(
        "--rows",
        type=rows,
        metavar="N",
        help=f"of larger tables, embed a random sample of N rows, or all (default: {_MOST_ROWS})",
    )
    add_estimator(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    _check_page(args.output)
    check_output(args.output, args.force)
    check_model_output(args.save_model, args.force)
    coordinates = Target.beside(args.coordinates, args.force, "--coordinates")
    model = None if has_table_suffix(args.input) else _stored(args)
    shown: dict[str, Any] = {}
    doubts: list[str] = []
    if model is None:
        most = None if args.rows == "all" else args.rows or _MOST_ROWS
        data = read_training_data(args, console, most, first_look=True)
        model, shown, doubts = fit(estimator_of(args), args, data, console), data.columns, data.doubts
    if coordinates is not None:
        coordinates.check_columns(model.kept)
    if not hasattr(model.est, "certificate_"):
        raise CommandError(f"{args.input}: a {type(model.est).__name__} has no report; other embeddings have one")
    if args.save_model:
        save_model(model, args.save_model, args.force)
        console.note(f"written: {args.save_model}")
    if coordinates is not None:
        coordinates.write({**model.kept, "z": model.est.embedding_}, console)
    with open_output(args.output, args.force) as file:
        report = collect(
            model.est,
            y=None if model.label is None else _colours(model.label),
            y_name=None if model.label is None else model.label.name,
            row_names=None if model.id is None else [str(value) for value in model.id.values.tolist()],
            first_row=1,
            columns=shown or _columns(model),
            row_numbers=model.preparation.row_numbers(len(model.est.embedding_)),
            # Names of folders say nothing about the data, and may be nobody else's business.
            title=args.title or Path(model.source or args.input).name,
            preparation=preparation(model, doubts),
        )
        file.write(page_bytes(report))
    if equal := equal_rows(report):
        console.note(f"{model.source or args.input}: {equal}")
    console.note(f"written: {args.output}")
    outputs = {"output": args.output, "model": args.save_model, "coordinates": args.coordinates}
    console.result({**facts(model), **outputs})
    return exit_code(model.est)


def _columns(model: Model) -> dict[str, Any] | None:
    """The columns as they are in the table; None where they were embedded as they are."""
    points = model.est.training_.points
    if model.standardizer is None or points is None:
        return None
    n = len(model.est.embedding_)
    names = model.names or [f"column {j + 1}" for j in range(points.shape[1])]
    values = np.full((n, points.shape[1]), np.nan)
    rows, place = shown_rows(model.est)
    values[rows] = points[place] * model.standardizer.scale + model.standardizer.mean
    return dict(zip(names, values.T, strict=True))


def _check_page(path: str) -> None:
    if path == STANDARD:
        raise CommandError("a page is written to a file, not to standard output")
    suffix = Path(path).suffix.lower()
    if suffix not in _PAGES:
        raise UsageError(f"{path}: a page is HTML, not {suffix}; name it .html (a browser prints it, as PDF too)")


def _stored(args: argparse.Namespace) -> Model:
    given = training_options(args)
    if given:
        tables = ", ".join(SUFFIXES)
        raise UsageError(f"{args.input}: {given[0]} is for tables, and this is none by its suffix (tables have {tables})")
    refuse_spreadsheet(args.input)
    try:
        return load_model(args.input)
    except ModelFileError as error:
        raise CommandError(f"{error} If it is a table, name it with one of {', '.join(SUFFIXES)}.") from None


def _colours(label: Column) -> Any:
    """Labels as numbers, if all that are not empty are numbers."""
    values = label.values.tolist()
    given = [value for value in values if not isinstance(value, str) or value.strip()]
    if given and all(isinstance(value, str) and is_number(value) for value in given):
        return np.array([float(value) if value.strip() else np.nan for value in values])
    return label.values
