r"""The kernel matrix recomputed at every product: memory for a few tiles per thread, whatever n.

**Precision.** Tiles are computed in float64, and the operator is exact to a few digits less than float64 has:
:attr:`TiledOperator.error_bounds` says how exact. Tiles of the Gaussian kernel are about twice as fast in float32. The
operator offers them to the solver (:meth:`TiledOperator.single`) for steps that do not need more digits.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from ..._utils.arrays import Array, row_dots
from ..._utils.checks import check_factor, check_integer, check_vector
from ..._utils.rounding import TINY, UNIT, gamma
from ...kernels.base import Kernel
from ...kernels.given import Precomputed
from ...kernels.stationary import Gaussian
from ..base import MARGIN, ROUNDINGS, KernelOperator, Operator, SingleOperator
from .gaussian import GaussianTiles, gaussian_coordinates, gaussian_errors
from .tiles import BlockTiles, TileErrors, Tiles

# Relative error of an entry up to which tiles in float64 come from a matrix product; beyond, points lie so far out in terms
# of the bandwidth that differences have to be formed before they are squared.
_DOUBLE_ERROR = 1e-9
# The same for tiles in float32: up to here early steps of a solve do not suffer.
_SINGLE_ERROR = 1e-2


class TiledOperator(KernelOperator):
    r"""J from a kernel and points, without the kernel matrix.

    Parameters
    ----------
    kernel : Kernel
        A function of two points; not a precomputed matrix.
    X : (n, p) array
    sample_weight : (n,) array, optional
        Positive; 1 by default.
    n_jobs : int
        Threads. Results are the same for any number, to the last bit.

    Attributes
    ----------
    relative_error : float
        η such that a computed product is within :math:`\eta K |V|` of the exact one, the diagonal and underflow apart; 0
        where tiles are exact up to the rounding of the kernel's own formula.
    degree_error : (n,) array
        Bound on the relative error of the degrees m.
    """

    def __init__(self, kernel: Kernel, X: Array, sample_weight: Array | None = None, n_jobs: int = 1) -> None:
        if isinstance(kernel, Precomputed):
            raise ValueError("`kernel` must be a function of two points, got a precomputed matrix: use the dense operator.")
        check_integer("n_jobs", n_jobs, 1)
        X = check_factor("X", X, len(X))
        if sample_weight is not None:
            sample_weight = check_vector("sample_weight", sample_weight, len(X))
        self.n_jobs = n_jobs
        self._diagonal_of_K = kernel.diagonal(X)
        self._tiles, self._errors = self._make_tiles(kernel, X)
        self.relative_error = self._errors.total
        super().__init__(len(X), sample_weight)
        self.degree_error = self._error_of_degrees()

    def _make_tiles(self, kernel: Kernel, X: Array) -> tuple[Tiles, TileErrors]:
        return make_tiles(kernel, X, self.n_jobs)

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._tiles.hollow_matmat(V)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._error: float | None = None

    def single(self) -> Operator | None:
        # Float32 rounds 2²⁹ times as coarsely, and the coordinates and norms are rounded half as often as in float64.
        if 2**28 * self._errors.largest_entry > _SINGLE_ERROR:
            return None
        tiles = self._tiles.in_single()
        return None if tiles is None else SingleOperator(self, tiles.hollow_matmat)

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
        _ = self.error_bounds  # kept from now on, for all that share these tiles
        return super().deflated(Q)

    @property
    def entry_error(self) -> float:
        """BLAS may round a tile that is computed again in another way."""
        return self.relative_error

    def core_square(self, v: Array) -> float:
        r"""By two products: with a = s/√v and rows b of Q/√v, :math:`\sum_{i\ne j} (a_i K_{ij} a_j - b_i \cdot b_j)^2`."""
        a, b = np.abs(self._s) / np.sqrt(v), self._Q / np.sqrt(v)[:, None]
        kernel = float(a**2 @ self._tiles.hollow_matmat((a**2)[:, None], squared=True)[:, 0])
        ab, gram, squares = a[:, None] * b, b.T @ b, row_dots(b, b)
        mixed = float(np.vdot(ab, self._tiles.hollow_matmat(ab)))
        deflation = float(np.vdot(gram, gram) - squares @ squares)
        error = 4 * (self.relative_error + gamma(self.n + 2 * ROUNDINGS))
        return kernel - 2 * mixed + deflation + error * (math.sqrt(kernel) + float(squares.sum())) ** 2

    def _error_bound(self) -> float:
        errors, mu, s, q = self._errors, self.degree_error, np.abs(self._s), np.abs(self._Q[:, 0])
        Ks = self._tiles.hollow_matmat(s[:, None])[:, 0] / (1 - errors.product)
        entries = (s * (2 * errors.entry + errors.product)) @ Ks + (mu * s) @ (Ks + self._diagonal_of_K * s)
        # Products with q, and the sum M, have up to n roundings.
        total_error = (self.w * self.m) @ mu / self.M + 3 * gamma(self.n + ROUNDINGS)
        deflation = q.sum() * (mu @ q) + total_error * q.sum() ** 2
        underflow = 2 * self.n * TINY * s.max() * s.sum()
        return MARGIN * float(entries + deflation + underflow)

    def _error_of_degrees(self) -> Array:
        """A bound on the relative error of m, (n,), and on a few more roundings per row; only sums over others err."""
        errors = self._errors
        others = np.maximum(1 - self.w * self._diagonal_of_K / self.m, 0.0)
        return (errors.entry + errors.entry.max() + errors.product) * others + 2 * ROUNDINGS * UNIT


def make_tiles(kernel: Kernel, X: Array, n_jobs: int) -> tuple[Tiles, TileErrors]:
    """Tiles of a Gaussian by matrix products, where they are accurate; else by the kernel's own formula."""
    if isinstance(kernel, Gaussian):
        Z = gaussian_coordinates(X, kernel.bandwidth)
        errors = gaussian_errors(Z)
        if errors.largest_entry <= _DOUBLE_ERROR:
            return GaussianTiles(Z, n_jobs), errors
    return BlockTiles(kernel, X, n_jobs), TileErrors(np.zeros(len(X)), 0.0)
