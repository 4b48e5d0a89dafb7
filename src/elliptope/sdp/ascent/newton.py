"""Second-order polish: truncated Newton on the product of spheres."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem, row_dots
from .quasi_newton import line_search, project

_MAX_CG = 500
# Forcing term: the linear system is solved to min(this, stationarity), which keeps quadratic convergence.
_FORCING = 0.1


def newton(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Newton's method for LH = 0, each step by preconditioned conjugate gradients.

    The Riemannian Hessian along a tangent D is :math:`\operatorname{proj}_H(LD)`, one product with J per CG step; the
    preconditioner is the diagonal of pulls. CG stops early at negative curvature, and a line search keeps the ascent. Ends
    when rounding allows no further increase.
    """
    iterate = problem.evaluate(H)
    yield iterate
    while True:
        D = _newton_direction(problem, iterate)
        slope = -2 * float(np.vdot(iterate.residual, D))
        found = line_search(problem, iterate, D, slope, rng)
        if found is None:
            # At the rounding level of the objective only the gradient still tells better from worse.
            new = problem.evaluate(_retract(iterate.H + D))
            if not new.stationarity < 0.5 * iterate.stationarity:
                return
        else:
            new = found[1]
        iterate = new
        yield iterate


def _retract(V: Array) -> Array:
    return V / np.sqrt(row_dots(V, V))[:, None]


def _newton_direction(problem: Problem, iterate: Iterate) -> Array:
    """Solve proj(L D) = -LH by preconditioned CG, to an accuracy that grows as the residual falls."""
    H, y = iterate.H, iterate.y[:, None]
    inverse_metric = 1 / np.maximum(iterate.pull, np.finfo(float).tiny)[:, None]
    D = np.zeros_like(H)
    r = iterate.residual.copy()
    z = project(inverse_metric * r, H)
    p = -z
    rz = float(np.vdot(r, z))
    target = rz * min(_FORCING, iterate.stationarity) ** 2
    for step in range(_MAX_CG):
        Lp = project(y * p - problem.product(p), H)
        curvature = float(np.vdot(p, Lp))
        if curvature <= 0:
            return p if step == 0 else D
        a = rz / curvature
        D += a * p
        r += a * Lp
        z = project(inverse_metric * r, H)
        rz, previous = float(np.vdot(r, z)), rz
        if rz <= target:
            break
        p *= rz / previous
        p -= z
    return D
