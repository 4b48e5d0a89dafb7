r"""Kernel matrices that are not stored but computed again at every product; and what their errors cost.

Subclasses compute: tiles in NumPy (:mod:`~elliptope.operators.tiled`), or on a device
(:mod:`~elliptope.operators.cuda`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from .._utils.arrays import Array, inner, largest, namespace, row_dots
from .._utils.rounding import TINY, UNIT, gamma
from .base import MARGIN, ROUNDINGS, KernelOperator


@dataclass(frozen=True)
class TileErrors:
    r"""How far tiles and products are from the exact kernel matrix K, underflow apart.

    Attributes
    ----------
    entry : (n,) array
        κ with :math:`|\tilde K_{ij} - K_{ij}| \le (\kappa_i + \kappa_j) \tilde K_{ij}` off the diagonal.
    product : float
        ε such that a computed product is within :math:`\varepsilon \tilde K |V|` of :math:`\tilde K V`.
    """

    entry: Array
    product: float

    @property
    def largest_entry(self) -> float:
        """A bound on the relative error of any entry."""
        return 2 * float(self.entry.max())

    @property
    def total(self) -> float:
        """A bound on the error of any product relative to K |V|."""
        return self.largest_entry + self.product


class RecomputedOperator(KernelOperator):
    """J from a product with the kernel matrix K that is known to have the ``errors`` given."""

    def __init__(self, n: int, errors: TileErrors, sample_weight: Array | None = None) -> None:
        self._errors, self.relative_error = errors, errors.total
        super().__init__(n, sample_weight)
        self.degree_error = self._error_of_degrees()

    @abstractmethod
    def product(self, V: Array, squared: bool = False) -> Array:
        """(K - Diag(diag K)) V in float64, (n, r); of the entries of K, or of their squares."""

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self.product(V)

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._error: float | None = None

    @property
    def single_after(self) -> int:
        """No copy of the matrix has to be made."""
        return 0

    @property
    def product_error(self) -> float:
        return max(self._errors.product, super().product_error)

    @property
    def square_products(self) -> int:
        return 2

    @property
    def block_width(self) -> int:
        """Distances and exponentials are most of the cost, however many columns there are."""
        return 8

    @property
    def error_bounds(self) -> tuple[float, float]:
        r"""Errors of J and of products with it; takes one product with the kernel, and is then kept.

        Entries err by :math:`(\kappa_i + \kappa_j) \tilde K_{ij}` off the diagonal and not on it, products by
        :math:`\varepsilon \tilde K |V|`, degrees by a part :math:`\mu_i` and M by :math:`\mu_M`. As |Z_ij| ≤ 1 on the
        elliptope, to first order

        .. math:: |\operatorname{Tr}((J_{exact} - J) Z)|
                  \le \sum_{i \ne j} s_i (\kappa_i + \kappa_j + \varepsilon) \tilde K_{ij} s_j
                  + \sum_{ij} s_i \tfrac{\mu_i + \mu_j}2 \tilde K_{ij} s_j
                  + \sum_{ij} q_i \big(\tfrac{\mu_i + \mu_j}2 + \mu_M\big) q_j + 2 n \nu \max_i s_i \sum_i s_i ,

        where :math:`s = t/\sqrt m` and :math:`q = t v_0`; the last term is for underflow, ν being the smallest normal
        number. The bounds also cover an objective computed from products with J. The rounding of products within a Lanczos
        run is, as everywhere, not accounted for.

        (0, 0) for tiles that are exact up to the rounding of the kernel's own formula.
        """
        if self._error is None:
            self._error = self._error_bound() if self.relative_error else 0.0
        return self._error, self._error

    def deflated(self, Q: Array) -> Self:
        _ = self.error_bounds  # kept from now on, for all that share these products
        return super().deflated(Q)

    @property
    def entry_error(self) -> float:
        """An entry that is computed again may be rounded in another way."""
        return self.relative_error

    def core_square(self, v: Array) -> float:
        r"""By two products: with a = s/√v and rows b of Q/√v, :math:`\sum_{i\ne j} (a_i K_{ij} a_j - b_i \cdot b_j)^2`."""
        root = namespace(v).sqrt(v)
        a, b = abs(self._s) / root, self._Q / root[:, None]
        kernel = float(a**2 @ self.product((a**2)[:, None], squared=True)[:, 0])
        ab, gram, squares = a[:, None] * b, b.T @ b, row_dots(b, b)
        mixed = inner(ab, self.product(ab))
        deflation = inner(gram, gram) - float(squares @ squares)
        error = 4 * (self.relative_error + gamma(self.n + 2 * ROUNDINGS))
        return kernel - 2 * mixed + deflation + error * (math.sqrt(kernel) + float(squares.sum())) ** 2

    def _error_bound(self) -> float:
        errors, mu, s, q = self._errors, self.degree_error, abs(self._s), abs(self._Q[:, 0])
        Ks = self.product(s[:, None])[:, 0] / (1 - errors.product)
        entries = (s * (2 * errors.entry + errors.product)) @ Ks + (mu * s) @ (Ks + self.kernel_diagonal() * s)
        # Products with q, and the sum M, have up to n roundings.
        total_error = (self.w * self.m) @ mu / self.M + 3 * gamma(self.n + ROUNDINGS)
        deflation = q.sum() * (mu @ q) + total_error * q.sum() ** 2
        underflow = 2 * self.n * TINY * largest(s) * s.sum()
        return MARGIN * float(entries + deflation + underflow)

    def _error_of_degrees(self) -> Array:
        """A bound on the relative error of m, (n,), and on a few more roundings per row; only sums over others err."""
        errors = self._errors
        others = abs(1 - self.w * self.kernel_diagonal() / self.m)
        return (errors.entry + largest(errors.entry) + errors.product) * others + 2 * ROUNDINGS * UNIT
