r"""The kernel matrix recomputed at every product: memory for a few tiles per thread, whatever n.

**Precision.** Tiles of the Gaussian kernel are cheap in float32, and about twice as dear in float64. The degrees m, which
normalise everything, are always summed from float64 tiles. A float32 operator is then off by the error of its off-diagonal
entries (the diagonal is known) and of its products, and :attr:`TiledOperator.error_bounds` has both. A float64 operator is
exact to a few digits less than float64 has, and offers its float32 twin to the solver for steps that do not need more: that
is the way to a certificate. With float32 alone, tests that take many products in a row are drowned by their rounding, and
Lanczos runs are all that is left.
"""

from __future__ import annotations

import math

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_choice, check_factor, check_integer, check_positive, check_vector
from ..._utils.rounding import UNIT, gamma
from ...kernels.base import Kernel
from ...kernels.given import Precomputed
from ...kernels.stationary import Gaussian
from ..base import KernelOperator, Operator, ScaledOperator
from .gaussian import GaussianTiles, gaussian_coordinates, gaussian_errors
from .tiles import BlockTiles, Tiles

# Relative error of an entry up to which tiles in float64 come from a matrix product; beyond, points lie so far out in terms
# of the bandwidth that differences have to be formed before they are squared.
_DOUBLE_ERROR = 1e-9
# The same in float32: up to here the bound is worth having, and early steps of a solve do not suffer.
_SINGLE_ERROR = 1e-2
# Bound on the rounding of products in float64 that is taken for all operators.
_DOUBLE_PRODUCT = 1e-13
# Over bounds that are of first order in errors below 1e-2, and for their own rounding.
_MARGIN = 1.1
# Roundings in float64 of what is done row by row: scales, offset, sums of a few terms.
_ROW_ROUNDINGS = 16


class TiledOperator(KernelOperator):
    r"""J from a kernel and points, without the kernel matrix.

    Parameters
    ----------
    kernel : Kernel
        A function of two points; not a precomputed matrix.
    X : (n, p) array
    sample_weight : (n,) array, optional
        Positive; 1 by default.
    dtype : {None, "float32", "float64"}
        Precision of the tiles. None: float32 if its ``relative_error`` is within ``accuracy``, else float64. Only the
        Gaussian kernel has float32 tiles, and only for points that are not too far out in terms of the bandwidth.
    accuracy : float
        Relative error of products with the kernel matrix that ``dtype=None`` may make. The worst case of float32 is 1.5e-5
        and more, so that the default means float64.
    n_jobs : int
        Threads. Results are the same for any number, to the last bit.

    Attributes
    ----------
    dtype : {"float32", "float64"}
        Precision in use.
    relative_error : float
        η such that a computed product is within :math:`\eta K |V|` of the exact one, the diagonal and underflow apart; 0
        where tiles are exact up to the rounding of the kernel's own formula.
    degree_error : (n,) array
        Bound on the relative error of the degrees m.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        sample_weight: Array | None = None,
        dtype: str | None = None,
        accuracy: float = 1e-6,
        n_jobs: int = 1,
    ) -> None:
        if isinstance(kernel, Precomputed):
            raise ValueError("`kernel` must be a function of two points, got a precomputed matrix: use the dense operator.")
        check_choice("dtype", dtype, (None, "float32", "float64"))
        check_positive("accuracy", accuracy)
        check_integer("n_jobs", n_jobs, 1)
        X = check_factor("X", X, len(X))
        if sample_weight is not None:
            sample_weight = check_vector("sample_weight", sample_weight, len(X))
        self.n_jobs = n_jobs
        self._diagonal_of_K = kernel.diagonal(X)
        self._tiles = double_tiles(kernel, X, n_jobs)
        super().__init__(len(X), sample_weight)  # sums the degrees from tiles in float64
        self.degree_error = self._error_of_degrees()
        self._choose_precision(dtype, accuracy)

    def _choose_precision(self, dtype: str | None, accuracy: float) -> None:
        single = None if dtype == "float64" else single_tiles(self._tiles)
        if dtype == "float32" and single is None:
            raise ValueError(
                "`dtype` must be None or 'float64' for these data, got 'float32': the kernel is not Gaussian, or points are "
                "too many bandwidths apart."
            )
        if single is not None and (dtype == "float32" or single.errors.total <= accuracy):
            self._tiles = single
        self.dtype, self.relative_error = np.dtype(self._tiles.dtype).name, self._tiles.errors.total

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._tiles.hollow_matmat(V)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._error: float | None = None

    def single(self) -> Operator | None:
        tiles = single_tiles(self._tiles)
        return None if tiles is None else SingleTiledOperator(tiles, self._s, self._Q, self._diagonal_of_K)

    @property
    def single_after(self) -> int:
        """There is no copy to be made."""
        return 0

    @property
    def product_error(self) -> float:
        """The rounding of a product, of K alone; in float32 too large for tests that take many products in a row."""
        return max(self._tiles.errors.product, _DOUBLE_PRODUCT)

    @property
    def block_width(self) -> int:
        """Distances and exponentials are most of the cost, however many columns there are."""
        return 8

    @property
    def error_bounds(self) -> tuple[float, float]:
        r"""What J, and the rounding of products with it, may be off by; takes one product, and is then remembered.

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

    @property
    def entry_error(self) -> float:
        """Tiles of other sides, for products with more columns, are rounded differently."""
        return self.relative_error

    def core_square(self, v: Array) -> float:
        r"""By two products: with a = s/√v and b = q/√v, :math:`\sum_{i\ne j} (a_i K_{ij} a_j - b_i b_j)^2`, term by term.

        Tiles in float32 err too much for what it is needed for.
        """
        if self.dtype == "float32":
            return math.inf
        a, b = np.abs(self._s) / np.sqrt(v), np.abs(self._Q[:, 0]) / np.sqrt(v)
        kernel = float(a**2 @ self._tiles.hollow_matmat((a**2)[:, None], squared=True)[:, 0])
        mixed = float((a * b) @ self._tiles.hollow_matmat((a * b)[:, None])[:, 0])
        deflation = float((b**2).sum() ** 2 - (b**4).sum())
        error = 4 * (self.relative_error + gamma(self.n + 16))
        return kernel - 2 * mixed + deflation + error * (math.sqrt(kernel) + float((b**2).sum())) ** 2

    def _error_bound(self) -> float:
        errors, mu, s, q = self._tiles.errors, self.degree_error, np.abs(self._s), np.abs(self._Q[:, 0])
        Ks = self._tiles.hollow_matmat(s[:, None])[:, 0] / (1 - errors.product)
        entries = (s * (2 * errors.entry + errors.product)) @ Ks + (mu * s) @ (Ks + self._diagonal_of_K * s)
        # Products with q, and the sum M, have up to n roundings.
        total_error = (self.w * self.m) @ mu / self.M + 3 * gamma(self.n + 8)
        deflation = q.sum() * (mu @ q) + total_error * q.sum() ** 2
        underflow = 2 * self.n * float(np.finfo(self._tiles.dtype).tiny) * s.max() * s.sum()
        return _MARGIN * float(entries + deflation + underflow)

    def _error_of_degrees(self) -> Array:
        """A bound on the relative error of m, (n,), and on a few more roundings per row; only sums over others err."""
        errors = self._tiles.errors
        others = np.maximum(1 - self.w * self._diagonal_of_K / self.m, 0.0)
        return (errors.entry + errors.entry.max() + errors.product) * others + _ROW_ROUNDINGS * UNIT


class SingleTiledOperator(ScaledOperator):
    """The same J from tiles in float32."""

    def __init__(self, tiles: Tiles, s: Array, Q: Array, diagonal: Array) -> None:
        self.n = tiles.n
        self._tiles, self._s, self._Q, self._diagonal_of_K = tiles, s, Q, diagonal

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._tiles.hollow_matmat(V)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K


def double_tiles(kernel: Kernel, X: Array, n_jobs: int) -> Tiles:
    """Tiles in float64: of a Gaussian by matrix products, where they are accurate; else by the kernel's own formula."""
    if isinstance(kernel, Gaussian):
        Z = gaussian_coordinates(X, kernel.bandwidth)
        if gaussian_errors(Z, np.float64).largest_entry <= _DOUBLE_ERROR:
            return GaussianTiles(Z, np.float64, n_jobs)
    return BlockTiles(kernel, X, n_jobs)


def single_tiles(tiles: Tiles) -> Tiles | None:
    """The same tiles in float32; None where there are none, or they would err too much."""
    single = tiles.in_single()
    return single if single is not None and single.errors.largest_entry <= _SINGLE_ERROR else None
