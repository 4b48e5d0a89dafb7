"""Products with a sparse kernel matrix whose rows are on the workers.

A worker is sent the rows of a thin matrix that its own refer to. Where points near each other have near numbers these are
few more than its own. Its rows of the product come back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._utils.arrays import Array, like, transposed_product
from .._utils.threads import Workers
from ..operators.base import KernelOperator, Operator, Series
from ..operators.sparse import Block, SingleSparse, SparseOperator
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

    def keep_rows(self, name: str, values: Array) -> list[Any]:
        """Rows of values, (n, ...), sent to those who have the same rows of the matrix."""
        kernel = self._kernel
        return kernel.cluster.keep((send(name, values[group]) for group in kernel.groups), kernel.workers)

    def polynomial(self, coefficients: Sequence[float], diagonal: list[Any], V: Array) -> Array:
        """q(K + Diag(diagonal)) V for a series of Chebyshev polynomials.

        Workers exchange what they make, and V and the result are all that they get from the client and give back.
        """
        V = np.ascontiguousarray(V, dtype=self._dtype)
        kind = f"{np.dtype(self._dtype).name} {list(coefficients)}"
        # In one order, with a log and without: sums over it depend on that.
        return np.ascontiguousarray(self._log.product(V, kind, partial(self._clenshaw, coefficients, diagonal)))

    def _clenshaw(self, coefficients: Sequence[float], diagonal: list[Any], V: Array) -> Array:
        r"""By Clenshaw's recurrence: :math:`b_k = c_k V + 2 S b_{k+1} - b_{k+2}`, and :math:`c_0 V + S b_1 - b_2` at last.

        An error that is made at step j is multiplied by U_j: :meth:`RemotePolynomials.polynomial_error` sums them.
        """
        kernel, (*others, top) = self._kernel, coefficients
        first = self.keep_rows("thin-matrix", top * V)  # c_d V, which is b_d
        b, after = first, [None] * len(first)
        needed = [(kernel.needed(k), kernel.picks[k]) for k, run in enumerate(kernel.runs) for _ in run]
        for k in reversed(range(len(others))):
            factors = (2.0 if k else 1.0, others[k] / top)
            steps = [
                task("polynomial-step", _step, kernel.rows[g], diagonal[g], factors, picks, [b[h] for h in some], *own)
                for g, ((some, picks), *own) in enumerate(zip(needed, b, first, after, strict=True))
            ]
            b, after = kernel.cluster.keep(steps, kernel.workers), b
        return np.concatenate(kernel.cluster.collect(b))

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


class RemotePolynomials(Operator):
    """J = Diag(s) K Diag(s) - QQᵀ with rows on workers, where the one column of Q is an eigenvector of the first term.

    Its eigenvalue is 1, so that J Q = 0: without the part of V along Q, workers need not know of it.
    """

    _Q: Array
    _diagonal_there: list[Any] | None = None

    def polynomial(self, q: Series, V: Array) -> Array:
        Q, there, V = self._Q, self._matrix(), like(self._Q, V)
        assert Q.shape[1] == 1  # others need not be eigenvectors
        if self._diagonal_there is None:
            self._diagonal_there = there.keep_rows("diagonal", self._whole_diagonal())
        along = transposed_product(Q, V)
        G = there.polynomial(q.coefficients, self._diagonal_there, V - Q @ along)
        G += Q @ (float(q(np.zeros(()))) * along - transposed_product(Q, G))
        return G

    def polynomial_error(self, q: Series) -> float:
        r"""As :math:`\lVert b_j\rVert \le \sum_{i \ge j} |c_i| (i - j + 1)`, the error of step j is at most twice
        :math:`\sum_{i > j} |c_i| (i - j)` of that of a product, and is multiplied by j + 1 on its way to the end.
        """
        return sum(abs(c) * k * (k + 1) * (k + 2) / 3 for k, c in enumerate(q.coefficients))

    @abstractmethod
    def _matrix(self) -> RemoteMatrix:
        """Diag(s) K Diag(s), hollow."""

    @abstractmethod
    def _whole_diagonal(self) -> Array:
        """The diagonal of Diag(s) K Diag(s), (n,)."""


class DistributedSparseOperator(RemotePolynomials, SparseOperator):
    """J from the rows of a sparse kernel matrix with ones on its diagonal; nothing of the matrix is here."""

    _K: Any
    has_entries = False

    def __init__(self, kernel: KernelRows, sample_weight: Array | None = None, log: ProductLog = NO_LOG) -> None:
        self._K, self._diagonal_of_K = RemoteMatrix(kernel, log), np.ones(kernel.n)
        self._workers, self._blocks, self._squares = Workers(1), None, None
        KernelOperator.__init__(self, kernel.n, sample_weight)

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._diagonal_there = None

    def float32(self) -> Operator:
        return _DistributedSingle(self._scaled(), self._workers, self._Q, self.offset())

    def _matrix(self) -> RemoteMatrix:
        return cast(RemoteMatrix, self._scaled()[0].K)

    def _whole_diagonal(self) -> Array:
        return self._s**2

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


class _DistributedSingle(RemotePolynomials, SingleSparse):
    """The same J in single precision."""

    def _matrix(self) -> RemoteMatrix:
        return cast(RemoteMatrix, self._blocks[0].K)

    def _whole_diagonal(self) -> Array:
        return self._offset + self._squares


def _multiply(K: sparse.csr_array, thin: Array) -> Array:
    return K @ thin


def _step(
    K: sparse.csr_array,
    diagonal: Array,
    factors: tuple[float, float],
    picks: list[Array],
    others: list[Array],
    own: Array,
    first: Array,
    after: Array | None,
) -> Array:
    """A step of Clenshaw's recurrence for the rows of a group."""
    b = K @ np.concatenate([one[rows] for one, rows in zip(others, picks, strict=True)])
    b += diagonal[:, None] * own
    b *= factors[0]
    b += factors[1] * first
    if after is not None:
        b -= after
    return b


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
