"""How time, products and memory grow with n, on ten z-scored columns of Covertype, one operator after the other.

Every fit runs in a process of its own, from raw rows, with all cores. Rows of ``scale.csv`` that are not measured anew are
kept; ``scale.md`` has the tables with fitted exponents, ``scale.png`` the log-log plots.

    python benchmarks/scale.py --output benchmarks/results                    # the growth of every operator
    python benchmarks/scale.py --output benchmarks/results --case "tiled, median" --n 100000 --tol 1e-3
    python benchmarks/scale.py --output benchmarks/results --report           # tables and plots anew, from scale.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scale_report

from elliptope import SDPEmbedding
from elliptope.datasets import load_covertype
from elliptope.estimators import sdp_embedding
from elliptope.sdp.loop import Loop

ALL = 581_012


@dataclass(frozen=True)
class Case:
    """Parameters of a fit, the tolerance it is asked for, and the sizes at which its growth is measured."""

    parameters: dict[str, Any]
    tol: float
    sizes: tuple[int, ...]


CASES = {
    "dense, median": Case({"operator": "dense", "bandwidth": "median"}, 1e-6, (1000, 2000, 4000, 8000, 16_000)),
    "dense, auto": Case({"operator": "dense", "bandwidth": "auto"}, 1e-6, (1000, 2000, 4000, 8000)),
    "tiled, median": Case({"operator": "tiled", "bandwidth": "median"}, 1e-3, (2000, 4000, 8000, 16_000, 32_000)),
    "tiled, auto": Case({"operator": "tiled", "bandwidth": "auto"}, 1e-3, (2000, 4000, 8000, 16_000)),
    "neighbors": Case({"kernel": "neighbors"}, 1e-5, (1000, 4000, 20_000, 100_000, ALL)),
}
TEXT = ("case", "status", "grade")
PHASES = ("kernel", "ascent", "certificate", "transform")
FIELDS = ["case", "n", "tol", "seconds", *(f"seconds_{phase}" for phase in PHASES), "products", "iterations", "gigabytes"]
FIELDS += ["status", "grade", "relative_gap", "objective", "upper_bound", "rank"]
FIELDS += ["extension_error"]
# Rows whose transform is compared with the embedding.
CHECKED = 20_000


class Stopwatch:
    """Times and counts the calls of one function of a module."""

    def __init__(self, module: Any, name: str) -> None:
        self.seconds, self.calls = 0.0, 0
        plain = getattr(module, name)

        def timed(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            self.calls += 1
            try:
                return plain(*args, **options)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(module, name, timed)


def rows(n: int) -> np.ndarray:
    X, _ = load_covertype()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X if n >= len(X) else X[np.random.default_rng(0).choice(len(X), n, replace=False)]


def measure(name: str, n: int, tol: float) -> dict[str, Any]:
    """One fit in this process."""
    X = rows(n)
    warnings.simplefilter("ignore")
    phases = {
        "kernel": Stopwatch(sdp_embedding, "pose"),
        "ascent": Stopwatch(Loop, "_ascend"),
        "certificate": Stopwatch(Loop, "_certify"),
    }
    estimator = SDPEmbedding(**CASES[name].parameters, tol=tol, random_state=0, n_jobs=-1)
    start = time.perf_counter()
    estimator.fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    spent = {f"seconds_{phase}": watch.seconds for phase, watch in phases.items()}
    part = slice(None, None, max(1, n // CHECKED))
    start = time.perf_counter()
    Z, there = estimator.transform(X[part]), estimator.embedding_[part]
    c = estimator.certificate_
    return {
        "case": name,
        "n": n,
        "tol": tol,
        "seconds": seconds,
        **spent,
        "seconds_transform": time.perf_counter() - start,
        "products": estimator.n_products_,
        "iterations": estimator.n_iter_,
        "gigabytes": peak,
        "status": estimator.status_,
        "grade": c.grade,
        "relative_gap": c.relative_gap,
        "objective": c.objective,
        "upper_bound": c.upper_bound,
        "rank": len(estimator.eigenvalues_),
        "extension_error": float(np.abs(Z - there).max() / np.abs(there).max()),
    }


def run(name: str, n: int, tol: float) -> dict[str, Any]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, __file__, "--one", name, str(n), str(tol)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        said = finished.stderr.strip().splitlines() or ["nothing"]
        raise SystemExit(f"{name}, n = {n}: the process ended with {finished.returncode} and said {said[-1]}")
    return json.loads(finished.stdout.splitlines()[-1])


def read(path: Path) -> dict[tuple[str, int, float], dict[str, Any]]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    for row in found:
        row.update({name: float(row[name]) for name in FIELDS if name not in TEXT})
    return {(row["case"], int(row["n"]), float(row["tol"])): row for row in found}


def write(path: Path, found: dict[tuple[str, int, float], dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for key in sorted(found):
            writer.writerow({k: f"{v:.10g}" if isinstance(v, float) else v for k, v in found[key].items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="folder for scale.csv, scale.md and scale.png")
    parser.add_argument("--case", nargs="+", choices=tuple(CASES), default=tuple(CASES), metavar="CASE")
    parser.add_argument("--n", type=int, nargs="+", help="rows; by default those at which growth is measured")
    parser.add_argument("--tol", type=float, help="tolerance; by default that of the case")
    parser.add_argument("--report", action="store_true", help="only write tables and plots anew")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, n, tol = options.one
        print(json.dumps(measure(name, int(n), float(tol))))
        return
    if options.output is None:
        parser.error("--output is required")
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "scale.csv"
    found = read(path)
    for name in () if options.report else options.case:
        for n in options.n or CASES[name].sizes:
            tol = options.tol or CASES[name].tol
            found[name, n, tol] = row = run(name, n, tol)
            print(f"{name}, n = {n}: {row['seconds']:.1f} s, {row['gigabytes']:.2f} GB, {row['products']} products, "
                  f"{row['status']}, gap {row['relative_gap']:.1e} ({row['grade']})", flush=True)  # fmt: skip
            write(path, found)
    scale_report.write(options.output, list(read(path).values()))


if __name__ == "__main__":
    main()
