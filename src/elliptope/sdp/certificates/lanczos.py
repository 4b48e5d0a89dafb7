"""Extreme eigenvalues of a symmetric operator from a random start, with the probability of being misled."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..._utils.arrays import Array, like, namespace


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


def lanczos_probe(n: int, steps: int, rng: np.random.Generator, model: Array | None = None) -> Generator[Array, Array, Ritz]:
    """Lanczos with full reorthogonalisation from a start uniform on the sphere, for products that others make.

    Arrays are like ``model`` (NumPy's by default).
    """
    steps = min(steps, n)
    q = rng.standard_normal(n)
    q /= _norm(q)
    q = q if model is None else like(model, q)
    Q = namespace(q).empty((steps, n), dtype=q.dtype, device=q.device)  # one basis vector per row
    alpha, beta = np.empty(steps), np.empty(steps)
    scale = 0.0
    for k in range(steps):
        Q[k, :] = q
        u = (yield q[:, None])[:, 0]
        scale = max(scale, _norm(u))
        alpha[k] = float(q @ u)
        basis = Q[: k + 1, :]
        for _ in range(2):  # twice is enough
            u -= basis.T @ (basis @ u)
        beta[k] = _norm(u)
        if k + 1 == steps:
            break
        if beta[k] <= n * np.finfo(float).eps * scale:
            # The Krylov space is invariant to rounding: go on from a new direction, orthogonal to it.
            beta[k] = 0.0
            u = like(q, rng.standard_normal(n))
            for _ in range(2):
                u -= basis.T @ (basis @ u)
        q = u / _norm(u)
    values, vectors = eigh_tridiagonal(alpha, beta[:-1])
    return Ritz(float(values[0]), float(values[-1]), Q.T @ like(q, vectors[:, 0]), steps, steps == n)


def _norm(u: Array) -> float:
    return math.sqrt(float(u @ u))


def spread_error(n: int, steps: int, failure_probability: float) -> float:
    r"""ε such that :math:`\lambda_{\max} - \theta \le \varepsilon(\lambda_{\max} - \lambda_{\min})`, but for that risk.

    Kuczyński and Woźniakowski (1992): after k steps from a uniform start the inequality fails with probability at most
    :math:`1.648\sqrt n\, e^{-\sqrt\varepsilon(2k-1)}`. Both sides are invariant under shifts, so psd is not needed.
    """
    return (math.log(1.648 * math.sqrt(n) / failure_probability) / (2 * steps - 1)) ** 2
