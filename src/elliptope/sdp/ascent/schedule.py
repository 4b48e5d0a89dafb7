"""The default method: L-BFGS to the neighbourhood of the optimum, Newton from there; interior points where both are slow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator

import numpy as np

from ..._utils.arrays import Array
from ..factors import double_columns, drop_light_columns, largest_rank
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from .concave import Steps, concave, warm_up
from .dense_newton import dense_newton
from .interior_point import interior_point
from .newton import newton
from .quasi_newton import quasi_newton

# Part of the basin's defect from which on it does not pay to change the method, if the solve is to stop there.
_SHORT_WAY = 0.05


def auto(meter: Meter, H: Array, goal: Goal, rng: np.random.Generator) -> Iterator[Iterate]:
    """Approach the basin of the optimum, then converge in it, or by factorisations where the approach is slow."""
    if meter.problem.spread:
        yield from concave(meter, H, goal, rng)
        return
    problem, tuning = meter.problem, meter.problem.tuning
    factors = problem.operator.has_entries
    small = factors and problem.n <= tuning.small
    patience = tuning.patience if small else tuning.patience_per_row * problem.n
    budget = meter.count + patience if factors and problem.n <= tuning.interior_point_rows else math.inf
    if problem.operator.single_is_accurate:
        meter.use_single_precision()
    iterate = yield from warm_up(meter, H, rng)
    # A start in the basin was polished before: more columns would only move it away.
    polished = iterate.defect < tuning.basin
    while True:
        iterate = yield from _approach(meter, iterate, goal, rng, budget)
        slow = iterate.defect >= tuning.basin and meter.count > budget
        if slow and small:
            iterate, _ = yield from _limited(dense_newton(meter, iterate, rng), iterate, tuning.newton_steps, tuning.basin)
            slow = iterate.defect >= tuning.basin
        if slow:
            break
        compressed = _compress(meter, iterate, rng)
        yield compressed  # before columns are added: it may be proved optimal as it is
        if polished or compressed is not iterate or iterate.H.shape[1] >= largest_rank(problem.n):
            iterate = compressed
            break
        iterate = meter.evaluate(double_columns(iterate.H, rng))
    if not slow:
        iterate, slow = yield from _converge(meter, iterate, goal, rng)
    if slow:
        yield from _by_interior_point(meter, iterate, rng)


def _approach(meter: Meter, iterate: Iterate, goal: Goal, rng: np.random.Generator, budget: float) -> Steps:
    """L-BFGS until the basin is reached or the budget spent, in single precision as long as that is exact enough."""
    operator, tuning = meter.problem.operator, meter.problem.tuning
    if operator.single_is_accurate:
        iterate = yield from _rough_approach(meter, iterate, goal, rng, budget)
    last = iterate
    for count, last in enumerate(itertools.chain([iterate], quasi_newton(meter, iterate, rng))):
        done = _arrived(last, goal, tuning.basin) or meter.count > budget
        if not done or count == 0:  # the last one is yielded when it has been compressed
            yield last
        if done:
            break
        if last.defect < tuning.single_precision:
            meter.use_double_precision()
        elif count == operator.single_after and not operator.single_is_accurate:
            meter.use_single_precision()
    if meter.in_single_precision:
        meter.use_double_precision()
        last = meter.evaluate(last.H)
    return last


def _rough_approach(meter: Meter, iterate: Iterate, goal: Goal, rng: np.random.Generator, budget: float) -> Steps:
    """L-BFGS by products of six digits, until the basin is reached or their rounding hides the ascent.

    The last iterate is evaluated anew, in double precision.
    """
    meter.use_single_precision()
    start = last = iterate if iterate.rough else meter.evaluate(iterate.H)
    for last in itertools.chain([start], quasi_newton(meter, start, rng)):
        if _arrived(last, goal, meter.problem.tuning.basin) or meter.count > budget:
            break
        yield last
    meter.use_double_precision()
    return meter.evaluate(last.H)


def _arrived(iterate: Iterate, goal: Goal, basin: float) -> bool:
    """Whether Newton's method takes over: in its basin, unless a few steps more are all that the solve needs."""
    if iterate.defect >= basin:
        return False
    near = _SHORT_WAY * basin
    return goal.aim < near or iterate.defect < near or goal.reached(iterate)


def _compress(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Iterate:
    """Fewer columns, where not all are needed: those that hold next to nothing go if that does not lower the objective.

    Such columns are almost free to move. They do no harm, but Newton's method takes long to find that out.
    """
    H, tuning = iterate.H, meter.problem.tuning
    light = drop_light_columns(H, iterate.pull, tuning.light_column, rng)
    if light.shape[1] < H.shape[1]:
        lighter = meter.evaluate(light)
        if lighter.gain >= iterate.gain * (1 - iterate.defect**2) and lighter.defect < tuning.basin:
            return lighter
    return iterate


def _converge(
    meter: Meter, iterate: Iterate, goal: Goal, rng: np.random.Generator
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    """Newton's method; by factorisations where conjugate gradients take too long. Also returns whether these do, too."""
    problem, tuning = meter.problem, meter.problem.tuning
    dense = problem.operator.has_entries and problem.n <= tuning.dense_newton_rows
    iterate, converged = yield from newton(meter, iterate, goal, rng, tuning.patience if dense else 10 * tuning.patience)
    if converged:
        return iterate, False
    if not dense:
        return (yield from _limited(quasi_newton(meter, iterate, rng), iterate))
    most = tuning.newton_steps if problem.n <= tuning.interior_point_rows else None
    return (yield from _limited(dense_newton(meter, iterate, rng), iterate, most))


def _by_interior_point(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Iterator[Iterate]:
    """The interior-point method with four times the columns: where steps were slow, the optimum often has more of them."""
    wide = double_columns(double_columns(iterate.H, rng), rng)
    iterate, _ = yield from _limited(interior_point(meter, wide, rng), iterate)
    yield from dense_newton(meter, iterate, rng)


def _limited(
    iterates: Iterator[Iterate], start: Iterate, most: int | None = None, defect: float = 0.0
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    """Pass iterates on until one has a smaller ``defect``; the last one (or the start), and whether there were ``most``."""
    last, count = start, 0
    for last in itertools.islice(iterates, most):
        count += 1
        yield last
        if last.defect < defect:
            break
    return last, count == most
