r"""A primal-dual interior-point method for the elliptope: slow per step, indifferent to conditioning.

.. math:: \max \langle J, X\rangle,\ \operatorname{diag} X = b, \qquad
          \min b^\top z,\ Z = \operatorname{Diag}(z) - J \succeq 0 .

At small bandwidths J couples points over many orders of magnitude, and methods that move rows of H converge slowly. The
number of steps of this one hardly depends on that (Helmberg, Rendl, Vanderbei and Wolkowicz 1996, with Mehrotra's predictor
and corrector).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dstev, dtrtrs

from ..._utils.arrays import Array, as_numpy, like
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows
from .linalg import cholesky, inverse_from_cholesky


def interior_point(meter: Meter, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    """Primal-dual steps; after each of them the factor, with as many columns as ``H``, that approximates X.

    X is dense. Its factor is a Nyström approximation on the range of the previous factor, rows normalised; the objective
    need not increase. Needs the entries of J, some n³ operations a step, and a product for each iterate. Ends at the
    relative gap ``interior_point_gap``, or where a Cholesky factorisation fails.
    """
    problem, H = meter.problem, as_numpy(H)
    tuning = problem.tuning
    sums = np.abs(problem.core_matrix).sum(axis=1)
    scale = float(sums.mean())
    if scale == 0:
        return
    # Rows scaled by their absolute sums make Z = 1.1 I - J strictly feasible.
    b = np.maximum(sums, np.finfo(float).eps * scale) / scale
    root = np.sqrt(b)[:, None]  # X is the matrix sought, times root on both sides
    X, Z = np.diag(b), problem.core_matrix / (-scale * root * root.T)
    np.fill_diagonal(Z, 1.1)
    X_factor, Z_factor = cholesky(X), cholesky(Z)
    while Z_factor is not None and X_factor is not None:
        Z_inverse, gap = inverse_from_cholesky(Z_factor), float(np.vdot(X, Z))
        if gap <= tuning.interior_point_gap * abs(float(b @ Z.diagonal()) - gap):
            return
        schur, info = dpotrf(Z_inverse * X, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return

        def length(factor: Array, D: Callable[[Array], Array]) -> float:
            return _longest_step(factor, D, tuning.interior_point_step, rng)

        # Predictor: the step to the boundary.
        dz, dX = _newton(Z_inverse, X, schur, b, 0.0, None)
        reached = _gap_after(X, Z, dX, dz, length(X_factor, dX.dot), length(Z_factor, _times(dz)))
        centring = min(1.0, max(reached / gap, 0.0) ** 2) * gap / problem.n
        # Corrector: with the second-order term of the predictor.
        second = (Z_inverse * -dz) @ dX
        dz, dX = _newton(Z_inverse, X, schur, b, centring, 0.5 * (second + second.T))
        np.fill_diagonal(dX, 0.0)  # diag X = b, exactly
        X, X_factor = _advance(X, dX, length(X_factor, dX.dot))
        Z, Z_factor = _advance(Z, np.diag(dz), length(Z_factor, _times(dz)))
        H = _low_rank_factor(X, root, H, rng)
        yield meter.evaluate(like(problem.offset, H))


def _newton(
    Z_inverse: Array, X: Array, schur: Array, b: Array, centring: float, second: Array | None
) -> tuple[Array, Array]:
    """The HKM direction for target ``centring``, with the corrector's second-order term where given."""
    rhs = centring * Z_inverse.diagonal() - b
    if second is not None:
        rhs = rhs + second.diagonal()
    dz, _ = dpotrs(schur, rhs, lower=1)
    dX = (Z_inverse * -dz) @ X
    dX = 0.5 * (dX + dX.T)
    dX -= X
    if centring:
        dX += centring * Z_inverse
    if second is not None:
        dX += second
    return dz, dX


def _gap_after(X: Array, Z: Array, dX: Array, dz: Array, step_x: float, step_z: float) -> float:
    X_new = X + step_x * dX
    return float(np.vdot(X_new, Z) + step_z * (X_new.diagonal() @ dz))


def _longest_step(factor: Array, D: Callable[[Array], Array], part: float, rng: np.random.Generator) -> float:
    """min(1, ``part`` of the largest step t for which the factorised matrix plus t D is definite), by Lanczos on C⁻¹DC⁻ᵀ.

    So few steps lose no orthogonality that would matter to an estimate.
    """
    n = len(factor)
    steps = min(10, n)
    alpha, beta = np.empty(steps), np.empty(steps)
    q, previous = rng.standard_normal(n), np.zeros(n)
    norm = math.sqrt(q @ q)
    for k in range(steps):
        q /= norm
        u, _ = dtrtrs(factor, q, lower=1, trans=1)
        u, _ = dtrtrs(factor, D(u), lower=1)
        alpha[k] = q @ u
        u -= alpha[k] * q
        if k:
            u -= norm * previous
        q, previous = u, q
        norm = beta[k] = math.sqrt(u @ u)
        if not norm > 0:
            steps = k + 1
            break
    lower = dstev(alpha[:steps], beta[: max(steps - 1, 1)], compute_v=0)[0][0]
    return min(1.0, part / -lower) if lower < 0 else 1.0


def _times(d: Array) -> Callable[[Array], Array]:
    return lambda u: d * u


def _advance(P: Array, D: Array, step: float) -> tuple[Array, Array | None]:
    """P + step D with its Cholesky factor, the step made shorter until there is one."""
    while step > math.sqrt(np.finfo(float).eps):
        new = P + step * D
        new_factor = cholesky(new)
        if new_factor is not None:
            return new, new_factor
        step *= 0.8  # the Ritz value was optimistic
    return P, None


def _low_rank_factor(X: Array, root: Array, H: Array, rng: np.random.Generator) -> Array:
    r"""Normalised rows of the Nyström factor :math:`X H (H^\top X H)^{-1/2}` on the range of H, of X scaled by ``root``."""
    XH = X @ (H / root) / root
    values, U = np.linalg.eigh(H.T @ XH)
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    return normalize_rows(XH @ (U / np.sqrt(values)), rng)
