"""HTRU2 from raw rows to proof: where the time goes, beside the floor that this machine sets.

The floor: every pair of points once through cdist and exp, every product one pass over K at the speed of a matrix-vector
product; and a factorisation, where the proof takes one, at the speed of a matrix product.

    python benchmarks/htru2_time.py --sigma 10 5
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np
from scipy.spatial.distance import cdist
from timing import Stopwatch, best

from elliptope import SDPEmbedding
from elliptope.datasets import load_htru2
from elliptope.operators import factorization
from elliptope.sdp.loop import Loop

TRAINING = 12_528


def machine() -> tuple[float, float, float]:
    """Pairs per second and thread (cdist in dimension 8, and exp); bytes per second; flops per second."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8))
    pairs = 1e6 / best(lambda: np.exp(-cdist(X, X, "sqeuclidean")))
    A, v = np.ones((6000, 6000)), np.ones(6000)
    bandwidth = A.nbytes / best(lambda: A @ v)
    B = rng.standard_normal((3000, 3000))
    return pairs, bandwidth, 2 * 3000**3 / best(lambda: B @ B)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sigma", type=float, nargs="+", default=[10.0, 5.0])
    sigmas = parser.parse_args().sigma
    threads = os.cpu_count() or 1
    pairs, bandwidth, flops = machine()
    print(f"{threads} cores: {pairs / 1e6:.0f}e6 pairs/s per thread, {bandwidth / 1e9:.1f} GB/s, {flops / 1e9:.0f} GFlop/s")
    X, _ = load_htru2()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    rows = np.random.default_rng(0).permutation(len(X))[:TRAINING]
    proof = Stopwatch(Loop, "_certify")
    factorisation = Stopwatch(factorization, "dpotrf")
    n = TRAINING
    for sigma in sigmas:
        proof.seconds = factorisation.seconds = 0.0
        start = time.perf_counter()
        est = SDPEmbedding(bandwidth=sigma, random_state=0, n_jobs=-1).fit(X[rows])
        seconds = time.perf_counter() - start
        kernel, products = n**2 / 2 / (pairs * threads), est.n_products_ * 8 * n**2 / bandwidth
        flop_time = n**3 / 3 / flops if factorisation.seconds else 0.0
        floor = kernel + products + flop_time
        print(f"sigma={sigma:g}: {seconds:.1f} s, {est.status_}, {est.certificate_}, {est.n_products_} products")
        print(f"  proof {proof.seconds:.1f} s, of which factorisation {factorisation.seconds:.1f} s")
        print(f"  floor {floor:.1f} s: kernel {kernel:.2f}, products {products:.2f}, factorisation {flop_time:.2f}")
        print(f"  {seconds / floor:.2f} times the floor")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
