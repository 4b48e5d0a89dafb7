r"""The contract that solver, certificate and spectral code use: apply a symmetric J to a thin matrix.

Adding a diagonal to J changes the objective by a constant and nothing else. At small bandwidths the diagonal is larger than
all the rest by orders of magnitude, and its rounding alone would exceed the rest. So an operator splits
:math:`J = J_0 + \operatorname{Diag}(e)` into a *core* and an *offset*, and offers products with the core and the offset by
itself. Wherever entries are known the offset is diag(J), and the core is hollow. Scaling, normalisation, weights and
deflation are written once, here.

Arrays may be those of any library of the array API standard. An operator answers in float64 with arrays of one library, on
one device; callers make arrays like its :meth:`~Operator.offset`. What LAPACK works on
(:meth:`~Operator.triangle`, :meth:`~Operator.factorization`) are arrays of NumPy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Protocol, Self

import numpy as np

from .._utils.arrays import Array, all_nonzero, as_numpy, hstack, like, namespace, row_dots, smallest, total
from .._utils.rounding import UNIT
from .factorization import Factorization, cholesky, cholesky_rounding, cholesky_solver
from .metric import Metric

# Roundings with which an entry of J is formed from what is stored, at most; twice as many where two such numbers meet.
ROUNDINGS = 8
# Columns of a deflation basis that take little time beside a product with K.
_THIN = 8
# Factor over bounds that are of first order in errors below 1e-2; it covers the second order and the rounding of the bound.
MARGIN = 1.1
# Exponent of two up to which weights are used as they are: squares of them, and of costs made of those, are finite.
_ORDINARY_WEIGHT = 100


class Series(Protocol):
    """A polynomial q, by its coefficients in the Chebyshev polynomials T_0, T_1, ..."""

    @property
    def coefficients(self) -> tuple[float, ...]: ...

    def apply(self, product: Callable[[Array], Array], V: Array) -> Array:
        """q(S) V for a ``product`` V ↦ S V."""


class Operator(ABC):
    """A symmetric n × n matrix J that can be applied to thin matrices."""

    n: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n, self.n)

    @abstractmethod
    def core_matmat(self, V: Array) -> Array:
        """(J - Diag(offset)) V, shape (n, r).

        Thin matrices may come in either order; Fortran order, in which a column is contiguous, is the faster one.
        """

    @abstractmethod
    def offset(self) -> Array:
        """The diagonal that is kept apart from the core, shape (n,): diag(J), unless a subclass says otherwise."""

    def matmat(self, V: Array) -> Array:
        """J V, shape (n, r)."""
        return self.core_matmat(V) + self.offset()[:, None] * V

    def __matmul__(self, V: Array) -> Array:
        return self.matmat(V)

    def polynomial(self, q: Series, V: Array) -> Array:
        """q(J) V, shape (n, r), where the spectrum of J lies in [-1, 1]."""
        return q.apply(self.matmat, V)

    def single(self) -> Operator | None:
        """The same J in single precision, for early products; None where that would not be faster."""
        return None

    def float32(self) -> Operator | None:
        """The same J with arrays in single precision throughout, for an ascent in it; None where there is none."""
        return None

    @property
    def single_after(self) -> int:
        """Steps after which a slow ascent goes on in single precision: before, making the copy costs more than it saves."""
        return 20

    @property
    def single_is_accurate(self) -> bool:
        """Whether products in single precision are good to about six digits, enough for most steps of a solve.

        Else they are for the approach to an optimum.
        """
        return False

    def metric(self) -> Metric | None:
        """The metric in which the problem is well conditioned; None where every row has its own scale."""
        return None

    @property
    def error_bounds(self) -> tuple[float, float]:
        r"""(below, above): :math:`-\text{below} \le \operatorname{Tr}((J_{exact} - J) Z) \le \text{above}` for all Z.

        Z is of the elliptope. (0, 0) when J is exact up to rounding.
        """
        return 0.0, 0.0

    @property
    def product_error(self) -> float:
        r"""Bound on the rounding of a product with the core, relative to :math:`\lVert J_0\rVert_2 \lVert V\rVert_2`.

        Far from sharp for sums in double precision, and small enough for tests that take thousands of products.
        """
        return 1e-13

    def rounding_in(self, metric: Metric, upper: float) -> float:
        r"""Bound on the rounding of a product with :math:`E J_0 E^\top` in that metric, whose spectrum ends at ``upper``.

        It is relative to the norm of what is multiplied. Terms that cancel in J_0 are counted by their own size.
        """
        return self.product_error * upper

    def diagonal_rounding(self) -> Array:
        r"""ρ, (n,): rounding of the diagonal of J changes :math:`(J_0 V)_i` by at most :math:`\rho_i \lVert v_i\rVert`.

        Zero where the core is stored without it.
        """
        return namespace(self.offset()).zeros_like(self.offset())

    @property
    def entry_error(self) -> float:
        """Bound on the relative change of an entry from one product to the next; 0 where entries are stored."""
        return 0.0

    def core_square(self, v: Array) -> float:
        r"""A bound on :math:`\sum_{i \ne j} J_{ij}^2/(v_i v_j)`, sharp but for rounding; infinite where it is unknown."""
        return math.inf

    @property
    def square_products(self) -> int:
        """Block products that :meth:`core_square` takes; 0 where entries are stored."""
        return 0

    @property
    def block_width(self) -> int:
        """Columns that a product takes in little more time than one."""
        return 4

    def norm_weights(self) -> Array:
        r"""μ, (n,), with which :math:`\lVert B\rVert_F^2 = \sum_{ij} \mu_i \mu_j Z_{ij}^2`: 1 where B is Z itself."""
        return namespace(self.offset()).ones_like(self.offset())

    def spread_diagonal(self) -> Array:
        """The diagonal that weighs rows in the quadratic term of the strictly concave program, (n,): diag(J)."""
        return self.offset()

    def deflated(self, Q: Array) -> Operator:
        """J - QQᵀ for a thin Q, (n, q)."""
        return Deflated(self, Q)

    @property
    def uncoupled(self) -> bool:
        """Whether J is known to have nothing off its diagonal."""
        return False

    @property
    def can_factor(self) -> bool:
        """Whether :meth:`factorization` is available, so that optimality can be proved."""
        return False

    @property
    def has_entries(self) -> bool:
        """Whether :meth:`triangle` is available, so that J can be handed to dense linear algebra."""
        return False

    @contextmanager
    def factorization(self, slack: Array, metric: Metric, shift: float) -> Iterator[Factorization | None]:
        r"""Factorise :math:`\operatorname{Diag}(\text{slack}) - J_0 + s M` for s = ``shift``, or a little more.

        M is the operator's own :meth:`metric`, or diagonal where it has none. None where the matrix is not definite. The
        factorisation may use the operator's memory: no products are possible, and it is valid, within the context only.
        """
        raise TypeError(f"{type(self).__name__} cannot be factorised.")
        yield  # pragma: no cover

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        r"""Lend :math:`-\operatorname{Diag}(c) J \operatorname{Diag}(c)`, (n, n), in float64.

        It and c are arrays of NumPy; it is in Fortran order. The lower triangle may be overwritten freely; the
        strict upper triangle belongs to the operator. No products are possible within the context.
        """
        raise TypeError(f"{type(self).__name__} has no entries.")
        yield  # pragma: no cover


class Deflated(Operator):
    """J - QQᵀ for any J, by products alone."""

    def __init__(self, J: Operator, Q: Array) -> None:
        self.n, self._J, self._Q, self._squares = J.n, J, Q, row_dots(Q, Q)

    def core_matmat(self, V: Array) -> Array:
        return self._J.core_matmat(V) - self._Q @ (self._Q.T @ V) + self._squares[:, None] * V

    def offset(self) -> Array:
        return self._J.offset() - self._squares

    def norm_weights(self) -> Array:
        return self._J.norm_weights()

    def diagonal_rounding(self) -> Array:
        return self._J.diagonal_rounding()

    @property
    def error_bounds(self) -> tuple[float, float]:
        return self._J.error_bounds

    @property
    def product_error(self) -> float:
        return self._J.product_error

    def rounding_in(self, metric: Metric, upper: float) -> float:
        # Terms that cancel are QQᵀ, its diagonal, and what of J makes up for them.
        root = metric.whiten_gradient(self._Q)
        size = total(row_dots(root, root))
        return self._J.rounding_in(metric, upper + 2 * size) + 2 * self.product_error * size

    @property
    def entry_error(self) -> float:
        return self._J.entry_error

    @property
    def block_width(self) -> int:
        return max(self._J.block_width, 8 if self._Q.shape[1] > _THIN else 4)


class ExplicitOperator(Operator):
    """An operator that can lend its entries: proofs by a Cholesky factorisation of the lower triangle."""

    @abstractmethod
    def entry_scale(self) -> Array:
        r"""a² such that an off-diagonal entry of :meth:`triangle` errs by at most 8u :math:`c_i a_i a_j c_j`, (n,)."""

    @property
    def can_factor(self) -> bool:
        return self.has_entries

    @contextmanager
    def factorization(self, slack: Array, metric: Metric, shift: float) -> Iterator[Factorization | None]:
        n, v, slack = self.n, as_numpy(metric.diagonal()), as_numpy(slack)
        trace = float(np.abs(slack / v).sum())
        entries = ROUNDINGS * UNIT * float((as_numpy(self.entry_scale()) / v).sum() + trace)
        rounding = cholesky_rounding(n, trace + n * shift) + entries
        shift = max(shift, 2 * rounding)
        with self.triangle(1 / np.sqrt(v)) as T:
            np.fill_diagonal(T, slack / v + shift)
            L = cholesky(T)
            yield None if L is None else Factorization(shift + rounding, shift, cholesky_solver(L))


class ScaledOperator(ExplicitOperator):
    r"""J = Diag(s) K Diag(s) - Q Qᵀ, for a symmetric K, row scales s (n,) and a thin deflation basis Q (n, q).

    Neither Q Qᵀ nor J is stored. Subclasses provide products with K.
    """

    _s: Array
    _Q: Array

    @abstractmethod
    def hollow_kernel_matmat(self, V: Array) -> Array:
        """(K - Diag(diag K)) V, shape (n, r)."""

    @abstractmethod
    def kernel_diagonal(self) -> Array:
        """diag(K), shape (n,)."""

    def scaled_matmat(self, V: Array) -> Array:
        """Diag(s) (K - Diag(diag K)) Diag(s) V, shape (n, r)."""
        s = self._s[:, None]
        G = self.hollow_kernel_matmat(s * V)
        G *= s
        return G

    def core_matmat(self, V: Array) -> Array:
        G, Q = self.scaled_matmat(V), self._Q
        if Q.shape[1]:
            G -= ((V.T @ Q) @ Q.T).T
            G += row_dots(Q, Q)[:, None] * V
        return G

    def offset(self) -> Array:
        return self._s**2 * self.kernel_diagonal() - row_dots(self._Q, self._Q)

    def deflated(self, Q: Array) -> Self:
        J = copy(self)  # which shares K
        J._Q = hstack([self._Q, Q])
        return J

    def rounding_in(self, metric: Metric, upper: float) -> float:
        # Diag(s) K Diag(s) is J_0 and, but for the diagonal, Q Qᵀ; so both are no larger than upper and Q Qᵀ together.
        root = metric.whiten_gradient(self._Q)
        return self.product_error * (upper + 2 * total(row_dots(root, root)))

    @property
    def block_width(self) -> int:
        """More where reading Q is most of the work."""
        return 8 if self._Q.shape[1] > _THIN else 4

    def largest_entry(self) -> float:
        """max |K_ij| off the diagonal."""
        raise TypeError(f"{type(self).__name__} has no entries.")

    def entry_scale(self) -> Array:
        return self._s**2 * self.largest_entry() + row_dots(self._Q, self._Q)


class SingleOperator(ScaledOperator):
    """J with another product with K, in single precision; scales, deflation and diagonal are those of J itself."""

    def __init__(self, J: ScaledOperator, product: Callable[[Array], Array]) -> None:
        self.n, self._s, self._Q = J.n, J._s, J._Q
        self._diagonal_of_K, self._product = J.kernel_diagonal(), product

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._product(V)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K


def weight_unit(w: Array) -> float:
    """The unit in which weights are counted: 1, or a power of four close to the largest where its square is out of range."""
    _, exponent = math.frexp(float(w.max()))
    return 1.0 if abs(exponent) <= _ORDINARY_WEIGHT else 4.0 ** (exponent // 2)


class KernelOperator(ScaledOperator):
    r"""A kernel matrix, normalised as in diffusion maps, deflated, and scaled row by row.

    With degrees :math:`m = K w` and total mass :math:`M = w^\top m`,

    .. math:: \bar A_{ij} = \frac{K_{ij}}{\sqrt{m_i m_j}} - (v_0 v_0^\top)_{ij}, \quad v_0 = \sqrt{m/M},
              \qquad J = \operatorname{Diag}(t)\, \bar A\, \operatorname{Diag}(t).

    Weights count in a ``unit``: w, m and M are those of w/unit. It is 1, unless weights are so large or small that M would
    overflow or vanish.
    The row scale t is :math:`w\sqrt d` for the SDP and :math:`\sqrt w` for the spectrum of Abar on L²(w). The deflation
    basis Q has the one column :math:`t v_0`.
    """

    stored = False  # whether all entries that are not zero are, so that many products may be taken

    def __init__(self, n: int, sample_weight: Array | None = None) -> None:
        self.n = n
        self._set_weights(np.ones(n) if sample_weight is None else np.asarray(as_numpy(sample_weight), dtype=np.float64))

    def _set_weights(self, w: Array) -> None:
        self.unit = weight_unit(w)
        self.w = like(self.kernel_diagonal(), w / self.unit)
        self.m = self.hollow_kernel_matmat(self.w[:, None])[:, 0] + self.kernel_diagonal() * self.w
        if not all_nonzero(self.m > 0):
            raise ValueError(f"`kernel` must have positive row sums, got a minimum of {smallest(self.m):.6g}.")
        self.M = float(self.w @ self.m)
        self.set_row_scale(np.ones(self.n))

    def reweighted(self, w: Array) -> KernelOperator:
        """The same kernel with other weights of rows, (n,)."""
        other = copy(self)  # which shares K
        other._set_weights(w)
        return other

    def components(self) -> Array:
        """The connected component of every point in the graph of a sparse K, from 0; all 0 for others.

        Their number is the multiplicity of the eigenvalue 1 of A.
        """
        return np.zeros(self.n, dtype=np.intp)

    def set_row_scale(self, t: Array) -> None:
        """Scale rows and columns of Abar by ``t``."""
        t, sqrt = like(self.m, t), namespace(self.m).sqrt
        self._s = t / sqrt(self.m)
        self._Q = (t * sqrt(self.m / self.M))[:, None]

    def norm_weights(self) -> Array:
        """w d, for a row scale t = w√d: B is an operator on L²(w)."""
        return self._s**2 * self.m / self.w

    def contrast(self) -> Array:
        """diag(Abar) relative to K_ii/m_i: 1 - m_i²/(K_ii M), between 0 where the kernel is constant and 1."""
        return self.abar_diagonal() * self.m / self.kernel_diagonal()

    def abar_diagonal(self) -> Array:
        r""":math:`\operatorname{diag}(\bar A)_i = K_{ii}/m_i - m_i/M`, whatever the row scale."""
        return self.kernel_diagonal() / self.m - self.m / self.M
