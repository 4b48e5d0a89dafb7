r"""The contract of kernels, in two steps.

A *kernel* is what users choose: a formula for two points, a rule for neighbours, or a matrix that they give. Its ``fit``
takes the data and returns a *fitted kernel*, which knows its n training points and answers what a program needs of them:
the matrix K, rows of new points against them in the log domain (so that points far from everything keep a direction), and
the diagonal k(x, x). Operators and extensions use fitted kernels alone, dense and sparse alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import TILE, blocks, rows_per_block
from .._utils.callers import underflows_to_zero
from .._utils.threads import in_order
from .checks import check_kernel_matrix

# Training points that new rows are compared with at a time, and kernel values of such a tile: it stays in a core's cache.
_TILE_COLUMNS = 1024
CACHED_ENTRIES = 2**18
# Entries that one new row of a sparse kernel takes: those that are stored, and what the search for them needs.
SPARSE_ROW_ENTRIES = 64
# Rows on which a user's kernel is tried out before the whole matrix is built.
_SAMPLED_ROWS = 256


class LogRows(ABC):
    """log k(x_i, y_j) for b rows x_i and some of the training points y_j. Vectors are indexed by all training points."""

    @abstractmethod
    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        """The largest log k(x_i, y_j) - log_scale_j of every row, and its j; both (b,). No scale is a scale of 1."""

    @abstractmethod
    def add(self, log_w: Array) -> Array:
        """Add log w_j to the entries, in place; the largest of every row, (b,), is -inf where k vanishes."""

    @abstractmethod
    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        """Σ_j exp(l_ij - shift_i) v_j, (b, r), and the same without v, (b,), for the entries l_ij, which are overwritten."""


class DenseRows(LogRows):
    """Stored in full, as an array of shape (b, c), against training points ``part``, a slice of c."""

    def __init__(self, L: Array, part: slice) -> None:
        self._L, self._part = L, part

    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        similarity = self._L if log_scale is None else self._L - log_scale[self._part]
        found = similarity.argmax(axis=1)
        return similarity[np.arange(len(found)), found], self._part.start + found

    def add(self, log_w: Array) -> Array:
        self._L += log_w[self._part]
        return self._L.max(axis=1)

    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        self._L -= shift[:, None]
        P = np.exp(self._L, out=self._L)
        return P @ values[self._part], P.sum(axis=1)


class SparseRows(LogRows):
    """Stored entries of shape (b, n); what is not stored is a zero of the kernel."""

    def __init__(self, L: sparse.csr_array) -> None:
        counts = np.diff(L.indptr)
        self._L = L
        self._row = np.repeat(np.arange(L.shape[0]), counts)
        self._some = counts > 0
        self._starts = L.indptr[:-1][self._some]

    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        similarity = self._L.data if log_scale is None else self._L.data - log_scale[self._L.indices]
        top, index = self._largest(similarity), np.zeros(self._L.shape[0], dtype=np.intp)
        found = np.flatnonzero(similarity == top[self._row])
        # The first of the largest entries of every row.
        index[self._some] = self._L.indices[found[np.unique(self._row[found], return_index=True)[1]]]
        return top, index

    def add(self, log_w: Array) -> Array:
        self._L.data += log_w[self._L.indices]
        return self._largest(self._L.data)

    def _largest(self, entries: Array) -> Array:
        top = np.full(self._L.shape[0], -np.inf)
        if len(self._starts):
            top[self._some] = np.maximum.reduceat(entries, self._starts)
        return top

    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        self._L.data = np.exp(self._L.data - shift[self._row])
        total = np.zeros(self._L.shape[0])
        if len(self._starts):
            total[self._some] = np.add.reduceat(self._L.data, self._starts)
        return self._L @ values, total


class FittedKernel(ABC):
    """A kernel with the n points that it was fitted to."""

    points: Array | None  # (n, p); None where they are known by distances or kernel values alone
    is_sparse = False  # whether its matrix is
    threaded = False  # whether `rows` uses threads of its own
    matrix_is_given = False  # whether it has to be given again, because there are no points to compute it from

    @property
    @abstractmethod
    def n_points(self) -> int: ...

    @property
    def bandwidth(self) -> float | None:
        """σ; None for kernels without one."""
        return None

    @abstractmethod
    def matrix(self, n_jobs: int = 1) -> Array | sparse.csr_array:
        """K on the points, (n, n), symmetric."""

    @abstractmethod
    def rows(self, X: Any) -> Iterator[LogRows]:
        """log k(x_i, y_j) for rows of X, all of them, and the points y_j, some at a time."""

    @abstractmethod
    def rows_together(self, p: int) -> int:
        """Rows of X, with p columns, that are best passed to :meth:`rows` at a time."""

    def diagonal(self, X: Any) -> Array:
        """k(x_i, x_i) for rows of X."""
        return np.ones(X.shape[0])

    def log_scales(self, X: Any = None) -> Array | float:
        """log s(x) of the rows of X, or of the points; 0 where all of them have one scale."""
        return 0.0

    def without_matrix(self) -> FittedKernel:
        """The same kernel, as models keep it: without an n × n matrix that was only needed once."""
        return self

    def on(self, device: Any | None) -> FittedKernel:
        """The same kernel, with searches for neighbours on a device; None for the CPU."""
        return self

    def refit(self, K: Array | None, n_jobs: int) -> FittedKernel:
        """The kernel fitted again to what this one holds; and to its matrix K, checked, where that has to be given."""
        return self

    @property
    def fitted_values(self) -> dict[str, Array]:
        """What ``fit`` computed from the points, by the name of each: the same after :meth:`refit`."""
        return {}


class SparseKernel(FittedKernel):
    """A kernel whose rows are mostly zero, and one on the diagonal."""

    is_sparse = True
    threaded = True  # the search is

    @abstractmethod
    def log_rows(self, X: Any) -> sparse.csr_array:
        """log k(x_i, y_j), (len(X), n), as stored entries; what is not stored is a zero of the kernel."""

    def rows(self, X: Any) -> Iterator[LogRows]:
        yield SparseRows(self.log_rows(X))

    def rows_together(self, p: int) -> int:
        return rows_per_block(min(SPARSE_ROW_ENTRIES, self.n_points), p)


class KernelRule(ABC):
    """What the parameter ``kernel`` of an estimator means, before it is fitted to data."""

    operators: tuple[str, ...]  # those that can hold its matrix
    parameters: tuple[str, ...] = ()  # parameters of the estimator that `fit` takes, by name
    scale_parameter = "bandwidth"  # the one that sets the scale of distances
    pairwise = False  # whether X is the matrix itself
    accepts_sparse = False  # whether X may be a sparse matrix
    merges_equal_rows = False  # whether rows of X that are equal are one point
    uses_device = False  # whether `fit` takes a device

    def for_metric(self, metric: Any) -> KernelRule:
        """The kernel with the metric of an estimator."""
        if not isinstance(metric, str) or metric != "euclidean":
            raise ValueError(
                f"`metric` must be 'euclidean' for this kernel, got {metric!r}; 'neighbors' and 'overlap' take others."
            )
        return self

    def holds_distances(self, X: Any) -> bool:
        """Whether X is a matrix of distances between points, not of their features."""
        return False

    @abstractmethod
    def fit(self, X: Any, rows: Array | None = None, *args: Any, **parameters: Any) -> FittedKernel:
        """The kernel on the rows of X, or on those of them that have the indices ``rows``."""


class Kernel(KernelRule):
    """A symmetric function k(x, y) of two points, given block by block."""

    operators: tuple[str, ...] = ("dense", "tiled")

    @abstractmethod
    def log_block(self, X: Array, Y: Array) -> Array:
        """log k(x_i, y_j), shape (n, m); -inf where the kernel vanishes."""

    def block(self, X: Array, Y: Array) -> Array:
        """k(x_i, y_j), shape (n, m)."""
        L = self.log_block(X, Y)
        return np.exp(L, out=L)

    def diagonal(self, X: Array) -> Array:
        """k(x_i, x_i), shape (n,)."""
        return np.ones(len(X))

    @abstractmethod
    def sobolev_order(self, p: int) -> float:
        """Order s of the Sobolev space that the RKHS on R^p is norm-equivalent to.

        ``inf`` when its functions are analytic, ``nan`` when nothing is known.
        """

    @underflows_to_zero
    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return self.block(X, X if Y is None else Y)

    def fit(self, X: Array, rows: Array | None = None) -> FittedFormula:
        """With its points, on some of which it is checked to be symmetric, non-negative and positive semi-definite."""
        points = X if rows is None else X[rows]
        sample = points[:: max(1, len(points) // _SAMPLED_ROWS)]
        check_kernel_matrix(self.block(sample, sample), "`kernel` must be {}")
        return FittedFormula(self, points)


@underflows_to_zero
def kernel_matrix(kernel: Kernel, X: Array, n_jobs: int = 1) -> Array:
    """K_ij = k(x_i, x_j), shape (n, n); tiles of one half are computed by ``n_jobs`` threads and mirrored."""
    n = len(X)
    K = np.empty((n, n))

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        T = kernel.block(X[rows], X[columns])
        if rows == columns:  # mirrored, so that K is symmetric to the last bit
            T = np.tril(T, -1)
            T += T.T
            np.fill_diagonal(T, kernel.diagonal(X[rows]))
        else:
            K[columns, rows] = T.T
        K[rows, columns] = T

    lower = ((rows, columns) for rows in blocks(0, n, TILE) for columns in blocks(0, rows.stop, TILE))
    for _ in in_order(fill, lower, n_jobs):  # consuming the iterator raises what a tile raised
        pass
    return K


@dataclass(frozen=True, eq=False)
class FittedFormula(FittedKernel):
    """A function of two points, and the training points (n, p)."""

    formula: Kernel
    points: Array

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def bandwidth(self) -> float | None:
        return getattr(self.formula, "bandwidth", None)

    def matrix(self, n_jobs: int = 1) -> Array:
        return kernel_matrix(self.formula, self.points, n_jobs)

    def rows(self, X: Array) -> Iterator[LogRows]:
        for part in blocks(0, self.n_points, _TILE_COLUMNS):
            yield DenseRows(self.formula.log_block(X, self.points[part]), part)

    def rows_together(self, p: int) -> int:
        return rows_per_block(min(_TILE_COLUMNS, self.n_points), p, most=CACHED_ENTRIES)

    def diagonal(self, X: Array) -> Array:
        return self.formula.diagonal(X)
