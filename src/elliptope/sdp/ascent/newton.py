"""Second-order polish: truncated Newton on the product of spheres, by products with J alone."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from ..._utils.arrays import Array, in_precision_of, inner, largest, namespace
from ..._utils.rounding import TINY
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from ..steps import project
from .line_search import flat_step, line_search


def newton(
    meter: Meter, iterate: Iterate, goal: Goal, rng: np.random.Generator, max_cg: int, single: Meter | None = None
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    r"""Newton's method for LH = 0, each step by preconditioned conjugate gradients.

    The Riemannian Hessian along a tangent D is :math:`\operatorname{proj}_H(LD)`, one product with J per CG step; a rough
    one will do, as the residual of the next step is exact again; the preconditioner is the metric of the iterate. CG stops
    early at negative curvature, and a line search keeps the ascent. With a meter in ``single`` precision CG uses that.
    A system is solved to the square of what the last step gained, which is no more than it is worth far from the optimum,
    and keeps the convergence of second order near it (Eisenstat and Walker 1996, choice 2).

    Ends when rounding allows no further progress, after many steps, or when ``max_cg`` CG steps do not solve a system.
    Returns the last iterate, and whether the method has converged as far as rounding allows.
    """
    tuning = meter.problem.tuning
    forcing = tuning.forcing**2  # nothing is known yet of what a step gains
    for _ in range(tuning.newton_steps):
        # No further than where the solve will stop.
        enough = max(forcing, min(tuning.forcing, goal.aim / max(iterate.defect, TINY)))
        if single is None:
            D, solved = _direction(meter, iterate, iterate.residual, enough, max_cg)
        else:
            D, solved = _single_direction(single, iterate, enough, max_cg)
        slope = -2 * inner(iterate.residual, D)
        found = line_search(meter, iterate, D, slope, rng)
        new = found[1] if found is not None else flat_step(meter, iterate, D, rng)
        if new is None:
            return iterate, solved
        gained = new.defect / iterate.defect if iterate.defect > 0 else 0.0
        forcing, iterate = min(tuning.forcing, gained**2), new
        yield iterate
        if not solved:
            break
    return iterate, False


def _single_direction(single: Meter, iterate: Iterate, forcing: float, max_cg: int) -> tuple[Array, bool]:
    """The same as :func:`_direction` in single precision, with the residual in double precision scaled to size 1."""
    near = single.evaluate(in_precision_of(single.problem.offset, iterate.H))
    size = largest(abs(iterate.residual))
    if not size > 0:
        return iterate.residual, True
    residual = in_precision_of(near.H, iterate.residual / size)
    D, solved = _direction(single, near, residual, max(forcing, single.problem.tuning.rough_forcing), max_cg)
    return project(in_precision_of(iterate.H, D), iterate.H) * size, solved


def _direction(meter: Meter, iterate: Iterate, residual: Array, forcing: float, max_cg: int) -> tuple[Array, bool]:
    """Solve proj(L D) = -residual by preconditioned CG, to a relative residual of ``forcing``; and whether it did."""
    H, slack = iterate.H, iterate.slack[:, None]
    xp = namespace(H)
    D = xp.zeros_like(H)
    r = xp.asarray(residual, copy=True)
    z = project(iterate.precondition(r), H)
    p = -z
    rz = inner(r, z)
    if meter.problem.operator.single_is_accurate:
        forcing = max(forcing, meter.problem.tuning.rough_forcing)
    target = rz * forcing**2
    for step in range(max_cg):
        Lp = slack * p - meter.rough_product(p)
        if iterate.quadratic is not None:
            Lp += iterate.quadratic.hessian(p)
        Lp = project(Lp, H)
        curvature = inner(p, Lp)
        if curvature <= 0:
            return (p if step == 0 else D), True
        a = rz / curvature
        D += a * p
        r += a * Lp
        z = project(iterate.precondition(r), H)
        rz, previous = inner(r, z), rz
        if rz <= target:
            return D, True
        p *= rz / previous
        p -= z
    return D, False
