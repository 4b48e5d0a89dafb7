"""Kernels of neighbours: workers search, and the client forms the kernel matrix of what they find.

Points are cut into groups of rows, one task each. A group asks for the neighbours of its points among all points, or where
these are too many for a worker among segments of them, one after the other, and keeps the nearest of all. Distances are
formed in one way only (:mod:`elliptope.kernels.metrics`), so that neither cut changes anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..kernels.metrics import Metric, OtherMetric, make_metric
from ..kernels.neighborhoods import NeighborhoodRule, NeighborKernel
from ..kernels.pairs import RIM, check_range, check_scales, distance_graph, entries, reaches, unique_entries
from ..kernels.search import Search, make_search
from .cluster import Cluster, task
from .order import assign
from .rows import RowBlocks

# The most groups, of which every thread has one.
_MOST_GROUPS = 128
# Part of a worker's memory that the points of a segment may take, and copies of them in a search.
_ROOM = 0.25
_COPIES = 4

# Pairs of points with their distances: point, other point, distance.
Pairs = tuple[Array, Array, Array]


def fit_neighbors(
    rule: NeighborhoodRule, X: Array, rows: RowBlocks, n_neighbors: int, n_jobs: int, cluster: Cluster
) -> NeighborKernel:
    """The kernel on distinct points X, (n, p), which workers take from ``rows``, and its matrix."""
    n, p = X.shape
    check_range(X)
    metric = make_metric(rule.metric or "euclidean", rule.metric_params, p)
    metric.prepare(X)  # complains of rows that it cannot take
    if isinstance(metric, OtherMetric):
        metric.try_out(X)
    threads = cluster.threads()
    groups = _cut(n, min(max(1, sum(threads.values())), _MOST_GROUPS))
    workers = assign([group.stop - group.start for group in groups], threads)
    points = cluster.keep((task("points", metric.prepare, rows.block(group)) for group in groups), workers)
    runs = _segments(n, p, len(groups), cluster.memory())
    indices = [(groups[run[0]].start, task("index", _index, [points[g] for g in run], n_neighbors, metric)) for run in runs]
    found = cluster.results(_search(points, indices, n_neighbors, groups, n), workers)
    near, scales = sparse.vstack([graph for graph, _ in found], format="csr"), np.concatenate([s for _, s in found])
    kernel = NeighborKernel(rule, X, scales, n_neighbors, n_jobs=n_jobs)
    check_scales(scales, np.arange(n), "Scale it up, or give rows at distance 0 once, with a larger weight")
    graph = distance_graph(*entries(near), scales)
    kept = graph if rule.needs_graph else None
    return replace(kernel, graph=kept, K=replace(kernel, graph=graph).matrix())


def _cut(n: int, count: int) -> list[slice]:
    """Rows in so many groups, or as many as there are rows."""
    count = min(count, n)
    return [slice(k * n // count, (k + 1) * n // count) for k in range(count)]


def _segments(n: int, p: int, groups: int, room: float | None) -> list[range]:
    """Runs of groups whose points a worker with so much memory can search among."""
    count = 1 if room is None else min(groups, int(_COPIES * 8 * n * p / (_ROOM * room)) + 1)
    return [range(k * groups // count, (k + 1) * groups // count) for k in range(count)]


def _search(points: list[Any], indices: list[tuple[int, Any]], k: int, groups: list[slice], n: int) -> list[Any]:
    """For every group: the distances within the scales of its points, and the scales; ``indices`` begin at those points."""
    return [
        task("neighbors", _merge, [task("nearest", _nearest, index, own, start) for start, index in indices], group, k, n)
        for own, group in zip(points, groups, strict=True)
    ]


def _index(points: list[Array], k: int, metric: Metric) -> Search:
    made = make_search(np.concatenate(points), k, 1, metric)
    assert isinstance(made, Search)
    return made


def _nearest(index: Search, points: Array, start: int) -> Pairs:
    i, j, d = index.nearest(points)
    return i, j + start, d


def _merge(parts: list[Pairs], group: slice, k: int, n: int) -> tuple[sparse.csr_array, Array]:
    """The distances within the scale of the first point, (group, n), every point with itself, and the scales."""
    size = group.stop - group.start
    i, j, d = (np.concatenate(side) for side in zip(*parts, strict=True))
    own, off = np.arange(size), i + group.start != j
    i, j, d = np.r_[i[off], own], np.r_[j[off], own + group.start], np.r_[d[off], np.zeros(size)]
    scales = reaches(i, d, size, k)
    near = d <= RIM * scales[i]
    return unique_entries(i[near], j[near], d[near], (size, n)), scales
