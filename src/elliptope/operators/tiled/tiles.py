r"""Products with a symmetric kernel matrix that is never stored: its tiles are recomputed at every product.

A tile T of the lower triangle is used twice, :math:`G_i \mathrel{+}= T V_j` and :math:`G_j \mathrel{+}= T^\top V_i`; on the
diagonal its strictly lower triangle is, so that the matrix is hollow and symmetric to the last bit. Tiles are grouped in
blocks, and a pair of blocks is one task. Tasks that write to the same rows run in one fixed order, so that sums do not
depend on the number of threads. Pairs are ordered as in a round-robin tournament: those of one round share no rows, and can
run at the same time.
"""

from __future__ import annotations

import math
import threading
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
        self._buffers = threading.local()

    @abstractmethod
    def filler(self, rows: slice, columns: slice) -> Fill:
        """What makes the tiles of a block; ``rows`` and ``columns`` count points, and may go beyond n (see pad_rows)."""

    def in_single(self) -> Tiles | None:
        """The same tiles in float32; None where there are none."""
        return None

    def hollow_matmat(self, V: Array, squared: bool = False) -> Array:
        """(K - Diag(diag K)) V in float64, shape (n, r), Fortran-ordered; of the entries of K, or of their squares."""
        V, scale = self.scaled(np.asarray(V, dtype=np.float64))
        thin = self.in_tiles(V)
        G = self.triangle(thin, range(len(thin)), squared, math.ceil(math.sqrt(len(thin)) / 2))
        return np.asfortranarray(flatten(G)[: self.n] * scale)

    def in_tiles(self, V: Array) -> Array:
        """V in groups of rows as tiles take them, (tiles, TILE, r), with zeros at the end."""
        padded = np.zeros((-(-self.n // TILE) * TILE, V.shape[1]), dtype=self.dtype)
        padded[: self.n] = V
        return split(padded)

    def triangle(self, V: Array, tiles: range, squared: bool, width: int = _WIDE) -> Array:
        """What pairs of points in these rows of tiles contribute, (tiles, TILE, r), block after block of so many tiles.

        ``V`` is :meth:`in_tiles`.
        """
        G, blocks = np.zeros((len(tiles), *V.shape[1:])), _cut(tiles, width)

        def multiply(a: int, b: int) -> None:
            self._add_block(V, (G, G), blocks[a], blocks[b], squared, (tiles.start, tiles.start))

        run_in_order(tournament(len(blocks)), multiply, self.n_jobs)
        return G

    def rectangle(self, V: Array, rows: range, columns: range, squared: bool) -> tuple[Array, Array]:
        """What pairs of a point in ``rows`` and one in ``columns``, which come before, contribute to either."""
        sums = np.zeros((len(rows), *V.shape[1:])), np.zeros((len(columns), *V.shape[1:]))
        above, left = _cut(rows, _WIDE), _cut(columns, _WIDE)

        def multiply(a: int, b: int) -> None:
            self._add_block(V, sums, above[a], left[b], squared, (rows.start, columns.start))

        run_in_order(product(range(len(above)), range(len(left))), multiply, 1)
        return sums

    def scaled(self, V: Array) -> tuple[Array, Array]:
        """V with columns scaled by powers of two to the range of single precision, and the scales; (n, r) and (r,)."""
        if self.dtype is np.float64:
            return V, np.ones(V.shape[1])
        _, exponents = np.frexp(np.abs(V).max(axis=0, initial=0.0))
        return np.ldexp(V, -exponents), np.ldexp(1.0, exponents)

    def _add_block(
        self, V: Array, sums: tuple[Array, Array], rows: range, columns: range, squared: bool, starts: tuple[int, int]
    ) -> None:
        """Add what the tiles of one block contribute, those on and below the diagonal, to the sums for rows and for columns.

        These begin with the rows of tiles ``starts``.
        """
        (G, H), r = sums, V.shape[2]
        fill = self.filler(*(slice(block.start * TILE, block.stop * TILE) for block in (rows, columns)))
        batch = min(_BATCH // (TILE**2 * V.itemsize), len(columns))
        T, P, Q = self._room(batch, len(columns), r)
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
            G[i - starts[0]] += P[: end - start].sum(axis=0, dtype=np.float64)
            H[start - starts[1] : end - starts[1]] += Q[: end - start]

    def _room(self, batch: int, columns: int, r: int) -> tuple[Array, Array, Array]:
        """Memory of a thread for tiles and their products, kept from block to block: to ask for it takes time.

        A third more in all in workers of Dask, which have the system take it back whenever it is given up.
        """
        shapes = (batch, TILE, TILE), (columns, TILE, r), (columns, TILE, r)
        kept = self._buffers.__dict__
        if kept.get("shapes") != shapes:
            kept["shapes"], kept["arrays"] = shapes, tuple(np.empty(shape, dtype=self.dtype) for shape in shapes)
        return kept["arrays"]


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


def _cut(tiles: range, width: int) -> list[range]:
    """Rows of tiles in blocks."""
    return [tiles[k : k + width] for k in range(0, len(tiles), width)]


def split(V: Array) -> Array:
    """Rows in groups of one tile each: (tiles, TILE, r), a view."""
    return V.reshape(len(V) // TILE, TILE, V.shape[1])


def flatten(G: Array) -> Array:
    """The rows of :func:`split`, one after the other, (rows, r)."""
    return G.reshape(len(G) * TILE, G.shape[2])


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
