"""Extreme eigenvalues of a symmetric operator from a random start, with the probability of being misled."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..operators.base import Array
from .probes import run_together


@dataclass(frozen=True)
class Ritz:
    """Ritz values at both ends after ``steps`` Lanczos steps, and the lower Ritz vector.

    ``lower`` is never below the smallest eigenvalue and ``upper`` never above the largest.
    """

    lower: float
    upper: float
    vector: Array
    steps: int
    exhausted: bool


def lanczos(apply: Callable[[Array], Array], n: int, steps: int, rng: np.random.Generator) -> Ritz:
    """Lanczos with full reorthogonalisation from a start uniform on the sphere."""
    return run_together(apply, [lanczos_probe(n, steps, rng)])[0]


def lanczos_probe(n: int, steps: int, rng: np.random.Generator) -> Generator[Array, Array, Ritz]:
    """The same, for products that others make."""
    steps = min(steps, n)
    Q = np.empty((steps, n))  # one basis vector per row
    alpha, beta = np.empty(steps), np.empty(steps)
    q = rng.standard_normal(n)
    q /= np.linalg.norm(q)
    scale = 0.0
    for k in range(steps):
        Q[k] = q
        u = (yield q[:, None])[:, 0]
        scale = max(scale, float(np.linalg.norm(u)))
        alpha[k] = q @ u
        for _ in range(2):  # twice is enough
            u -= Q[: k + 1].T @ (Q[: k + 1] @ u)
        beta[k] = np.linalg.norm(u)
        if k + 1 == steps:
            break
        if beta[k] <= n * np.finfo(float).eps * scale:
            # The Krylov space is invariant to rounding: go on from a new direction, orthogonal to it.
            beta[k] = 0.0
            u = rng.standard_normal(n)
            for _ in range(2):
                u -= Q[: k + 1].T @ (Q[: k + 1] @ u)
        q = u / np.linalg.norm(u)
    values, vectors = eigh_tridiagonal(alpha, beta[:-1])
    return Ritz(float(values[0]), float(values[-1]), Q.T @ vectors[:, 0], steps, steps == n)


def spread_error(n: int, steps: int, failure_probability: float) -> float:
    r"""ε such that :math:`\lambda_{\max} - \theta \le \varepsilon(\lambda_{\max} - \lambda_{\min})`, but for that risk.

    Kuczyński and Woźniakowski (1992): after k steps from a uniform start the inequality fails with probability at most
    :math:`1.648\sqrt n\, e^{-\sqrt\varepsilon(2k-1)}`. Both sides are invariant under shifts, so psd is not needed.
    """
    return (math.log(1.648 * math.sqrt(n) / failure_probability) / (2 * steps - 1)) ** 2
