r"""Products with a symmetric kernel matrix that is never stored: its tiles are recomputed at every product.

A tile T of the lower triangle is used twice, :math:`G_i \mathrel{+}= T V_j` and :math:`G_j \mathrel{+}= T^\top V_i`; on the
diagonal its strictly lower triangle is, so that the matrix is hollow and symmetric to the last bit. Tiles are grouped in
blocks, and a pair of blocks is one task. Tasks that write to the same rows run in one fixed order, so that sums do not
depend on the number of threads. Pairs are ordered as in a round-robin tournament: those of one round share no rows, and can
run at the same time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ..._utils.blocks import TILE
from ..._utils.threads import one_blas_thread
from ...kernels.base import Kernel

# Bytes of tiles that are made in one call, to stay in a core's cache while they are used.
_BATCH = 2**19

# Tiles along a block of a rectangle, at least: narrower ones take a quarter longer.
_WIDE = 8

# fill(i, j, T) writes tiles (i, j), (i, j + 1), … into T (c, TILE, TILE); i and j count from the start of their blocks.
Fill = Callable[[int, int, Array], Any]


class Tiles(ABC):
    """The n × n matrix of a kernel at n points, tile by tile, on ``n_jobs`` threads."""

    def __init__(self, n: int, n_jobs: int, dtype: type[np.floating] = np.float64) -> None:
        self.n = n
        self.n_jobs = n_jobs
        self.dtype = dtype

    @abstractmethod
    def filler(self, rows: slice, columns: slice) -> Fill:
        """What makes the tiles of a block; ``rows`` and ``columns`` count points, and may go beyond n (see pad_rows)."""

    def in_single(self) -> Tiles | None:
        """The same tiles in float32; None where there are none."""
        return None

    def hollow_matmat(self, V: Array, squared: bool = False, *, border: int = 0) -> Array:
        """(K - Diag(diag K)) V in float64, shape (n, r), Fortran-ordered; of the entries of K, or of their squares.

        With a ``border``, a multiple of the tile, only entries between points on different sides of it count: those from it
        on, and those before.
        """
        V, scale = self._scaled(np.asarray(V, dtype=np.float64))
        r = V.shape[1]
        count = -(-self.n // TILE)
        width = math.ceil(math.sqrt(count) / 2)  # of a block, in tiles: twice as many blocks as tiles in a block
        padded = np.zeros((count * TILE, r), dtype=self.dtype)
        padded[: self.n] = V
        V, G = split(padded), np.zeros((count, TILE, r))
        width = max(width, _WIDE) if border else width
        rows = _cut(border // TILE, count, width)
        columns = _cut(0, border // TILE, width) if border else rows

        def multiply(a: int, b: int) -> None:
            self._add_block(V, G, rows[a], columns[b], squared)

        if border:
            run_in_order(product(range(len(rows)), range(len(columns))), multiply, 1)
        else:
            run_in_order(tournament(len(rows)), multiply, self.n_jobs)
        return np.asfortranarray(G.reshape(count * TILE, r)[: self.n] * scale)

    def _scaled(self, V: Array) -> tuple[Array, Array]:
        """V with columns scaled by powers of two to the range of single precision, and the scales; (n, r) and (r,)."""
        if self.dtype is np.float64:
            return V, np.ones(V.shape[1])
        _, exponents = np.frexp(np.abs(V).max(axis=0, initial=0.0))
        return np.ldexp(V, -exponents), np.ldexp(1.0, exponents)

    def _add_block(self, V: Array, G: Array, rows: range, columns: range, squared: bool) -> None:
        """Add to G what the tiles of one block contribute, those on and below the diagonal."""
        r = V.shape[2]
        fill = self.filler(*(slice(block.start * TILE, block.stop * TILE) for block in (rows, columns)))
        batch = min(_BATCH // (TILE**2 * V.itemsize), len(columns))
        T = np.empty((batch, TILE, TILE), dtype=self.dtype)
        P, Q = np.empty((2, len(columns), TILE, r), dtype=self.dtype)
        start = columns.start
        for i in rows:
            end = min(columns.stop, i + 1)
            for j in range(start, end, batch):
                stop = min(j + batch, end)
                t = T[: stop - j]
                fill(i - rows.start, j - start, t)
                if stop == i + 1:
                    t[-1] = np.tril(t[-1], -1)
                if squared:
                    np.square(t, out=t)
                np.matmul(t, V[j:stop], out=P[j - start : stop - start])
                np.matmul(t.mT, V[i], out=Q[j - start : stop - start])
            G[i] += P[: end - start].sum(axis=0, dtype=np.float64)
            G[start:end] += Q[: end - start]


class BlockTiles(Tiles):
    """Tiles of any kernel, in float64."""

    def __init__(self, kernel: Kernel, X: Array, n_jobs: int) -> None:
        super().__init__(len(X), n_jobs)
        self._kernel = kernel
        self._X = pad_rows(X)

    def filler(self, rows: slice, columns: slice) -> Fill:
        X, Y = split(self._X[rows]), split(self._X[columns])  # (tiles, TILE, p)

        def fill(i: int, j: int, T: Array) -> None:
            for t, y in zip(T, Y[j:], strict=False):
                t[...] = self._kernel.block(X[i], y)

        return fill


def _cut(start: int, stop: int, width: int) -> list[range]:
    """Tiles from ``start`` to ``stop`` in blocks."""
    return [range(first, min(first + width, stop)) for first in range(start, stop, width)]


def split(V: Array) -> Array:
    """Rows in groups of one tile each: (tiles, TILE, r), a view."""
    return V.reshape(len(V) // TILE, TILE, V.shape[1])


def roundings(n: int) -> int:
    """Of V, in the sum over a tile and in the sums over tiles, at most."""
    return TILE + 2 + 3 * (n // TILE + 1)


def pad_rows(X: Array) -> Array:
    """X with its last row repeated, so that the last tile is full."""
    return np.concatenate([X, np.repeat(X[-1:], -len(X) % TILE, axis=0)])


def tournament(count: int) -> Iterable[tuple[int, int]]:
    """Every pair (a, b) with a ≥ b once: first the pairs (a, a), then rounds of pairs that have no number in common."""
    yield from ((a, a) for a in range(count))
    ring = list(range(count + count % 2))  # an odd count is made even by a number whose pairs are left out
    for _ in range(len(ring) - 1):
        for a, b in zip(ring[: len(ring) // 2], reversed(ring), strict=False):
            if max(a, b) < count:
                yield max(a, b), min(a, b)
        ring = [ring[0], ring[-1], *ring[1:-1]]


def run_in_order(pairs: Iterable[tuple[int, int]], work: Callable[[int, int], None], n_jobs: int) -> None:
    """``work(a, b)`` for all pairs on ``n_jobs`` threads; what concerns the same a or b happens in the order of the pairs.

    BLAS has one thread in each of them, whatever it is set to.
    """
    with one_blas_thread():
        if n_jobs == 1:
            for a, b in pairs:
                work(a, b)
            return
        pool = ThreadPoolExecutor(n_jobs)
        latest: dict[int, Future] = {}
        try:
            for a, b in pairs:
                # Tasks start in the order of submission, so those that are waited for have started: no deadlock.
                earlier = [latest[block] for block in {a, b} & latest.keys()]
                latest[a] = latest[b] = pool.submit(_after, earlier, work, a, b)
            for future in latest.values():  # each came after all others of its block, and raises what they raised
                future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _after(earlier: list[Future], work: Callable[[int, int], None], a: int, b: int) -> None:
    for future in earlier:
        future.result()
    work(a, b)
