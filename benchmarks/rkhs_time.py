"""RKHSEmbedding from raw rows to proof, against n: seconds, where they go, and the flops of the dense steps.

The floor counts the n × n linear algebra alone: the Cholesky factors of K and of the metric with F Fᵀ between them (n³/3
flops each), the root of the metric (n³), and per proof two triangular products (n³ each) and a Cholesky factor (n³/3).

    python benchmarks/rkhs_time.py --n 1000 2000 4000 --output benchmarks/results
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
from timing import Stopwatch, best

from elliptope import RKHSEmbedding
from elliptope.kernels import base as kernels
from elliptope.operators import regularized
from elliptope.sdp.certificates import certifier

SMOOTHNESS = 2.5
LENGTH_SCALE = 0.7
LAMBDAS = (1e-2, 1e-3, 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--output", type=Path, help="folder for rkhs_time.txt")
    options = parser.parse_args()
    B = np.random.default_rng(0).standard_normal((3000, 3000))
    flops = 2 * 3000**3 / best(lambda: B @ B)
    lines = [f"{os.cpu_count()} cores, {flops / 1e9:.0f} GFlop/s; uniform points in the square, p = 2, float64"]
    lines.append(f"smoothness {SMOOTHNESS:g}, length scale {LENGTH_SCALE:g}")
    kernel, metric = Stopwatch(kernels, "kernel_matrix"), Stopwatch(regularized, "RegularizedMetric")
    proof = Stopwatch(certifier, "_factorize")
    for n in options.n:
        X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
        for regularization in LAMBDAS:
            for watch in (kernel, metric, proof):
                watch.seconds, watch.calls = 0.0, 0
            start = time.perf_counter()
            est = RKHSEmbedding(
                smoothness=SMOOTHNESS, length_scale=LENGTH_SCALE, regularization=regularization, random_state=0, n_jobs=-1
            ).fit(X)
            seconds = time.perf_counter() - start
            floor = (2 + proof.calls * 7 / 3) * n**3 / flops
            c = est.certificate_
            lines.append(
                f"n={n} regularization={regularization:g}: {seconds:.2f} s, {est.status_}, {c.grade}, relative gap "
                f"{c.relative_gap:.1e}, rank {len(est.eigenvalues_)}, {est.n_products_} products; kernel "
                f"{kernel.seconds:.2f}, metric {metric.seconds:.2f}, {proof.calls} proof(s) {proof.seconds:.2f}; floor "
                f"{floor:.2f} s; peak memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"
            )
            print(lines[-1], flush=True)
    if options.output:
        (options.output / "rkhs_time.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
