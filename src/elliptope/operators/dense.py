"""The matrix stored: one n × n array and no second."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.linalg.blas import dsyrk

from .._utils.arrays import Array, as_numpy, hollow, largest, namespace, smallest
from .._utils.rounding import UNIT
from .._utils.threads import ONE_THREAD, blas_has_small_kernels
from .base import KernelOperator, Operator, ScaledOperator

# Side of the tiles in which the kernel is computed and rescaled: two float64 tiles stay in a core's cache.
_TILE = 512
# Up to here a copy is quicker than the loan of a triangle, and takes no memory to speak of.
_SMALL = 1024
# Multiplications beyond which BLAS copies its matrices first, and those of a panel that are safely below.
_SMALL_PRODUCT = 10**6
_PANEL_PRODUCT = 5 * 10**5
# Columns up to which the copy costs more than what it saves.
_THIN = 32
# From here on a product waits for memory, and is faster in single precision.
_SINGLE_SIZE = 4000


def _tiles(n: int) -> list[tuple[slice, slice]]:
    """Tiles of the lower triangle, diagonal included."""
    starts = range(0, n, _TILE)
    return [(slice(i, min(i + _TILE, n)), slice(j, min(j + _TILE, n))) for i in starts for j in starts if j <= i]


def thin_product(K: Array, V: Array) -> Array:
    """K V for a symmetric K; in NumPy, in Fortran order.

    From the left BLAS reads K faster. Where it would copy K first, and a copy costs more than a thin product, it is given
    rows of K at a time that are few enough.
    """
    n, r = V.shape
    in_panels = n * n * r > _SMALL_PRODUCT and n <= ONE_THREAD and 1 < r <= _THIN
    if not in_panels or not isinstance(K, np.ndarray) or not blas_has_small_kernels():
        return (V.T @ K).T
    height = -(-n // -(-n * n * r // _PANEL_PRODUCT))
    G = np.empty((r, n), K.dtype)
    for start in range(0, n, height):
        rows = slice(start, start + height)
        np.matmul(V.T, K[rows].T, out=G[:, rows])
    return G.T


class DenseStorage(ScaledOperator):
    """K stored as a hollow symmetric array, which the operator owns and uses as scratch, and its diagonal apart."""

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
        return SingleOperator(self._K, self._s, self._Q, self._diagonal_of_K) if self.n >= _SINGLE_SIZE else None

    def largest_entry(self) -> float:
        return max(largest(self._K), -smallest(self._K))

    @property
    def has_entries(self) -> bool:
        return True

    def core_square(self, v: Array) -> float:
        c = 1 / np.sqrt(as_numpy(v))
        s, Q = c * as_numpy(self._s), c[:, None] * as_numpy(self._Q)
        if self.n <= _SMALL and not Q.shape[1]:
            with _scratch(self.n) as T:
                np.multiply(as_numpy(self._K), s[:, None], out=T)
                T *= s
                squares = float(np.vdot(T, T))
        else:
            squares = 0.0
            for rows, columns in _tiles(self.n):
                T = self._tile(rows, columns, s, Q)
                if rows == columns:
                    np.fill_diagonal(T, 0.0)
                squares += float(np.vdot(T, T)) * (1 if rows == columns else 2)
        rounded = math.sqrt(squares) * (1 + 2 * self.n**2 * UNIT)
        # An entry is the difference of two, each of which is formed with few roundings.
        return (rounded + 8 * UNIT * (rounded + 2 * float(np.vdot(Q, Q)))) ** 2

    def _tile(self, rows: slice, columns: slice, s: Array, Q: Array) -> Array:
        """Of QQᵀ - Diag(s) K Diag(s) a tile on or below the diagonal, read above it; its diagonal means nothing."""
        T = as_numpy(self._K[columns, rows]).T * -s[rows, None]
        T *= s[columns]
        if Q.shape[1]:
            T += Q[rows] @ Q[columns].T
        return T

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        """Lend the lower triangle of K, rescaled; the untouched upper triangle restores it afterwards."""
        K, s, Q = as_numpy(self._K), c * as_numpy(self._s), c[:, None] * as_numpy(self._Q)
        if self.n <= _SMALL:
            with _scratch(self.n) as T:
                T = T.T
                np.multiply(K.T, -s[:, None], out=T)
                T *= s
                if Q.shape[1]:
                    dsyrk(1.0, Q, beta=1.0, c=T, lower=1, overwrite_c=1)  # in place
                np.fill_diagonal(T, -(c**2) * as_numpy(self.offset()))
                yield T
            return
        try:
            for rows, columns in _tiles(self.n):
                _write_lower(self._tile(rows, columns, s, Q), K, rows, columns)
            np.fill_diagonal(K, -(c**2) * as_numpy(self.offset()))
            yield K
        finally:
            for rows, columns in _tiles(self.n):
                _write_lower(K[columns, rows].T, K, rows, columns)
            np.fill_diagonal(K, 0.0)


@contextmanager
def _scratch(n: int) -> Iterator[Array]:
    """An (n, n) array with anything in it, kept for whoever asks next: fresh memory costs as much as what is done in it."""
    try:
        room = _SPARE.pop()
    except IndexError:
        room = np.empty(0)
    if room.size < n * n:
        room = np.empty(max(n, _SMALL) ** 2)
    try:
        yield room[: n * n].reshape(n, n)
    finally:
        if not _SPARE:
            _SPARE.append(room)


_SPARE: list[Array] = []


def _write_lower(T: Array, K: Array, rows: slice, columns: slice) -> None:
    """Write a tile into K, below the diagonal of K only."""
    if rows == columns:
        np.copyto(K[rows, rows], T, where=np.tri(len(T), k=-1, dtype=bool))
    else:
        K[rows, columns] = T


class SingleOperator(ScaledOperator):
    """K in float32: half the memory traffic, and products to about seven digits."""

    def __init__(self, K: Array, s: Array, Q: Array, diagonal: Array) -> None:
        self.n = K.shape[0]
        self._s, self._Q, self._diagonal_of_K = s, Q, diagonal
        self._K = self._cast(K, "float32")

    def _cast(self, V: Array, dtype: str) -> Array:
        xp = namespace(V)
        return xp.asarray(V, dtype=getattr(xp, dtype))

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._cast((self._cast(V.T, "float32") @ self._K).T, "float64")

    def kernel_diagonal(self) -> Array:
        return self._diagonal_of_K


class DenseOperator(DenseStorage, KernelOperator):
    """J from a kernel matrix ``K``, which the operator takes over."""

    def __init__(self, K: Array, sample_weight: Array | None = None) -> None:
        self._store(K)
        super().__init__(K.shape[0], sample_weight)
