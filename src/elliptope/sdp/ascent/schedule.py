"""The default schedule: cheap steps first, exact linear algebra where they do not suffice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator

import numpy as np

from ..._utils.arrays import Array, hstack, like
from ..problem import Iterate, Problem, drop_columns, drop_light_columns
from ..steps import normalize_rows
from .dense_newton import dense_newton
from .interior_point import interior_point
from .newton import newton
from .quasi_newton import quasi_newton

# Steps without a line search that a random start is given, and the defect that tells one.
_WARM_UP = 4
_RANDOM = 0.3
# Defect below which Newton's method takes over.
_NEWTON_BASIN = 1e-5
# Part of that defect from which on it is not worth while to change the method, if the solve is to stop there.
_SHORT_WAY = 0.05
# Defect above which products in single precision are exact enough: at 1e-3 a step still gains far more than they err.
_SINGLE_PRECISION = 1e-3
# Products with J after which rows of H are taken to be crawling: about what the interior-point method costs instead.
_PATIENCE_PER_POINT = 2
_PATIENCE_PER_PAIR = 1 / 80
_MOST_PATIENCE = 3000
# Up to this size a step by factorisation costs as much as a dozen others: such steps take over after so many products, and
# so many of them have to reach the basin, or rows are taken to be crawling.
_SMALL = 250
_SMALL_PATIENCE = 60
_SMALL_STEPS = 15
# Steps by factorisation near an optimum after which its columns are taken to be crawling: those that converge take fewer.
_DENSE_PATIENCE = 50
# CG steps that cost about as much as a step by factorisation.
_CG_PATIENCE = 60
# Largest n at which a handful of n × n factorisations, or the few dozen of an interior-point method, are worth their while.
_DENSE_NEWTON_SIZE = 4000
_INTERIOR_POINT_SIZE = 1500
# Size of the entries of new columns.
_PERTURBATION = 0.1
# A column that holds less than this of the objective is dropped if that costs nothing.
_LIGHT = 1e-6
# A column is dropped when no row has more than this, times the stationarity, in it; the certificate repairs an error.
_COMPRESSION = 10.0


def auto(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    """Quasi-Newton to the basin of the optimum (steps by factorisation, when it crawls); then Newton, compressed."""
    n, factors = problem.n, problem.operator.has_entries
    patience = min(max(_PATIENCE_PER_POINT * n, _PATIENCE_PER_PAIR * n**2), _MOST_PATIENCE)
    small = factors and n <= _SMALL
    if small:
        patience = _SMALL_PATIENCE
    budget = problem.n_products + patience if factors and n <= _INTERIOR_POINT_SIZE else math.inf
    iterate = yield from _warm_up(problem, H, rng)
    # A start in the basin was polished before: widening would only throw it out again.
    polished = iterate.defect < _NEWTON_BASIN
    while True:
        iterate = yield from _approach(problem, iterate, rng, budget)
        crawls = iterate.defect >= _NEWTON_BASIN and problem.n_products > budget
        if crawls and small:
            iterate = yield from _into_basin(dense_newton(problem, iterate, rng), iterate)
            crawls = iterate.defect >= _NEWTON_BASIN
        compressed = _compress(problem, iterate, rng)
        all_used = compressed is iterate and iterate.H.shape[1] < _largest_rank(n)
        if not crawls:
            yield compressed  # before it is widened: it may be proved optimal as it is
        if polished or crawls or not all_used:
            break
        iterate = problem.evaluate(widen(iterate.H, rng))
    dense = factors and n <= _DENSE_NEWTON_SIZE
    if not crawls:
        iterate, conditioned = yield from newton(problem, compressed, rng, _CG_PATIENCE if dense else None)
        if conditioned:
            return
        if not dense:
            yield from quasi_newton(problem, iterate, rng)
            return
        most = _DENSE_PATIENCE if n <= _INTERIOR_POINT_SIZE else None
        iterate, crawls = yield from _some(dense_newton(problem, iterate, rng), iterate, most)
    if crawls:
        # Where rows crawl, the optimum often has more columns than they had to crawl in.
        wide = widen(widen(iterate.H, rng), rng)
        iterate, _ = yield from _some(interior_point(problem, wide, rng), iterate)
        yield from dense_newton(problem, iterate, rng)


def _warm_up(problem: Problem, H: Array, rng: np.random.Generator) -> Generator[Iterate, None, Iterate]:
    r"""From a random start, a few steps :math:`h_i \leftarrow p_i/\lVert p_i\rVert`, each for a product and no more.

    Where the operator has a metric, a random H is smoothed by it instead: rough rows are too far from anything good.
    """
    for _ in range(_WARM_UP):
        iterate = problem.evaluate(H)
        if iterate.defect < _RANDOM:
            return iterate
        yield iterate
        H = normalize_rows(iterate.P if problem.metric is None else problem.metric.solve(H), rng)
    return problem.evaluate(H)


def _approach(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, budget: float
) -> Generator[Iterate, None, Iterate]:
    """Quasi-Newton until the basin is reached or the budget spent, in single precision as long as that will do."""
    reached = iterate
    for count, reached in enumerate(itertools.chain([iterate], quasi_newton(problem, iterate, rng))):
        done = _arrived(problem, reached) or problem.n_products > budget
        if not done or count == 0:  # the last one is compressed before anybody sees it
            yield reached
        if done:
            break
        if reached.defect < _SINGLE_PRECISION:
            problem.use_double_precision()
        elif count == problem.operator.single_after:
            problem.use_single_precision()
    if problem.in_single_precision:
        problem.use_double_precision()
        reached = problem.evaluate(reached.H)
    return reached


def _arrived(problem: Problem, iterate: Iterate) -> bool:
    """Whether Newton's method takes over: in its basin, unless a few steps more will do for the solve."""
    if iterate.defect >= _NEWTON_BASIN:
        return False
    near = _SHORT_WAY * _NEWTON_BASIN
    return problem.goal.aim < near or iterate.defect < near or problem.goal.reached(iterate)


def _into_basin(steps: Iterator[Iterate], start: Iterate) -> Generator[Iterate, None, Iterate]:
    """The first of a few steps that is in the basin of the optimum, or the last."""
    last = start
    for last in itertools.islice(steps, _SMALL_STEPS):
        yield last
        if last.defect < _NEWTON_BASIN:
            break
    return last


def _compress(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> Iterate:
    """Fewer columns, where all in use are not needed: those that hold next to nothing go if the objective is none the less.

    Such columns are almost free to move. They do not harm, but what they may do takes Newton's method long to find out.
    """
    H, r = iterate.H, iterate.H.shape[1]
    light = drop_light_columns(H, iterate.pull, _LIGHT, rng)
    if light.shape[1] < r:
        lighter = problem.evaluate(light)
        if lighter.gain >= iterate.gain * (1 - iterate.defect**2) and lighter.defect < _NEWTON_BASIN:
            return lighter
    strict = drop_columns(H, _COMPRESSION * iterate.stationarity, rng)
    return problem.evaluate(strict) if strict.shape[1] < r else iterate


def _some(
    iterates: Iterator[Iterate], start: Iterate, most: int | None = None
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    """Pass iterates on; the last of them (the start, if there are none), and whether there were ``most``."""
    last, count = start, 0
    for last in itertools.islice(iterates, most):
        count += 1
        yield last
    return last, count == most


def _largest_rank(n: int) -> int:
    """Some optimum has a rank r with r(r + 1)/2 ≤ n (Barvinok 1995, Pataki 1998); one more column leaves room to move."""
    return int(math.sqrt(2 * n)) + 1


def widen(H: Array, rng: np.random.Generator) -> Array:
    """Twice the columns. A second-order critical point with a column to spare is optimal; others need not be."""
    n, r = H.shape
    more = max(min(2 * r, _largest_rank(n)) - r, 0)
    return normalize_rows(hstack([H, like(H, _PERTURBATION * rng.standard_normal((n, more)))]), rng)
