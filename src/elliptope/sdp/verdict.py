"""How a solve has ended: a status, a sentence that says why and what to change, and a line for titles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._utils.rounding import decimal_above, round_up
from .certificates.certificate import NATURAL, Certificate, needed_stationarity
from .certificates.uniqueness import NullSpace

# The grade of a certificate, as said of its gap.
_GRADES = {"proved": "proved", "probabilistic": "probabilistic", "estimate": "estimated"}


@dataclass(frozen=True)
class Ended:
    """What stopped the ascent, if something did ("interrupted", "max_iter"); what was spent, and which limit that was."""

    stop: str | None
    spent: str
    limit: str
    iterations: int


def verdict(
    certificate: Certificate, ended: Ended, tol: float, polish: bool, excepted: int | None = None
) -> tuple[str, str]:
    """Status and message of a solve with that certificate.

    ``excepted``, for a program with a quadratic term, is the number of rows that it leaves out, and on which alone the
    optimum may not be unique.
    """
    gap = f"relative gap {round_up(certificate.relative_gap, 3)} ({certificate.grade}), tol={tol:.2e}"
    reached = certificate.relative_gap <= tol and certificate.grade != "estimate"
    if ended.stop == "interrupted":
        return "interrupted", f"stopped by the user ({gap})"
    unsettled = polish and certificate.stationarity > needed_stationarity(certificate, tol)
    if reached and ended.stop == "max_iter" and unsettled:
        return "max_iter", (
            f"the objective is optimal ({gap}), but {ended.spent} were not enough for an accurate factor: its rows are "
            f"stationary to {certificate.stationarity:.1e}; increase {ended.limit}"
        )
    if reached and excepted is not None:
        left_out = f"; without {excepted} rows whose J_ii is not positive" if excepted else ""
        return "optimal", f"{gap}, distance to the optimum {round_up(certificate.distance_bound, 3)}{left_out}"
    if reached:
        reason = _undetermined(certificate, polish, unsettled)
        if reason:
            return "degenerate", f"{reason} ({gap})"
        if polish and certificate.null_space is None:
            return "unconfirmed", f"whether other embeddings are as good could not be established ({gap})"
        return "optimal", gap if polish else f"{gap}; the objective is optimal, B itself may be less accurate (polish=False)"
    if ended.stop == "max_iter":
        return "max_iter", f"{ended.spent} were not enough ({gap}); increase {ended.limit} or tol"
    if certificate.grade == "probabilistic":
        return "max_iter", (
            f"the ascent has converged, but tests with random vectors bound no tighter ({gap}); pass a larger tol, or a "
            f"matrix that can be factorised (an array, or a sparse one with up to 10 000 rows and few entries)"
        )
    return "max_iter", f"no further progress after {ended.iterations} iterations ({gap}); increase tol"


def _undetermined(certificate: Certificate, polish: bool, unsettled: bool) -> str | None:
    """Why the optimal B is not determined to working precision, if it is not."""
    null = certificate.null_space
    if null is None:
        if polish and certificate.weights not in NATURAL and certificate.grade == "proved":
            return "the objective depends so little on some rows that rounding decides their direction"
        if unsettled:
            return f"rounding leaves B undetermined: its rows are stationary to {certificate.stationarity:.1e} only"
        return None  # with a loose tolerance nothing is known of L, and B is not claimed to be accurate
    if not null.unique:
        return f"the optimum is not unique to working precision: {_other_optima(null)}"
    if not polish:
        return None
    if not null.strict:
        return f"strict complementarity fails to working precision, which leaves B undetermined: {_dimensions(null)}"
    if unsettled:
        return (
            f"rounding leaves B undetermined: its rows are stationary to {certificate.stationarity:.1e}, L has a spectral "
            f"gap of {null.spectral_gap:.1e}, and the curvature within its null space is {null.curvature:.1e}"
        )
    return None


def _dimensions(null: NullSpace) -> str:
    return f"L has nullity {null.nullity} or more, B has rank {null.rank}"


def _other_optima(null: NullSpace) -> str:
    """Where other optimal B may be: beyond the range of B, or, where L has no larger null space, within it."""
    if null.strict:
        return f"B has rank {null.rank}, and other matrices of the same range are as good"
    return f"{_dimensions(null)}, and nothing shows that the diagonal determines B in that null space"


def one_line(status: str, *certificates: Certificate) -> str:
    """Status and relative gaps in a line, such as "optimal, proved gap ≤ 1.1e-7"."""
    grades = [_GRADES[certificate.grade] for certificate in certificates]
    gaps = [_gap(certificate.relative_gap) for certificate in certificates]
    if len(set(grades)) == 1 and len(gaps) > 1 and None not in gaps:
        return f"{status}, {grades[0]} gaps ≤ {', '.join(map(str, gaps))}"
    parts = [
        "no bound on the gap" if gap is None else f"{grade} gap ≤ {gap}" for grade, gap in zip(grades, gaps, strict=True)
    ]
    return ", ".join([status, *parts])


def _gap(value: float) -> str | None:
    """Two digits, upwards; None where it is infinite."""
    return (f"{decimal_above(value):.1e}" if value > 0 else "0") if math.isfinite(value) else None
