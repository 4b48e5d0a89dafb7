r"""How strong the quadratic term is: from what users give, η, to the weight s that defines the program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from .._utils.arrays import Array, largest, like, namespace, total
from ..operators.base import Operator

# Lanczos steps for λ₁, at most, and the relative change between two of them at which there are enough.
_STEPS = 100
_ENOUGH = 1e-7
# Significant digits of s: few enough that operators for the same J, whose products differ by rounding or whose rows come in
# another order, give the same s.
_DIGITS = 2


@dataclass(frozen=True)
class Spread:
    r"""The weight s of the quadratic term itself, from 0 to 1, in place of the number η that ``spread`` is otherwise.

    :func:`solve` returns the one that it used, so that a solution can be certified, or improved, for exactly that program.
    """

    s: float

    def __post_init__(self) -> None:
        if isinstance(self.s, bool) or not isinstance(self.s, Real) or not 0 <= float(self.s) <= 1:
            raise ValueError(f"`s` must be a number from 0 to 1, got {self.s!r}.")


def resolve_spread(operator: Operator, spread: float | Spread) -> Spread:
    r"""The weight :math:`s = \min(1, \eta\, \lambda_1(J) / \sum_i \max(J_{ii}, 0))` for η = ``spread``; 1 if it is infinite.

    λ₁, the largest eigenvalue of J, is a Ritz value from a start that is always the same, and s is rounded to two digits:
    it depends on J and η, and not on a seed, the order of rows, the number of threads, or how J is held.
    """
    if spread not in (0, Spread(0.0)) and operator.metric() is not None:
        raise ValueError(f"`spread` must be 0 for a cost with a metric of its own, got {spread!r}.")
    if isinstance(spread, Spread):
        return spread
    if isinstance(spread, bool) or not isinstance(spread, Real) or not float(spread) >= 0:
        raise ValueError(f"`spread` must be a number from 0 to infinity or a Spread, got {spread!r}.")
    if spread == 0 or spread == math.inf:
        return Spread(0.0 if spread == 0 else 1.0)
    unit = _largest_eigenvalue(operator) / total(_positive_part(operator.spread_diagonal()))
    return Spread(min(1.0, float(f"{float(spread) * unit:.{_DIGITS}g}")))


def spread_weights(operator: Operator, s: float) -> Array:
    r""":math:`e_i = \sqrt{s \max(J_{ii}, 0)}`, (n,)."""
    diagonal = operator.spread_diagonal()
    if not s:
        return namespace(diagonal).zeros_like(diagonal)
    return namespace(diagonal).sqrt(s * _positive_part(diagonal))


def _positive_part(diagonal: Array) -> Array:
    if not largest(diagonal) > 0:
        raise ValueError(
            f"`spread` must be 0 for a cost without positive entries on its diagonal, by which it weighs rows; the largest "
            f"there is {largest(diagonal):.6g}."
        )
    return namespace(diagonal).where(diagonal > 0, diagonal, namespace(diagonal).zeros_like(diagonal))


def _largest_eigenvalue(operator: Operator) -> float:
    """Of J, by Lanczos from a fixed start; never more than the true one."""
    n, model = operator.n, operator.spread_diagonal()
    q = np.random.default_rng(0).standard_normal(n)
    q = like(model, q / math.sqrt(float(q @ q)))
    basis: list[Array] = []
    alpha: list[float] = []
    beta: list[float] = []
    value = -math.inf
    for _ in range(min(_STEPS, n)):
        basis.append(q)
        u = operator.matmat(q[:, None])[:, 0]
        alpha.append(float(q @ u))
        for other in (*basis, *basis):  # twice is enough
            u = u - (other @ u) * other
        before, value = value, float(eigvalsh_tridiagonal(np.array(alpha), np.array(beta))[-1])
        beta.append(math.sqrt(float(u @ u)))
        if value - before <= _ENOUGH * abs(value) or not beta[-1] > n * np.finfo(float).eps * abs(value):
            break
        q = u / beta[-1]
    return value
