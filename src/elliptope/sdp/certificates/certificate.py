r"""Upper bounds on the optimum, each with the grade of its proof.

For any dual vector z with :math:`\operatorname{Diag}(z) - J \succeq 0`, weak duality gives :math:`p_\star \le \sum z`.
An iterate gives :math:`L = \operatorname{Diag}(y) - J` and, for any metric M with :math:`\langle M, B_\star\rangle \le m`,

.. math:: L + s M \succeq 0 \quad\Longrightarrow\quad p_\star \le \sum y + s m .

The metric ``1`` gives the additive bound; with ``Diag(y - diag(J))``, the slack, s is the relative gap itself. An operator
that has a metric of its own is measured by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._utils.arrays import absolute_total, largest, namespace, smallest, total
from ..._utils.rounding import UNIT, round_up
from ...operators.base import Operator
from ...operators.metric import DiagonalMetric, Metric
from ..iterate import Iterate
from .uniqueness import NullSpace

# Weights this small beside the largest would only amplify rounding.
_WEIGHT_FLOOR = 1e-12
# Metrics in which eigenvalues of L have a natural size, so that one can tell which of them are zero.
NATURAL = ("slack", "own")


@dataclass(frozen=True)
class Certificate:
    """What is known about the optimum :math:`p_\\star`: ``objective`` ≤ p⋆ ≤ ``upper_bound``, the former to rounding.

    Of a program with a quadratic term, L and what is said of it are those of the linearised one.

    Attributes
    ----------
    objective, upper_bound : float
        Value attained, as computed, and bound on what any feasible B attains, rounding included. A value may be wrong by
        the rounding of a sum of the y, which shows where J has a diagonal that is larger by far than all else.
    gap : float
        Their difference, computed without the diagonal of J, so that it is not lost in the rounding of two large numbers.
    grade : {"proved", "probabilistic", "estimate"}
        By a factorisation, or by products and moments, whose rounding errors are accounted for; by products with random
        vectors (Lanczos, or a Chebyshev test), wrong with probability at most ``failure_probability``; or by a Ritz value
        alone, which errs on the optimistic side.
    failure_probability : float
        0 when proved, NaN for an estimate.
    min_eigenvalue : float
        Lower bound on the smallest eigenvalue of L, of the same grade.
    stationarity : float
        Largest row of LH relative to the pull of the other rows: how far rows are from where the extension puts them.
        In the operator's own metric, where it has one.
    gain : float
        Objective less Tr J (the offset of the operator, in general), the denominator of ``relative_gap``: what is won over
        B = Diag(d), also with a quadratic term. Where J is diagonal there is none, and Σ|J_ii|, or else the sum of the
        metric, takes its place.
    weights : {"slack", "additive", "mixed", "own"}
        In which metric the bound was taken.
    null_space : NullSpace or None
        Nullity of L to working precision, its next eigenvalue and whether B* is the only optimum, when a proof made them
        known.
    error_below, error_above : float
        What the operator may be off by where it stands for a costlier one: the optimum of the exact problem lies in
        ``exact_interval``. Zero where J is exact up to rounding. All else is about the operator as it is, the weights of a
        quadratic term included: they are the same in the exact problem.
    distance_bound : float
        Bound on :math:`\\lVert B - B_\\star\\rVert_F / \\lVert B\\rVert_F`, of the same grade, for the rows and columns with
        J_ii > 0; the norm is that of L²(w) where points have weights. Infinite without a quadratic term.
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
    distance_bound: float = math.inf

    @property
    def relative_gap(self) -> float:
        """(upper_bound - objective) / (objective - that of B = Diag(d)); invariant when a diagonal is added to J."""
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
        return 0.0 if gap <= 0 else math.inf  # so, too, where they are not numbers

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
    if iterate.own_metric is not None:
        return {"own": iterate.own_metric}
    n = iterate.y.shape[0]
    size = max(absolute_total(iterate.y), total(iterate.pull)) / n
    candidates = {
        "slack": iterate.slack,
        "additive": namespace(iterate.y).full_like(iterate.y, size if size > 0 else 1.0),
    }
    if iterate.quadratic is not None:  # at s = 1 and J ⪰ 0 slack and y vanish
        candidates["mixed"] = iterate.pull + iterate.quadratic.e**2
    return {name: DiagonalMetric(v) for name, v in candidates.items() if smallest(v) > _WEIGHT_FLOOR * largest(v)}


def bound(
    iterate: Iterate,
    name: str,
    metric: Metric,
    s: float,
    grade: str,
    probability: float,
    operator: Operator,
    null: NullSpace | None = None,
) -> Certificate:
    r"""p⋆ ≤ Σy + sm, with the rounding of the sums on the safe side; and what J itself may be wrong by.

    Any numbers y give a bound, but the objective is attained only as exactly as products with H were computed. The diagonal,
    where it was part of them, has put :math:`\sum_i |h_i \cdot \delta p_i| \le \sum_i \rho_i` into it, as rows of H have
    length one, and at most the preconditioned :math:`\rho_i` into the displacement of a row.
    """
    rounding, errors = operator.diagonal_rounding(), operator.error_bounds
    n, weight = iterate.slack.shape[0], metric.total(iterate.objective)
    core, offset = absolute_total(iterate.slack), absolute_total(iterate.offset)
    quadratic = 0.0 if iterate.quadratic is None else iterate.quadratic.square + iterate.quadratic.own
    gap = s * weight + 2 * n * UNIT * (core + quadratic + (s * weight if s < math.inf else 0.0)) + total(rounding)
    gain = iterate.gain
    # J is diagonal, unless all that is beside the diagonal is lost in its rounding.
    if iterate.isolated and (iterate.quadratic is not None or operator.uncoupled or not largest(rounding) > 0):
        gain = offset + quadratic or weight
    with np.errstate(over="ignore"):  # a row that nothing but rounding holds may be anywhere
        displaced = min(largest(iterate.precondition(rounding[:, None])), 1.0)
    return Certificate(
        objective=iterate.objective,
        # The offset itself, two scalings of a diagonal, has errors of a few units.
        upper_bound=iterate.objective + gap + (n + 8) * UNIT * (core + offset + quadratic),
        gap=gap,
        grade=grade,
        failure_probability=probability,
        min_eigenvalue=-s * metric.largest,
        stationarity=iterate.stationarity + displaced,
        gain=gain,
        weights=name,
        null_space=null,
        error_below=errors[0],
        error_above=errors[1],
        distance_bound=math.inf if iterate.quadratic is None else iterate.quadratic.distance_bound(gap),
    )


def carried_over(certificate: Certificate, old: Iterate, new: Iterate) -> Certificate:
    """The certificate of ``old`` for an iterate that came after it: a bound on the optimum holds for all of them.

    Only what is said of the iterate itself changes, with the rounding of both gains on the safe side.
    """
    n = new.slack.shape[0]
    return replace(
        certificate,
        objective=new.objective,
        gap=certificate.gap + (old.gain - new.gain) + 2 * n * UNIT * (old.absolute + new.absolute),
        min_eigenvalue=certificate.min_eigenvalue - max(largest(old.slack - new.slack), 0.0),
        stationarity=certificate.stationarity + (new.stationarity - old.stationarity),
        gain=new.gain if certificate.gain == old.gain else certificate.gain,
    )


def needed_stationarity(certificate: Certificate, tol: float, part: float = 1.0) -> float:
    """The stationarity at which B is within about ``tol`` of the optimum; within that part of it where that is cheap.

    B moves by the stationarity over the spectral gap of L or, within the null space, over the curvature there. The extension
    is off by the stationarity itself.
    """
    null = certificate.null_space
    return part * tol if null is None else tol * min(part, part * null.spectral_gap, null.curvature)


def no_bound(iterate: Iterate, operator: Operator) -> Certificate:
    """The objective, and nothing known above it: for a solve that was stopped before anything could be."""
    name, metric = next(iter(dual_metrics(iterate).items()))
    return bound(iterate, name, metric, math.inf, "estimate", math.nan, operator)
