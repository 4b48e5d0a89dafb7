r"""Diffusion over several steps: a polynomial of a normalised kernel, applied and never formed.

On L²(w) the normalised kernel acts as :math:`S = W^{1/2} A W^{1/2}`, whose spectrum lies in [-1, 1] and whose top
eigenvector is :math:`u_0 = W^{1/2} v_0`. Diffusion for a time t replaces S by :math:`S^t`; a polynomial q with q(0) = 0 and
q(1) = 1 that follows :math:`\lambda^t` has a lower degree, and defines a program of its own:

.. math:: J = \operatorname{Diag}(t)\, W^{-1/2} \big(q(S) - u_0 u_0^\top\big) W^{-1/2} \operatorname{Diag}(t),
          \qquad q(S) - u_0 u_0^\top = q(S - u_0 u_0^\top) .

With :math:`q(\lambda) = \lambda\, r(\lambda)`, products with r extend the solution to new points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from .._utils.arrays import Array, as_numpy, columnwise, hstack, in_precision_of, largest, like, namespace, row_dots, total
from .._utils.blocks import TILE, blocks
from .._utils.rounding import UNIT
from .base import KernelOperator, Operator
from .matrix import DenseMatrix
from .metric import Metric

# Sum of the coefficients of λ^t that are left out: what q differs from λ^t by, up to the correction at 0 and 1.
_LEFT_OUT = 0.02
# Points up to which q(S) is formed, so that optimality can be proved: with 20 neighbours this takes a second.
_LARGEST_FORMED = 2000
# Random vectors from which the trace is estimated. It is the unit of the relative gap, and no bound depends on it.
_PROBES = 16


@dataclass(frozen=True)
class Polynomial:
    """By its coefficients in the Chebyshev polynomials T_0, T_1, ..."""

    coefficients: tuple[float, ...]

    @property
    def degree(self) -> int:
        """Products that it takes."""
        return len(self.coefficients) - 1

    def __call__(self, x: Array) -> Array:
        """Its values at numbers."""
        return chebyshev.chebval(x, self.coefficients)

    def apply(self, product: Callable[[Array], Array], V: Array) -> Array:
        """q(S) V for a ``product`` V ↦ S V, with the spectrum of S in [-1, 1], by the recurrence T_k+1 = 2 S T_k - T_k-1."""
        c = self.coefficients
        before, T = V, product(V) if self.degree else V
        out = c[0] * V
        for k in range(1, len(c)):
            if c[k]:
                out += c[k] * T
            if k < self.degree:
                following = product(T)
                following *= 2
                following -= before
                before, T = T, following
        return out

    @property
    def error(self) -> float:
        """By how much the relative error of a product grows in :meth:`apply`, at most.

        One that is made at step j of the recurrence is multiplied by 2 U_{k-j}, at most 2 (k - j + 1), on its way to T_k.
        """
        return sum(abs(c) * k * (k + 1) for k, c in enumerate(self.coefficients))

    def divided(self) -> Polynomial:
        """r with q(λ) = λ r(λ), for q(0) = 0."""
        quotient = np.asarray(chebyshev.chebdiv(self.coefficients, (0.0, 1.0))[0])
        return Polynomial(tuple(quotient.tolist()))

    def mixed(self, s: float) -> Polynomial:
        """(1 - s) q(λ) + s λ."""
        c = np.zeros(max(len(self.coefficients), 2))
        c[: len(self.coefficients)] = (1 - s) * np.asarray(self.coefficients)
        c[1] += s
        return Polynomial(tuple(c.tolist()))


def power(t: int) -> Polynomial:
    r"""p(λ) ≈ λ^t on [-1, 1] for t = 1 or even t, with p ≥ 0 for even t, p(0) = 0 and p(1) = 1.

    The square of a polynomial for :math:`\lambda^{t/2}`, so that it is not negative anywhere.
    """
    if t == 1:
        return Polynomial((0.0, 1.0))
    half = _truncated(t // 2)
    return Polynomial(tuple(chebyshev.chebmul(half, half).tolist()))


def _truncated(t: int) -> Array:
    r"""Coefficients of q(λ) ≈ λ^t with q(0) = 0 and q(1) = 1, odd or even as t is; of λ^t itself for small t.

    Of :math:`\lambda^t = 2^{1-t} \sum_k \binom{t}{(t-k)/2} T_k` (with half the term at k = 0) the terms of high degree are
    left out: their number grows like :math:`\sqrt t`, as the tail of a binomial distribution. A multiple of λ or λ² and a
    constant correct the values at 1 and 0.
    """
    terms = {k: math.comb(t, (t - k) // 2) / 2 ** (t - 1) for k in range(t % 2, t + 1, 2)}
    if 0 in terms:
        terms[0] /= 2
    left_out, degree = 0.0, t
    while degree > 2 and left_out + terms[degree] <= _LEFT_OUT:
        left_out += terms.pop(degree)
        degree -= 2
    c = np.zeros(degree + 1)
    for k, term in terms.items():
        c[k] = term
    if t % 2:
        c[1] += 1 - c.sum()
    else:
        at_zero = float(chebyshev.chebval(0.0, c))
        c[0] -= at_zero
        square = 0.5 * (1 - c.sum())  # λ² = (T_0 + T_2)/2
        c[0] += square
        c[2] += square
    return c


def diffused_cost(A: KernelOperator, d: Array, t: int) -> KernelOperator | PolynomialOperator:
    """J for the diagonal d and the time t. A is used by it, with a row scale of its own."""
    sqrt = namespace(A.w).sqrt
    scale = A.w * sqrt(like(A.w, d))
    if t == 1:
        A.set_row_scale(scale)
        return A
    if not A.stored:
        raise ValueError(
            f"`diffusion_time` must be 1 unless the kernel is stored, got {t} with an operator that computes it again for "
            f"every product. Use operator='dense', or a kernel of neighbours, such as kernel='neighbors'."
        )
    root = sqrt(A.w)
    A.set_row_scale(root)
    scale = scale / root
    return PolynomialOperator(A, power(t), scale, scale**2 * A.w * A.abar_diagonal())


def diffused_values(A: KernelOperator, t: int, s: float, F: Array) -> Array:
    r"""Values at the points whose extension under A is that of F, (n, r), under q(A).

    They are :math:`W^{-1/2} r(S - u_0 u_0^\top) W^{1/2} F`, which differs from :math:`r(AW) F` by a multiple of v_0. An
    extension removes that.
    """
    if t == 1:
        return F
    root = namespace(A.w).sqrt(A.w)[:, None]
    A.set_row_scale(root[:, 0])
    return as_numpy(A.polynomial(power(t).mixed(s).divided(), root * like(root, F)) / root)


class FormedPolynomial(DenseMatrix):
    """J = Diag(s) q(S) Diag(s), formed.

    In the strictly concave program rows weigh as they do after one step: this diagonal, unlike that of q(S), is known at new
    points, too.
    """

    def __init__(self, C: Array, row_scale: Array, weights: Array) -> None:
        super().__init__(C, row_scale)
        self._weights = weights

    def spread_diagonal(self) -> Array:
        return self._weights


class PolynomialOperator(Operator):
    """J = Diag(s) q(S) Diag(s) - Q Qᵀ for a symmetric S whose spectrum lies in [-1, 1], applied product by product.

    Rows weigh as in :class:`FormedPolynomial`. The offset is an estimate of the diagonal. It sets the unit of the relative
    gap; products do not depend on it.
    """

    def __init__(self, S: Operator, q: Polynomial, row_scale: Array, weights: Array) -> None:
        self.n, self._S, self._q, self._s, self._weights = S.n, S, q, row_scale, weights
        self._Q = like(row_scale, np.empty((S.n, 0)))

    @cached_property
    def _offset(self) -> Array:
        probes = np.random.default_rng(0).choice((-1.0, 1.0), (self.n, _PROBES))  # fixed: the result depends on data alone
        probes = like(self._s, probes)
        return self._s**2 * (row_dots(probes, self._S.polynomial(self._q, probes)) / _PROBES)

    def mixed(self, s: float) -> Operator:
        """The same with (1 - s) q(λ) + s λ in place of q; formed where there are few points.

        As q ≥ 0, every J_ii is at least e_i² for the weight s of the quadratic term, so that the extension is exact at every
        row.
        """
        J = PolynomialOperator(self._S, self._q.mixed(s), self._s, self._weights)
        return J._formed() if self.n <= _LARGEST_FORMED else J

    def _formed(self) -> FormedPolynomial:
        J = np.empty((self.n, self.n))
        for columns in blocks(0, self.n, TILE):
            E = np.eye(self.n, columns.stop - columns.start, -columns.start)  # columns of the identity
            J[:, columns] = as_numpy(self._S.polynomial(self._q, like(self._s, E)))
        J += J.T.copy()
        J *= 0.5
        return FormedPolynomial(J, as_numpy(self._s), as_numpy(self._weights))

    def matmat(self, V: Array) -> Array:
        s = self._s[:, None]
        G = self._S.polynomial(self._q, s * V)
        G *= s
        if self._Q.shape[1]:
            G -= self._Q @ (self._Q.T @ V)
        return G

    def core_matmat(self, V: Array) -> Array:
        G = self.matmat(V)
        G -= self.offset()[:, None] * V
        return columnwise(G)

    def float32(self) -> Operator | None:
        S = self._S.float32()
        if S is None:
            return None
        J, model = copy(self), S.offset()
        J._S = S
        for name in ("_s", "_weights", "_Q", "_offset"):
            vars(J)[name] = in_precision_of(model, getattr(self, name))
        return J

    def offset(self) -> Array:
        return self._offset - row_dots(self._Q, self._Q)

    def norm_weights(self) -> Array:
        return self._s**2

    def spread_diagonal(self) -> Array:
        return self._weights

    def deflated(self, Q: Array) -> Operator:
        J = copy(self)  # which shares S
        J._Q = hstack([self._Q, Q])
        return J

    @property
    def product_error(self) -> float:
        return self._q.error * (self._S.product_error + 2 * UNIT)

    def rounding_in(self, metric: Metric, upper: float) -> float:
        # q(S) has the norm 1 at most, up to what q exceeds 1 by; and the offset is taken off the product.
        scale, root = metric.solve((self._s**2 + abs(self._offset))[:, None]), metric.whiten_gradient(self._Q)
        return self.product_error * (upper + 2 * largest(scale) + 2 * total(row_dots(root, root)))
