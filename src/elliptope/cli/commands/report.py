"""One page for the browser, in one file: the embedding to explore, its certificate in plain words, and a slider over
bandwidths or numbers of neighbours.

examples:
  elliptope report wine.csv --label class -o report.html
  elliptope report wine.elliptope -o report.html
  elliptope report wine.elliptope --compare other.elliptope -o both.html
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...persistence import ModelFileError
from ...report.comparison import comparison_bytes
from ...report.content import Report, collect
from ...report.render import equal_rows
from ...report.rows import shown_rows
from ...report.write import page_bytes
from ..console import Console
from ..data import Column
from ..errors import CommandError, ExitCode, UsageError, counted
from ..fitting import exit_code, facts, fit, preparation, read_training_data
from ..methods import add_estimator, estimator_of, table_options, whole
from ..models import Model, check_model_output, column_names, load_model, save_model
from ..options import add_output, add_table
from ..preparation import as_dates
from ..streams import STANDARD, check_output, open_output
from ..tables import FORMATS, has_table_suffix, refuse_spreadsheet
from ..tables.cells import is_number
from ..writing import Target
from .path import bandwidths

_SUFFIXES = ("", ".html", ".htm")
# Rows of a table that a page shows by default, whose fit takes less than a minute or not much longer.
_MOST_ROWS = 4000


def rows(text: str) -> int | str:
    """A number of rows, or ``all``."""
    return text if text == "all" else whole(2)(text)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT|MODEL", help="table, - for standard input, or file that `fit` wrote")
    add_output(parser, "the page", required=True)
    parser.add_argument("--title", help="(default: the name of the input, without its folder)")
    parser.add_argument(
        "--bandwidths",
        type=bandwidths,
        metavar="LIST",
        help="of the slider: 1,2,3, or low:high:count with equal ratios (default: 11; fewer, or none, for many rows)",
    )
    parser.add_argument(
        "--rows",
        type=rows,
        metavar="N",
        help=f"of larger tables, embed a random sample of N rows, or all (default: {_MOST_ROWS})",
    )
    parser.add_argument(
        "--neighbor-counts",
        type=_counts,
        metavar="LIST",
        help="of the slider, for kernels of neighbours: 10,15,30 (default: 5; none for many rows)",
    )
    parser.add_argument("--compare", metavar="MODEL", help="another model of the same rows to show beside it")
    parser.add_argument("--no-path", action="store_true", help="no slider: only the embedding itself")
    parser.add_argument("--coordinates", metavar="FILE", help="write the coordinates, too")
    parser.add_argument("--save-model", metavar="FILE", help="keep the model, for `transform` and `certify`")
    add_table(parser, first_look=True)
    add_estimator(parser, ("multiscale", "sdp", "rkhs"), default_scaling="if they have names")


def run(args: argparse.Namespace, console: Console) -> int:
    _check_page(args.output)
    check_output(args.output, args.force)
    check_model_output(args.save_model, args.force)
    coordinates = Target.beside(args.coordinates, args.force, "--coordinates")
    model = None if args.format or has_table_suffix(args.input) else _stored(args)
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
    # Written before the slider, which takes longest and may be interrupted.
    if args.save_model:
        save_model(model, args.save_model, args.force)
        console.note(f"written: {args.save_model}")
    if coordinates is not None:
        coordinates.write({**model.kept, "z": model.est.embedding_}, console, column_names(model.est))
    other = None if args.compare is None else _other(args, model)
    with open_output(args.output, args.force) as file:
        # Names of folders say nothing about the data, and may be nobody else's business.
        title = args.title or Path(model.source or args.input).name
        report = _report(args, model, console, title if other is None else Path(args.input).name, shown, doubts)
        if other is None:
            file.write(page_bytes(report))
        else:
            file.write(
                comparison_bytes(report, _report(args, other, console, Path(args.compare).name, shown, doubts), title)
            )
    if equal := equal_rows(report):
        console.note(f"{model.source or args.input}: {equal}")
    asks = {"σ": "--bandwidths", "k": "--neighbor-counts"}.get(report.symbol or "")
    if report.note and not report.interrupted:  # that has had its warning
        console.note(f"{report.note} ({asks} asks for others)" if asks else report.note)
    console.note(f"written: {args.output}")
    outputs = {"output": args.output, "model": args.save_model, "coordinates": args.coordinates}
    console.result({**facts(model), **outputs})
    return ExitCode.INTERRUPTED if report.interrupted else exit_code(model.est)


def _report(
    args: argparse.Namespace, model: Model, console: Console, title: str, shown: dict[str, Any], doubts: Sequence[str]
) -> Report:
    """The report of a model. ``shown``, ``doubts``: those of the table; none where the model was fitted before."""
    return collect(
        model.est,
        y=None if model.label is None else _colours(model.label),
        y_name=None if model.label is None else model.label.name,
        row_names=None if model.id is None else [str(value) for value in model.id.values.tolist()],
        first_row=1,
        columns=shown or _columns(model),
        row_numbers=model.preparation.row_numbers(len(model.est.embedding_)),
        bandwidths=None if args.no_path else args.bandwidths or "auto",
        # A slider of a sample would take several times as long as its one fit.
        neighbors=None if args.no_path else args.neighbor_counts or (None if model.preparation.sample else "auto"),
        title=title,
        preparation=preparation(model, doubts),
        verbose=not console.quiet,
    )


def _other(args: argparse.Namespace, model: Model) -> Model:
    """The model to compare with, which was fitted to the same rows."""
    other = load_model(args.compare)
    if not hasattr(other.est, "certificate_"):
        raise CommandError(f"{args.compare}: a {type(other.est).__name__} has no report; other embeddings have one")
    n, m = len(model.est.embedding_), len(other.est.embedding_)
    if n != m:
        raise CommandError(f"{args.compare}: fitted to {counted(m, 'row')}, and {args.input} to {counted(n, 'row')}")
    return other


def _counts(text: str) -> list[int]:
    """``10,15,30``."""
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 2:
        raise argparse.ArgumentTypeError(f"must be whole numbers from 2 on, as 10,15,30, got {text!r}")
    return values


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
    columns: dict[str, Any] = dict(zip(names, values.T, strict=True))
    for feature, span in zip(model.preparation.features, model.preparation.spans, strict=True):
        if feature.kind == "date":
            columns[names[span.start]] = as_dates(values[:, span.start])
    return columns


def _check_page(path: str) -> None:
    if path == STANDARD:
        raise CommandError("a page is written to a file, not to standard output")
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"{path}: a page is HTML, not {suffix}; name it .html (a browser prints it, as PDF too)")


def _stored(args: argparse.Namespace) -> Model:
    given = table_options(args)
    if given:
        raise UsageError(f"{args.input}: {given[0]} is for tables, and this is none by its suffix; a table needs --format")
    refuse_spreadsheet(args.input)
    try:
        return load_model(args.input)
    except ModelFileError as error:
        raise CommandError(f"{error} If it is a table, --format csv (or {', '.join(FORMATS[1:])}) says so.") from None


def _colours(label: Column) -> Any:
    """Labels as numbers, if all that are not empty are numbers."""
    values = label.values.tolist()
    given = [value for value in values if not isinstance(value, str) or value.strip()]
    if given and all(isinstance(value, str) and is_number(value) for value in given):
        return np.array([float(value) if value.strip() else np.nan for value in values])
    return label.values
