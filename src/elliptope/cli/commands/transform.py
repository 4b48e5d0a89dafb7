"""Embed new rows with a saved model. Columns are found by the names the model knows, where the table has names.

example:
  elliptope transform wine.elliptope new.csv --label class -o coordinates.csv
"""

from __future__ import annotations

import argparse
import warnings

from ...estimators.outliers import outlier_scores
from ..console import Console
from ..data import read_data
from ..errors import ExitCode
from ..fitting import check_sparse, describe
from ..models import load_model
from ..options import add_outlier_score, add_output, add_table, selection_of
from ..writing import Target, write_result


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that --save-model wrote")
    parser.add_argument("input", metavar="INPUT", help="table, or - for standard input")
    add_output(parser, "coordinates (default: -, standard output)")
    add_outlier_score(parser)
    add_table(parser, "Missing values are filled in as in the training table, or are an error.", training=False)


def run(args: argparse.Namespace, console: Console) -> int:
    target = Target.of(args, console)
    model = load_model(args.model, "; the order is MODEL INPUT")
    data = read_data(args.input, selection_of(args), known=model.preparation)
    check_sparse(data, model.est)
    target.check_columns([*data.kept, *(["outlier_score"] if args.outlier_score else [])])
    describe(data, console)
    with warnings.catch_warnings():
        # Columns have been matched by name already; scikit-learn gets an array without names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        X = model.inputs(data.X)
        Z = model.est.transform(X)
        scores = {"outlier_score": outlier_scores(model.est, X)} if args.outlier_score else {}
    facts = {"model": args.model, "source": data.source, "n_samples": len(Z), "n_components": Z.shape[1]}
    write_result(target, {**data.kept, **scores, "z": Z}, facts, console)
    return ExitCode.OK
