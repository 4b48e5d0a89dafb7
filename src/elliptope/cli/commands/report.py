"""One page for the browser, in one file: the embedding to explore, its certificate in plain words, a slider over bandwidths.

examples:
  elliptope report wine.csv --standardize --label class -o report.html
  elliptope report wine.elliptope -o report.html
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..console import Console
from ..data import Column
from ..errors import CommandError, UsageError, missing_extra
from ..fitting import exit_code, facts, fit, read_training_data
from ..models import Model, check_model_output, load_model, save_model
from ..options import add_estimator, add_output, add_table, table_options
from ..streams import STANDARD, check_output
from ..tables import has_table_suffix
from ..tables.text import is_number
from ..writing import Target
from .path import bandwidths

SUMMARY = "a page for the browser"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT|MODEL", help="table, - for standard input, or file that `fit` wrote")
    add_output(parser, "the page", required=True)
    parser.add_argument("--title", help="(default: the name of the input)")
    parser.add_argument(
        "--bandwidths", type=bandwidths, metavar="LIST", help="of the slider: 1,2,3 or low:high:count (default: 11)"
    )
    parser.add_argument("--no-path", action="store_true", help="no slider: only the embedding itself")
    parser.add_argument("--coordinates", metavar="FILE", help="write the coordinates, too")
    parser.add_argument("--save-model", metavar="FILE", help="keep the model, for `transform` and `certify`")
    add_table(parser)
    add_estimator(parser, ("sdp", "rkhs"))


def run(args: argparse.Namespace, console: Console) -> int:
    if args.output == STANDARD:
        raise CommandError("a page is written to a file, not to standard output")
    check_output(args.output, args.force)
    check_model_output(args.save_model, args.force)
    coordinates = Target.beside(args.coordinates, args.force, "--coordinates")
    model = None if args.format or has_table_suffix(args.input) else _stored(args)
    write_report = _report_function()
    if model is None:
        model = fit(args, read_training_data(args, console), console)
    kept = {column.name: column.values for column in (model.id, model.label) if column is not None}
    if coordinates is not None:
        coordinates.check_columns(kept)
    if not hasattr(model.est, "certificate_"):
        raise CommandError(f"{args.input}: a {type(model.est).__name__} has no report; sdp and rkhs embeddings have one")
    with _all_bandwidths():
        write_report(
            model.est,
            args.output,
            y=None if model.label is None else _colours(model.label),
            row_names=None if model.id is None else [str(value) for value in model.id.values.tolist()],
            bandwidths=None if args.no_path else args.bandwidths or "auto",
            title=args.title or model.source or args.input,
            overwrite=args.force,
            verbose=not console.quiet,
        )
    console.note(f"written: {args.output}")
    if args.save_model:
        save_model(model, args.save_model, args.force)
        console.note(f"written: {args.save_model}")
    if coordinates is not None:
        coordinates.write({**kept, "z": model.est.embedding_}, console)
    outputs = {"output": args.output, "model": args.save_model, "coordinates": args.coordinates}
    console.result({**facts(model), **outputs})
    return exit_code(model.est)


@contextmanager
def _all_bandwidths() -> Iterator[None]:
    """A path that Ctrl-C has ended early is no reason for a warning, but for ending here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "bandwidth_path: ended early", ConvergenceWarning)
        try:
            yield
        except ConvergenceWarning:
            raise KeyboardInterrupt from None


def _report_function() -> Any:
    try:
        return importlib.import_module("elliptope.report").write_report
    except ImportError as error:
        raise missing_extra("report pages", "report", error) from None


def _stored(args: argparse.Namespace) -> Model:
    given = table_options(args)
    if given:
        raise UsageError(f"{args.input}: {given[0]} is for tables, and this is none by its suffix; a table needs --format")
    return load_model(args.input)


def _colours(label: Column) -> Any:
    """Labels as numbers where all of them are."""
    values = label.values.tolist()
    if all(isinstance(value, str) and is_number(value) for value in values):
        return np.array([float(value) for value in values])
    return label.values
