r"""The kernel matrix recomputed at every product: memory for a few tiles per thread, whatever n.

**Precision.** Tiles are computed in float64, and the operator is exact to a few digits less than float64 has:
:attr:`TiledOperator.error_bounds` says how exact. Tiles of the Gaussian kernel are about twice as fast in float32. The
operator offers them to the solver (:meth:`TiledOperator.single`) for steps that do not need more digits.
"""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_factor, check_integer, check_vector
from ...kernels.base import Kernel
from ...kernels.given import Precomputed
from ...kernels.stationary import Gaussian
from ..base import Operator, SingleOperator
from ..recomputed import RecomputedOperator, TileErrors
from .gaussian import GaussianTiles, gaussian_coordinates, gaussian_errors
from .tiles import BlockTiles, Tiles

# Relative error of an entry up to which tiles in float64 come from a matrix product; beyond, points lie so far out in terms
# of the bandwidth that differences have to be formed before they are squared.
_DOUBLE_ERROR = 1e-9
# The same for tiles in float32: up to here early steps of a solve do not suffer.
_SINGLE_ERROR = 1e-2


class TiledOperator(RecomputedOperator):
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
        self._tiles, errors = self._make_tiles(kernel, X)
        super().__init__(len(X), errors, sample_weight)

    def _make_tiles(self, kernel: Kernel, X: Array) -> tuple[Tiles, TileErrors]:
        return make_tiles(kernel, X, self.n_jobs)

    def product(self, V: Array, squared: bool = False) -> Array:
        return self._tiles.hollow_matmat(V, squared)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def single(self) -> Operator | None:
        # Float32 rounds 2²⁹ times as coarsely, and the coordinates and norms are rounded half as often as in float64.
        if 2**28 * self._errors.largest_entry > _SINGLE_ERROR:
            return None
        tiles = self._tiles.in_single()
        return None if tiles is None else SingleOperator(self, tiles.hollow_matmat)


def make_tiles(kernel: Kernel, X: Array, n_jobs: int) -> tuple[Tiles, TileErrors]:
    """Tiles of a Gaussian by matrix products, where they are accurate; else by the kernel's own formula."""
    if isinstance(kernel, Gaussian):
        Z = gaussian_coordinates(X, kernel.bandwidth)
        errors = gaussian_errors(Z)
        if errors.largest_entry <= _DOUBLE_ERROR:
            return GaussianTiles(Z, n_jobs), errors
    return BlockTiles(kernel, X, n_jobs), TileErrors(np.zeros(len(X)), 0.0)
