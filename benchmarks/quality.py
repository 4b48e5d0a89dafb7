"""How good are the embeddings, with and without outliers, beside those of other methods?

Labelled data sets, 0 to 20 % outliers, several seeds, every method with its defaults and tuned: NMI of k-means, accuracy of
nearest neighbours, accuracy and displacement of new rows. Writes ``quality.csv`` (every run), ``quality.md`` (tables) and
``quality.png``; rows of pairs of data set and method that are not measured anew are kept.

    python benchmarks/quality.py --output benchmarks/results
    python benchmarks/quality.py --output benchmarks/results --time    # seconds instead, on a quiet machine
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np
import quality_report
from quality_data import DATA, available, draw
from quality_methods import METHODS, Parameters
from quality_scores import measure
from quality_time import write_times

FIELDS = ["data", "method", "setting", "parameters", "outliers", "seed", "columns", "status"]
FIELDS += ["nmi", "nmi_inliers", "accuracy", "new_rows", "displacement"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is run; tuning has seeds of its own, so that no row is scored on a draw that chose its parameters."""

    shares: tuple[float, ...] = (0.0, 0.03, 0.10, 0.20)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    slow_seeds: int = 3  # methods marked as slow get this many of them
    tuning_seeds: tuple[int, ...] = (100, 101)
    candidates: int | None = None


QUICK = Plan(shares=(0.0, 0.10), seeds=(0,), tuning_seeds=(100,), candidates=2)


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(1)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.time:
        write_times(options.output, options.methods)
        return
    path = options.output / "quality.csv"
    pairs = [] if options.report else list(itertools.product(options.data, options.methods))
    rows = {key: found for key, found in read(path).items() if key not in pairs}
    plan = QUICK if options.quick else Plan()
    with ProcessPoolExecutor(options.jobs, initializer=functools.partial(machine.limit_threads, 1)) as pool:
        for (name, method), new in zip(pairs, pool.map(functools.partial(run, plan=plan), pairs), strict=True):
            rows[name, method] = new
            print(f"{name}, {method}: {len(new)} runs, NMI {np.mean([row['nmi'] for row in new]):.2f}", flush=True)
            write(path, rows)
    write(path, rows)
    quality_report.write(options.output, [row for found in read(path).values() for row in found])


def run(pair: tuple[str, str], plan: Plan) -> list[Row]:
    """Every run of one method on one data set: tuning, then default and tuned parameters on all shares and seeds."""
    name, method = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is in the table; peers warn of disconnected graphs, at every fit
        tuning = list(_tuning(name, method, plan))
        settings = {"default": METHODS[method].default, "tuned": best(tuning)}
        if not tuning:
            del settings["tuned"]
        return tuning + list(_evaluation(name, method, settings, plan))


def _tuning(name: str, method: str, plan: Plan) -> Iterator[Row]:
    for parameters in METHODS[method].candidates[: plan.candidates]:
        for seed in plan.tuning_seeds:
            yield _run(name, method, "tuning", parameters, 0.0, seed)


def best(tuning: list[Row]) -> Parameters:
    """The parameters with the largest mean of NMI + accuracy over the tuning seeds; the first such."""
    totals: dict[str, float] = {}
    for row in tuning:
        totals[row["parameters"]] = totals.get(row["parameters"], 0.0) + row["nmi"] + row["accuracy"]
    return json.loads(max(totals, key=totals.__getitem__)) if totals else {}


def _evaluation(name: str, method: str, settings: dict[str, Parameters], plan: Plan) -> Iterator[Row]:
    known: dict[tuple, Row] = {}  # default and tuned parameters are often the same
    seeds = plan.seeds[: plan.slow_seeds] if METHODS[method].slow else plan.seeds
    for (setting, parameters), share, seed in itertools.product(settings.items(), plan.shares, seeds):
        key = (json.dumps(parameters), share, seed)
        if key not in known:
            known[key] = _run(name, method, setting, parameters, share, seed)
        yield {**known[key], "setting": setting}


def _run(name: str, method: str, setting: str, parameters: Parameters, share: float, seed: int) -> Row:
    sample = draw(name, share, seed)
    make = functools.partial(METHODS[method].make, seed=seed, **parameters)
    # A second fit, with the test rows, doubles the cost: only where it is reported.
    again = make(sample.X_all) if setting != "tuning" and share == 0 else None
    identity = {"data": name, "method": method, "setting": setting, "parameters": json.dumps(parameters)}
    return {**identity, "outliers": share, "seed": seed, **measure(make(sample.X_fit), sample, again)}


def write(path: Path, rows: dict[tuple[str, str], list[Row]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        for pair in itertools.product(DATA, METHODS):
            for row in rows.get(pair, []):
                writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def read(path: Path) -> dict[tuple[str, str], list[Row]]:
    """Rows of an earlier run by data set and method; an empty measure becomes NaN."""
    rows: dict[tuple[str, str], list[Row]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = {k: float(row[k] or "nan") for k in (*quality_report.MEASURES, "outliers")}
                rows.setdefault((row["data"], row["method"]), []).append({**row, **numbers})
    return rows


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--data", nargs="+", choices=DATA, metavar="NAME", help=f"of {', '.join(DATA)}")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--quick", action="store_true", help="blobs and wine, two methods, one seed")
    parser.add_argument("--report", action="store_true", help="only write tables and figure anew, from quality.csv")
    parser.add_argument("--time", action="store_true", help="time the fits instead")
    options = parser.parse_args(argv)
    options.data = available(options.data or (["wine", "blobs"] if options.quick else list(DATA)))
    options.methods = options.methods or (["SDPEmbedding", "PCA"] if options.quick else list(METHODS))
    return options


if __name__ == "__main__":
    main()
