"""The matrix stored: one n × n array and no second."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .._utils.arrays import Array, as_numpy, hollow, largest, namespace, smallest
from .._utils.blocks import TILE, blocks
from .._utils.rounding import UNIT
from .._utils.threads import ONE_THREAD, blas_threads, has_fast_small_products, in_order
from .base import ROUNDINGS, KernelOperator, Operator, ScaledOperator, SingleOperator

# Rows from which on the time of a product is that of reading K, so that single precision is faster.
_SINGLE_SIZE = 4000
# Multiplications up to which OpenBLAS, on some processors, multiplies matrices without copying them first.
_SMALL_PRODUCT = 10**6


def thin_product(K: Array, V: Array) -> Array:
    """K V for a symmetric K; in NumPy, in Fortran order.

    With the thin matrix on the left BLAS reads K as it lies in memory.
    """
    n, r = V.shape
    if not isinstance(K, np.ndarray):
        return (V.T @ K).T
    if n > ONE_THREAD:
        return product_in_panels(K, V, TILE, blas_threads())
    if n * n * r <= _SMALL_PRODUCT or not has_fast_small_products():
        return (V.T @ K).T
    # Panels that are small enough not to be copied: a third less time at n = 600. Half, to be safely below.
    count = -(-n * n * r // (_SMALL_PRODUCT // 2))
    return product_in_panels(K, V, -(-n // count))


def product_in_panels(K: Array, V: Array, height: int, n_threads: int = 1) -> Array:
    """The same, by panels of so many rows of K, which threads share: unlike those of BLAS, they sleep while they wait."""
    G = np.empty(V.T.shape, dtype=K.dtype)
    left = np.asarray(V.T, dtype=K.dtype)

    def fill(rows: slice) -> None:
        np.matmul(left, K[rows].T, out=G[:, rows])

    for _ in in_order(fill, blocks(0, len(K), height), n_threads):
        pass
    return G.T


class DenseStorage(ScaledOperator):
    """K stored as a hollow symmetric array, which the operator owns and overwrites for a while, and its diagonal apart."""

    def _store(self, K: Array) -> None:
        xp = namespace(K)
        K = xp.asarray(K, dtype=xp.float64)
        self._diagonal_of_K = xp.asarray(xp.linalg.diagonal(K), copy=True)
        self._K = hollow(K)

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return thin_product(self._K, V)

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K

    def single(self) -> Operator | None:
        return self.in_single() if self.n >= _SINGLE_SIZE else None

    def in_single(self) -> Operator:
        """The same J from a copy of K in single precision: half the memory traffic, and about seven digits."""
        xp = namespace(self._K)
        K = xp.asarray(self._K, dtype=xp.float32)

        def product(V: Array) -> Array:
            return xp.asarray(thin_product(K, xp.asarray(V, dtype=xp.float32)), dtype=xp.float64)

        return SingleOperator(self, product)

    def largest_entry(self) -> float:
        return max(largest(self._K), -smallest(self._K))

    @property
    def has_entries(self) -> bool:
        return True

    def core_square(self, v: Array) -> float:
        K, s, Q = self._scaled_parts(1 / np.sqrt(as_numpy(v)))
        squares = 0.0
        for rows in blocks(0, self.n, TILE):
            S = _strip(K, s, Q, rows)
            np.fill_diagonal(S, 0.0)
            on_diagonal = S[:, : len(S)]  # counted once, all else for both halves
            squares += 2 * float(np.vdot(S, S)) - float(np.vdot(on_diagonal, on_diagonal))
        rounded = math.sqrt(squares) * (1 + 2 * self.n**2 * UNIT)
        # An entry is the difference of two, each of which is formed with few roundings.
        return (rounded + ROUNDINGS * UNIT * (rounded + 2 * float(np.vdot(Q, Q)))) ** 2

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        """Lend the transpose of K, one half overwritten with what is asked for; the other half restores it afterwards."""
        K, s, Q = self._scaled_parts(c)
        try:
            for rows in blocks(0, self.n, TILE):
                _write_upper(K, rows, _strip(K, s, Q, rows))
            np.fill_diagonal(K, -(c**2) * as_numpy(self.offset()))
            yield K.T
        finally:
            for rows in blocks(0, self.n, TILE):
                _write_upper(K, rows, K[rows.start :, rows].T)
            np.fill_diagonal(K, 0.0)

    def _scaled_parts(self, c: Array) -> tuple[Array, Array, Array]:
        """K (n, n), Diag(c) s (n,) and Diag(c) Q (n, q), as arrays of NumPy."""
        return as_numpy(self._K), c * as_numpy(self._s), c[:, None] * as_numpy(self._Q)


def _strip(K: Array, s: Array, Q: Array, rows: slice) -> Array:
    """These rows of QQᵀ - Diag(s) K Diag(s), from the diagonal on; the diagonal is to be overwritten."""
    S = K[rows, rows.start :] * -s[rows, None]  # (height, n - rows.start)
    S *= s[rows.start :]
    if Q.shape[1]:
        S += Q[rows] @ Q[rows.start :].T
    return S


def _write_upper(K: Array, rows: slice, S: Array) -> None:
    """Write a strip that begins on the diagonal into K, on and above the diagonal only."""
    height = len(S)
    K[rows, rows.stop :] = S[:, height:]
    np.copyto(K[rows, rows], S[:, :height], where=np.tri(height, dtype=bool).T)


class DenseOperator(DenseStorage, KernelOperator):
    """J from a kernel matrix ``K``, which the operator takes over."""

    def __init__(self, K: Array, sample_weight: Array | None = None) -> None:
        self._store(K)
        super().__init__(K.shape[0], sample_weight)
