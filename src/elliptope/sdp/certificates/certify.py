"""From an iterate to a certificate: by a factorisation where there is one, by tests elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..._utils.arrays import Array
from ..._utils.rounding import UNIT
from ...operators.metric import DiagonalMetric, Metric
from ..problem import Iterate, Problem
from .certificate import NATURAL, Certificate, bound, dual_metrics, no_bound
from .moments import prove_by_moments
from .probable import certify_by_tests, cheapest, negative_direction, probable_bound, whitened_lanczos
from .uniqueness import null_space, null_space_among

# Part of the tolerance that the first factorisation is allowed to give away: little where H has converged, so that the
# certificate is tight, and almost all of it where the proof is tried as early as it may succeed.
_FIRST_SHIFT = 0.1
_ATTEMPT_SHIFT = 0.9
# Ritz values are a little optimistic: shift by more, and by more still when that fails.
_SAFETY = 1.01
_ESCALATION = 1.5
_MAX_ATTEMPTS = 100
_LANCZOS_STEPS = 200
# Defect and shift up to which the null space of L can be told from the rest.
_READABLE = 1e-5


def certify(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float, effort: str = "proof"
) -> tuple[Certificate, Array | None]:
    """Bound the optimum from ``iterate``; with a direction of negative curvature of L, (n,), if one was met.

    Where few eigenvalues are large, some products suffice for a proof. Else a factorisation is tried, at a shift that would
    already meet ``tol``. If it fails, Lanczos tells how negative L is. ``effort`` decides how far to go: ``"attempt"`` ends
    after the first factorisation, ``"estimate"`` at the Ritz value, ``"proof"`` pays for as many factorisations as a proof
    takes. ``"lanczos"`` spares the proofs and makes a probabilistic bound of the Ritz values. Where no factorisation is
    possible, Chebyshev polynomials make a sharper one.
    """
    if effort != "lanczos":
        metrics = dual_metrics(iterate)
        first = _prove_by_moments(problem, iterate, metrics, rng)
        if first is not None and _suffices(first, problem, iterate, tol, effort):
            return first, None
        if problem.operator.can_factor:
            other, escape = _certify_by_factorization(problem, iterate, metrics, rng, tol, effort)
            if first is not None and first.gap < other.gap and (effort == "proof" or first.relative_gap <= tol):
                return replace(first, null_space=other.null_space), escape
            return other, escape
    return certify_by_tests(problem, iterate, rng, tol, effort)


def _suffices(certificate: Certificate, problem: Problem, iterate: Iterate, tol: float, effort: str) -> bool:
    """Whether a proof by moments is all that is wanted, or all that there is."""
    if certificate.relative_gap > tol:
        # Where it misses the tolerance by the residual of H, so would a factorisation.
        return effort == "attempt" and iterate.least_gap > tol
    # A factorisation tells the null space of L from the range of H where products do not.
    return certificate.null_space is not None or iterate.defect > _READABLE or not problem.operator.can_factor


def _certify_by_factorization(
    problem: Problem, iterate: Iterate, metrics: dict[str, Metric], rng: np.random.Generator, tol: float, effort: str
) -> tuple[Certificate, Array | None]:
    part = _ATTEMPT_SHIFT if effort == "attempt" else _FIRST_SHIFT
    first: Certificate | None = None
    for name, metric in metrics.items():
        shift = max(part * tol * iterate.gain / metric.total(iterate.objective), 0.0)
        certificate = _prove(problem, iterate, name, metric, shift)
        if certificate is None:
            break
        first = certificate if first is None else min(first, certificate, key=lambda c: c.gap)
        if first.relative_gap <= tol:
            break
        # Where rows are held so weakly that rounding, in their own scale, takes up the tolerance, another may do.
    if first is not None:
        return first, None
    if effort == "attempt":
        return no_bound(iterate), None
    found = dict(zip(metrics, whitened_lanczos(problem, iterate, metrics.values(), rng, _LANCZOS_STEPS), strict=True))
    name = cheapest(iterate, metrics, found)
    metric, ritz = metrics[name], found[name]
    escape = negative_direction(metric, ritz)
    lowest = max(0.0, -ritz.lower)
    if effort == "proof" or _SAFETY * lowest * metric.total(iterate.objective) <= tol * iterate.gain:
        shift = _SAFETY * lowest
        for _ in range(_MAX_ATTEMPTS):
            certificate = _prove(problem, iterate, name, metric, shift)
            if certificate is not None:
                return certificate, escape
            shift = max(_ESCALATION * shift, UNIT)
    if effort == "estimate":
        return bound(iterate, name, metric, lowest, "estimate", math.nan, problem.operator.error_bounds), escape
    return probable_bound(problem, iterate, name, metric, ritz), escape


def _prove_by_moments(
    problem: Problem, iterate: Iterate, metrics: dict[str, Metric], rng: np.random.Generator
) -> Certificate | None:
    """By some products, where few eigenvalues of J are large."""
    metric = metrics.get("slack")
    proof = prove_by_moments(problem, iterate, metric, rng) if isinstance(metric, DiagonalMetric) else None
    if proof is None or metric is None:
        return None
    known, null = proof.known, None
    if iterate.defect <= _READABLE:
        null = null_space_among(known.basis, known.values, proof.lowest, iterate, metric)
    return bound(iterate, "slack", metric, proof.shift, "proved", 0.0, problem.operator.error_bounds, null)


def _prove(problem: Problem, iterate: Iterate, name: str, metric: Metric, shift: float) -> Certificate | None:
    r"""Factorise :math:`L + sM`; success proves the bound for that s, and a little more for rounding."""
    with problem.operator.factorization(iterate.slack, metric, shift) as factor:
        if factor is None:
            return None
        # The null space is read off L in a natural metric (or L = 0), at an H that has converged.
        readable = (name in NATURAL or iterate.isolated) and max(iterate.defect, factor.added) <= _READABLE
        null = null_space(factor, iterate, metric) if readable else None
    return bound(iterate, name, metric, factor.shift, "proved", 0.0, problem.operator.error_bounds, null, factor.extra)
