"""Sparse matrices: kernels of neighbours, and costs that users bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy import sparse

from .._utils.arrays import Array, as_numpy, row_dots, transposed_product
from .._utils.blocks import blocks
from .._utils.threads import Workers
from .base import KernelOperator, Operator, ScaledOperator

# Rows of a block: what a thread makes of them stays in the cache of its core.
_BLOCK_ROWS = 4096
# Up to so many rows a sparse matrix is made dense for the proof (0.8 GB), and a product is too short for a second thread.
_LARGEST_DENSE = 2000


@dataclass(frozen=True)
class Block:
    """Some rows of Diag(s) K Diag(s), hollow."""

    rows: slice
    K: sparse.csr_array


class SparseStorage(ScaledOperator):
    """K stored as a hollow symmetric sparse matrix, and its diagonal apart."""

    def _store(self, K: sparse.csr_array, n_jobs: int = 1) -> None:
        n = K.shape[0]
        self._diagonal_of_K = K.diagonal()
        self._K = sparse.csr_array(K - sparse.diags_array(self._diagonal_of_K))
        self._K.eliminate_zeros()
        self._K.sort_indices()
        short = np.int32 if self._K.nnz < np.iinfo(np.int32).max else np.int64  # half of the memory, and a faster product
        self._K.indices, self._K.indptr = self._K.indices.astype(short), self._K.indptr.astype(short)
        self._workers = Workers(n_jobs if n > _LARGEST_DENSE else 1)
        self._blocks: list[Block] | None = None
        self._squares: Array | None = None

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return np.asfortranarray(self._K @ np.ascontiguousarray(V))

    def core_matmat(self, V: Array) -> Array:
        """As for other operators, but from a copy of K that is scaled once, and in blocks that threads share."""
        return _product(self._scaled(), self._workers, self._Q, self._own(), V)

    def matmat(self, V: Array) -> Array:
        return _product(self._scaled(), self._workers, self._Q, self._s**2 * self._diagonal_of_K, V, "C")

    def float32(self) -> Operator | None:
        return SingleSparse(self._scaled(), self._workers, self._Q, self.offset())

    def deflated(self, Q: Array) -> Self:
        self._scaled()  # for both
        J = super().deflated(Q)
        assert isinstance(J, SparseStorage)
        J._squares = None
        return J

    def _own(self) -> Array | None:
        """diag(QQᵀ), (n,); None where there is no Q."""
        if self._squares is None and self._Q.shape[1]:
            self._squares = row_dots(self._Q, self._Q)
        return self._squares

    def _scaled(self) -> list[Block]:
        if self._blocks is None:
            self._blocks = [Block(rows, self._scaled_rows(rows)) for rows in blocks(0, self.n, _BLOCK_ROWS)]
        return self._blocks

    def _scaled_rows(self, rows: slice) -> sparse.csr_array:
        K = self._K[rows]  # a copy
        K.data *= np.repeat(self._s[rows], np.diff(K.indptr))
        K.data *= self._s[K.indices]
        return K

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def largest_entry(self) -> float:
        return float(abs(self._K).max()) if self._K.nnz else 0.0

    @property
    def has_entries(self) -> bool:
        return self.n <= _LARGEST_DENSE

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        s, Q = c * as_numpy(self._s), c[:, None] * as_numpy(self._Q)
        T = self._K.toarray(order="F")
        T *= -s[:, None]
        T *= s
        if Q.shape[1]:
            T += Q @ Q.T
        np.fill_diagonal(T, -(c**2) * as_numpy(self.offset()))
        yield T


class SingleSparse(Operator):
    """The same J in single precision."""

    def __init__(self, blocks: list[Block], workers: Workers, Q: Array, offset: Array) -> None:
        self.n, self._workers = len(offset), workers
        self._blocks = [Block(block.rows, block.K.astype(np.float32)) for block in blocks]
        self._Q, self._offset = Q.astype(np.float32), offset.astype(np.float32)
        self._squares = row_dots(self._Q, self._Q)

    def core_matmat(self, V: Array) -> Array:
        return _product(self._blocks, self._workers, self._Q, self._squares, V, "C")

    def matmat(self, V: Array) -> Array:
        return _product(self._blocks, self._workers, self._Q, self._squares + self._offset, V, "C")

    def offset(self) -> Array:
        return self._offset


def _product(
    blocks: list[Block], workers: Workers, Q: Array, diagonal: Array | None, V: Array, order: Literal["C", "F"] = "F"
) -> Array:
    """Diag(s) K Diag(s) V, hollow, and Diag(diagonal) V, less QQᵀV: block by block, which stay in cache meanwhile."""
    V = np.ascontiguousarray(V)
    out = np.empty(V.shape, dtype=V.dtype, order=order)
    QV = transposed_product(Q, V)

    # The sum of a row does not depend on the thread that makes it, so the number of threads changes nothing.
    def fill(some: list[Block]) -> None:
        for block in some:
            P, rows = block.K @ V, block.rows
            if diagonal is not None:
                P += diagonal[rows, None] * V[rows]
            if Q.shape[1]:
                P -= Q[rows] @ QV
            out[rows] = P

    workers.run(fill, [blocks[first :: workers.count] for first in range(workers.count)])
    return out


class SparseMatrix(SparseStorage):
    r"""J = Diag(s) C Diag(s) for the symmetric part of a sparse matrix C."""

    def __init__(self, C: sparse.csr_array, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._s = row_scale
        self._Q = np.empty((self.n, 0))
        half = 0.5 * C  # first, or else the sum may overflow
        self._store(sparse.csr_array(half + half.T))

    @property
    def uncoupled(self) -> bool:
        return not self._Q.shape[1] and not self.largest_entry()

    def norm_weights(self) -> Array:
        return self._s**2


class SparseOperator(SparseStorage, KernelOperator):
    """J from a sparse symmetric kernel matrix ``K``."""

    stored = True

    def __init__(self, K: sparse.csr_array, sample_weight: Array | None = None, n_jobs: int = 1) -> None:
        self._store(K, n_jobs)
        super().__init__(K.shape[0], sample_weight)

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._blocks = self._squares = None

    def components(self) -> Array:
        return sparse.csgraph.connected_components(self._K, directed=False)[1]
