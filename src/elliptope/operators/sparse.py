"""Sparse matrices: the neighbour kernel, kernels cut off where they are negligible, and costs that users bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy import sparse

from .._utils.arrays import Array, as_numpy, row_dots, transposed_product
from .._utils.threads import in_order
from .base import KernelOperator, Operator, ScaledOperator

# Up to so many rows a sparse matrix is made dense for the proof (0.8 GB), and a product is too short for a second thread.
_LARGEST_DENSE = 10_000


def is_made_dense(n: int) -> bool:
    """Whether a sparse matrix with so many rows is made dense for the proof."""
    return n <= _LARGEST_DENSE


@dataclass(frozen=True)
class Part:
    """Rows of Diag(s) K Diag(s), hollow, for one thread."""

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
        parts = n_jobs if n > _LARGEST_DENSE else 1
        ends = np.searchsorted(self._K.indptr, np.linspace(0, self._K.nnz, parts + 1)[1:-1]).tolist()
        self._rows = [slice(a, b) for a, b in zip([0, *ends], [*ends, n], strict=True)]
        self._parts: list[Part] | None = None
        self._squares: Array | None = None

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return np.asfortranarray(self._K @ np.ascontiguousarray(V))

    def core_matmat(self, V: Array) -> Array:
        """As for other operators, but from a copy of K that is scaled once, and in parts that threads share."""
        return _product(self._scaled(), self._Q, self._own(), V)

    def float32(self) -> Operator | None:
        return _SingleSparse(self._scaled(), self._Q, self.offset())

    def deflated(self, Q: Array) -> Self:
        self._scaled()  # for both
        J = super().deflated(Q)
        assert isinstance(J, SparseStorage)
        J._squares = None
        return J

    def _own(self) -> Array:
        """diag(QQᵀ), (n,)."""
        if self._squares is None:
            self._squares = row_dots(self._Q, self._Q)
        return self._squares

    def _scaled(self) -> list[Part]:
        if self._parts is None:
            self._parts = [self._part(rows) for rows in self._rows]
        return self._parts

    def _part(self, rows: slice) -> Part:
        K = self._K[rows]  # a copy
        K.data *= np.repeat(self._s[rows], np.diff(K.indptr))
        K.data *= self._s[K.indices]
        return Part(rows, K)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def largest_entry(self) -> float:
        return float(abs(self._K).max()) if self._K.nnz else 0.0

    @property
    def has_entries(self) -> bool:
        return is_made_dense(self.n)

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


class _SingleSparse(Operator):
    """The same J in single precision."""

    def __init__(self, parts: list[Part], Q: Array, offset: Array) -> None:
        self.n = len(offset)
        self._parts = [Part(part.rows, part.K.astype(np.float32)) for part in parts]
        self._Q, self._offset = Q.astype(np.float32), offset.astype(np.float32)
        self._squares = row_dots(self._Q, self._Q)

    def core_matmat(self, V: Array) -> Array:
        return _product(self._parts, self._Q, self._squares, V, "C")

    def offset(self) -> Array:
        return self._offset


def _product(parts: list[Part], Q: Array, squares: Array, V: Array, order: Literal["C", "F"] = "F") -> Array:
    """The product with a core, given in parts that threads share and by its deflation basis, whose rows have ``squares``."""
    V = np.ascontiguousarray(V)
    out = np.empty(V.shape, dtype=V.dtype, order=order)

    # The sum of a row does not depend on the part that it is in, so the number of threads changes nothing.
    def fill(part: Part) -> None:
        rows = part.rows
        P = part.K @ V
        if Q.shape[1]:
            P -= Q[rows] @ QV
            P += squares[rows, None] * V[rows]
        out[rows] = P

    QV = transposed_product(Q, V)
    for _ in in_order(fill, parts, len(parts)):
        pass
    return out


class SparseMatrix(SparseStorage):
    r"""J = Diag(s) C Diag(s) for the symmetric part of a sparse matrix C."""

    def __init__(self, C: sparse.csr_array, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._s = row_scale
        self._Q = np.empty((self.n, 0))
        half = 0.5 * C  # first, or else the sum may overflow
        self._store(sparse.csr_array(half + half.T))

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
        self._parts = self._squares = None

    def n_connected(self) -> int:
        return int(sparse.csgraph.connected_components(self._K, directed=False)[0])
