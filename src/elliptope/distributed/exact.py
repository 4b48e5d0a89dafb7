r"""Kernels of all pairs: tiles that workers compute again for every product.

Every worker keeps the rows of some pairs of blocks. For a product :math:`G = K V` the blocks of V go to the workers that
need them, and sums come back, in the order of :mod:`elliptope.distributed.order`. A tile is used for both sides, as in
:mod:`elliptope.operators.tiled`, whose error bounds hold: no row has more terms, nor more roundings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.blocks import TILE
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..operators.recomputed import TileErrors
from ..operators.tiled.gaussian import GaussianTiles, gaussian_coordinates
from ..operators.tiled.operator import TiledOperator, make_tiles
from ..operators.tiled.tiles import BlockTiles, Tiles, flatten
from .cluster import Cluster, send, task
from .order import BLOCK_ROWS, Part, assign, cut_at_borders, cut_rows, cut_work, fold, pairs_in
from .rows import RowBlocks

# Parts for every thread: with two, one that has lost its worker, or is slow, can go to another.
_PARTS_PER_THREAD = 2


@dataclass(frozen=True)
class TileMaker:
    """What makes tiles of the rows of some blocks: Gaussian ones about a centre, or those of another kernel."""

    kernel: Kernel
    centre: Array | None  # (p,): where tiles of a Gaussian come from matrix products
    dtype: type[np.floating] = np.float64

    def prepare(self, X: Array) -> Array:
        if self.centre is None:
            return X
        assert isinstance(self.kernel, Gaussian)
        return gaussian_coordinates(X, self.kernel.bandwidth, self.centre)

    def __call__(self, Y: Array) -> Tiles:
        return BlockTiles(self.kernel, Y, 1) if self.centre is None else GaussianTiles(Y, 1, self.dtype)


class DistributedOperator(TiledOperator):
    """J from a kernel and points, by the workers of a Dask cluster.

    Parameters
    ----------
    kernel, sample_weight
        As for :class:`~elliptope.operators.TiledOperator`.
    X : (n, p) array
    rows : RowBlocks, optional
        Where workers take the rows of X from; by default they are sent.
    cluster : Cluster, optional
        The current client's by default.
    block_rows : int
        Rows of a block, at least. The sums depend on it, and on nothing else of the cluster.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        sample_weight: Array | None = None,
        *,
        rows: RowBlocks | None = None,
        cluster: Cluster | None = None,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        self._cluster = Cluster() if cluster is None else cluster
        self._given, self._block_rows = rows, block_rows
        super().__init__(kernel, X, sample_weight)

    def _make_tiles(self, kernel: Kernel, X: Array) -> tuple[Tiles, TileErrors]:
        local, errors = make_tiles(kernel, X, 1)
        maker = TileMaker(kernel, X.mean(axis=0) if isinstance(local, GaussianTiles) else None)
        rows = RowBlocks.of_array(X) if self._given is None else self._given
        kept = KeptRows(self._cluster, rows, maker, cut_rows(len(X), self._block_rows))
        return DistributedTiles(len(X), kept, maker), errors


class KeptRows:
    """The rows of the blocks, kept by workers, and with them those of every part of the work, by the one that does it."""

    def __init__(self, cluster: Cluster, rows: RowBlocks, maker: TileMaker, blocks: list[slice]) -> None:
        self.cluster, self.blocks = cluster, blocks
        self._rows = cluster.keep(task("rows", maker.prepare, rows.block(block)) for block in blocks)
        self._threads: dict[str, int] | None = None
        self._parts: dict[Part, Any] = {}
        self.workers: list[str] | None = None  # who has the rows of every part

    def parts(self) -> dict[Part, Any]:
        """The rows of every part; cut and assigned anew where workers have come or gone."""
        threads = self.cluster.threads()
        if threads != self._threads:
            parts, self.workers = _share(len(self.blocks), threads)
            rows = (task("rows-of-part", np.concatenate, [self._rows[k] for k in needed(part)]) for part in parts)
            self._parts, self._threads = dict(zip(parts, self.cluster.keep(rows, self.workers), strict=True)), threads
        return self._parts


class DistributedTiles(Tiles):
    """Tiles that workers make of the rows that they keep."""

    def __init__(self, n: int, kept: KeptRows, maker: TileMaker) -> None:
        super().__init__(n, 1, maker.dtype)
        self._kept, self._maker = kept, maker

    def filler(self, rows: slice, columns: slice) -> Any:
        raise TypeError("The tiles are on the workers.")

    def in_single(self) -> Tiles | None:
        if self._maker.centre is None:
            return None
        return DistributedTiles(self.n, self._kept, replace(self._maker, dtype=np.float32))

    def hollow_matmat(self, V: Array, squared: bool = False) -> Array:
        V, scale = self.scaled(np.asarray(V, dtype=np.float64))
        V, kept = np.ascontiguousarray(V, dtype=self.dtype), self._kept
        cluster, blocks, parts = kept.cluster, kept.blocks, kept.parts()
        runs = cut_at_borders(parts, len(blocks))
        sent = cluster.keep(send("thin-matrix", V[blocks[run[0]].start : blocks[run[-1]].stop]) for run in runs)

        def product(part: Part) -> Any:
            own = needed(part)
            thin = [matrix for run, matrix in zip(runs, sent, strict=True) if run[0] in own]
            return task("kernel-product", multiply, parts[part], part, tiles_of(blocks, own), self._maker, squared, thin)

        # By those who have the rows.
        products = dict(zip(parts, cluster.keep(map(product, parts), kept.workers), strict=True))
        whole = range(len(blocks))
        total = fold((whole, whole), products.get, partial(task, "sum-of-products"))
        return np.asfortranarray(flatten(cluster.results([total])[0])[: self.n] * scale)


def _share(blocks: int, threads: dict[str, int]) -> tuple[list[Part], list[str] | None]:
    """The parts of the work, and the worker for each."""
    parts = cut_work(blocks, _PARTS_PER_THREAD * max(1, sum(threads.values())))
    return parts, assign([pairs_in(part) for part in parts], threads)


def shares_of_work(blocks: list[slice], threads: dict[str, int]) -> dict[str, int]:
    """Rows that every worker keeps for its parts, by its name."""
    parts, workers = _share(len(blocks), threads)
    found = dict.fromkeys(threads, 0)
    for part, worker in zip(parts, workers or [], strict=True):
        found[worker] += sum(blocks[k].stop - blocks[k].start for k in needed(part))
    return found


def needed(part: Part) -> list[int]:
    """The blocks whose rows a part needs, in order."""
    return sorted({*part[0], *part[1]})


def tiles_of(blocks: list[slice], numbers: list[int]) -> dict[int, range]:
    """The rows of tiles that some blocks have where these come one after the other."""
    counts = [-(-(blocks[k].stop - blocks[k].start) // TILE) for k in numbers]
    ends = np.cumsum(counts).tolist()
    return {k: range(end - count, end) for k, count, end in zip(numbers, counts, ends, strict=True)}


def multiply(rows: Array, part: Part, tiles: dict[int, range], maker: TileMaker, squared: bool, thin: list[Array]) -> Any:
    """What a part contributes to the product, on a worker: from the rows of the blocks that it needs, and those of V.

    Sums are in tiles, (tiles, TILE, r).
    """
    made = maker(rows)
    V = made.in_tiles(np.concatenate(thin))

    def value(part: Part) -> Any:
        (i, *more), (j, *others) = part
        if more or others:
            return None
        return made.triangle(V, tiles[i], squared) if i == j else made.rectangle(V, tiles[i], tiles[j], squared)

    return fold(part, value, lambda function, *values: function(*values))
