"""Kernels of neighbours: found by workers, which keep the rows of the kernel matrix that they have made.

Points are cut into groups of rows, one task each. A group asks for the neighbours of its points among all points, or where
these are too many for a worker among segments of them, one after the other, and keeps the nearest of all. Distances are
formed in one way only (:mod:`elliptope.kernels.metrics`), so that neither cut changes anything. Then groups exchange the
pairs that the other point has found, and form their rows of the kernel. What is collected are scales, (n,), and for every
worker the numbers of the points that its rows refer to: its own, and those near them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..kernels.metrics import Metric, OtherMetric, make_metric
from ..kernels.neighborhoods import NeighborhoodKernel, NeighborhoodRule, NeighborKernel, neighborhoods
from ..kernels.pairs import RIM, check_range, check_scales, kth_distances, unique_entries
from ..kernels.search import Search, make_search
from .cluster import Cluster, send, task
from .order import assign
from .rows import RowBlocks

# The most groups, of which every thread has one: all exchange pairs with all.
_MOST_GROUPS = 128
# Part of a worker's memory that the points of a segment may take, and copies of them in a search.
_ROOM = 0.25
_COPIES = 4

# Pairs of points with their distances: point, other point, distance.
Pairs = tuple[Array, Array, Array]


@dataclass(frozen=True)
class KernelRows:
    """Rows of the hollow kernel matrix, kept by the workers: a task for every group of rows, and who has it.

    A run of groups that one worker has shares its columns, the points that any of its rows has an entry for.
    """

    cluster: Cluster
    groups: list[slice]
    workers: list[str] | None
    runs: list[range]  # of groups
    columns: list[Array]  # of every run: points in ascending order, (c,)
    picks: list[Any] = field(repr=False)  # of every run: its columns, by the group that has them
    rows: list[Any] = field(repr=False)  # of every group: (group, c)

    @property
    def n(self) -> int:
        return self.groups[-1].stop

    def needed(self, run: int) -> list[int]:
        """The groups that have columns of a run."""
        ends = np.searchsorted(self.columns[run], [0, *(group.stop for group in self.groups)])
        return np.flatnonzero(np.diff(ends)).tolist()


@dataclass(frozen=True)
class TrainingScales:
    """What the formula of a kernel needs of the training points."""

    scales: Array
    neighborhoods: sparse.csr_array | None
    device: None = None  # workers compute on their CPUs


def fit_neighbors(
    rule: NeighborhoodRule, X: Array, rows: RowBlocks, n_neighbors: int, cluster: Cluster
) -> tuple[NeighborKernel, KernelRows]:
    """The kernel on distinct points X, which workers take from ``rows``, and the rows of its matrix."""
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
    found = cluster.keep(_search(points, indices, n_neighbors, groups), workers)
    scales = np.concatenate(cluster.results(task("scales", _item, one, 1) for one in found))
    check_scales(scales, np.arange(n), "Scale it up, or give rows at distance 0 once, with a larger weight")
    graph = cluster.keep(_exchange(found, groups), workers)
    K = cluster.keep(_kernel(rule, graph, groups, scales), workers)
    runs = _runs(workers, len(groups))
    columns = cluster.keep((task("columns", _columns, [K[g] for g in run]) for run in runs), _each(workers, runs))
    picks = cluster.keep((task("picks", _picks, one, groups) for one in columns), _each(workers, runs))
    own = [task("kernel-rows", _renumber, K[g], columns[k]) for k, run in enumerate(runs) for g in run]
    rows_of_kernel = cluster.keep(own, workers)
    found_columns = cluster.collect(columns)  # the graph is given up after this
    there = KernelRows(cluster, groups, workers, runs, found_columns, picks, rows_of_kernel)
    return NeighborKernel(rule, X, scales, n_neighbors), there


def _cut(n: int, count: int) -> list[slice]:
    """Rows in so many groups, or as many as there are rows."""
    count = min(count, n)
    return [slice(k * n // count, (k + 1) * n // count) for k in range(count)]


def _runs(workers: list[str] | None, count: int) -> list[range]:
    """Runs of groups of one worker each; every group by itself where it is not known who has it."""
    if workers is None:
        return [range(g, g + 1) for g in range(count)]
    borders = [0, *(g for g in range(1, count) if workers[g] != workers[g - 1]), count]
    return [range(a, b) for a, b in pairwise(borders)]


def _each(workers: list[str] | None, runs: list[range]) -> list[str] | None:
    """The worker of every run."""
    return None if workers is None else [workers[run[0]] for run in runs]


def _segments(n: int, p: int, groups: int, room: float | None) -> list[range]:
    """Runs of groups whose points a worker with so much memory can search among."""
    count = 1 if room is None else min(groups, int(_COPIES * 8 * n * p / (_ROOM * room)) + 1)
    return [range(k * groups // count, (k + 1) * groups // count) for k in range(count)]


def _search(points: list[Any], indices: list[tuple[int, Any]], k: int, groups: list[slice]) -> list[Any]:
    """For every group: the pairs within the scales of its points, and the scales; ``indices`` begin at those points."""
    return [
        task("neighbors", _merge, [task("nearest", _nearest, index, own, start) for start, index in indices], group, k)
        for own, group in zip(points, groups, strict=True)
    ]


def _exchange(found: list[Any], groups: list[slice]) -> list[Any]:
    """For every group: the distances of pairs within reach of either point, (group, n)."""
    sent = [task("split", _split, one, group, groups) for one, group in zip(found, groups, strict=True)]
    return [
        task("graph", _graph, own, [task("pairs", _item, others, g) for others in sent], groups[g], groups[-1].stop)
        for g, own in enumerate(found)
    ]


def _kernel(rule: NeighborhoodRule, graph: list[Any], groups: list[slice], scales: Array) -> list[Any]:
    """For every group: its rows of the hollow kernel matrix."""
    sent = send("all-scales", scales)
    known = [task("neighborhoods", neighborhoods, one, scales[group]) for one, group in zip(graph, groups, strict=True)]
    N = task("all-neighborhoods", _stack, known) if rule.needs_graph else None
    training = task("training-points", TrainingScales, sent, N)
    return [task("kernel", _rows, rule, *one, training) for one in zip(graph, groups, strict=True)]


def _index(points: list[Array], k: int, metric: Metric) -> Search:
    made = make_search(np.concatenate(points), k, 1, metric)
    assert isinstance(made, Search)
    return made


def _nearest(index: Search, points: Array, start: int) -> Pairs:
    i, j, d = index.nearest(points)
    return i, j + start, d


def _merge(parts: list[Pairs], group: slice, k: int) -> tuple[Pairs, Array]:
    """Pairs within the scale of the first point, which counts from the start of the group, and the scales of the group."""
    i, j, d = (np.concatenate(side) for side in zip(*parts, strict=True))
    own = np.arange(group.stop - group.start)
    off = i + group.start != j
    i, j, d = np.r_[i[off], own], np.r_[j[off], own + group.start], np.r_[d[off], np.zeros(len(own))]
    scales = kth_distances(i, d, len(own), k)
    near = d <= RIM * scales[i]
    return (i[near], j[near], d[near]), scales


def _split(found: tuple[Pairs, Array], own: slice, groups: list[slice]) -> list[Pairs]:
    """The pairs, by the group of the second point, the other way round."""
    (i, j, d), _ = found
    order = np.argsort(j, kind="stable")
    i, j, d = i[order] + own.start, j[order], d[order]
    ends = np.searchsorted(j, [group.stop for group in groups])
    parts = zip(groups, np.r_[0, ends[:-1]], ends, strict=True)
    return [(j[a:b] - group.start, i[a:b], d[a:b]) for group, a, b in parts]


def _graph(own: tuple[Pairs, Array], others: list[Pairs], group: slice, n: int) -> sparse.csr_array:
    i, j, d = (np.concatenate(side) for side in zip(own[0], *others, strict=True))
    return unique_entries(i, j, d, (group.stop - group.start, n))


def _stack(parts: list[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _rows(rule: NeighborhoodRule, graph: sparse.csr_array, group: slice, training: TrainingScales) -> sparse.csr_array:
    K = rule.logarithms(graph.copy(), training.scales[group], cast(NeighborhoodKernel, training))
    K.data = np.exp(K.data)
    own = np.repeat(np.arange(group.start, group.stop), np.diff(K.indptr)) == K.indices
    K.data[own] = 0.0
    K.eliminate_zeros()
    return K


def _columns(parts: list[sparse.csr_array]) -> Array:
    found = np.zeros(parts[0].shape[1], dtype=bool)
    for part in parts:
        found[part.indices] = True
    return np.flatnonzero(found).astype(parts[0].indices.dtype)


def _picks(columns: Array, groups: list[slice]) -> list[Array]:
    """The columns that are in a group, counted from its start, for every group that has some."""
    ends = np.searchsorted(columns, [group.stop for group in groups])
    parts = zip(groups, np.r_[0, ends[:-1]], ends, strict=True)
    return [columns[a:b] - group.start for group, a, b in parts if a < b]


def _renumber(K: sparse.csr_array, columns: Array) -> sparse.csr_array:
    """K with these columns only. Their order, and so that of the sum of a row, stays as it is."""
    number = np.empty(K.shape[1], dtype=K.indices.dtype)
    number[columns] = np.arange(len(columns))
    return sparse.csr_array((K.data, number[K.indices], K.indptr), shape=(K.shape[0], len(columns)))


def _item(parts: Any, k: int) -> Any:
    return parts[k]
