"""How good are the embeddings, with and without outliers, beside those of other methods?

Labelled data sets (``quality_sets.py``), 0 to 20 % outliers, several seeds: NMI and ARI of k-means and of HDBSCAN, accuracy
of nearest neighbours, accuracy and displacement of new rows, trustworthiness of the picture. Every run is appended to
``quality.csv`` as it ends, and runs found there are not repeated, so that the command can be stopped and started again.
``--report`` writes ``quality.md`` and ``quality.png`` from the file.

    python benchmarks/quality.py --output benchmarks/results --sets development
    python benchmarks/quality.py --output benchmarks/results --sets held-out
    python benchmarks/quality.py --output benchmarks/results --report
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import json
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import machine
import numpy as np
import quality_report
from quality_data import draw
from quality_methods import METHODS, Parameters
from quality_scores import measure
from quality_sets import DEVELOPMENT, HELD_OUT, SETS, available

SCORES = [
    "nmi",
    "ari",
    "nmi_hdbscan",
    "ari_hdbscan",
    "nmi_inliers",
    "accuracy",
    "new_rows",
    "displacement",
    "trustworthiness",
]
KEY = ["data", "outliers", "seed", "method"]
FIELDS = [*KEY, "parameters", "columns", "status", "grade", "gap", "deviation", "seconds", *SCORES]
# Tuning has seeds of its own: no run is scored on a draw that chose its parameters.
TUNING_SEEDS = (100, 101)
GROUPS = {"development": DEVELOPMENT, "held-out": HELD_OUT, "quick": ["wine", "blobs"]}
Row = dict[str, Any]


class Run(NamedTuple):
    """The identity of a row; ``outliers`` in per cent."""

    data: str
    outliers: int
    seed: int
    method: str


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(1)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "quality.csv"
    if not options.report:
        fill(path, runs(options), options.jobs)
    quality_report.write(options.output, read(path))


def runs(options: argparse.Namespace) -> list[Run]:
    """Seeds outermost, so that a command stopped early has run on all sets."""
    sets = available(options.data or GROUPS[options.sets])
    order = itertools.product(range(options.seeds), options.levels, sets, options.methods)
    return [Run(data, level, seed, method) for seed, level, data, method in order]


def fill(path: Path, wanted: list[Run], jobs: int) -> None:
    """Make those rows that are not in the file yet, each appended when it is there."""
    known = {Run(row["data"], int(row["outliers"]), int(row["seed"]), row["method"]) for row in read(path)}
    missing = [run for run in wanted if run not in known]
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    with ProcessPoolExecutor(jobs, initializer=functools.partial(machine.limit_threads, 1)) as pool:
        futures: dict[Future, Run] = {pool.submit(perform, run): run for run in missing}
        for count, future in enumerate(as_completed(futures), 1):
            row = future.result()
            with path.open("a", newline="", encoding="utf-8") as file:
                formatted = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
                csv.DictWriter(file, FIELDS, restval="").writerow(formatted)
            print(f"{count}/{len(missing)} {', '.join(map(str, futures[future]))}: NMI {row['nmi']:.3f}", flush=True)


def perform(run: Run) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is in the table; peers warn of disconnected graphs, at every fit
        start = time.perf_counter()
        row = _measured(run, tuned(run.data, run.method))
        return {**row, "seconds": time.perf_counter() - start}


@functools.cache
def tuned(data: str, method: str) -> Parameters:
    """The candidate with the largest mean of NMI + accuracy over the tuning seeds; the first such."""
    candidates = METHODS[method].candidates
    if len(candidates) == 1:
        return candidates[0]
    totals = []
    for parameters in candidates:
        rows = [_measured(Run(data, 0, seed, method), parameters, complete=False) for seed in TUNING_SEEDS]
        totals.append(sum(row["nmi"] + row["accuracy"] for row in rows))
    return candidates[int(np.argmax(totals))]


def _measured(run: Run, parameters: Parameters, complete: bool = True) -> Row:
    method = METHODS[run.method]
    sample = draw(run.data, run.outliers / 100, run.seed)
    make = functools.partial(method.make, seed=run.seed, **parameters)
    # A second fit, with the test rows, doubles the cost: only where it is reported.
    again = make(sample.X_all) if complete and run.outliers == 0 else None
    scored = measure(make(sample.X_fit), sample, method.ours, again)
    return {**run._asdict(), "parameters": json.dumps(parameters), **scored}


def read(path: Path) -> list[Row]:
    """Rows so far; an empty score becomes NaN."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        numbers = (*SCORES, "gap", "deviation", "seconds")
        return [{**row, **{k: float(row[k] or "nan") for k in numbers}} for row in csv.DictReader(file)]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--sets", choices=GROUPS, default="development", help="group of data sets")
    parser.add_argument("--data", nargs="+", choices=SETS, metavar="NAME", help=f"single sets, of {', '.join(SETS)}")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, metavar="NAME", default=list(METHODS), help=", ".join(METHODS)
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--levels", type=int, nargs="+", default=[0, 3, 10, 20], help="outliers, in per cent")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--report", action="store_true", help="only write tables and figure anew, from quality.csv")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
