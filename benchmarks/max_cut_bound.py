"""The max-cut relaxation of a sparse random graph: ours, proved, beside an independent method on the same graph.

python benchmarks/max_cut_bound.py --nodes 2000 --edges 20000
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from elliptope.sdp import solve

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from max_cut import random_graph


def unconstrained(C: sparse.csr_array, rank: int, rng: np.random.Generator) -> float:
    """SciPy's L-BFGS-B on a factor whose rows are normalised in the objective; a lower bound on the optimum."""
    n = C.shape[0]

    def cost(v: np.ndarray) -> tuple[float, np.ndarray]:
        V = v.reshape(n, rank)
        norms = np.linalg.norm(V, axis=1, keepdims=True)
        H = V / norms
        G = C @ H
        gradient = -2 * (G - np.sum(G * H, axis=1, keepdims=True) * H) / norms
        return -float(np.sum(H * G)), gradient.ravel()

    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-7}
    return -minimize(cost, rng.standard_normal(n * rank), jac=True, method="L-BFGS-B", options=options).fun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--edges", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    A = random_graph(arguments.nodes, arguments.edges, np.random.default_rng(arguments.seed))
    C = sparse.csr_array((sparse.diags_array(A.sum(axis=1)) - A) / 4)
    start = time.perf_counter()
    solution = solve(C, rng=arguments.seed)
    seconds = time.perf_counter() - start
    certificate = solution.certificate
    print(f"elliptope: {seconds:.2f} s, {solution.n_products} products, rank {certificate.null_space.rank}")
    print(f"  {solution.status}: {certificate}")
    start = time.perf_counter()
    rank = int(np.sqrt(2 * arguments.nodes)) + 1  # enough for every local optimum to be global
    value = unconstrained(C, rank, np.random.default_rng(arguments.seed + 1))
    print(f"L-BFGS-B, rank {rank}: {time.perf_counter() - start:.2f} s, objective {value:.6f}")
    print(f"relative difference {abs(value - certificate.objective) / certificate.objective:.1e}")


if __name__ == "__main__":
    main()
