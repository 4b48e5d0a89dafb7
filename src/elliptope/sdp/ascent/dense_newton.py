r"""Newton's method with exact linear algebra, for problems small enough to factorise J.

The Newton equations for :math:`LH = 0` with unit rows,

.. math:: L D + \operatorname{Diag}(\delta) H = -LH, \qquad h_i \cdot d_i = 0,

are solved through their Schur complement: with :math:`A \approx L`, positive definite,
:math:`(A^{-1} \circ H H^\top)\, \delta = \operatorname{diag}(-A^{-1} L H H^\top)`. Two n × n factorisations, whatever the
rank.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._utils.arrays import Array, as_numpy, inner, like, row_dots
from ..iterate import Iterate
from ..problem import Meter
from ..steps import retract
from .linalg import cholesky, inverse_from_cholesky
from .line_search import flat_step, line_search, settles

# Regularisation below which it is lost in the rounding of the factorisation.
_SMALLEST_REGULARIZATION = 1e-12


def dense_newton(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Levenberg–Marquardt: :math:`A = L + \mu \operatorname{Diag}(v)` with the pulls v and the smallest μ that pays.

    μ falls with every full step, so that convergence is superlinear, and rises until A is positive definite, so that every
    direction ascends. Indefinite J is no obstacle.
    """
    J = meter.problem.core_matrix
    mu = max(min(iterate.stationarity, 1e-2), _SMALLEST_REGULARIZATION)
    while True:
        D, used = _direction(J, iterate, mu)
        D = like(iterate.H, D)
        slope = -2 * inner(iterate.residual, D)
        found = line_search(meter, iterate, D, slope, rng)
        if found is not None:
            step, iterate = found
            mu = used * (0.2 if step == 1 else 2.0)
            yield iterate
            continue
        # The objective is flat to rounding; what is left is to solve LH = 0 with as little regularisation as possible.
        polished = flat_step(meter, iterate, D, rng) or _two_steps(meter, J, iterate, D, mu, rng)
        if polished is not None:
            iterate = polished
            yield iterate
        elif used > mu or mu <= _SMALLEST_REGULARIZATION:
            return
        mu = max(0.1 * mu, _SMALLEST_REGULARIZATION)


def _two_steps(meter: Meter, J: Array, iterate: Iterate, D: Array, mu: float, rng: np.random.Generator) -> Iterate | None:
    """Where L is nearly singular a full step is so long that its second-order error shows; a second step corrects it."""
    middle = meter.evaluate(retract(iterate.H, D, 1.0, rng))
    D, _ = _direction(J, middle, mu)
    new = meter.evaluate(retract(middle.H, like(iterate.H, D), 1.0, rng))
    return new if settles(new, iterate) else None


def _direction(J: Array, iterate: Iterate, mu: float) -> tuple[Array, float]:
    """The regularised Newton step, in NumPy, and the μ that made A positive definite."""
    H, residual, root = as_numpy(iterate.H), as_numpy(iterate.residual), 1 / np.sqrt(as_numpy(iterate.scale))
    scaled = J * -root[:, None]
    scaled *= root
    slack = as_numpy(iterate.slack) * root**2
    while True:
        A = scaled.copy()
        np.fill_diagonal(A, slack + mu)
        factor = cholesky(A)
        if factor is not None:
            break
        mu = max(4 * mu, _SMALLEST_REGULARIZATION)
        if not mu < np.inf:  # A is not finite
            return -(root[:, None] ** 2) * residual, mu
    inverse = inverse_from_cholesky(factor)
    schur = inverse * (H @ H.T)
    schur_factor, info = dpotrf(schur, lower=1, clean=0, overwrite_a=0)
    if info != 0:  # singular to rounding: A is close to singular along H itself
        schur[np.diag_indices_from(schur)] *= 1 + 1e-12
        schur_factor, info = dpotrf(schur, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return -(root[:, None] ** 2) * residual, mu
    Z = inverse @ (root[:, None] * residual)
    delta, _ = dpotrs(schur_factor, row_dots(H, Z), lower=1)
    Z -= inverse @ (delta[:, None] * H)
    return -root[:, None] * Z, mu
