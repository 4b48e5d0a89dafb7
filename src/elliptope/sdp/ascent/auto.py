"""The default schedule: cheap steps first, exact linear algebra where they do not suffice."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem, normalize_rows
from .dense_newton import dense_newton
from .interior_point import interior_point
from .newton import newton
from .quasi_newton import quasi_newton

# Stationarity below which Newton's method takes over.
_NEWTON_BASIN = 1e-4
# Products with J per point after which rows of H are taken to be crawling.
_PATIENCE = 4
# CG steps that cost about as much as a step by factorisation.
_CG_PATIENCE = 60
# Largest n at which a handful of n × n factorisations, or the few dozen of an interior-point method, are worth their while.
_DENSE_NEWTON_SIZE = 4000
_INTERIOR_POINT_SIZE = 1500
# Size of the entries of new columns.
_PERTURBATION = 0.1
# A column is dropped when no row has more than this, times the stationarity, in it; the certificate repairs an error.
_COMPRESSION = 10.0


def auto(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    """Quasi-Newton to the basin of the optimum (or an interior-point method, when it crawls); then Newton, compressed."""
    n, factors = problem.n, problem.operator.can_factor
    budget = problem.n_products + _PATIENCE * n if factors and n <= _INTERIOR_POINT_SIZE else math.inf
    while True:
        steps = 0
        for iterate in quasi_newton(problem, H, rng):
            yield iterate
            if iterate.stationarity < _NEWTON_BASIN or problem.n_products > budget:
                break
            steps += 1
        compressed = compress(iterate, rng)
        all_used = compressed.shape[1] == H.shape[1] < _largest_rank(n)
        # A start in the basin was polished before: widening would only throw it out again.
        if not all_used or steps == 0 or problem.n_products > budget:
            break
        H = widen(iterate.H, rng)
    if problem.n_products > budget and iterate.stationarity >= _NEWTON_BASIN:
        H = iterate.H
        for iterate in interior_point(problem, H, rng):
            yield iterate
            H = iterate.H
        yield from dense_newton(problem, H, rng)
        return
    dense = factors and n <= _DENSE_NEWTON_SIZE
    H, conditioned = yield from newton(problem, compressed, rng, _CG_PATIENCE if dense else None)
    if dense and not conditioned:
        yield from dense_newton(problem, H, rng)


def _largest_rank(n: int) -> int:
    """Some optimum has a rank r with r(r + 1)/2 ≤ n (Barvinok 1995, Pataki 1998); one more column leaves room to move."""
    return int(math.sqrt(2 * n)) + 1


def widen(H: Array, rng: np.random.Generator) -> Array:
    """Twice the columns. A critical point that uses all of its columns need not be optimal; one that does not, is."""
    n, r = H.shape
    more = min(2 * r, _largest_rank(n)) - r
    return normalize_rows(np.hstack([H, _PERTURBATION * rng.standard_normal((n, more))]), rng)


def compress(iterate: Iterate, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns that no row uses, as far as the accuracy of H tells."""
    _, V = np.linalg.eigh(iterate.H.T @ iterate.H)
    H = iterate.H @ V[:, ::-1]
    used = np.abs(H).max(axis=0) > _COMPRESSION * iterate.stationarity
    return normalize_rows(H[:, used], rng) if used.any() else H
