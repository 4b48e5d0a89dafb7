r"""
Z₂ synchronisation
==================

Recover signs from noisy pairwise comparisons, with a proof that they are the most likely ones.

Given :math:`Y = \frac{\lambda}{n} s s^\top + W` with a Wigner matrix W, the maximum-likelihood signs maximise sᵀYs. Where
the relaxation has rank one, its solution *is* that maximiser: the certificate turns a heuristic into a proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elliptope.sdp import Solution, solve


class Synchronization(NamedTuple):
    truth: np.ndarray
    signs: np.ndarray
    overlap: float
    rank_one: bool
    solution: Solution


def observe(n: int, signal: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Signs, and the noisy matrix of their products."""
    truth = rng.choice([-1.0, 1.0], n)
    G = rng.standard_normal((n, n)) / np.sqrt(2 * n)
    return truth, signal / n * np.outer(truth, truth) + G + G.T


def synchronize(Y: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> Synchronization:
    solution = solve(Y, rng=rng)
    U, S, _ = np.linalg.svd(solution.factor, full_matrices=False)
    signs = np.where(U[:, 0] >= 0, 1.0, -1.0)
    rank_one = len(S) == 1 or S[1] < 1e-4 * S[0]
    return Synchronization(truth, signs, abs(float(truth @ signs)) / len(truth), rank_one, solution)


def main(n: int = 400, signal: float = 10.0, seed: int = 0) -> Synchronization:
    rng = np.random.default_rng(seed)
    truth, Y = observe(n, signal, rng)
    result = synchronize(Y, truth, rng)
    print(f"signal {signal}: overlap with the truth {result.overlap:.3f}, relaxation of rank one: {result.rank_one}")
    print(result.solution.certificate)
    return result


def draw(Y: np.ndarray, result: Synchronization) -> None:
    """Comparisons as they come, and with rows and columns ordered by the signs that were found."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    order = np.argsort(result.signs)
    limit = 3 * Y.std()
    for ax, title, shown in zip(axes, ("as observed", "ordered by sign"), (Y, Y[order][:, order]), strict=True):
        ax.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit)
        ax.set(title=title, xticks=[], yticks=[])


if __name__ == "__main__":
    main()
    truth, Y = observe(150, 10.0, np.random.default_rng(0))
    draw(Y, synchronize(Y, truth, np.random.default_rng(0)))
