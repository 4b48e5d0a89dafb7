"""Products with a sparse kernel matrix whose rows are on the workers.

A worker is sent the rows of a thin matrix that its own refer to. Where points near each other have near numbers these are
few more than its own. Its rows of the product come back.
"""

from __future__ import annotations

from collections.abc import Iterator
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


class RemoteMatrix:
    """A hollow symmetric sparse matrix, (n, n), in rows that workers keep."""

    def __init__(self, kernel: KernelRows, log: ProductLog, dtype: type[np.floating] = np.float64) -> None:
        self._kernel, self._log, self._dtype = kernel, log, dtype

    def __matmul__(self, V: Array) -> Array:
        return self._log.product(np.ascontiguousarray(V, dtype=self._dtype), np.dtype(self._dtype).name, self._product)

    def _product(self, V: Array) -> Array:
        # The sum of a row does not depend on the group that it is in: neither groups nor workers change a product.
        kernel = self._kernel
        products = [task("kernel-product", _multiply, *one) for one in self._with("thin-matrix", V)]
        return np.concatenate(kernel.cluster.results(products, kernel.workers))

    def scaled(self, s: Array) -> RemoteMatrix:
        """Diag(s) K Diag(s)."""
        rows = zip(self._with("row-scales", s), self._kernel.groups, strict=True)
        return self._made([task("scale-rows", _scale, *one, s[group]) for one, group in rows], self._dtype)

    def astype(self, dtype: type[np.floating]) -> RemoteMatrix:
        return self._made([task("round-rows", _round, K, dtype) for K in self._kernel.rows], dtype)

    def n_connected(self) -> int:
        """Connected components of the graph."""
        cluster, n = self._kernel.cluster, self._kernel.n
        rows = zip(self._with("points", np.arange(n)), self._kernel.groups, strict=True)
        parts = [task("parts", _parts, *one, group.start, n) for one, group in rows]
        while len(parts) > 1:
            parts = [task("join-parts", _join, *parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return int(cluster.results([task("count-parts", np.max, parts[0])])[0]) + 1

    def _with(self, name: str, values: Array) -> Iterator[tuple[Any, Any]]:
        """For every group, its rows and those of ``values``, (n, ...), that its columns refer to."""
        kernel = self._kernel
        for run, columns in zip(kernel.runs, kernel.columns, strict=True):
            sent: Any = values[columns]
            if len(run) > 1:  # sent once, and not with every task
                worker = None if kernel.workers is None else [kernel.workers[run[0]]]
                sent = kernel.cluster.keep([send(name, sent)], worker)[0]
            yield from ((kernel.rows[g], sent) for g in run)

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


def _multiply(K: sparse.csr_array, thin: Array) -> Array:
    return K @ thin


def _scale(K: sparse.csr_array, columns: Array, rows: Array) -> sparse.csr_array:
    data = K.data * np.repeat(rows, np.diff(K.indptr)) * columns[K.indices]
    return sparse.csr_array((data, K.indices, K.indptr), shape=K.shape)


def _round(K: sparse.csr_array, dtype: type[np.floating]) -> sparse.csr_array:
    return K.astype(dtype)


def _parts(K: sparse.csr_array, columns: Array, start: int, n: int) -> Array:
    """Which part of the graph every point is in, (n,), where the rows of a group are all its edges."""
    indptr = np.concatenate([np.zeros(start), K.indptr, np.full(n - start - K.shape[0], K.nnz)]).astype(K.indptr.dtype)
    edges = sparse.csr_array((K.data, columns[K.indices], indptr), shape=(n, n))
    return connected_components(edges, directed=False)[1]


def _join(one: Array, other: Array | None = None) -> Array:
    """The parts of two graphs on the same points taken together."""
    if other is None:
        return one
    first, second = int(one.max()) + 1, int(other.max()) + 1
    edges = sparse.coo_array((np.ones(len(one), dtype=np.int8), (one, first + other)), shape=(first + second,) * 2)
    return connected_components(edges, directed=False)[1][one]
