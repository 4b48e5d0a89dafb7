r"""Upper bounds on the optimum, each with the grade of its proof.

For any dual vector z with :math:`\operatorname{Diag}(z) - J \succeq 0`, weak duality gives :math:`p_\star \le \sum z`.
From an iterate with :math:`L = \operatorname{Diag}(y) - J` we take :math:`z = y + s v` along positive weights v, where

.. math:: s = \max(0, -\lambda_{\min}(V^{-1/2} L V^{-1/2})), \qquad p_\star \le \sum y + s \sum v .

The weights ``1`` give the additive bound, ``y`` the multiplicative one, and ``diag(L) = y - diag(J)`` its shift-invariant
form, for which s is the relative gap itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf

from ..operators.base import Array
from .lanczos import Ritz, lanczos, spread_error
from .problem import Iterate, Problem
from .uniqueness import NullSpace, null_space

_UNIT = np.finfo(float).eps / 2
# An entry of J is formed with fewer roundings than this.
_ENTRY_ROUNDINGS = 8
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
_FAILURE_PROBABILITY = 1e-6
# Ends of the spectrum that the Lanczos runs of one solve may look at: two ends, three weights, 21 certificates, and some.
_LANCZOS_RUNS = 150
# Defect and shift up to which the null space of L can be read off its factorisation.
_READABLE = 1e-5
# Weights this small beside the largest would only amplify rounding.
_WEIGHT_FLOOR = 1e-12


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
    gain : float
        Objective less Tr J, the denominator of ``relative_gap``. Where J is diagonal there is none, and Σ|y| takes its
        place.
    weights : {"slack", "multiplicative", "additive"}
        Along which weights the bound was taken.
    null_space : NullSpace or None
        Nullity of L to working precision, its next eigenvalue and whether B* is the only optimum, when a factorisation made
        them known.
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

    @property
    def relative_gap(self) -> float:
        """(upper_bound - objective) / (objective - Tr J); invariant when a diagonal is added to J."""
        if self.gain > 0:
            return self.gap / self.gain
        return math.inf if self.gap > 0 else 0.0

    def __repr__(self) -> str:
        grade = self.grade
        if grade == "probabilistic":
            grade += f" (wrong with probability ≤ {self.failure_probability:.0e})"
        return (
            f"Certificate({grade}: {self.objective:.10g} ≤ optimum ≤ {self.upper_bound:.10g}, "
            f"relative_gap={self.relative_gap:.2e}, stationarity={self.stationarity:.1e})"
        )


def dual_weights(iterate: Iterate) -> dict[str, Array]:
    """The usable weights v, best first: near an optimum the slack gives the sharpest bound."""
    size = max(float(np.abs(iterate.y).mean()), float(iterate.pull.mean()))
    candidates = {
        "slack": iterate.slack,
        "multiplicative": iterate.y,
        "additive": np.full(len(iterate.y), size if size > 0 else 1.0),
    }
    return {name: v for name, v in candidates.items() if v.min() > _WEIGHT_FLOOR * v.max()}


def certify(
    problem: Problem, iterate: Iterate, rng: np.random.Generator, tol: float, effort: str = "proof"
) -> tuple[Certificate, Array | None]:
    """Bound the optimum from ``iterate``; with a direction of negative curvature of L, (n,), if one was met.

    A factorisation is tried first, at a shift that would already meet ``tol``. If it fails, Lanczos tells how negative L
    is. ``effort`` decides how far to go: ``"attempt"`` ends after the first factorisation, ``"estimate"`` at the Ritz value,
    ``"proof"`` pays for as many factorisations as a proof takes. ``"lanczos"`` spares the factorisations and makes a
    probabilistic bound of the Ritz values, as is always done where no factorisation is possible.
    """
    weights, error = dual_weights(iterate), problem.operator.error_bound
    provable = problem.operator.can_factor and effort != "lanczos"
    name, v = next(iter(weights.items()))
    if provable:
        part = _ATTEMPT_SHIFT if effort == "attempt" else _FIRST_SHIFT
        shift = max(part * tol * iterate.gain / v.sum(), 0.0)
        certificate = _prove(problem, iterate, name, v, shift)
        if certificate is not None:
            return certificate, None
        if effort == "attempt":
            return no_bound(iterate), None
    steps = _LANCZOS_STEPS
    if effort == "lanczos":  # somebody waits
        weights, steps = {name: v}, _SHORT_STEPS
    found = {name: (v, _scaled_lanczos(problem, iterate, v, rng, steps)) for name, v in weights.items()}
    name = min(found, key=lambda k: max(0.0, -found[k][1].lower) * found[k][0].sum())
    v, ritz = found[name]
    escape = ritz.vector / np.sqrt(v) if ritz.lower < 0 else None
    shift = max(-_SAFETY * ritz.lower, 0.0)
    if provable and (effort == "proof" or shift * v.sum() <= tol * iterate.gain):
        for _ in range(_MAX_ATTEMPTS):
            certificate = _prove(problem, iterate, name, v, shift)
            if certificate is not None:
                return certificate, escape
            shift = max(_ESCALATION * shift, _UNIT)
    if provable and effort == "estimate":
        return _bound(iterate, name, v, max(0.0, -ritz.lower), "estimate", math.nan, error), escape
    shift, probability = _probable_shift(problem.n, ritz)
    return _bound(iterate, name, v, shift, "probabilistic", probability, error), escape


def no_bound(iterate: Iterate) -> Certificate:
    """The objective, and nothing known above it: for a solve that was stopped before anything could be."""
    name, v = next(iter(dual_weights(iterate).items()))
    return _bound(iterate, name, v, math.inf, "estimate", math.nan, 0.0)


def estimate_bound(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> float:
    """Where the upper bound would be if a short Lanczos run told the truth; optimistic, for display only."""
    v = next(iter(dual_weights(iterate).values()))
    ritz = _scaled_lanczos(problem, iterate, v, rng, _ESTIMATE_STEPS)
    return iterate.objective + max(0.0, -ritz.lower) * float(v.sum())


def _bound(
    iterate: Iterate,
    name: str,
    v: Array,
    s: float,
    grade: str,
    probability: float,
    error_bound: float,
    null: NullSpace | None = None,
) -> Certificate:
    """p⋆ ≤ Σy + sΣv, with the rounding of the sums on the safe side, and what J itself may be wrong by."""
    n, weight = len(v), float(v.sum())
    hollow, diagonal = float(np.abs(iterate.slack).sum()), float(np.abs(iterate.diagonal).sum())
    gap = s * weight + 2 * n * _UNIT * (hollow + (s * weight if s < math.inf else 0.0)) + error_bound
    gain = iterate.gain
    if not iterate.pull.any():  # J is diagonal
        gain = diagonal or weight
    return Certificate(
        objective=iterate.objective,
        upper_bound=iterate.objective + gap + n * _UNIT * (hollow + diagonal),
        gap=gap,
        grade=grade,
        failure_probability=probability,
        min_eigenvalue=-s * float(v.max()),
        stationarity=iterate.stationarity,
        gain=gain,
        weights=name,
        null_space=null,
    )


def _prove(problem: Problem, iterate: Iterate, name: str, v: Array, shift: float) -> Certificate | None:
    r"""Factorise :math:`V^{-1/2} L V^{-1/2} + sI`; success proves :math:`\lambda_{\min} \ge -(s + \text{rounding})`.

    If floating-point Cholesky of a matrix A runs to completion, then :math:`\lambda_{\min}(A) \ge
    -\gamma_{n+1}/(1-\gamma_{n+1}) \operatorname{Tr} A` with :math:`\gamma_k = ku/(1-ku)` (Rump 2006; underflow apart, for
    conventional matrix products in any order); twice that covers blocked factorisations that multiply by reciprocals. To it
    comes the rounding made when the entries were formed.
    """
    n = problem.n
    root = 1 / np.sqrt(v)
    gamma = (n + 2) * _UNIT / (1 - (n + 2) * _UNIT)
    trace = float(np.abs(iterate.slack / v).sum())
    entries = _ENTRY_ROUNDINGS * _UNIT * float((problem.operator.entry_scale() / v).sum() + trace)
    rounding = 2 * gamma / (1 - gamma) * (trace + n * shift) + entries
    shift = max(shift, 2 * rounding)
    with problem.operator.triangle(root) as T:
        np.fill_diagonal(T, iterate.slack / v + shift)
        # The lower triangle of a C-ordered array is the upper triangle of its transpose.
        factor, info = dpotrf(T.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            return None
        # The null space is read off L scaled to unit diagonal (or L = 0), at an H that has converged.
        readable = (name == "slack" or not iterate.pull.any()) and max(iterate.defect, shift) <= _READABLE
        null = null_space(factor, iterate, v, shift) if readable else None
    return _bound(iterate, name, v, shift + rounding, "proved", 0.0, problem.operator.error_bound, null)


def _scaled_lanczos(problem: Problem, iterate: Iterate, v: Array, rng: np.random.Generator, steps: int) -> Ritz:
    root = 1 / np.sqrt(v)[:, None]
    slack = iterate.slack[:, None]

    def apply(q: Array) -> Array:
        q = root * q
        return root * (slack * q - problem.product(q))

    return lanczos(apply, problem.n, steps, rng)


def _probable_shift(n: int, ritz: Ritz) -> tuple[float, float]:
    """s ≥ -λmin of the scaled L, and the probability that this is wrong."""
    # Both ends are under-estimated by at most ε times the true spread; nothing but rounding where the space is exhausted.
    epsilon = n * _UNIT if ritz.exhausted else spread_error(n, ritz.steps, _FAILURE_PROBABILITY / _LANCZOS_RUNS)
    if epsilon >= 0.5:
        return math.inf, _FAILURE_PROBABILITY
    error = epsilon * (ritz.upper - ritz.lower) / (1 - 2 * epsilon)
    return max(0.0, error - ritz.lower), _FAILURE_PROBABILITY
