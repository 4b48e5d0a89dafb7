"""Embed a table and write the coordinates, with the label and the identifier of every row.

examples:
  elliptope embed wine.csv --label class -o coordinates.csv
  elliptope embed data.npy --method sdp --n-components 2 -o coordinates.npy
  cut -f 1-5 data.tsv | elliptope embed - > coordinates.csv
"""

from __future__ import annotations

import argparse

from ...estimators.outliers import training_scores
from ..console import Console
from ..fitting import exit_code, facts, fit, read_training_data
from ..models import check_model_output, save_model
from ..options import add_estimator, add_outlier_score, add_output, add_save_model, add_table, estimator_of
from ..writing import Target, write_result

_TABLE = "Columns of text or dates are left out; missing values are an error. Numbers are taken as they are."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="table, or - for standard input")
    add_output(parser, "coordinates (default: -, standard output)")
    add_outlier_score(parser)
    add_save_model(parser)
    add_table(parser, _TABLE)
    add_estimator(parser, n_components=True)


def run(args: argparse.Namespace, console: Console) -> int:
    target = Target.of(args, console)
    check_model_output(args.save_model, args.force)
    est = estimator_of(args)
    data = read_training_data(args, console)
    target.check_columns([*data.kept, *(["outlier_score"] if args.outlier_score else [])])
    model = fit(est, args, data, console)
    if args.save_model:
        save_model(model, args.save_model, args.force)
    scores = {"outlier_score": training_scores(model.est, model.inputs(data.X))} if args.outlier_score else {}
    table, about = {**data.kept, **scores, "z": model.est.embedding_}, {**facts(model), "model": args.save_model}
    write_result(target, table, about, console)
    return exit_code(model.est)
