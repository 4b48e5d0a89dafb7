"""The method for the program with a quadratic term: L-BFGS with as many columns as the optimum turns out to have."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator

import numpy as np

from ..._utils.arrays import Array, hstack, in_precision_of, inner, largest, like
from ..factors import principal_axes
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows
from .newton import newton
from .quasi_newton import quasi_newton

# A defect that only random starts have.
_RANDOM = 0.3
# Entries of a factor beyond which steps in single precision are faster, and sizes of entries that it can square.
_LARGE = 50_000
_SIZES = 1e10
# Products by which random columns are made smooth.
_SMOOTHING = 6

Steps = Generator[Iterate, None, Iterate]


def concave(meter: Meter, H: Array, goal: Goal, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Ascend to ever smaller defects; in between widen H as long as all columns are needed, then drop those that are not.

    The rank of the optimum grows with the quadratic term, up to n. At a second-order critical point with a column to spare Z
    is optimal. Such a column vanishes with the square of the defect. Large factors ascend in single precision first.
    """
    tuning = meter.problem.tuning
    iterate = yield from warm_up(meter, H, rng)
    spare = iterate.defect < tuning.basin  # a start in the basin was found with columns to spare
    rough = _in_single_precision(meter, iterate)
    if rough is not None and not spare:
        first = rough.evaluate(normalize_rows(in_precision_of(rough.problem.offset, iterate.H), rng))
        iterate, spare = yield from _descend(rough, first, spare, tuning.single_defect, rng)
        iterate = meter.evaluate(normalize_rows(in_precision_of(meter.problem.offset, iterate.H), rng))
    iterate, _ = yield from _descend(meter, iterate, spare, tuning.concave_basin, rng)
    iterate, _ = yield from newton(meter, iterate, goal, rng, 10 * tuning.patience)
    yield from quasi_newton(meter, iterate, rng)


def _descend(
    meter: Meter, iterate: Iterate, spare: bool, last: float, rng: np.random.Generator
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    """Until the defect is below ``last``, or no step ascends; and whether H was found to have columns to spare."""
    tuning, n, level = meter.problem.tuning, meter.problem.n, meter.problem.tuning.wide
    while iterate.defect > last:
        iterate = yield from _approach(meter, iterate, level, rng)
        if iterate.defect > level:
            break
        H, lengths = principal_axes(iterate.H, _weights(meter))
        vanishing = lengths < tuning.vanishing * iterate.defect**2 * lengths[0]
        first = level == tuning.wide  # where columns that will vanish cannot be told from those that grow
        spare = spare or len(lengths) >= n or (bool(vanishing.any()) and not first)
        if not spare and (not first or lengths[-1] > tuning.spare * lengths[0]):
            iterate = _widened(meter, iterate, min(len(lengths), n - len(lengths)), rng)
            continue
        iterate = _without(meter, iterate, H, vanishing & (level < 0.1 * tuning.wide), rng)
        level = max(0.1 * min(level, iterate.defect), last)
    return iterate, spare


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


def _widened(meter: Meter, iterate: Iterate, more: int, rng: np.random.Generator) -> Iterate:
    r"""H with so many columns more, along which L is most negative as far as a few products tell.

    They are what :math:`(\tfrac12 + M^{-1}(J - EZE))^k` makes of random ones, and hold a tenth of the squared length of H.
    """
    H, n = iterate.H, meter.problem.n
    assert iterate.quadratic is not None
    V = like(H, rng.standard_normal((n, more)))
    for _ in range(_SMOOTHING):
        V = iterate.inverse_pull[:, None] * (meter.product(V) - iterate.quadratic.off_diagonal(V)) + 0.5 * V
    V = V * math.sqrt(0.1 * n / inner(V, V))
    return meter.evaluate(normalize_rows(hstack([H, V]), rng))


def _without(meter: Meter, iterate: Iterate, H: Array, vanishing: Array, rng: np.random.Generator) -> Iterate:
    """H, the iterate in its principal axes, without the last of them if that costs no more than is missing of the gain."""
    kept = int((~vanishing).sum())
    if kept < len(vanishing):
        fewer = meter.evaluate(normalize_rows(H[:, :kept], rng))
        if fewer.gain >= iterate.gain * (1 - iterate.defect**2):
            return fewer
    return meter.evaluate(normalize_rows(H, rng))


def _in_single_precision(meter: Meter, iterate: Iterate) -> Meter | None:
    """A meter in single precision, for factors so large that it pays and entries that it can hold; else None."""
    size = largest(iterate.pull)
    fits = iterate.H.shape[0] * meter.problem.tuning.concave_rank > _LARGE and 1 / _SIZES < size < _SIZES
    return meter.in_float32() if fits else None


def _weights(meter: Meter) -> Array:
    assert meter.problem.weights is not None
    return meter.problem.weights
