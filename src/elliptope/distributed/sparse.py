"""Products with a sparse kernel matrix whose rows are on the workers: thin matrices go there, and their rows come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._utils.arrays import Array
from .._utils.threads import Workers
from ..operators.base import KernelOperator
from ..operators.sparse import Block, SparseOperator
from .cluster import send, task
from .log import NO_LOG, ProductLog
from .neighbors import KernelRows

# Bytes of a thin matrix that are sent at a time, at least, and the most pieces of it: a worker passes on the one that it has
# while it is sent the next.
_PIECE = 2**25
_MOST_PIECES = 64


class RemoteMatrix:
    """A hollow symmetric sparse matrix, (n, n), in rows that workers keep."""

    def __init__(self, kernel: KernelRows, log: ProductLog, dtype: type[np.floating] = np.float64) -> None:
        self._kernel, self._log, self._dtype = kernel, log, dtype

    def __matmul__(self, V: Array) -> Array:
        return self._log.product(np.ascontiguousarray(V, dtype=self._dtype), np.dtype(self._dtype).name, self._product)

    def _product(self, V: Array) -> Array:
        # The sum of a row does not depend on the group that it is in: neither groups nor workers change a product.
        # Every worker is sent a piece, and passes it on before it computes: products do not let it do both.
        cluster, workers = self._kernel.cluster, sorted(set(self._kernel.workers or []))
        count = max(min(V.nbytes // _PIECE, _MOST_PIECES), len(workers), 1)
        pieces = [send("thin-matrix", piece) for piece in np.array_split(V, count)]
        sent = cluster.keep(pieces, [workers[k % len(workers)] for k in range(count)] if workers else None)
        # By those who have the rows: V may have more bytes, and rows would be moved to it.
        return np.concatenate(cluster.results(self._over_rows("kernel-product", _multiply, sent), self._kernel.workers))

    def scaled(self, s: Array) -> RemoteMatrix:
        """Diag(s) K Diag(s)."""
        sent = send("row-scales", s)
        return self._made(self._over_rows("scale-rows", _scale, sent), self._dtype)

    def astype(self, dtype: type[np.floating]) -> RemoteMatrix:
        return self._made(self._over_rows("round-rows", _round, dtype), dtype)

    def n_connected(self) -> int:
        """Connected components of the graph."""
        cluster, groups = self._kernel.cluster, self._kernel.groups
        parts = [task("parts", _parts, K, group.start) for K, group in zip(self._kernel.rows, groups, strict=True)]
        while len(parts) > 1:
            parts = [task("join-parts", _join, *parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return int(cluster.results([task("count-parts", np.max, parts[0])])[0]) + 1

    def _over_rows(self, name: str, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """``function(K, group, *arguments)`` for every group of rows K."""
        rows = zip(self._kernel.rows, self._kernel.groups, strict=True)
        return [task(name, function, K, group, *arguments) for K, group in rows]

    def _made(self, rows: list[Any], dtype: type[np.floating]) -> RemoteMatrix:
        kernel = self._kernel
        return RemoteMatrix(replace(kernel, rows=kernel.cluster.keep(rows, kernel.workers)), self._log, dtype)


class DistributedSparseOperator(SparseOperator):
    """J from the rows of a sparse kernel matrix with ones on its diagonal; nothing of the matrix is here."""

    _K: Any
    has_entries = False

    def __init__(self, kernel: KernelRows, sample_weight: Array | None = None, log: ProductLog = NO_LOG) -> None:
        self._K, self._diagonal_of_K = RemoteMatrix(kernel, log), np.ones(kernel.n)
        self._workers, self._blocks, self._squares = Workers(1), None, None
        KernelOperator.__init__(self, kernel.n, sample_weight)

    def _scaled(self) -> list[Block]:
        if self._blocks is None:
            self._blocks = [Block(slice(0, self.n), self._K.scaled(self._s))]
        return self._blocks

    def largest_entry(self) -> float:
        return KernelOperator.largest_entry(self)

    def triangle(self, c: Array) -> Any:
        return KernelOperator.triangle(self, c)

    def n_connected(self) -> int:
        return self._K.n_connected()


def _multiply(K: sparse.csr_array, group: slice, thin: list[Array]) -> Array:
    return K @ (thin[0] if len(thin) == 1 else np.concatenate(thin))


def _scale(K: sparse.csr_array, group: slice, s: Array) -> sparse.csr_array:
    data = K.data * np.repeat(s[group], np.diff(K.indptr)) * s[K.indices]
    return sparse.csr_array((data, K.indices, K.indptr), shape=K.shape)


def _round(K: sparse.csr_array, group: slice, dtype: type[np.floating]) -> sparse.csr_array:
    return K.astype(dtype)


def _parts(K: sparse.csr_array, start: int) -> Array:
    """Which part of the graph every point is in, (n,), where the rows of a group are all its edges."""
    n = K.shape[1]
    indptr = np.concatenate([np.zeros(start), K.indptr, np.full(n - start - K.shape[0], K.nnz)]).astype(K.indptr.dtype)
    return connected_components(sparse.csr_array((K.data, K.indices, indptr), shape=(n, n)), directed=False)[1]


def _join(one: Array, other: Array | None = None) -> Array:
    """The parts of two graphs on the same points taken together."""
    if other is None:
        return one
    first, second = int(one.max()) + 1, int(other.max()) + 1
    edges = sparse.coo_array((np.ones(len(one), dtype=np.int8), (one, first + other)), shape=(first + second,) * 2)
    return connected_components(edges, directed=False)[1][one]
