"""Fit a model and save it: a file without pickle, for `transform`, `certify`, `report` and elliptope.load in Python.

example:
  elliptope fit wine.csv --standardize --label class -o wine.elliptope
"""

from __future__ import annotations

import argparse

from ..cluster import add_cluster, connected
from ..console import Console
from ..fitting import exit_code, facts, fit, read_training_data
from ..methods import add_estimator, estimator_of
from ..models import check_model_output, save_model
from ..options import add_output, add_table


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="table, or - for standard input")
    add_output(parser, "the model", required=True)
    add_table(parser)
    add_estimator(parser)
    add_cluster(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    check_model_output(args.output, args.force)
    est = estimator_of(args)
    data = read_training_data(args, console)
    with connected(args):
        model = fit(est, args, data, console)
    save_model(model, args.output, args.force)
    console.note(f"written: {args.output}")
    console.result({**facts(model), "model": args.output})
    return exit_code(model.est)
