"""A certificate in plain words, with its numbers; and how to read a picture.

An objective is rounded down, a bound and a gap up, so that what is proved holds for the numbers shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from .._utils.rounding import decimal_above
from ..plotting.view import Picture
from ..sdp import Certificate
from .numbers import number_text, times_ten
from .scales import Fit

# Digits of an objective: the fewest shown, and the most that double precision has.
_DIGITS, _MOST_DIGITS = 6, 15
# Shares from here on read better as percentages than as powers of ten.
_PERCENT = Decimal("0.001")
_SPACE = "\N{NO-BREAK SPACE}"
# Names of the pictures that a page may open with.
PICTURES = {"plane": "Logarithmic radius", "ring": "Ring", "layout": "Layout"}


def read_picture(picture: Picture) -> str:
    """How to read it, and what it does not show."""
    text = {
        "plane": (
            "Rows that are alike point the same way from the centre. A few lie so far out that the others would shrink to a "
            "dot: beyond the innermost circle, distances from the centre are logarithmic."
        ),
        "ring": (
            "Rows that are alike point the same way from the centre. All of them lie on the circle, and are drawn farther "
            "out where many point the same way, to be seen."
        ),
        "layout": (
            f"This is a layout, made by t-SNE from {len(picture.columns)} coordinates: rows that are alike are close to "
            "each other. Distances between groups, and their sizes and shapes, mean little, and outliers lie beside the "
            "rows nearest to them: a table below lists them."
        ),
    }[picture.view]
    return f"{text} The certificate is about the coordinates: press Coordinates to see them."


def headline(fit: Fit) -> str:
    """Status and grade in a few words."""
    c = fit.certificate
    of = " for the approximate kernel" if stands_for_another(c) else ""
    if fit.status == "optimal":
        return f"Proved optimal{of}" if c.grade == "proved" else f"Optimal{of}, very probably"
    if fit.status == "degenerate":
        return f"Optimal score{of}, but other pictures score equally"
    if fit.status == "unconfirmed":
        return f"Optimal score{of}; other pictures may score equally"
    return {"max_iter": "Not converged", "interrupted": "Stopped early"}.get(fit.status, fit.status)


def headline_of_scales(fits: Sequence[Fit]) -> str:
    """Status and grade of all scales in a few words."""
    lines = [headline(fit) for fit in fits]
    if len(set(lines)) == 1:
        return lines[0] if len(lines) == 1 else f"{lines[0]}, at {'both' if len(lines) == 2 else 'all'} scales"
    return "; ".join(f"{line[0].lower()}{line[1:]} at scale {k}" for k, line in enumerate(lines, start=1)).capitalize()


def explain(fit: Fit, n: int, tol: float) -> list[str]:
    """Paragraphs on a fit to n points at tolerance ``tol``; the first is the claim itself."""
    c = fit.certificate
    exact = [_exact_claim(c)] if stands_for_another(c) else []
    return [_claim(c), _reason(c, n), _room(c, tol), *exact, _verdict(fit)]


def explain_scales(fits: Sequence[Fit], n: int, tol: float) -> list[list[str]]:
    """Paragraphs for every scale, as :func:`explain` has them; what is said of a grade is said once."""
    texts, said = [], set()
    for fit in fits:
        claim, reason, *others = explain(fit, n, tol)
        texts.append([claim, *([] if reason in said else [reason]), *others])
        said.add(reason)
    return texts


def stands_for_another(c: Certificate) -> bool:
    """Whether an approximate problem was solved, so that there is a second claim, about the exact one."""
    return bool(c.error_below or c.error_above)


def outward(low: float, high: float) -> tuple[str, str]:
    """Both numbers with enough digits to differ, ``low`` rounded down and ``high`` up."""
    size = _exponent(max(abs(low), abs(high) if math.isfinite(high) else 0.0))
    last = size - _DIGITS + 1
    if math.isfinite(high) and high > low:
        last = min(last, _exponent(high - low) - 1)
    quantum = Decimal(1).scaleb(max(last, size - _MOST_DIGITS + 1))
    down = f"{Decimal(low).quantize(quantum, ROUND_FLOOR):f}"
    return down, f"{Decimal(high).quantize(quantum, ROUND_CEILING):f}" if math.isfinite(high) else "∞"


def share_text(share: float) -> str:
    """Two digits, upwards: 12 %, or 1.1 × 10⁻⁷."""
    if not math.isfinite(share):
        return "∞"
    if share <= 0:
        return "0"
    return _two_digits(decimal_above(share))


def _two_digits(share: Decimal) -> str:
    if share >= _PERCENT:
        return f"{(share * 100).normalize():f}{_SPACE}%"
    mantissa, exponent = f"{share:.1e}".split("e")
    return f"{mantissa}{times_ten(int(exponent))}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) if value > 0 else 0


def _claim(c: Certificate) -> str:
    low, high = outward(c.objective, c.upper_bound)
    reached = f"This embedding reaches an objective of {low}."
    if not math.isfinite(c.upper_bound):
        return f"{reached} How much higher another one could get is not known."
    if c.grade == "estimate":
        return f"{reached} No other is expected to get above {high}, but that is not proved."
    where = ", measured by the approximate kernel that was solved for" if stands_for_another(c) else ""
    return f"No embedding of these data can have an objective above {high}{where}{_exception(c)}; this one reaches {low}."


def _exception(c: Certificate) -> str:
    return "" if c.grade == "proved" else f", except with a probability of at most {share_text(c.failure_probability)}"


def _exact_claim(c: Certificate) -> str:
    """The claim about the exact problem, from bounds on its difference to the approximate one."""
    low, high = outward(*c.exact_interval)
    reached = f"Measured by the exact kernel, for which the approximate one stands, this embedding reaches at least {low}"
    if not math.isfinite(c.exact_interval[1]) or c.grade == "estimate":
        return f"{reached}. How much higher another one could get is not known."
    return (
        f"{reached}, and no embedding gets above {high}{_exception(c)}: at most "
        f"{share_text(c.exact_relative_gap)} is still missing there. These bounds allow for all that the approximation may "
        f"have changed."
    )


def _reason(c: Certificate, n: int) -> str:
    if not math.isfinite(c.upper_bound) or c.grade == "estimate":
        return "The eigenvalue computation that bounds all embeddings was not finished."
    if c.grade == "probabilistic":
        return (
            "The bound comes from a test, not from a proof: vectors drawn at random were multiplied by a matrix, over and "
            "over, which shows every direction in which the objective could still grow. A direction is missed only if all "
            "of the vectors are, by chance, almost perpendicular to it. The probability above bounds that, for any data."
        )
    return (
        f"This was proved by computations with a matrix of {number_text(n)} rows and as many columns, with all their "
        "rounding accounted for. The proof holds for embeddings of any dimension, and however the one shown here was found."
    )


def _room(c: Certificate, tol: float) -> str:
    if not math.isfinite(c.relative_gap):
        return "So a much better embedding may exist."
    whole = "size of the problem" if c.weights == "own" else "improvement over a structureless embedding"
    asked = _two_digits(Decimal(repr(tol)))
    return f"At most {share_text(c.relative_gap)} of the {whole} is still missing ({asked} was asked for)."


def _verdict(fit: Fit) -> str:
    null = fit.certificate.null_space
    if fit.status == "optimal" and math.isfinite(fit.certificate.distance_bound):
        distance = share_text(fit.certificate.distance_bound)
        return (
            "This program has only one optimum, and the embedding itself is close to it: the products of its rows, which "
            f"say how alike they are, differ from those of the optimum by at most {distance}, in the root mean square."
        )
    if fit.status == "optimal":
        return (
            "It is also the only optimum, to the precision of the computer: any method that gets this far shows the "
            "same picture, up to a rotation or a mirror image."
        )
    if fit.status == "unconfirmed":
        return "Whether other embeddings, with other pictures, are as good could not be established."
    if fit.status == "degenerate":
        why = "some rows can be moved at a cost too small to be computed"
        if null is not None and not null.unique:
            why = "other embeddings, with other pictures, are as good"
        remedy = "At another bandwidth, usually a larger one,"
        if not math.isfinite(fit.bandwidth):
            remedy = "With a kernel that reaches farther, such as one of more neighbours,"
        return (
            f"But this picture is not the only one: {why}. Do not read meaning into its details. {remedy} there may be "
            "only one optimum."
        )
    cause = "was stopped by hand" if fit.status == "interrupted" else "ran out of iterations or of precision"
    return (
        f"The solver {cause} before it reached what was asked for. Positions may still change: this picture is a draft. Fit "
        "again with more iterations or a larger tolerance."
    )
