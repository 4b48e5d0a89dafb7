"""Second-order polish: truncated Newton on the product of spheres, by products with J alone."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from ..._utils.arrays import Array, inner, namespace
from ..._utils.rounding import TINY
from ..problem import Iterate, Problem
from ..steps import project
from .line_search import line_search, polish_step

_MAX_CG = 500
# In its basin the method takes a handful of steps; more mean that it is not there.
_MAX_STEPS = 30
# Forcing term, at first and at most: a system is solved to the square of what the last step gained, which is no more than it
# is worth far from the optimum, and keeps the convergence of second order near it (Eisenstat and Walker 1996, choice 2).
_FIRST_FORCING = 0.01
_FORCING = 0.1


def newton(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, max_cg: int | None = None
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    r"""Newton's method for LH = 0, each step by preconditioned conjugate gradients.

    The Riemannian Hessian along a tangent D is :math:`\operatorname{proj}_H(LD)`, one product with J per CG step; the
    preconditioner is the diagonal of pulls. CG stops early at negative curvature, and a line search keeps the ascent. Ends
    when rounding allows no further progress, when many steps have not led to the optimum or, with ``max_cg``, when that many
    CG steps do not solve a system. Returns the last iterate and whether the method was at home there.
    """
    forcing = _FIRST_FORCING
    for _ in range(_MAX_STEPS):
        D, solved = _direction(problem, iterate, forcing, max_cg or _MAX_CG)
        slope = -2 * inner(iterate.residual, D)
        found = line_search(problem, iterate, D, slope, rng)
        new = found[1] if found is not None else polish_step(problem, iterate, D, rng)
        if new is None:
            return iterate, solved
        gained = new.defect / iterate.defect if iterate.defect > 0 else 0.0
        forcing, iterate = min(_FORCING, gained**2), new
        yield iterate
        if max_cg is not None and not solved:
            break
    return iterate, False


def _direction(problem: Problem, iterate: Iterate, forcing: float, max_cg: int) -> tuple[Array, bool]:
    """Solve proj(L D) = -LH by preconditioned CG, to a relative residual of ``forcing``; and whether it did."""
    H, slack = iterate.H, iterate.slack[:, None]
    xp = namespace(H)
    D = xp.zeros_like(H)
    r = xp.asarray(iterate.residual, copy=True)
    z = project(iterate.metric.solve(r), H)
    p = -z
    rz = inner(r, z)
    # No further than where the solve will stop.
    defect = max(iterate.defect, TINY)
    target = rz * max(forcing, min(_FORCING, problem.goal.aim / defect)) ** 2
    for step in range(max_cg):
        Lp = project(slack * p - problem.product(p), H)
        curvature = inner(p, Lp)
        if curvature <= 0:
            return (p if step == 0 else D), True
        a = rz / curvature
        D += a * p
        r += a * Lp
        z = project(iterate.metric.solve(r), H)
        rz, previous = inner(r, z), rz
        if rz <= target:
            return D, True
        p *= rz / previous
        p -= z
    return D, False
