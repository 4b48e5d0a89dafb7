"""Kernels that users give: a function of two sets of points, or a matrix of kernel values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.checks import as_real
from .base import CACHED_ENTRIES, DenseRows, FittedKernel, Kernel, KernelRule, LogRows
from .checks import KERNEL_ROUNDING, check_kernel_matrix

# Points of a block when a kernel's diagonal has to be read off blocks.
_DIAGONAL_BLOCK = 64


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function ``k(X, Y) -> (n, m)``, checked block by block."""

    function: Callable[[Array, Array], Array]

    def block(self, X: Array, Y: Array) -> Array:
        # Copies: a function may overwrite what it is given, and what it returns is overwritten here.
        K = np.array(as_real("kernel", self.function(X.copy(), Y.copy()), "return"), dtype=np.float64)
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"`kernel` must return an array of shape ({len(X)}, {len(Y)}) for inputs with {len(X)} and {len(Y)} rows, "
                f"got shape {K.shape}."
            )
        return _check_block(K)

    def log_block(self, X: Array, Y: Array) -> Array:
        return _log_nonnegative(self.block(X, Y))

    def diagonal(self, X: Array) -> Array:
        return np.concatenate([self.block(X[b], X[b]).diagonal() for b in blocks(0, len(X), _DIAGONAL_BLOCK)])

    def sobolev_order(self, p: int) -> float:
        return math.nan


@dataclass(frozen=True)
class Precomputed(KernelRule):
    """The kernel whose matrix is given in place of rows."""

    operators = ("dense",)
    pairwise = True

    def fit(self, X: Array, rows: Array | None = None) -> PrecomputedKernel:
        """X is the kernel matrix (N, N); its rows, and columns, ``rows`` are those of the points."""
        columns = np.arange(len(X)) if rows is None else rows
        K = check_kernel_matrix(X)[np.ix_(columns, columns)]
        same = np.ptp(K.diagonal()) <= KERNEL_ROUNDING * K.diagonal().max()
        return PrecomputedKernel(columns, float(K.diagonal().mean()) if same else None, K)


@dataclass(frozen=True, eq=False)
class PrecomputedKernel(FittedKernel):
    """New rows are kernel values against all rows of ``fit``, of which the points have the indices ``columns``.

    ``self_similarity`` is k(x, x), when all training points share it; without it the diagonal of a new point is unknown.
    """

    columns: Array
    self_similarity: float | None = None
    K: Array | None = field(default=None, repr=False)
    points = None
    matrix_is_given = True

    @property
    def n_points(self) -> int:
        return len(self.columns)

    def matrix(self, n_jobs: int = 1) -> Array:
        if self.K is None:
            raise ValueError("`K` must be the kernel matrix given to `fit`, got None: a precomputed kernel is not kept.")
        return self.K

    def rows(self, X: Array) -> Iterator[LogRows]:
        values = _check_block(X[:, self.columns].astype(np.float64))
        yield DenseRows(_log_nonnegative(values), slice(0, self.n_points))

    def rows_together(self, p: int) -> int:
        return rows_per_block(self.n_points, p, most=CACHED_ENTRIES)

    def diagonal(self, X: Array) -> Array:
        if self.self_similarity is None:
            raise ValueError(
                "`kernel='precomputed'`: k(x, x) differs between training points, so it is unknown for new ones and "
                "diagonal='kernel' cannot be extended. Use diagonal='constant' or a callable, or scale K to a constant "
                "diagonal."
            )
        return np.full(len(X), self.self_similarity)

    def without_matrix(self) -> PrecomputedKernel:
        return replace(self, K=None)

    def refit(self, K: Array | None, n_jobs: int) -> PrecomputedKernel:
        return replace(self, K=None if K is None else K[np.ix_(self.columns, self.columns)])


def _check_block(K: Array) -> Array:
    if not np.isfinite(K).all():
        raise ValueError("`kernel` must give finite values, got NaN or infinity.")
    return K


def _log_nonnegative(K: Array) -> Array:
    if (K < 0).any():
        raise ValueError(f"`kernel` must be non-negative to normalise by its row sums, got a minimum of {K.min():.6g}.")
    with np.errstate(divide="ignore"):
        return np.log(K, out=K)
