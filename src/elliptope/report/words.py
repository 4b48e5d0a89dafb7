"""What a certificate says, in plain words and with its own numbers.

Numbers are rounded to the safe side: an objective down, a bound and a gap up, so that what is proved of a number is true of
the number that is shown.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from .._records import PathRecord
from ..sdp import Certificate

# Digits of an objective that are always shown, and the most that double precision can tell apart.
_DIGITS, _MOST_DIGITS = 6, 15
_GAP_DIGITS = 2
# Shares from here on read better as percentages than as powers of ten.
_PERCENT = Decimal("0.001")
_SPACE = "\N{NO-BREAK SPACE}"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def headline(record: PathRecord) -> str:
    """Status and grade in a few words."""
    c = record.certificate
    if record.status == "optimal":
        return "Proved optimal" if c.grade == "proved" else "Optimal, very probably"
    if record.status == "degenerate":
        return "Proved best, not settled" if c.grade == "proved" else "Best, not settled"
    return {"max_iter": "Not converged", "interrupted": "Stopped early"}.get(record.status, record.status)


def explain(record: PathRecord, n: int, tol: float) -> list[str]:
    """Paragraphs on the fit to n points at tolerance ``tol``; the first is the claim itself."""
    c = record.certificate
    return [_claim(c), _reason(c, n), _room(c, tol), _verdict(record)]


def outward(low: float, high: float) -> tuple[str, str]:
    """Both numbers with digits enough to tell them apart, ``low`` rounded down and ``high`` up."""
    size = _exponent(max(abs(low), abs(high) if math.isfinite(high) else 0.0))
    last = size - _DIGITS + 1
    if math.isfinite(high) and high > low:
        last = min(last, _exponent(high - low) - 1)
    quantum = Decimal(1).scaleb(max(last, size - _MOST_DIGITS + 1))
    down = f"{Decimal(low).quantize(quantum, ROUND_FLOOR):f}"
    return down, f"{Decimal(high).quantize(quantum, ROUND_CEILING):f}" if math.isfinite(high) else "∞"


def round_up(share: float) -> str:
    """Two digits, upwards: 12 %, or 1.1 × 10⁻⁷."""
    if not math.isfinite(share):
        return "∞"
    if share <= 0:
        return "0"
    return _two_digits(Context(prec=_GAP_DIGITS, rounding=ROUND_CEILING).create_decimal(share))


def _two_digits(share: Decimal) -> str:
    if share >= _PERCENT:
        return f"{(share * 100).normalize():f}{_SPACE}%"
    mantissa, exponent = f"{share:.1e}".split("e")
    return f"{mantissa}{_SPACE}×{_SPACE}10{str(int(exponent)).translate(_SUPERSCRIPT)}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) if value > 0 else 0


def _claim(c: Certificate) -> str:
    low, high = outward(c.objective, c.upper_bound)
    reached = f"This embedding reaches an objective of {low}."
    if not math.isfinite(c.upper_bound):
        return f"{reached} How much higher another one could get is not known."
    if c.grade == "estimate":
        return f"{reached} No other is expected to get above {high}, but that is not proved."
    but = "" if c.grade == "proved" else f", except with a probability of at most {round_up(c.failure_probability)}"
    return f"No embedding of these data can have an objective above {high}{but}; this one reaches {low}."


def _reason(c: Certificate, n: int) -> str:
    if not math.isfinite(c.upper_bound) or c.grade == "estimate":
        return "The eigenvalue computation that bounds all embeddings was not finished."
    if c.grade == "probabilistic":
        return "The bound comes from an eigenvalue computation with a random start (Lanczos), which is wrong no more often."
    return (
        f"This was proved by factorising a matrix of {n} rows and {n} columns, with all rounding of that computation "
        "accounted for. The proof holds for embeddings of any dimension, and however the one shown here was found."
    )


def _room(c: Certificate, tol: float) -> str:
    if not math.isfinite(c.relative_gap):
        return "So there may be much to gain."
    whole = "the size of the problem"
    if c.weights != "own":
        whole = "what has been gained over an embedding in which no row takes notice of any other"
    asked = _two_digits(Decimal(repr(tol)))
    return f"What could still be gained is at most {round_up(c.relative_gap)} of {whole} ({asked} was asked for)."


def _verdict(record: PathRecord) -> str:
    null = record.certificate.null_space
    if record.status == "optimal":
        if null is None or not null.unique:
            return "Whether there are other optima was not looked into."
        return (
            "It is also the only optimum, to the precision of the computer: any method that gets this far shows the "
            "same picture, up to a rotation or a mirror image."
        )
    if record.status == "degenerate":
        why = "some rows can be moved at a cost too small to be computed"
        if null is not None and not null.unique:
            why = "other embeddings, with other pictures, are as good"
        return (
            f"But the picture is not settled by that: {why}. Do not read meaning into its details. At another bandwidth, "
            "usually a larger one, there may be only one optimum."
        )
    cause = "was stopped by hand" if record.status == "interrupted" else "ran out of iterations or of precision"
    return (
        f"The solver {cause} before it reached what was asked for. Positions may still change: take the picture for a "
        "draft, and fit again with more iterations or a larger tolerance."
    )
