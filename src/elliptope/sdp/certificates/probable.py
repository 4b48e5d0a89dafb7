"""Bounds that hold but for a stated risk, where nothing can be factorised: Lanczos, and Chebyshev tests.

A test may ride along with the solve whose result it certifies: any dual vector gives a bound, so that the one of an earlier
iterate is tested while the ascent goes on.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable

import numpy as np

from ..._utils.arrays import Array, largest, like
from ..._utils.rounding import UNIT
from ...operators.metric import Metric
from ..problem import Iterate, Problem
from .certificate import Certificate, bound, dual_metrics
from .chebyshev import Tested, chebyshev_test
from .deflation import almost_null, projected
from .lanczos import Ritz, lanczos_probe, spread_error
from .probes import Probe, mapped, run_together

_SHORT_STEPS = 50
_ESTIMATE_STEPS = 15
# Part of the tolerance that a Chebyshev test aims at, and the part of the spread that it puts beyond the largest Ritz value.
_TEST_SHIFT = 0.8
_UPPER_MARGIN = 0.05
_WIDE_MARGIN = 0.2  # after a short run
# Part of that shift by which a direction may miss the null space of L and still be known to be of it.
_KNOWN = 0.1
# Where Lanczos has already met a negative eigenvalue, a test aims at this multiple of it.
_NEGATIVE_MARGIN = 2.0
FAILURE_PROBABILITY = 1e-6
# Failed certificates after which a solve gives up.
MAX_FAILURES = 20
# Events on which the claims of one solve rest: eight per certificate, which are two ends of the spectrum in three metrics, a
# test, and one that rode along. Ten per failed one leave room for the last.
_RUNS = 10 * MAX_FAILURES


def certify_by_tests(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float, effort: str
) -> tuple[Certificate, Array | None]:
    """A probabilistic bound, and a direction of negative curvature of L if one was met.

    Lanczos tells in which metric a test is cheapest, and whether it is worth while. ``effort`` is that of
    :func:`~elliptope.sdp.certify.certify`; ``"lanczos"`` leaves it at the bound that Lanczos gives, in the first metric.
    """
    metrics = dual_metrics(iterate)
    if effort == "lanczos":  # somebody waits
        metrics = dict(list(metrics.items())[:1])
    found = dict(zip(metrics, whitened_lanczos(problem, iterate, metrics.values(), rng, _SHORT_STEPS), strict=True))
    name = cheapest(iterate, metrics, found)
    certificate = probable_bound(problem, iterate, name, metrics[name], found[name])
    escape = negative_direction(metrics[name], found[name])
    # Nothing is sharper than Lanczos in the whole space.
    if effort == "lanczos" or certificate.relative_gap <= tol or iterate.gain <= 0 or found[name].exhausted:
        return certificate, escape
    # Where small eigenvalues are left, the degree of a test grows with the root of the spread over the shift aimed at.
    aims = {name: _target(iterate, metrics[name], tol) for name in found}
    targets = {name: max(aims[name], -_NEGATIVE_MARGIN * found[name].lower) for name in found}
    name = min(found, key=lambda name: found[name].upper / targets[name])
    metric, ritz = metrics[name], found[name]
    if effort != "proof" and -ritz.lower > aims[name]:
        return certificate, escape
    upper = ritz.upper + _UPPER_MARGIN * (ritz.upper - ritz.lower)
    test = _shift_test(problem, iterate, metric, upper, targets[name], rng)
    (tested,) = run_together(problem.product, [_whitened(iterate, metric, test)])
    if tested.direction is not None:
        escape = metric.unwhiten(tested.direction[:, None])[:, 0]
    sharper = _probable(problem, iterate, name, metric, tested.shift)
    return min(certificate, sharper, key=lambda c: c.gap), escape


def cheapest(iterate: Iterate, metrics: dict[str, Metric], found: dict[str, Ritz]) -> str:
    """The metric in which the negative eigenvalues that Lanczos has met cost least."""
    return min(found, key=lambda name: max(0.0, -found[name].lower) * metrics[name].total(iterate.objective))


def negative_direction(metric: Metric, ritz: Ritz) -> Array | None:
    return metric.unwhiten(ritz.vector[:, None])[:, 0] if ritz.lower < 0 else None


def probable_bound(problem: Problem, iterate: Iterate, name: str, metric: Metric, ritz: Ritz) -> Certificate:
    """The bound that follows from a Lanczos run by itself."""
    return _probable(problem, iterate, name, metric, _probable_shift(problem.n, ritz))


def riding_test(problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float) -> Probe:
    """What :func:`certify` does where nothing can be factorised, as a probe for a solve to take along.

    Any dual vector gives a bound: that of ``iterate`` is tested while the solve goes on from there.
    """
    metric = dual_metrics(iterate)[_riding_metric(iterate)]

    def test() -> Generator[Array, Array, Tested]:
        ritz = yield from lanczos_probe(problem.n, _ESTIMATE_STEPS, rng, iterate.slack)
        upper = ritz.upper + _WIDE_MARGIN * (ritz.upper - ritz.lower)
        return (yield from _shift_test(problem, iterate, metric, upper, _target(iterate, metric, tol), rng))

    return _whitened(iterate, metric, test())


def _riding_metric(iterate: Iterate) -> str:
    """The metric in which a test is cheapest, if L is about as large as Diag(y): its spread, times what a shift costs."""
    metrics = dual_metrics(iterate)
    if iterate.coupling is not None:
        return next(iter(metrics))
    return min(metrics, key=lambda name: largest(metrics[name].solve(iterate.y[:, None])) * metrics[name].total(0.0))


def certify_by(problem: Problem, witness: Iterate, tested: Tested, iterate: Iterate) -> Certificate:
    """Bound the optimum from an iterate by the test of the dual vector of an earlier one."""
    name = _riding_metric(witness)
    metric, errors = dual_metrics(witness)[name], problem.operator.error_bounds
    # L of the iterate is that of the witness and a diagonal.
    extra, lowered = witness.gain - iterate.gain, max(largest(witness.slack - iterate.slack), 0.0)
    return bound(
        iterate, name, metric, tested.shift, "probabilistic", FAILURE_PROBABILITY, errors, extra=extra, lowered=lowered
    )


def _probable(problem: Problem, iterate: Iterate, name: str, metric: Metric, shift: float) -> Certificate:
    return bound(iterate, name, metric, shift, "probabilistic", FAILURE_PROBABILITY, problem.operator.error_bounds)


def estimate_gap(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> float:
    """What the gap would be if a short Lanczos run told the truth; optimistic, for display only."""
    metric = next(iter(dual_metrics(iterate).values()))
    (ritz,) = whitened_lanczos(problem, iterate, [metric], rng, _ESTIMATE_STEPS)
    return max(0.0, -ritz.lower) * metric.total(iterate.objective)


def _target(iterate: Iterate, metric: Metric, tol: float) -> float:
    """The shift in that metric that a test aims at."""
    return _TEST_SHIFT * tol * iterate.gain / metric.total(iterate.objective)


def _whitened(iterate: Iterate, metric: Metric, probe: Probe) -> Probe:
    """A probe of E L Eᵀ, whose spectrum is that of the pencil (L, M), as one that asks for products with the core of J."""
    slack = iterate.slack[:, None]
    return mapped(probe, metric.unwhiten, lambda v, product: metric.whiten_gradient(slack * v - product))


def whitened_lanczos(
    problem: Problem, iterate: Iterate, metrics: Iterable[Metric], rng: np.random.Generator, steps: int
) -> list[Ritz]:
    """The ends of the spectrum of E L Eᵀ, in each of the metrics."""
    probes = [_whitened(iterate, metric, lanczos_probe(problem.n, steps, rng, iterate.slack)) for metric in metrics]
    return run_together(problem.product, probes)


def _shift_test(
    problem: Problem, iterate: Iterate, metric: Metric, upper: float, target: float, rng: np.random.Generator
) -> Generator[Array, Array, Tested]:
    """A Chebyshev test of the whitened L on the complement of what is known: its null space, which is the range of H."""
    operator, rounding = problem.operator, problem.operator.rounding_in(metric, upper)
    known = almost_null(iterate, metric, _KNOWN * target, rounding)
    G = known.project(like(problem.offset, rng.standard_normal((problem.n, operator.block_width))))
    test = chebyshev_test(G, upper, target, FAILURE_PROBABILITY / _RUNS, rounding / upper)
    tested = yield from projected(test, known)
    return Tested(known.shift(tested.shift, rounding), tested.direction)


def _probable_shift(n: int, ritz: Ritz) -> float:
    """s ≥ -λmin of the whitened L, but for the failure probability."""
    # Both ends are under-estimated by at most ε times the true spread; nothing but rounding where the space is exhausted.
    epsilon = n * UNIT if ritz.exhausted else spread_error(n, ritz.steps, FAILURE_PROBABILITY / _RUNS)
    if epsilon >= 0.5:
        return math.inf
    error = epsilon * (ritz.upper - ritz.lower) / (1 - 2 * epsilon)
    return max(0.0, error - ritz.lower)
