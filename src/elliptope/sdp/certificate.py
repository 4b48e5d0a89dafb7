r"""Upper bounds on the optimum, each with the grade of its proof.

For any dual vector z with :math:`\operatorname{Diag}(z) - J \succeq 0`, weak duality gives :math:`p_\star \le \sum z`.
An iterate gives :math:`L = \operatorname{Diag}(y) - J` and, for any metric M with :math:`\langle M, B_\star\rangle \le m`,

.. math:: L + s M \succeq 0 \quad\Longrightarrow\quad p_\star \le \sum y + s m .

The metric ``1`` gives the additive bound, ``Diag(y)`` the multiplicative one, and ``Diag(y - diag(J))`` its shift-invariant
form, for which s is the relative gap itself. An operator that has a metric of its own is measured by that.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._rounding import round_up
from ..operators.base import Array
from ..operators.factorization import UNIT
from ..operators.metric import DiagonalMetric, Metric
from .chebyshev import Tested, chebyshev_test
from .lanczos import Ritz, lanczos_probe, spread_error
from .probes import Probe, run_together
from .problem import Iterate, Problem
from .uniqueness import NullSpace, null_space

# Part of the tolerance that the first factorisation is allowed to give away: little where H has converged, so that the
# certificate is tight, and almost all of it where the proof is tried as early as it may succeed.
_FIRST_SHIFT = 0.1
_ATTEMPT_SHIFT = 0.9
# Ritz values are a little optimistic: shift by more, and by more still when that fails.
_SAFETY = 1.01
_ESCALATION = 1.5
_MAX_ATTEMPTS = 100
_LANCZOS_STEPS = 200
_SHORT_STEPS = 50
_ESTIMATE_STEPS = 15
# Part of the tolerance that a Chebyshev test aims at, and the part of the spread that it puts beyond the largest Ritz value.
_TEST_SHIFT = 0.8
_UPPER_MARGIN = 0.05
_WIDE_MARGIN = 0.2  # after a short run
# Where Lanczos has already met a negative eigenvalue, a test aims at this multiple of it.
_NEGATIVE_MARGIN = 2.0
_FAILURE_PROBABILITY = 1e-6
# Ends of the spectrum that the probes of one solve may look at: two ends, three weights, 21 certificates, and some.
_LANCZOS_RUNS = 150
# Defect and shift up to which the null space of L can be read off its factorisation.
_READABLE = 1e-5
# Weights this small beside the largest would only amplify rounding.
_WEIGHT_FLOOR = 1e-12
# Metrics in which eigenvalues of L have a natural size, so that one can tell which of them are zero.
NATURAL = ("slack", "own")


@dataclass(frozen=True)
class Certificate:
    """What is known about the optimum :math:`p_\\star`: ``objective`` ≤ p⋆ ≤ ``upper_bound``.

    Attributes
    ----------
    objective, upper_bound : float
        Value attained, and bound on what any feasible B attains.
    gap : float
        Their difference, computed without the diagonal of J, so that it is not lost in the rounding of two large numbers.
    grade : {"proved", "probabilistic", "estimate"}
        By a factorisation whose rounding errors are accounted for; by Lanczos from a random start, wrong with probability at
        most ``failure_probability``; or by a Ritz value alone, which errs on the optimistic side.
    failure_probability : float
        0 when proved, NaN for an estimate.
    min_eigenvalue : float
        Lower bound on the smallest eigenvalue of L, of the same grade.
    stationarity : float
        Largest row of LH relative to the pull of the other rows: how far rows are from where the extension puts them.
        In the operator's own metric, where it has one.
    gain : float
        Objective less Tr J (the offset of the operator, in general), the denominator of ``relative_gap``. Where J is
        diagonal there is none, and Σ|y| takes its place.
    weights : {"slack", "multiplicative", "additive", "own"}
        In which metric the bound was taken.
    null_space : NullSpace or None
        Nullity of L to working precision, its next eigenvalue and whether B* is the only optimum, when a factorisation made
        them known.
    error_below, error_above : float
        What the operator may be off by where it stands for a costlier one: the optimum of the exact problem lies in
        ``exact_interval``. Zero where J is exact up to rounding. All else is about the operator as it is.
    """

    objective: float
    upper_bound: float
    gap: float
    grade: str
    failure_probability: float
    min_eigenvalue: float
    stationarity: float
    gain: float
    weights: str
    null_space: NullSpace | None = None
    error_below: float = 0.0
    error_above: float = 0.0

    @property
    def relative_gap(self) -> float:
        """(upper_bound - objective) / (objective - Tr J); invariant when a diagonal is added to J."""
        return self._relative(self.gap)

    @property
    def exact_interval(self) -> tuple[float, float]:
        """Where the optimum of the exact problem lies, by the same grade."""
        return self.objective - self.error_below, self.upper_bound + self.error_above

    @property
    def exact_relative_gap(self) -> float:
        """The width of ``exact_interval`` relative to the gain."""
        return self._relative(self.gap + self.error_below + self.error_above)

    def _relative(self, gap: float) -> float:
        if self.gain > 0:
            return gap / self.gain
        return math.inf if gap > 0 else 0.0

    def __repr__(self) -> str:
        grade = self.grade
        if grade == "probabilistic":
            grade += f" (wrong with probability ≤ {self.failure_probability:.0e})"
        exact = ""
        if self.error_below or self.error_above:
            low, high = self.exact_interval
            exact = f"; exact problem: {low:.10g} ≤ optimum ≤ {high:.10g}"
        return (
            f"Certificate({grade}: {self.objective:.10g} ≤ optimum ≤ {self.upper_bound:.10g}, "
            f"relative_gap={round_up(self.relative_gap, 3)}, stationarity={self.stationarity:.1e}{exact})"
        )


def dual_metrics(iterate: Iterate) -> dict[str, Metric]:
    """The usable metrics, best first: near an optimum the slack gives the sharpest bound."""
    if iterate.coupling is not None:
        return {"own": iterate.coupling}
    size = max(float(np.abs(iterate.y).mean()), float(iterate.pull.mean()))
    candidates = {
        "slack": iterate.slack,
        "multiplicative": iterate.y,
        "additive": np.full(len(iterate.y), size if size > 0 else 1.0),
    }
    return {name: DiagonalMetric(v) for name, v in candidates.items() if v.min() > _WEIGHT_FLOOR * v.max()}


def certify(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float, effort: str = "proof"
) -> tuple[Certificate, Array | None]:
    """Bound the optimum from ``iterate``; with a direction of negative curvature of L, (n,), if one was met.

    A factorisation is tried first, at a shift that would already meet ``tol``. If it fails, Lanczos tells how negative L
    is. ``effort`` decides how far to go: ``"attempt"`` ends after the first factorisation, ``"estimate"`` at the Ritz value,
    ``"proof"`` pays for as many factorisations as a proof takes. ``"lanczos"`` spares the factorisations and makes a
    probabilistic bound of the Ritz values. Where no factorisation is possible, Chebyshev polynomials make a sharper one.
    """
    metrics, errors = dual_metrics(iterate), problem.operator.error_bounds
    provable = problem.operator.can_factor and effort != "lanczos"
    name, metric = next(iter(metrics.items()))
    if provable:
        part = _ATTEMPT_SHIFT if effort == "attempt" else _FIRST_SHIFT
        shift = max(part * tol * iterate.gain / metric.total(iterate.objective), 0.0)
        certificate = _prove(problem, iterate, name, metric, shift)
        if certificate is not None:
            return certificate, None
        if effort == "attempt":
            return no_bound(iterate), None
    # Where a proof will follow, Lanczos is asked how much it takes; where none can, whether a test is worth while.
    steps = _LANCZOS_STEPS if provable else _SHORT_STEPS
    if effort == "lanczos":  # somebody waits
        metrics = {name: metric}
    found = dict(zip(metrics, _whitened_lanczos(problem, iterate, metrics.values(), rng, steps), strict=True))
    cost = {name: max(0.0, -ritz.lower) * metrics[name].total(iterate.objective) for name, ritz in found.items()}
    name = min(cost, key=cost.__getitem__)
    metric, ritz = metrics[name], found[name]
    escape = metric.unwhiten(ritz.vector[:, None])[:, 0] if ritz.lower < 0 else None
    shift = max(-_SAFETY * ritz.lower, 0.0)
    if provable and (effort == "proof" or _SAFETY * cost[name] <= tol * iterate.gain):
        for _ in range(_MAX_ATTEMPTS):
            certificate = _prove(problem, iterate, name, metric, shift)
            if certificate is not None:
                return certificate, escape
            shift = max(_ESCALATION * shift, UNIT)
    if provable and effort == "estimate":
        return _bound(iterate, name, metric, max(0.0, -ritz.lower), "estimate", math.nan, errors), escape
    probable = partial(_bound, iterate, grade="probabilistic", probability=_FAILURE_PROBABILITY, errors=errors)
    certificate = probable(name, metric, _probable_shift(problem.n, ritz))
    if effort == "lanczos" or certificate.relative_gap <= tol or iterate.gain <= 0:
        return certificate, escape
    # The degree of the test grows with the root of the spread over the shift that is aimed at: which metric is cheapest?
    targets = {
        name: max(_target(iterate, metrics[name], tol), -_NEGATIVE_MARGIN * ritz.lower) for name, ritz in found.items()
    }
    name = min(found, key=lambda name: found[name].upper / targets[name])
    metric, ritz = metrics[name], found[name]
    if effort != "proof" and -ritz.lower > _target(iterate, metric, tol):
        return certificate, escape
    upper = ritz.upper + _UPPER_MARGIN * (ritz.upper - ritz.lower)
    tested = _test(problem, iterate, metric, upper, targets[name], rng)
    if tested.direction is not None:
        escape = metric.unwhiten(tested.direction[:, None])[:, 0]
    return min(certificate, probable(name, metric, tested.shift), key=lambda c: c.gap), escape


def _target(iterate: Iterate, metric: Metric, tol: float) -> float:
    """The shift in that metric that a test aims at."""
    return _TEST_SHIFT * tol * iterate.gain / metric.total(iterate.objective)


def riding_test(problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float) -> Probe:
    """What :func:`certify` does where nothing can be factorised, as a probe for a solve to take along.

    Any dual vector gives a bound: that of ``iterate`` is tested while the solve goes on from there.
    """
    metric = dual_metrics(iterate)[_riding_metric(iterate)]

    def test() -> Generator[Array, Array, Tested]:
        ritz = yield from lanczos_probe(problem.n, _ESTIMATE_STEPS, rng)
        upper = ritz.upper + _WIDE_MARGIN * (ritz.upper - ritz.lower)
        return (yield from _shift_test(problem, upper, _target(iterate, metric, tol), rng))

    return _whitened(iterate, metric, test())


def _riding_metric(iterate: Iterate) -> str:
    """The metric in which a test is cheapest, if L is about as large as Diag(y): its spread, times what a shift costs."""
    metrics = dual_metrics(iterate)
    if iterate.coupling is not None:
        return next(iter(metrics))
    return min(metrics, key=lambda name: float((metrics[name].solve(iterate.y[:, None])).max()) * metrics[name].total(0.0))


def certify_by(witness: Iterate, tested: Tested, iterate: Iterate, errors: tuple[float, float]) -> Certificate:
    """Bound the optimum from an iterate by the test of the dual vector of an earlier one."""
    name = _riding_metric(witness)
    metric, gained = dual_metrics(witness)[name], iterate.gain - witness.gain
    probability = _FAILURE_PROBABILITY
    return _bound(iterate, name, metric, tested.shift, "probabilistic", probability, errors, gained=gained)


def no_bound(iterate: Iterate) -> Certificate:
    """The objective, and nothing known above it: for a solve that was stopped before anything could be."""
    name, metric = next(iter(dual_metrics(iterate).items()))
    return _bound(iterate, name, metric, math.inf, "estimate", math.nan, (0.0, 0.0))


def estimate_bound(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> float:
    """Where the upper bound would be if a short Lanczos run told the truth; optimistic, for display only."""
    metric = next(iter(dual_metrics(iterate).values()))
    (ritz,) = _whitened_lanczos(problem, iterate, [metric], rng, _ESTIMATE_STEPS)
    return iterate.objective + max(0.0, -ritz.lower) * metric.total(iterate.objective)


def _bound(
    iterate: Iterate,
    name: str,
    metric: Metric,
    s: float,
    grade: str,
    probability: float,
    errors: tuple[float, float],
    null: NullSpace | None = None,
    gained: float = 0.0,
) -> Certificate:
    """p⋆ ≤ Σy + sm, with the rounding of the sums on the safe side; and what J itself may be wrong by."""
    n, weight = len(iterate.slack), metric.total(iterate.objective - gained)
    core, offset = float(np.abs(iterate.slack).sum()), float(np.abs(iterate.offset).sum())
    gap = s * weight - gained + 2 * n * UNIT * (core + (s * weight if s < math.inf else 0.0))
    gain = iterate.gain
    if not iterate.pull.any():  # J is diagonal
        gain = offset or weight
    return Certificate(
        objective=iterate.objective,
        upper_bound=iterate.objective + gap + n * UNIT * (core + offset),
        gap=gap,
        grade=grade,
        failure_probability=probability,
        min_eigenvalue=-s * metric.largest,
        stationarity=iterate.stationarity,
        gain=gain,
        weights=name,
        null_space=null,
        error_below=errors[0],
        error_above=errors[1],
    )


def _prove(problem: Problem, iterate: Iterate, name: str, metric: Metric, shift: float) -> Certificate | None:
    r"""Factorise :math:`L + sM`; success proves the bound for that s, and a little more for rounding."""
    with problem.operator.factorization(iterate.slack, metric, shift) as factor:
        if factor is None:
            return None
        # The null space is read off L in a natural metric (or L = 0), at an H that has converged.
        readable = (name in NATURAL or not iterate.pull.any()) and max(iterate.defect, factor.added) <= _READABLE
        null = null_space(factor, iterate, metric) if readable else None
    return _bound(iterate, name, metric, factor.shift, "proved", 0.0, problem.operator.error_bounds, null)


def _whitened(iterate: Iterate, metric: Metric, probe: Probe) -> Probe:
    """A probe of E L Eᵀ, whose spectrum is that of the pencil (L, M), as one that asks for products with the core of J."""
    slack, q = iterate.slack[:, None], next(probe)
    while True:
        v = metric.unwhiten(q)
        product = yield v
        try:
            q = probe.send(metric.whiten_gradient(slack * v - product))
        except StopIteration as end:
            return end.value


def _whitened_lanczos(
    problem: Problem, iterate: Iterate, metrics: Iterable[Metric], rng: np.random.Generator, steps: int
) -> list[Ritz]:
    """The ends of the spectrum of E L Eᵀ, in each of the metrics."""
    probes = [_whitened(iterate, metric, lanczos_probe(problem.n, steps, rng)) for metric in metrics]
    return run_together(problem.product, probes)


def _test(
    problem: Problem, iterate: Iterate, metric: Metric, upper: float, target: float, rng: np.random.Generator
) -> Tested:
    """Test whether E L Eᵀ has an eigenvalue below -target."""
    return run_together(problem.product, [_whitened(iterate, metric, _shift_test(problem, upper, target, rng))])[0]


def _shift_test(problem: Problem, upper: float, target: float, rng: np.random.Generator) -> Generator[Array, Array, Tested]:
    operator, risk = problem.operator, _FAILURE_PROBABILITY / _LANCZOS_RUNS
    return chebyshev_test(problem.n, operator.block_width, upper, target, risk, operator.product_error, rng)


def _probable_shift(n: int, ritz: Ritz) -> float:
    """s ≥ -λmin of the whitened L, but for the failure probability."""
    # Both ends are under-estimated by at most ε times the true spread; nothing but rounding where the space is exhausted.
    epsilon = n * UNIT if ritz.exhausted else spread_error(n, ritz.steps, _FAILURE_PROBABILITY / _LANCZOS_RUNS)
    if epsilon >= 0.5:
        return math.inf
    error = epsilon * (ritz.upper - ritz.lower) / (1 - 2 * epsilon)
    return max(0.0, error - ritz.lower)
