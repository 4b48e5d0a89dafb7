"""Bounds that hold but for a stated risk, by products with random vectors: Lanczos, and Chebyshev tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace

import numpy as np

from ..._utils.arrays import Array, like
from ..._utils.rounding import UNIT
from ...operators.metric import Metric
from ..iterate import Iterate
from ..problem import Meter, OutOfProducts
from .certificate import Certificate, bound, dual_metrics, no_bound
from .chebyshev import Tested, chebyshev_test
from .deflation import AlmostNull, almost_null, lifted, projected
from .lanczos import Ritz, lanczos_probe, spread_error
from .probes import Probe, mapped, run_together
from .uniqueness import ZERO, NullSpace, larger_null_space, null_space_among

FAILURE_PROBABILITY = 1e-6
# Failed certificates after which a solve gives up.
MAX_FAILURES = 20
# Events on which the claims of one solve rest: eight per certificate, which are two ends of the spectrum in three metrics,
# a test of the null space and one of the shift. Ten per failed one leave room for the last.
_RUNS = 10 * MAX_FAILURES
# Ritz values up to this size are looked at again where products have six digits, whose errors are well below.
_ROUGH_DOUBT = 1e-3


def lanczos_bound(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> Certificate:
    """The bound that one short Lanczos run gives, with no more products than are left."""
    name, metric = next(iter(dual_metrics(iterate).items()))
    steps = int(min(meter.problem.tuning.lanczos_steps, meter.left))
    (ritz,) = whitened_lanczos(meter, iterate, [metric], rng, steps)
    return ritz_bound(meter, iterate, name, metric, ritz)


def certify_by_tests(
    meter: Meter, iterate: Iterate, rng: np.random.Generator, tol: float, saddle: bool
) -> tuple[Certificate, Array | None]:
    """A probabilistic bound, and a direction of negative curvature of L if one was met.

    Lanczos tells in which metric a test is cheapest. Where it meets eigenvalues so negative that ``tol`` is out of reach,
    H is at a saddle point, and with ``saddle`` that is all: the ascent goes on. Without, the test bounds what is there, or,
    where the products do not suffice for it, the best bound is returned that there is by then.
    """
    tuning, metrics = meter.problem.tuning, dual_metrics(iterate)
    # Where small eigenvalues are left, the degree of a test grows with the root of the spread over the shift aimed at.
    aims = {
        name: tuning.attempt_shift * tol * iterate.gain / metric.total(iterate.objective) for name, metric in metrics.items()
    }
    found, rough = _first_look(meter, iterate, metrics, aims, rng, saddle)
    name = cheapest(iterate, metrics, found)
    # Products of six digits tell where to test, and bound nothing.
    certificate = no_bound(iterate, meter.problem.operator)
    if not rough:
        certificate = ritz_bound(meter, iterate, name, metrics[name], found[name])
    escape = negative_direction(metrics[name], found[name])
    # With a quadratic term a test of the shift takes longer than to come closer to the optimum, as long as that is possible.
    closer = saddle and iterate.quadratic is not None
    null: NullSpace | None = None
    # Without an ascent that could go on, what is zero to working precision is no saddle point.
    # With a quadratic term any metric will do; slacks are not positive where the diagonal of J is estimated.
    sharp = "slack" if iterate.quadratic is None else next(iter(metrics))
    reach = max(aims.get(sharp, 0.0), 0.0 if saddle or found[name].exhausted else ZERO)
    if sharp in found and -found[sharp].lower <= reach and iterate.defect <= tuning.basin:
        strict, null, met = _certify_null_space(meter, iterate, sharp, metrics[sharp], found[sharp], aims[sharp], rng)
        if strict is not None and (strict.relative_gap <= tol or closer):
            return strict, None if strict.relative_gap <= tol else met
        certificate = _smaller(replace(certificate, null_space=null), strict)
    if closer:
        # L has as many negative eigenvalues in every metric, and a few steps of Lanczos may meet them in one of them alone.
        name = max(found, key=lambda name: -found[name].lower / aims[name])
        return certificate, negative_direction(metrics[name], found[name]) if -found[name].lower > aims[name] else None
    # Nothing is sharper than Lanczos in the whole space.
    if certificate.relative_gap <= tol or iterate.gain <= 0 or found[name].exhausted:
        return certificate, escape
    # At least twice the negative eigenvalues that Lanczos has met.
    targets = {name: max(aims[name], -2 * found[name].lower) for name in found}
    name = min(found, key=lambda name: found[name].upper / targets[name])
    if saddle and -found[name].lower > aims[name]:
        return certificate, escape
    try:
        sharper, direction = _certify_shift(meter, iterate, name, metrics[name], found[name], targets[name], rng)
    except OutOfProducts:
        if saddle:
            raise
        return certificate, escape
    return _smaller(certificate, replace(sharper, null_space=null)), escape if direction is None else direction


def _first_look(
    meter: Meter,
    iterate: Iterate,
    metrics: dict[str, Metric],
    aims: dict[str, float],
    rng: np.random.Generator,
    saddle: bool,
) -> tuple[dict[str, Ritz], bool]:
    """The ends of the spectrum in each metric, and whether they come from products of six digits.

    With ``saddle`` they do where the operator has such products; but not where these do not tell a negative eigenvalue,
    beyond what is aimed at, from one that is zero.
    """
    steps = meter.problem.tuning.lanczos_steps
    rough = saddle and _looks_roughly(meter)
    found = dict(zip(metrics, whitened_lanczos(meter, iterate, metrics.values(), rng, steps, rough), strict=True))
    if rough and any(-_ROUGH_DOUBT < ritz.lower < -aims[name] for name, ritz in found.items()):
        found = dict(zip(metrics, whitened_lanczos(meter, iterate, metrics.values(), rng, steps), strict=True))
        rough = False
    return found, rough


def _smaller(certificate: Certificate, other: Certificate | None) -> Certificate:
    """The certificate with the smaller gap."""
    return certificate if other is None else min(certificate, other, key=lambda c: c.gap)


def _certify_shift(
    meter: Meter, iterate: Iterate, name: str, metric: Metric, ritz: Ritz, target: float, rng: np.random.Generator
) -> tuple[Certificate, Array | None]:
    """The bound that a test of L plus about ``target`` times the metric gives; and a direction in which L is negative."""
    upper = ritz.upper + 0.05 * (ritz.upper - ritz.lower)  # Ritz values lie within the spectrum
    test = _shift_test(meter, iterate, metric, upper, target, rng)
    (tested,) = run_together(meter.product, [_whitened(iterate, metric, test)])
    direction = None if tested.direction is None else metric.unwhiten(tested.direction[:, None])[:, 0]
    return _bound(meter, iterate, name, metric, tested.shift), direction


def _certify_null_space(
    meter: Meter, iterate: Iterate, name: str, metric: Metric, ends: Ritz, aim: float, rng: np.random.Generator
) -> tuple[Certificate | None, NullSpace | None, Array | None]:
    r"""For an H that has converged: the null space of L and a bound, None for what could not be shown.

    The third is a direction of negative curvature of L, if the test has met one.

    Let θ be the smallest Ritz value of L on the complement of the range of H, whitened by the metric. Where θ is zero to
    working precision, L has a larger null space. Else L is tested to be at least θ/4 there: then its null space is the range
    of H, the next eigenvalue is θ/4 or more, and L is psd but for the residual of H.

    With a quadratic term the optimum is unique whatever the null space, and L is only tested to be psd, up to half of the
    shift ``aim``: that depends on no Ritz value, which may be far above the eigenvalue where n is large.
    """
    problem, upper = meter.problem, ends.upper + 0.05 * (ends.upper - ends.lower)
    rounding = problem.operator.rounding_in(metric, upper)
    known = almost_null(iterate, metric, problem.tuning.known, rounding)
    concave = iterate.quadratic is not None
    lowest = 0.0 if concave else _smallest_beside(meter, iterate, metric, known, upper, rng)
    if not concave and lowest <= ZERO:
        return None, larger_null_space(known.values, lowest, iterate), None
    least = 0.25 * lowest
    G = known.project(like(problem.offset, rng.standard_normal((problem.n, problem.operator.block_width))))
    # Half of that would do, too.
    target = 0.5 * (aim if concave else least)
    test = chebyshev_test(G, upper, target, FAILURE_PROBABILITY / _RUNS, rounding / upper, problem.tuning)
    (tested,) = run_together(meter.product, [_whitened(iterate, metric, projected(test, known, least))])
    margin = least - tested.shift
    if margin <= ZERO and not concave:
        return None, None, None
    null = None if concave else null_space_among(known.basis, known.values, lowest, iterate, metric)
    certificate = _bound(meter, iterate, name, metric, max(known.shift(-margin, rounding), 0.0))
    # With respect to a multiple of the identity that is taken off, a negative curvature says nothing of L.
    direction = metric.unwhiten(tested.direction[:, None])[:, 0] if concave and tested.direction is not None else None
    return replace(certificate, null_space=null), null, direction


def _smallest_beside(
    meter: Meter, iterate: Iterate, metric: Metric, known: AlmostNull, upper: float, rng: np.random.Generator
) -> float:
    """The smallest Ritz value of the whitened L on the complement of what is known."""
    problem = meter.problem

    def look(product: Callable[[Array], Array]) -> float:
        probe = lanczos_probe(problem.n, problem.tuning.lanczos_steps, rng, iterate.slack)
        return run_together(product, [_whitened(iterate, metric, lifted(probe, known, upper))])[0].lower

    if _looks_roughly(meter) and (lowest := look(meter.rough_product)) > _ROUGH_DOUBT:
        return lowest
    return look(meter.product)


def cheapest(iterate: Iterate, metrics: dict[str, Metric], found: dict[str, Ritz]) -> str:
    """The metric in which the negative eigenvalues that Lanczos has met cost least."""
    return min(found, key=lambda name: max(0.0, -found[name].lower) * metrics[name].total(iterate.objective))


def negative_direction(metric: Metric, ritz: Ritz) -> Array | None:
    """The lower Ritz vector, (n,), where its value is negative."""
    return metric.unwhiten(ritz.vector[:, None])[:, 0] if ritz.lower < 0 else None


def ritz_bound(meter: Meter, iterate: Iterate, name: str, metric: Metric, ritz: Ritz) -> Certificate:
    """The bound that follows from a Lanczos run by itself."""
    rounding = meter.problem.operator.rounding_in(metric, max(ritz.upper, -ritz.lower))
    return _bound(meter, iterate, name, metric, _probable_shift(meter.problem.n, ritz, rounding))


def estimate_gap(meter: Meter, iterate: Iterate, rng: np.random.Generator) -> float:
    """What the gap would be if the Ritz value of a short Lanczos run were the eigenvalue; optimistic, for display only."""
    metric = next(iter(dual_metrics(iterate).values()))
    (ritz,) = whitened_lanczos(meter.linearized(iterate), iterate, [metric], rng, 15)
    return max(0.0, -ritz.lower) * metric.total(iterate.objective)


def whitened_lanczos(
    meter: Meter, iterate: Iterate, metrics: Iterable[Metric], rng: np.random.Generator, steps: int, rough: bool = False
) -> list[Ritz]:
    """The ends of the spectrum of E L Eᵀ, in each of the metrics; ``rough``: by products of six digits."""
    n = meter.problem.n
    probes = [_whitened(iterate, metric, lanczos_probe(n, steps, rng, iterate.slack)) for metric in metrics]
    return run_together(meter.rough_product if rough else meter.product, probes)


def _looks_roughly(meter: Meter) -> bool:
    """Whether products of six digits look at a spectrum before it is tested: not where Lanczos exhausts the space."""
    return meter.problem.operator.single_is_accurate and meter.problem.n > meter.problem.tuning.lanczos_steps


def _whitened(iterate: Iterate, metric: Metric, probe: Probe) -> Probe:
    """A probe of E L Eᵀ, whose spectrum is that of the pencil (L, M), as one that asks for products with the core of J."""
    slack = iterate.slack[:, None]
    return mapped(probe, metric.unwhiten, lambda _, v, product: metric.whiten_gradient(slack * v - product))


def _shift_test(
    meter: Meter, iterate: Iterate, metric: Metric, upper: float, target: float, rng: np.random.Generator
) -> Generator[Array, Array, Tested]:
    """A Chebyshev test of the whitened L on the complement of what is known: its null space, which is the range of H."""
    problem = meter.problem
    rounding = problem.operator.rounding_in(metric, upper)
    known = almost_null(iterate, metric, 0.1 * target, rounding)  # so that what is known costs little of the shift
    G = known.project(like(problem.offset, rng.standard_normal((problem.n, problem.operator.block_width))))
    risk = FAILURE_PROBABILITY / _RUNS
    tested = yield from projected(chebyshev_test(G, upper, target, risk, rounding / upper, problem.tuning), known)
    return Tested(known.shift(tested.shift, rounding), tested.direction)


def _bound(meter: Meter, iterate: Iterate, name: str, metric: Metric, shift: float) -> Certificate:
    return bound(iterate, name, metric, shift, "probabilistic", FAILURE_PROBABILITY, meter.problem.operator)


def _probable_shift(n: int, ritz: Ritz, rounding: float) -> float:
    """s ≥ -λmin of the whitened L, but for the failure probability, where products err by that ``rounding``.

    Ritz values are those of a matrix that maps each of the k vectors to what the product was, with errors F (n, k): so they
    are off by at most the norm of F, √k times the rounding.
    """
    # Both ends are under-estimated by at most ε times the true spread; nothing but rounding where the space is exhausted.
    epsilon = n * UNIT if ritz.exhausted else spread_error(n, ritz.steps, FAILURE_PROBABILITY / _RUNS)
    if epsilon >= 0.5:
        return math.inf
    error = epsilon * (ritz.upper - ritz.lower) / (1 - 2 * epsilon)
    return max(0.0, error + math.sqrt(ritz.steps) * rounding - ritz.lower)
