"""Programs with a quadratic term, random and symmetric ones, which the benchmark and the tests of the spread share.

    python -m benchmarks.spread_programs --seeds 3000 --sizes 300 1000

solves the random ones, from two starts each, and the symmetric ones by the dual alone. It prints what is not solved, bounds
that contradict each other, and seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, kernel_matrix
from elliptope.sdp import solve
from elliptope.sdp.tuning import TUNING

Array = np.ndarray

SPREADS = (0.01, 0.1, 1.0, 10.0, np.inf)


def gaussian_cost(X: Array, sigma: float, rng: np.random.Generator) -> Array:
    """The paper's J with random weights: diag(J) = (w d)²."""
    w = rng.uniform(0.5, 2, len(X))
    operator = DenseOperator(kernel_matrix(Gaussian(sigma), X), w)
    operator.set_row_scale(w * np.sqrt(np.maximum(operator.abar_diagonal(), 0)))
    return operator @ np.eye(len(X))


def narrow(n: int, rng: np.random.Generator) -> Array:
    return gaussian_cost(rng.standard_normal((n, 2)), 10 ** rng.uniform(-1.5, 0.5), rng)


def disconnected(n: int, rng: np.random.Generator) -> Array:
    X = rng.standard_normal((n, 2)) + 100 * (np.arange(n) % 3)[:, None]
    return gaussian_cost(X, 10 ** rng.uniform(-1, 0.3), rng)


def psd_of_low_rank(n: int, rng: np.random.Generator) -> Array:
    W = rng.standard_normal((n, max(1, n // 3)))
    return W @ W.T


def almost_identity(n: int, rng: np.random.Generator) -> Array:
    W = rng.standard_normal((n, n))
    return np.eye(n) - 1 / n + 10 ** rng.uniform(-8, -2) * (W + W.T)


def indefinite(n: int, rng: np.random.Generator) -> Array:
    """Half of the diagonal is negative."""
    W = rng.standard_normal((n, n))
    return W + W.T


def graph_with_loops(n: int, rng: np.random.Generator) -> Array:
    """Sparse, isolated vertices among it, and some of the diagonal is negative."""
    A = np.triu(rng.random((n, n)) < 0.3, 1)
    return A + A.T + np.diag(rng.uniform(-0.2, 1, n))


FAMILIES = (narrow, disconnected, psd_of_low_rank, almost_identity, indefinite, graph_with_loops)


def random_program(seed: int, largest: int = 30) -> tuple[Array, float]:
    """J, symmetric with a positive entry on its diagonal, and a spread."""
    rng = np.random.default_rng(seed)
    J = FAMILIES[seed % len(FAMILIES)](int(rng.integers(3, largest + 1)), rng)
    J[0, 0] = max(J[0, 0], 0.1)
    return (J + J.T) / 2, float(rng.choice(SPREADS))


def weights(J: Array, s: float) -> Array:
    return np.sqrt(s * np.maximum(J.diagonal(), 0))


def value(J: Array, e: Array, Z: Array) -> float:
    return float((J * Z).sum() - 0.5 * (np.outer(e, e) * Z**2).sum())


def distance(e: Array, Y: Array, Z: Array) -> float:
    """‖Y - Z‖/‖Z‖ in the norm Σ e_i e_j Z_ij²."""
    ee = np.outer(e, e)
    return float(np.sqrt((ee * (Y - Z) ** 2).sum() / (ee * Z**2).sum()))


def symmetric_programs(n: int) -> Iterator[tuple[str, Array]]:
    """Names and costs of about n points on a line, a square grid and a helix, equally spaced, of equal weight."""
    t, side = np.linspace(0, n / 16, n), round(np.sqrt(n))
    shapes = {
        "line": np.arange(float(n))[:, None],
        "grid": np.argwhere(np.ones((side, side))).astype(float),
        "helix": np.column_stack([np.cos(t), np.sin(t), t / 2]),
    }
    for name, width in (("line", 4.0), ("grid", 2.0), ("helix", 1.0)):
        operator = DenseOperator(kernel_matrix(Gaussian(width), shapes[name]))
        operator.set_row_scale(np.sqrt(operator.abar_diagonal()))
        yield name, operator @ np.eye(len(shapes[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000])
    arguments = parser.parse_args()
    started, unsolved, violated = perf_counter(), [], []
    for seed in range(arguments.seeds):
        J, eta = random_program(seed)
        solutions = [solve(J, spread=eta, rng=start) for start in (0, 1)]
        unsolved += [(seed, start) for start, solution in enumerate(solutions) if solution.status != "optimal"]
        bounds = [solution.certificate for solution in solutions]
        if max(b.objective for b in bounds) > min(b.upper_bound for b in bounds):
            violated.append(seed)
    seconds = perf_counter() - started
    print(f"{arguments.seeds} seeds, 2 starts: not solved {unsolved}, bounds violated {violated}, {seconds:.1f} s")
    by_dual = replace(TUNING, small=10**6, dense_newton_rows=10**6)
    for n in arguments.sizes:
        for name, J in symmetric_programs(n):
            for eta in (0.01, 0.1, 1.0):
                started = perf_counter()
                solution = solve(J, spread=eta, rng=0, tuning=by_dual)
                gap, seconds = solution.certificate.relative_gap, perf_counter() - started
                print(f"{name} n={len(J)} spread={eta}: {solution.status}, gap {gap:.1e}, {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
