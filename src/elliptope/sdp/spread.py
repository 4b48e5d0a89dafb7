r"""How strong the quadratic term is: from what users give, η, to the weight s that defines the program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from .._utils.arrays import Array, largest, namespace, total
from ..operators.base import Operator
from .certificates.lanczos import lanczos_probe
from .certificates.probes import run_together

# Lanczos steps from a start that is always the same: λ₁ is a unit of measurement, which has to be reproducible.
_STEPS = 30
# Significant digits of s: two operators for the same J, whose products differ by rounding, pose the same program.
_DIGITS = 6


@dataclass(frozen=True)
class Spread:
    r"""The weight s of the quadratic term, 0 to 1, itself: what :func:`solve` and :func:`certify` make of ``spread``.

    They take it in place of a number, so that a solution can be certified again, or another one computed, for exactly the
    same program.
    """

    s: float

    def __post_init__(self) -> None:
        if isinstance(self.s, bool) or not isinstance(self.s, Real) or not 0 <= float(self.s) <= 1:
            raise ValueError(f"`s` must be a number from 0 to 1, got {self.s!r}.")


def resolve_spread(operator: Operator, spread: float | Spread) -> Spread:
    r"""The weight :math:`s = \min(1, \eta\, \lambda_1(J) / T)` for η = ``spread``, where :math:`T = \sum_i \max(J_{ii}, 0)`.

    λ₁, the largest eigenvalue of J, is a Ritz value from a fixed start, and s is rounded to six digits, so that it depends
    on J alone: not on a seed, the number of threads, or how J is held. It is exact, s = 1, for an infinite η.
    """
    if isinstance(spread, Spread):
        found = spread
    elif isinstance(spread, bool) or not isinstance(spread, Real) or not float(spread) >= 0:
        raise ValueError(f"`spread` must be a non-negative number, or infinite, or a Spread, got {spread!r}.")
    elif spread == 0:
        return Spread(0.0)
    else:
        trace = _positive_trace(operator)
        found = Spread(1.0 if spread == math.inf else _rounded(min(1.0, float(spread) * _largest_eigenvalue(operator) / trace)))
    if found.s and operator.metric() is not None:
        raise ValueError(f"`spread` must be 0 for a cost with a metric of its own, got {spread!r}.")
    return found


def spread_weights(operator: Operator, s: float) -> Array:
    r""":math:`e_i = \sqrt{s \max(J_{ii}, 0)}`, (n,)."""
    diagonal = operator.spread_diagonal()
    xp = namespace(diagonal)
    return xp.sqrt(s * xp.where(diagonal > 0, diagonal, 0.0 * diagonal))


def _positive_trace(operator: Operator) -> float:
    diagonal = operator.spread_diagonal()
    if not largest(diagonal) > 0:
        raise ValueError(
            f"`spread` must be 0 for a cost without positive entries on its diagonal, by which it weighs rows; the largest "
            f"entry there is {largest(diagonal):.6g}."
        )
    return total(namespace(diagonal).where(diagonal > 0, diagonal, 0.0 * diagonal))


def _largest_eigenvalue(operator: Operator) -> float:
    probe = lanczos_probe(operator.n, _STEPS, np.random.default_rng(0), operator.offset())
    (ritz,) = run_together(operator.matmat, [probe])
    return max(ritz.upper, largest(operator.offset()))


def _rounded(s: float) -> float:
    return float(f"{s:.{_DIGITS}g}")
