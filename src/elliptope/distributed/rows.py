"""Rows of the data, as workers take them: from the user's graph, so that lost ones can be read again, or sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .cluster import Cluster, send, task


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """n points among rows that come in chunks, of any lengths.

    ``chunks`` are tasks of Dask or arrays, ``ends`` (c,) says where each of them ends, and ``rows`` (n,) which rows the
    points are; None if all are.
    """

    chunks: Sequence[Any]
    ends: Array
    rows: Array | None = None

    @classmethod
    def of_array(cls, X: Array) -> RowBlocks:
        return cls([X], np.array([len(X)]))

    def select(self, rows: Array) -> RowBlocks:
        """Those of the rows with these numbers, in this order."""
        return RowBlocks(self.chunks, self.ends, rows)

    def block(self, block: slice) -> Any:
        """A task whose result is an array, the points of a block."""
        rows = np.arange(block.start, block.stop) if self.rows is None else self.rows[block]
        if isinstance(self.chunks[0], np.ndarray):
            return send("send-rows", self.chunks[0][rows])
        chunk = np.searchsorted(self.ends, rows, side="right")
        starts = np.r_[0, self.ends[:-1]]
        # One chunk at a time: a worker need not have room for all of them.
        found = [(np.flatnonzero(chunk == k), k) for k in np.unique(chunk)]
        parts = [task("take-rows", _take, self.chunks[k], rows[at] - starts[k]) for at, k in found]
        return task("join-rows", _join, parts, np.argsort(np.concatenate([at for at, _ in found])))


def _take(chunk: Any, rows: Array) -> Array:
    """Rows of a chunk, as numbers in double precision."""
    return np.ascontiguousarray(np.asarray(chunk, dtype=np.float64)[rows])


def _join(parts: list[Array], order: Array) -> Array:
    return np.concatenate(parts)[order]


def collect(X: Any, cluster: Cluster) -> tuple[Any, RowBlocks]:
    """Rows of a dask array or frame: here, as an array or a frame of pandas, and as workers take them."""
    chunks = cluster.keep(_chunks(X))  # read once, and again where they are lost
    parts = cluster.collect(chunks)
    ends = np.cumsum([len(part) for part in parts])
    return _together(parts), RowBlocks(chunks, ends)


def collect_vector(values: Any, cluster: Cluster) -> Any:
    """A dask array or series, here; anything else as it is."""
    if not hasattr(values, "__dask_graph__"):
        return values
    return np.concatenate([np.asarray(part) for part in cluster.results(_chunks(values))])


def _chunks(X: Any) -> list[Any]:
    """Tasks, one for every chunk of rows."""
    if getattr(X, "ndim", 0) == 2 and hasattr(X, "rechunk") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    found = X.to_delayed()
    return list(found.ravel()) if isinstance(found, np.ndarray) else list(found)


def _together(parts: list[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    return np.concatenate(parts)
