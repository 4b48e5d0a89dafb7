"""Embed a table and write the coordinates, with the label and the identifier of every row.

examples:
  elliptope embed wine.csv --standardize --label class -o coordinates.csv
  elliptope embed data.npy --method sdp --n-components 2 --normalize unit -o coordinates.npy
  elliptope embed tfidf.npz --metric cosine -o coordinates.csv
  cut -f 1-5 data.tsv | elliptope embed - --format tsv > coordinates.tsv
"""

from __future__ import annotations

import argparse

from ...estimators.outliers import training_scores
from ..cluster import add_cluster, connected
from ..console import Console
from ..fitting import exit_code, facts, fit, read_training_data
from ..methods import add_estimator, estimator_of
from ..models import check_model_output, column_names, save_model
from ..options import add_outlier_score, add_output, add_output_format, add_table
from ..writing import Target, write_result


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="table, or - for standard input")
    add_output(parser, "coordinates (default: -, standard output)")
    add_output_format(parser)
    add_outlier_score(parser)
    parser.add_argument("--save-model", metavar="FILE", help="keep the model, for `transform` and `certify`")
    add_table(parser)
    add_estimator(parser)
    add_cluster(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    target = Target.of(args, console)
    check_model_output(args.save_model, args.force)
    est = estimator_of(args)
    data = read_training_data(args, console)
    target.check_columns([*data.kept, *(["outlier_score"] if args.outlier_score else [])])
    with connected(args):
        model = fit(est, args, data, console)
    if args.save_model:
        save_model(model, args.save_model, args.force)
    scores = {"outlier_score": training_scores(model.est, model.inputs(data.X))} if args.outlier_score else {}
    table, about = {**data.kept, **scores, "z": model.est.embedding_}, {**facts(model), "model": args.save_model}
    write_result(target, table, about, console, column_names(model.est))
    return exit_code(model.est)
