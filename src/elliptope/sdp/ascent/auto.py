"""The default schedule: cheap steps first, exact linear algebra where they do not suffice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem, normalize_rows
from .dense_newton import dense_newton
from .interior_point import interior_point
from .newton import newton
from .quasi_newton import quasi_newton

# Stationarity below which Newton's method takes over.
_NEWTON_BASIN = 1e-3
# Products with J per point after which rows of H are taken to be crawling.
_PATIENCE = 4
# CG steps that cost about as much as a step by factorisation.
_CG_PATIENCE = 60
# Largest n at which a few dozen n × n factorisations are worth their while.
_FACTORISATION_SIZE = 1500
# A column is dropped when no row has more than this, times the stationarity, in it; the certificate repairs an error.
_COMPRESSION = 10.0


def auto(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    """Quasi-Newton to the basin of the optimum (or an interior-point method, when it crawls); then Newton, compressed."""
    small = problem.operator.can_factor and problem.n <= _FACTORISATION_SIZE
    budget = problem.n_products + _PATIENCE * problem.n
    basin = False
    for iterate in quasi_newton(problem, H, rng):
        yield iterate
        H = iterate.H
        basin = iterate.stationarity < _NEWTON_BASIN
        if basin or (small and problem.n_products > budget):
            break
    if small and not basin:
        for iterate in interior_point(problem, H, rng):
            yield iterate
            H = iterate.H
        yield from dense_newton(problem, H, rng)
        return
    H, conditioned = yield from newton(problem, compress(iterate, rng), rng, _CG_PATIENCE if small else None)
    if small and not conditioned:
        yield from dense_newton(problem, H, rng)


def compress(iterate: Iterate, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns that no row uses, as far as the accuracy of H tells."""
    _, V = np.linalg.eigh(iterate.H.T @ iterate.H)
    H = iterate.H @ V[:, ::-1]
    used = np.abs(H).max(axis=0) > _COMPRESSION * iterate.stationarity
    return normalize_rows(H[:, used], rng) if used.any() else H
