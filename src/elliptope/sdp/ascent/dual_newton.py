r"""Newton's method for the dual of the program with a quadratic term: indifferent to rank and conditioning.

With :math:`W = \operatorname{Diag}(e)`, :math:`X = W^{1/2} Z W^{1/2}` and :math:`T = W^{-1/2} J W^{-1/2}` the program asks
for the matrix :math:`X \succeq 0`, :math:`\operatorname{diag} X = e`, that is nearest to T. Its dual is smooth and has no
constraints:

.. math:: \min_u\; \tfrac12 \lVert (T + \operatorname{Diag} u)_+\rVert_F^2 - e^\top u, \qquad
          X = (T + \operatorname{Diag} u)_+ .

Newton's method for its gradient, :math:`\operatorname{diag} X - e`, converges with order two (Qi and Sun 2006, for
correlation matrices). A step is one eigendecomposition and a few products with eigenvectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array, as_numpy, largest, like, row_dots, smallest
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows

# Weights this small beside the largest would only amplify rounding.
_WEIGHT_FLOOR = 1e-8
# Error of diag X, relative to e, that rounding leaves; and one from which on convergence is of second order.
_EXACT = 1e-13
_NEAR = 1e-3
# Relative residual to which a Newton system is solved, at most, and steps of conjugate gradients that it may take.
_FORCING = 1e-2
_MOST_STEPS = 50


def can_use_dual(meter: Meter) -> bool:
    """Whether J is small enough for dense linear algebra, and all its rows take part in the quadratic term."""
    problem = meter.problem
    if problem.n > problem.tuning.dense_newton_rows or problem.weights is None:
        return False
    return smallest(problem.weights) > _WEIGHT_FLOOR * largest(problem.weights)


def dual_newton(meter: Meter, u: Array | None, rng: np.random.Generator) -> Iterator[Iterate]:
    """Iterates with the rows of X normalised, one per step; they need not ascend. Ends where rounding allows no more.

    ``u`` (n,) is where to start, or None. Once diag X is nearly right the next few steps make it exact, and only the last
    one is yielded.
    """
    problem = meter.problem
    assert problem.weights is not None
    e = as_numpy(problem.weights)
    root = np.sqrt(e)
    T = problem.core_matrix / root[:, None] / root
    diagonal = as_numpy(problem.offset) / e
    u = e - diagonal if u is None else u
    point: _Point | None = _Point.at(T, diagonal, u, e)
    while point is not None:
        last, point = point, None if point.error <= _EXACT else _search(T, diagonal, point, e)
        # Any H with one column is a critical point, and says nothing before the end.
        if point is None or (last.error > _NEAR and last.rank > 1):
            yield meter.evaluate(like(problem.offset, normalize_rows(last.factor / root[:, None], rng)))


def _search(T: Array, diagonal: Array, point: _Point, e: Array) -> _Point | None:
    """Backtrack along the Newton step until the dual objective falls or, where rounding hides that, the error of diag X.

    None where neither does.
    """
    step = point.newton_step(min(_FORCING, point.error))
    slope, size = float(point.gradient @ step), 1.0
    while size > 1e-4:
        new = _Point.at(T, diagonal, point.u + size * step, e)
        allowance = 1e-14 * abs(point.scale)
        if new.value <= point.value + 1e-4 * size * slope and -size * slope > allowance:
            return new
        if new.error < 0.5 * point.error:
            return new
        size *= 0.5
    return None


@dataclass(frozen=True, eq=False)
class _Point:
    """The dual objective at u, with the eigenvalues of T + Diag(u), descending, and its eigenvectors P."""

    u: Array
    e: Array
    values: Array
    P: Array

    @classmethod
    def at(cls, T: Array, diagonal: Array, u: Array, e: Array) -> _Point:
        S = T.copy()
        S[np.diag_indices(len(u))] = diagonal + u
        values, P = np.linalg.eigh(S)
        return cls(u, e, values[::-1], P[:, ::-1])

    @property
    def rank(self) -> int:
        return max(int((self.values > 0).sum()), 1)

    @property
    def factor(self) -> Array:
        """Of X, (n, rank)."""
        return self.P[:, : self.rank] * np.sqrt(np.maximum(self.values[: self.rank], 0.0))

    @property
    def gradient(self) -> Array:
        return row_dots(self.factor, self.factor) - self.e

    @property
    def error(self) -> float:
        return float(np.abs(self.gradient / self.e).max())

    @property
    def scale(self) -> float:
        positive = self.values[: self.rank]
        return 0.5 * float(positive @ positive) + float(np.abs(self.e * self.u).sum())

    @property
    def value(self) -> float:
        positive = np.maximum(self.values, 0.0)
        return 0.5 * float(positive @ positive) - float(self.e @ self.u)

    def newton_step(self, forcing: float) -> Array:
        r"""Solve :math:`V h = -\text{gradient}` by conjugate gradients, V being a generalised Jacobian of the gradient:

        .. math:: V h = \operatorname{diag}\big(P (\Omega \circ P^\top \operatorname{Diag}(h) P) P^\top\big), \qquad
                  \Omega_{kl} = \frac{\lambda_k^+ - \lambda_l^+}{\lambda_k - \lambda_l} ,

        which is 1 between positive eigenvalues and 0 between negative ones.
        """
        r, P = self.rank, self.P
        A, B = P[:, :r], P[:, r:]
        mixed = self.values[:r, None] / np.maximum(self.values[:r, None] - self.values[None, r:], 1e-300)  # (r, n - r)

        def product(h: Array) -> Array:
            hA = h[:, None] * A
            inside, across = A.T @ hA, mixed * (hA.T @ B)
            return row_dots(A, A @ inside) + 2 * row_dots(A, B @ across.T)

        # diag V = Σ_kl Ω_kl P_ik² P_il².
        squares = P**2
        inside = squares[:, :r].sum(axis=1)
        diagonal = inside**2 + 2 * row_dots(squares[:, :r], squares[:, r:] @ mixed.T)
        diagonal = np.maximum(diagonal, 1e-8 * diagonal.max())
        return _conjugate_gradients(product, -self.gradient, diagonal, forcing)


def _conjugate_gradients(product: Callable[[Array], Array], rhs: Array, diagonal: Array, forcing: float) -> Array:
    x, r = np.zeros_like(rhs), rhs.copy()
    z = r / diagonal
    p, rz = z.copy(), float(r @ z)
    target = forcing**2 * rz
    for _ in range(_MOST_STEPS):
        q = product(p)
        curvature = float(p @ q)
        if not curvature > 0:
            break
        a = rz / curvature
        x += a * p
        r -= a * q
        z = r / diagonal
        rz, previous = float(r @ z), rz
        if rz <= target:
            break
        p = z + (rz / previous) * p
    return x if x.any() else rhs / diagonal
