"""From an iterate to a certificate: by moments, by a factorisation, or by tests where neither is possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..._utils.arrays import Array, all_zero
from ..._utils.rounding import UNIT
from ...operators.metric import DiagonalMetric, Metric
from ..iterate import Iterate
from ..problem import Meter
from .certificate import NATURAL, Certificate, bound, dual_metrics, no_bound
from .lanczos import Ritz
from .moments import prove_by_moments
from .probabilistic import (
    FAILURE_PROBABILITY,
    certify_by_tests,
    cheapest,
    lanczos_bound,
    negative_direction,
    ritz_bound,
    whitened_lanczos,
)
from .uniqueness import null_space, null_space_among, null_space_of_zero, perhaps_null

# With a quadratic term: the gap that an iterate of a given defect should have, and one that rounding leaves.
_ATTAINED = 100.0
_LEAST_GAP = 1e-13
# A certificate, and a direction of negative curvature of L, (n,), if one was met.
Found = tuple[Certificate, Array | None]


def attempt_proof(meter: Meter, iterate: Iterate, rng: np.random.Generator, tol: float) -> Found:
    """One try at a proof that meets ``tol``, for an iterate that may not have converged.

    Without a proof it says nothing (``upper_bound`` is infinite). Where nothing can be factorised, a test is made.
    """
    meter = meter.linearized(iterate)
    first = _by_moments(meter, iterate, rng)
    # Where a proof by moments misses the tolerance by the residual of H, so would a factorisation.
    if first is not None and first.relative_gap > tol and iterate.least_gap > tol:
        return first, None
    problem = meter.problem
    part = problem.tuning.attempt_shift
    return _with_factorization(meter, iterate, rng, tol, part, first, lambda: (no_bound(iterate, problem.operator), None))


def certify_converged(meter: Meter, iterate: Iterate, rng: np.random.Generator, tol: float) -> Found:
    """A proof that meets ``tol``; or an estimate with the direction in which the ascent can go on."""
    if (known := _of_diagonal(meter, iterate)) is not None:
        return known, None
    meter = meter.linearized(iterate)
    part = meter.problem.tuning.proof_shift

    def prove_or_estimate() -> Found:
        low = _lowest(meter, iterate, rng, part * tol * iterate.gain)
        if low.shift * low.metric.total(iterate.objective) <= tol * iterate.gain:
            return _prove_from(meter, iterate, low)
        operator = meter.problem.operator
        return bound(iterate, low.name, low.metric, low.shift, "estimate", math.nan, operator), low.direction

    return _with_factorization(meter, iterate, rng, tol, part, _by_moments(meter, iterate, rng), prove_or_estimate)


def prove(meter: Meter, iterate: Iterate, rng: np.random.Generator, tol: float) -> Certificate:
    """The best bound there is, however large and whatever it costs: a proof where J can be factorised, else a test."""
    if (known := _of_diagonal(meter, iterate)) is not None:
        return known
    meter = meter.linearized(iterate)
    first = _by_moments(meter, iterate, rng)
    if not meter.problem.operator.can_factor and (first is None or first.relative_gap > tol):
        tested, _ = certify_by_tests(meter, iterate, rng, tol, saddle=False)
        return tested if first is None else min(first, tested, key=lambda c: c.gap)
    part = meter.problem.tuning.proof_shift

    def prove_more() -> Found:
        return _prove_from(meter, iterate, _lowest(meter, iterate, rng, part * tol * iterate.gain))

    found, _ = _with_factorization(meter, iterate, rng, tol, part, first, prove_more)
    return _tighter(first, found)


def quick_bound(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Certificate:
    """A probabilistic bound for a few dozen products, or fewer where fewer are left; none where none are."""
    meter = meter.linearized(iterate)
    return lanczos_bound(meter, iterate, rng) if meter.left >= 1 else no_bound(iterate, meter.problem.operator)


def _of_diagonal(meter: Meter, iterate: Iterate) -> Certificate | None:
    r"""Without a gap, where J is diagonal and H optimal; None where that is not known.

    Then :math:`f(Z) = \sum_i J_{ii} - \tfrac12 \sum_{ij} e_i e_j Z_{ij}^2`. It is largest where the terms off the diagonal
    are zero, which is so where P, of the linearised problem, is zero: their sum is :math:`-\langle H, P\rangle`. Without a
    quadratic term that is so for every H, and L = 0.
    """
    problem = meter.problem
    if not (problem.uncoupled and all_zero(iterate.P)):
        return None
    name, metric = next(iter(dual_metrics(iterate).items()))
    # Of products alone, a zero matrix is known with probability one.
    grade, probability = ("proved", 0.0) if problem.operator.can_factor else ("probabilistic", FAILURE_PROBABILITY)
    certificate = bound(iterate, name, metric, 0.0, grade, probability, problem.operator)
    return replace(
        certificate,
        gap=0.0,
        stationarity=iterate.stationarity,
        null_space=null_space_of_zero(iterate),
        distance_bound=math.inf if iterate.quadratic is None else 0.0,
    )


def _with_factorization(
    meter: Meter,
    iterate: Iterate,
    rng: np.random.Generator,
    tol: float,
    part: float,
    first: Certificate | None,
    otherwise: Callable[[], Found],
) -> Found:
    """The proof by moments ``first``, if it says enough; else one by a factorisation that gives away that part of ``tol``.

    ``otherwise`` is asked where that factorisation fails. Where none is possible, a test is made.
    """
    can_factor = meter.problem.operator.can_factor
    proved = first is not None and first.relative_gap <= tol
    # A factorisation tells the null space of L from the range of H where products do not.
    readable = can_factor and iterate.quadratic is None and iterate.defect <= meter.problem.tuning.basin
    if first is not None and proved and (first.null_space is not None or not readable):
        return first, None
    if not can_factor:
        return certify_by_tests(meter, iterate, rng, tol, saddle=True)
    proof = _first_factorization(meter, iterate, part * tol, tol)
    found, direction = (proof, None) if proof is not None else otherwise()
    return _tighter(first, found) if proved else found, direction


def _tighter(first: Certificate | None, proof: Certificate) -> Certificate:
    """The proof by moments, where there is one and it is tighter, with what the factorisation tells of the null space."""
    return replace(first, null_space=proof.null_space) if first is not None and first.gap < proof.gap else proof


def _by_moments(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Certificate | None:
    """By some products, where few eigenvalues of J are large."""
    metric = dual_metrics(iterate).get("slack")
    proof = prove_by_moments(meter, iterate, metric, rng) if isinstance(metric, DiagonalMetric) else None
    if proof is None or metric is None:
        return None
    known, null = proof.known, None
    if iterate.defect <= meter.problem.tuning.basin and proof.margin > perhaps_null(iterate):
        null = null_space_among(known.basis, known.values, proof.lowest, iterate, metric)
    return bound(iterate, "slack", metric, proof.shift, "proved", 0.0, meter.problem.operator, null)


def _first_factorization(meter: Meter, iterate: Iterate, gap: float, tol: float) -> Certificate | None:
    """A proof at a shift that costs the relative ``gap``; None where L is more negative than that."""
    best: Certificate | None = None
    if iterate.quadratic is not None:  # a smaller gap makes for a smaller distance
        gap = min(gap, max(_ATTAINED * iterate.defect, _LEAST_GAP))
    for name, metric in dual_metrics(iterate).items():
        shift = max(gap * iterate.gain / metric.total(iterate.objective), 0.0)
        certificate = _factorize(meter, iterate, name, metric, shift)
        if certificate is None:
            break
        best = certificate if best is None else min(best, certificate, key=lambda c: c.gap)
        if best.relative_gap <= tol:
            break
        # Where rows are held so weakly that rounding, in their own scale, takes up the tolerance, another metric may do.
    return best


@dataclass(frozen=True)
class _Lowest:
    """How negative L is, by Lanczos, in the metric in which that costs least: L + ``shift`` M is about singular."""

    name: str
    metric: Metric
    shift: float
    ritz: Ritz

    @property
    def direction(self) -> Array | None:
        return negative_direction(self.metric, self.ritz)


def _lowest(meter: Meter, iterate: Iterate, rng: np.random.Generator, cost: float) -> _Lowest:
    """A factorisation has failed at the shift that costs ``cost``: L is that negative, or almost, and few steps miss it."""
    metrics = dual_metrics(iterate)
    for factor in (4, 8, 16):
        # At least one, so that the product raises where none is left.
        steps = int(max(min(factor * meter.problem.tuning.lanczos_steps, meter.left), 1))
        found = dict(zip(metrics, whitened_lanczos(meter, iterate, metrics.values(), rng, steps), strict=True))
        name = cheapest(iterate, metrics, found)
        total = metrics[name].total(iterate.objective)
        # At the Ritz value itself L + sM is singular at best.
        shift = max(0.0, -1.01 * found[name].lower)
        if shift * total >= cost or found[name].exhausted:
            break
    return _Lowest(name, metrics[name], max(shift, 2 * cost / total), found[name])


def _prove_from(meter: Meter, iterate: Iterate, low: _Lowest) -> Found:
    """A proof at that shift or, as Ritz values are optimistic, at as much more as it takes."""
    shift = low.shift
    while shift < math.inf:
        certificate = _factorize(meter, iterate, low.name, low.metric, shift)
        if certificate is not None:
            return certificate, low.direction
        shift = max(2 * shift, UNIT)
    return ritz_bound(meter, iterate, low.name, low.metric, low.ritz), low.direction


def _factorize(meter: Meter, iterate: Iterate, name: str, metric: Metric, shift: float) -> Certificate | None:
    r"""Factorise :math:`L + sM`; success proves the bound for that s, and a little more for rounding."""
    operator = meter.problem.operator
    with operator.factorization(iterate.slack, metric, shift) as factor:
        if factor is None:
            return None
        # The null space is read off L in a natural metric (or L = 0), at an H that has converged.
        readable = (name in NATURAL or iterate.isolated) and max(iterate.defect, factor.added) <= meter.problem.tuning.basin
        null = null_space(factor, iterate, metric) if readable else None
    return bound(iterate, name, metric, factor.shift, "proved", 0.0, operator, null)
