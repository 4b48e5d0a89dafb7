r"""Newton's method for the dual of the program with a quadratic term: indifferent to rank and conditioning.

With :math:`W = \operatorname{Diag}(e)`, :math:`X = W^{1/2} Z W^{1/2}` and :math:`T = W^{-1/2} J W^{-1/2}` the program asks
for the matrix :math:`X \succeq 0`, :math:`\operatorname{diag} X = e`, that is nearest to T. Its dual is smooth and has no
constraints:

.. math:: \min_u\; \varphi(u) = \tfrac12 \lVert (T + \operatorname{Diag} u)_+\rVert_F^2 - e^\top u, \qquad
          X = (T + \operatorname{Diag} u)_+ .

Newton's method for its gradient, :math:`\operatorname{diag} X - e`, converges with order two (Qi and Sun 2006, for
correlation matrices). A step is one eigendecomposition and a few products with eigenvectors. While X has few columns the
generalised Jacobian is nearly singular, above all where e is small and rows are symmetric (grids, helices): the damping of
Levenberg and Marquardt bounds the steps there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

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
# Relative residual to which a Newton system is solved, at most, and steps of conjugate gradients that it may take: more of
# them cost more than the eigendecompositions they save, and an early stop still gives a direction of descent.
_FORCING = 1e-2
_MOST_STEPS = 100
# Damping of the first Newton system and the least of all; Newton systems that one step may take.
_DAMPING, _LEAST_DAMPING = 1e-2, 1e-12
_ATTEMPTS = 30


def can_use_dual(meter: Meter) -> bool:
    """Whether J is small enough for dense linear algebra, and all its rows take part in the quadratic term."""
    problem = meter.problem
    if problem.n > problem.tuning.dense_newton_rows or problem.weights is None:
        return False
    return smallest(problem.weights) > _WEIGHT_FLOOR * largest(problem.weights)


def dual_start(meter: Meter, iterate: Iterate) -> Array:
    """u at an optimal iterate, (n,): y is that of the linearised problem, and L = Diag(y) - J + EZE."""
    return -as_numpy(iterate.y) / as_numpy(meter.problem.weights)


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
    np.fill_diagonal(T, as_numpy(problem.offset) / e)
    last, damping = _Point(T, e, e - T.diagonal() if u is None else u), _DAMPING
    while True:
        point, damping = (None, damping) if last.error <= _EXACT else _step(last, damping)
        # Any H with one column is a critical point, and says nothing before the end.
        if point is None or (last.error > _NEAR and last.rank > 1):
            yield meter.evaluate(like(problem.offset, normalize_rows(last.factor / root[:, None], rng)))
        if point is None:
            return
        last = point


def _step(point: _Point, damping: float) -> tuple[_Point | None, float]:
    r"""The next point, and the damping μ to try first from there; no point where rounding hides all progress.

    The step h solves :math:`(V + \mu \min(1, \text{error})\, I)\, h = -\nabla\varphi`. It is taken if φ falls by a tenth of
    what its quadratic model predicts or, where rounding hides that, if the error of diag X falls; else μ grows.
    """
    for _ in range(_ATTEMPTS):
        shift = damping * min(1.0, point.error)
        h = point.newton_step(shift)
        new = _Point(point.T, point.e, point.u + h)
        # -∇φᵀh - hᵀVh/2, as conjugate gradients make hᵀ(V + shift I)h = -∇φᵀh.
        predicted = 0.5 * float(shift * (h @ h) - point.gradient @ h)
        visible = predicted > point.rounding
        if (visible and point.value - new.value >= 0.1 * predicted) or new.error < 0.9 * point.error:
            good = not visible or point.value - new.value > 0.7 * predicted
            return new, max(damping * (0.1 if good else 0.5), _LEAST_DAMPING)
        damping *= 8
    return None, damping


@dataclass(frozen=True, eq=False)
class _Point:
    """The dual objective at u."""

    T: Array  # (n, n)
    e: Array  # (n,)
    u: Array  # (n,)

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvalues of T + Diag(u), descending, and eigenvectors."""
        S = self.T.copy()
        S[np.diag_indices(len(S))] += self.u
        values, P = np.linalg.eigh(S)
        return values[::-1], P[:, ::-1]

    @cached_property
    def rank(self) -> int:
        return max(int((self._eigen[0] > 0).sum()), 1)

    @cached_property
    def factor(self) -> Array:
        """Of X, (n, rank)."""
        values, P = self._eigen
        return P[:, : self.rank] * np.sqrt(np.maximum(values[: self.rank], 0.0))

    @cached_property
    def gradient(self) -> Array:
        return row_dots(self.factor, self.factor) - self.e

    @cached_property
    def error(self) -> float:
        """The largest relative error of diag X."""
        return float(np.abs(self.gradient / self.e).max())

    @cached_property
    def value(self) -> float:
        positive = np.maximum(self._eigen[0], 0.0)
        return 0.5 * float(positive @ positive) - float(self.e @ self.u)

    @cached_property
    def rounding(self) -> float:
        """Changes of the objective up to this may be rounding."""
        values = self._eigen[0]
        return 1e-14 * (0.5 * float(values @ values) + float(np.abs(self.e * self.u).sum()))

    @cached_property
    def _split(self) -> tuple[Array, Array, Array]:
        """Eigenvectors A of positive eigenvalues and B of the others; Ω between them (rank, n - rank)."""
        values, P = self._eigen
        r = self.rank
        mixed = values[:r, None] / np.maximum(values[:r, None] - values[None, r:], 1e-300)
        return P[:, :r], P[:, r:], mixed

    def _curvature(self, h: Array) -> Array:
        r"""V h, V being a generalised Jacobian of the gradient:

        .. math:: V h = \operatorname{diag}\big(P (\Omega \circ P^\top \operatorname{Diag}(h) P) P^\top\big), \qquad
                  \Omega_{kl} = \frac{\lambda_k^+ - \lambda_l^+}{\lambda_k - \lambda_l} ,

        which is 1 between positive eigenvalues and 0 between negative ones.
        """
        A, B, mixed = self._split
        hA = h[:, None] * A
        inside, across = A.T @ hA, mixed * (hA.T @ B)
        return row_dots(A, A @ inside + 2 * (B @ across.T))

    @cached_property
    def _curvature_diagonal(self) -> Array:
        """diag V = Σ_kl Ω_kl P_ik² P_il²."""
        A, B, mixed = self._split
        inside = row_dots(A, A)
        return inside**2 + 2 * row_dots(A**2, B**2 @ mixed.T)

    def newton_step(self, shift: float) -> Array:
        """Solve (V + shift I) h = -gradient by conjugate gradients, to what Newton's method needs."""
        return _conjugate_gradients(
            lambda h: self._curvature(h) + shift * h,
            -self.gradient,
            self._curvature_diagonal + shift,
            min(_FORCING, self.error),
        )


def _conjugate_gradients(product: Callable[[Array], Array], rhs: Array, diagonal: Array, forcing: float) -> Array:
    x, r = np.zeros_like(rhs), rhs.copy()
    z = r / diagonal
    p, rz = z.copy(), float(r @ z)
    target = forcing**2 * rz
    for _ in range(_MOST_STEPS):
        q = product(p)
        curvature = float(p @ q)
        if not curvature > 0:  # rounding
            break
        a = rz / curvature
        x += a * p
        r -= a * q
        z = r / diagonal
        rz, previous = float(r @ z), rz
        if rz <= target:
            break
        p = z + (rz / previous) * p
    return x
