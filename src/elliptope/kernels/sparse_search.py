"""Exact search for neighbours among sparse rows, such as counts of words: all distances are compared, by blocks of X Yᵀ."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import sklearn
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.threads import in_order
from .metrics import Minkowski
from .pairs import EXPANSION, RIM, SLACK


class SparseSearch:
    """As :class:`~elliptope.kernels.search.Search`, for rows in compressed form and the orders 1 and 2."""

    def __init__(self, X: sparse.csr_array, n_neighbors: int, n_jobs: int, metric: Minkowski) -> None:
        self._X, self._k, self._n_jobs, self._metric = X, n_neighbors, n_jobs, metric
        self._power = int(metric.order)

    def nearest(self, X: sparse.csr_array) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) and their distances: at least the k nearest, and all that tie with the k-th."""

        def near(rows: sparse.csr_array) -> tuple[Array, ...]:
            C, error = self._compared(rows)
            kth = np.maximum(np.partition(C, self._k - 1, axis=1)[:, self._k - 1], 0.0)
            # What rounding may have hidden is let through: distances are formed again.
            return np.nonzero((SLACK**self._power * kth + 4 * error)[:, None] >= C)

        return self._pairs(X, near)

    def within(self, X: sparse.csr_array, scales: Array, known: Array) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) no farther apart than the scale of the training point, and their distances."""
        reach = (SLACK * self._metric.radius(scales)) ** self._power

        def near(rows: sparse.csr_array) -> tuple[Array, ...]:
            return np.nonzero(self._compared(rows)[0] <= reach)

        i, j, d = self._pairs(X, near)
        within = d <= RIM * scales[j]
        return i[within], j[within], d[within]

    def _pairs(
        self, X: sparse.csr_array, near: Callable[[sparse.csr_array], tuple[Array, ...]]
    ) -> tuple[Array, Array, Array]:
        """Those pairs (row, training point) that ``near`` finds in blocks of rows, and their distances."""

        def some(part: slice) -> tuple[Array, Array]:
            i, j = near(X[part])
            return i + part.start, j

        found = list(in_order(some, blocks(0, X.shape[0], rows_per_block(self._X.shape[0])), self._n_jobs))
        i, j = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return i, j, self._metric.value(self._metric.between(X, self._X, i, j))

    def _compared(self, X: sparse.csr_array) -> tuple[Array, Array]:
        """Distances, or their squares, less what rounding may have added; and how much more they may be, by row."""
        if self._power == 1:
            return sklearn.metrics.pairwise.manhattan_distances(X, self._X), np.zeros(X.shape[0])
        squares, width = _squared_norms(X), max(np.diff(X.indptr).max(initial=1), self._width)
        error = EXPANSION * width
        C = (X @ self._transposed).toarray()
        C *= -2
        C += (1 - error) * squares[:, None]
        C += (1 - error) * self._squares
        # y² ≤ 2 (x² + d²) for the points that count: those that are near.
        return C, 2 * error * squares

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self._X.T)

    @cached_property
    def _squares(self) -> Array:
        return _squared_norms(self._X)

    @cached_property
    def _width(self) -> int:
        return int(np.diff(self._X.indptr).max(initial=1))


def _squared_norms(X: sparse.csr_array) -> Array:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()
