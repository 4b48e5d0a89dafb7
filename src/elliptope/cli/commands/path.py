"""Solve at many bandwidths: a table with the spectrum, the rank and the certificate at each of them.

examples:
  elliptope path wine.csv --standardize --drop class
  elliptope path wine.csv --standardize --label class --bandwidths 1:6:26 --embeddings frames.csv -o path.csv
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...estimators.path.path import BandwidthPath, bandwidth_path
from ...kernels.bandwidth import knn_bandwidth
from ...kernels.choice import BUILT_IN
from ..console import Console
from ..data import Data
from ..errors import CommandError, ExitCode, UsageError, counted
from ..fitting import read_training_data, scale
from ..methods import add_estimator, parameters_of
from ..options import add_output, add_output_format, add_table
from ..writing import Target, write_result

# Bandwidths by default: their number, and the factor below and above the one that `embed` would choose.
_COUNT, _REACH = 11, 2.0
# Bandwidths of a path, each of which costs a fit: a larger number is a typing error, and must not be allocated.
_MOST = 10_000


def bandwidths(text: str) -> list[float]:
    """``1,2,3``, or ``low:high:count`` with equal ratios."""
    parts = text.split(":")
    try:
        if len(parts) == 1:
            values = [float(part) for part in text.split(",")]
        else:
            low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
            _check_count(count)
            values = np.geomspace(low, high, count).tolist() if min(low, high) > 0 and len(parts) == 3 else []
    except (ValueError, IndexError):
        values = []
    if not values or not all(0 < value < math.inf for value in values):
        raise argparse.ArgumentTypeError(
            f"must be positive numbers, as 1,2,3, or their range and count, as 0.5:6:20, got {text!r}"
        )
    _check_count(len(values))
    return values


def _check_count(count: int) -> None:
    if count > _MOST:
        raise argparse.ArgumentTypeError(f"must be at most {_MOST} bandwidths, got {count}")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="table, or - for standard input")
    add_output(parser, "table with a row per bandwidth (default: -, standard output)")
    add_output_format(parser)
    parser.add_argument(
        "--bandwidths",
        type=bandwidths,
        metavar="LIST",
        help="1,2,3, or low:high:count with equal ratios (default: 11 around `auto`)",
    )
    parser.add_argument(
        "--embeddings", metavar="FILE", help="coordinates, too: a row per bandwidth and row, each turned onto its neighbour"
    )
    parser.add_argument("--checkpoint", metavar="FILE", help="keep what is done (npz), and go on from it next time")
    add_table(parser)
    add_estimator(parser, ("sdp",), without=("--bandwidth", "--neighbors", "--metric"))


def run(args: argparse.Namespace, console: Console) -> int:
    if args.kernel is not None and args.kernel not in BUILT_IN:
        raise UsageError(f"--kernel {args.kernel} has no bandwidth, so that there is no path; use `embed` or `fit`")
    target = Target.of(args, console)
    target.check_columns(("status", "grade"))
    frames = Target.beside(args.embeddings, args.force, "--embeddings")
    if frames is not None:
        frames.check_columns(("bandwidth", "row"))
    data = read_training_data(args, console)
    if data.is_sparse:
        raise CommandError(f"{data.source}: a sparse matrix, which no kernel with a bandwidth takes; use `embed` or `fit`")
    X, _ = scale(args, data, console)
    values = args.bandwidths or _around(knn_bandwidth(X))
    path = bandwidth_path(
        X,
        values,
        sample_weight=data.weight,
        checkpoint=args.checkpoint,
        verbose=not console.quiet,
        **parameters_of(args, "sdp"),
    )
    if path.missing:
        if args.checkpoint:
            done = counted(len(path.records), "bandwidth")
            console.note(f"{args.checkpoint} holds {done}; the same command goes on from there")
        raise KeyboardInterrupt
    if frames is not None:
        frames.write(_frames(path, data), console)
    rows = path.to_rows()
    facts = {"source": data.source, "embeddings": args.embeddings, "path": rows}
    if target.within_json:
        console.result(facts)
    else:
        write_result(target, _columns(rows), facts, console)
    return ExitCode.OK if all(record.status == "optimal" for record in path.records) else ExitCode.NOT_OPTIMAL


def _around(sigma: float) -> list[float]:
    return np.geomspace(sigma / _REACH, sigma * _REACH, _COUNT).tolist()


def _columns(rows: list[dict[str, Any]]) -> dict[str, Array]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _frames(path: BandwidthPath, data: Data) -> dict[str, Array]:
    """A long table: all rows at the first bandwidth, then all at the second, and so on."""
    m, n, k = path.aligned.shape
    return {
        "bandwidth": np.repeat(path.bandwidths, n),
        "row": np.tile(np.arange(1, n + 1), m),
        **{name: np.tile(values, m) for name, values in data.kept.items()},
        "z": path.aligned.reshape(m * n, k),
    }
