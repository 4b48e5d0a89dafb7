"""The method for the program with a quadratic term: L-BFGS with as many columns as the optimum turns out to have."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from ..._utils.arrays import Array
from ..factors import more_columns, principal_axes
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows
from .newton import newton
from .quasi_newton import quasi_newton

# A defect that only random starts have.
_RANDOM = 0.3

Steps = Generator[Iterate, None, Iterate]


def concave(meter: Meter, H: Array, goal: Goal, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Ascend to ever smaller defects; in between widen H as long as all columns are needed, then drop those that are not.

    The rank of the optimum grows with the quadratic term, up to n. At a second-order critical point with a column to spare Z
    is optimal. Such a column vanishes with the square of the defect.
    """
    tuning, n = meter.problem.tuning, meter.problem.n
    iterate = yield from warm_up(meter, H, rng)
    level, spare = tuning.wide, iterate.defect < tuning.basin  # a start in the basin was found with columns to spare
    while iterate.defect > tuning.concave_basin:
        iterate = yield from _approach(meter, iterate, level, rng)
        if iterate.defect > level:  # no step ascends any more
            break
        H, lengths = principal_axes(iterate.H, _weights(meter))
        vanishing = lengths < tuning.vanishing * iterate.defect**2 * lengths[0]
        first = level == tuning.wide  # where columns that will vanish cannot be told from those that grow
        spare = spare or len(lengths) >= n or (bool(vanishing.any()) and not first)
        if not spare and (not first or lengths[-1] > tuning.spare * lengths[0]):
            iterate = meter.evaluate(more_columns(H, min(len(lengths), n - len(lengths)), rng))
            continue
        iterate = _without(meter, iterate, H, vanishing & (level < 0.1 * tuning.wide), rng)
        level = max(0.1 * min(level, iterate.defect), tuning.concave_basin)
    iterate, _ = yield from newton(meter, iterate, goal, rng, 10 * tuning.patience)
    yield from quasi_newton(meter, iterate, rng)


def warm_up(meter: Meter, H: Array, rng: np.random.Generator) -> Steps:
    r"""From a random start, a few steps :math:`h_i \leftarrow p_i/\lVert p_i\rVert`, each for one product.

    Where the operator has a metric, a random H is smoothed by it instead: rough rows are too far from anything good.
    """
    metric = meter.problem.metric
    for _ in range(4):  # more are never needed
        iterate = meter.evaluate(H)
        if iterate.defect < _RANDOM:
            return iterate
        yield iterate
        H = normalize_rows(iterate.P if metric is None else metric.solve(H), rng)
    return meter.evaluate(H)


def _approach(meter: Meter, iterate: Iterate, level: float, rng: np.random.Generator) -> Steps:
    """L-BFGS until the defect is below ``level``."""
    yield iterate
    for last in quasi_newton(meter, iterate, rng, meter.problem.tuning.concave_memory):
        iterate = last
        yield iterate
        if iterate.defect < level:
            break
    return iterate


def _without(meter: Meter, iterate: Iterate, H: Array, vanishing: Array, rng: np.random.Generator) -> Iterate:
    """H, the iterate in its principal axes, without the last of them if that costs no more than is missing of the gain."""
    kept = int((~vanishing).sum())
    if kept < len(vanishing):
        fewer = meter.evaluate(normalize_rows(H[:, :kept], rng))
        if fewer.gain >= iterate.gain * (1 - iterate.defect**2):
            return fewer
    return meter.evaluate(normalize_rows(H, rng))


def _weights(meter: Meter) -> Array:
    assert meter.problem.weights is not None
    return meter.problem.weights
