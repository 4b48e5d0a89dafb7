"""Peak memory of `fit`, each in a process of its own, beside what `estimate_memory` says.

Counted is what `fit` adds to the process: the rows, the libraries and a first small fit are there before. Points are drawn
from a normal distribution in ten dimensions, where bandwidths are large and optima have many columns.

    python benchmarks/memory.py --operators dense precomputed regularized --output benchmarks/results
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from elliptope import RKHSEmbedding, SDPEmbedding, estimate_memory

FEATURES = 10
# Matrices of several n × n arrays are measured up to here.
LARGEST = {"precomputed": 8000, "regularized": 4000}
BANDWIDTHS = {"regularized": ("median",)}
# Ill conditioned, and the largest n at which the solver then factorises: the estimate does not count that.
ILL_CONDITIONED = ("dense", 4000, "1.0")
ESTIMATORS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda bandwidth: SDPEmbedding(bandwidth=bandwidth, operator="dense", random_state=0),
    "precomputed": lambda bandwidth: SDPEmbedding(kernel="precomputed", random_state=0),
    "regularized": lambda bandwidth: RKHSEmbedding(length_scale=bandwidth, random_state=0),
    "tiled": lambda bandwidth: SDPEmbedding(bandwidth=bandwidth, operator="tiled", random_state=0),
    "nystroem": lambda bandwidth: SDPEmbedding(bandwidth=bandwidth, operator="nystroem", random_state=0),
    "sparse": lambda bandwidth: SDPEmbedding(kernel="neighbors", random_state=0),
}


def peak() -> int:
    """Bytes; Linux counts in units of 1024."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(operator: str, n: int, bandwidth: str) -> str:
    """A fit in this process, which must be a new one."""
    X = np.random.default_rng(0).standard_normal((n, FEATURES))
    warnings.simplefilter("ignore")
    SDPEmbedding(bandwidth=1.0, random_state=0).fit(X[:50])
    if operator == "precomputed":
        from elliptope.kernels import Gaussian
        from elliptope.kernels.bandwidth import RULES
        from elliptope.operators import kernel_matrix

        X = kernel_matrix(Gaussian(RULES[bandwidth](X)), X)
    before = peak()
    est = ESTIMATORS[operator](float(bandwidth) if bandwidth[0].isdigit() else bandwidth).fit(X)
    used, estimate = peak() - before, estimate_memory(n, X.shape[1], operator=operator)
    return (
        f"{operator:<11} n={n:<7} bandwidth={bandwidth:<6} measured {used / 1e9:6.3f} GB  estimated {estimate / 1e9:6.3f} GB"
        f"  ratio {estimate / used:5.2f}  {est.status_}, relative gap {est.certificate_.relative_gap:.1e} "
        f"({est.certificate_.grade}), {est.n_products_} products, {len(est.eigenvalues_)} columns"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", nargs="+", choices=tuple(ESTIMATORS), default=["dense", "precomputed", "regularized"])
    parser.add_argument("--n", type=int, nargs="+", default=[2000, 4000, 8000, 12_000])
    parser.add_argument("--output", type=Path, help="folder for memory.txt")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # a measurement, in a process of its own
    options = parser.parse_args()
    if options.one:
        operator, n, bandwidth = options.one
        print(measure(operator, int(n), bandwidth))
        return
    cases = [
        (operator, n, bandwidth)
        for operator in options.operators
        for n in options.n
        if n <= LARGEST.get(operator, n)
        for bandwidth in BANDWIDTHS.get(operator, ("median", "auto"))
    ]
    if ILL_CONDITIONED[0] in options.operators:
        cases.append(ILL_CONDITIONED)
    lines = [f"p = {FEATURES}, float64; memory that `fit` adds at its peak"]
    for case in cases:
        command = [sys.executable, __file__, "--one", *map(str, case)]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        print(lines[-1], flush=True)
    if options.output:
        (options.output / "memory.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
