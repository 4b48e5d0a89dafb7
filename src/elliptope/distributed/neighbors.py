"""Kernels of neighbours: found by workers, which keep the rows of the kernel matrix that they have made.

Points are cut into groups of rows, one task each. A group asks for the neighbours of its points among all points, or where
these are too many for a worker among segments of them, one after the other, and keeps the nearest of all. Distances are
formed in one way only (:mod:`elliptope.kernels.metrics`), so that neither cut changes anything. Then groups exchange the
pairs that the other point has found, and form their rows of the kernel. Scales, (n,), are all that is collected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..kernels.graphs import check_range, check_scales, unique_entries
from ..kernels.metrics import Metric, OtherMetric, make_metric
from ..kernels.neighborhoods import NeighborhoodKernel, NeighborhoodRule, NeighborKernel, neighborhoods
from ..kernels.pairs import RIM, kth_distances
from ..kernels.search import Search, make_search
from .cluster import Cluster, task
from .order import assign
from .rows import RowBlocks

# Groups for every thread, and the most of them: all exchange pairs with all.
_GROUPS_PER_THREAD = 2
_MOST_GROUPS = 128
# Part of a worker's memory that the points of a segment may take, and copies of them in a search.
_ROOM = 0.25
_COPIES = 4

# Pairs of points with their distances: point, other point, distance.
Pairs = tuple[Array, Array, Array]


@dataclass(frozen=True)
class KernelRows:
    """Rows of the hollow kernel matrix, kept by the workers: a task for every group of rows."""

    cluster: Cluster
    groups: list[slice]
    rows: list[Any] = field(repr=False)

    @property
    def n(self) -> int:
        return self.groups[-1].stop


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
    if rule.search != "exact":
        raise ValueError(f"`search` must be 'exact' for a fit on a cluster, got {rule.search!r}.")
    check_range(X)
    metric = make_metric(rule.metric or "euclidean", rule.metric_params, p)
    metric.prepare(X)  # complains of rows that it cannot take
    if isinstance(metric, OtherMetric):
        metric.try_out(X)
    groups = _cut(n, cluster.threads())
    workers = assign([group.stop - group.start for group in groups], cluster.threads())
    points = cluster.keep((task("points", metric.prepare, rows.block(group)) for group in groups), workers)
    found = _search(cluster, points, metric, n_neighbors, groups, _segments(n, p, len(groups), cluster.memory()))
    scales = np.concatenate(cluster.results(task("scales", _item, one, 1) for one in found))
    check_scales(scales, np.arange(n), "Scale it up, or give rows at distance 0 once, with a larger weight")
    graph = _exchange(cluster, found, groups)
    K = _kernel(cluster, rule, graph, groups, scales)
    return NeighborKernel(rule, X, scales, n_neighbors), KernelRows(cluster, groups, K)


def _cut(n: int, threads: dict[str, int]) -> list[slice]:
    count = min(max(1, _GROUPS_PER_THREAD * sum(threads.values())), _MOST_GROUPS, n)
    return [slice(k * n // count, (k + 1) * n // count) for k in range(count)]


def _segments(n: int, p: int, groups: int, room: float | None) -> list[range]:
    """Runs of groups whose points a worker with so much memory can search among."""
    count = 1 if room is None else min(groups, int(_COPIES * 8 * n * p / (_ROOM * room)) + 1)
    return [range(k * groups // count, (k + 1) * groups // count) for k in range(count)]


def _search(
    cluster: Cluster, points: list[Any], metric: Metric, k: int, groups: list[slice], segments: list[range]
) -> list[Any]:
    """For every group: the pairs within the scales of its points, and the scales."""
    found: list[list[Any]] = [[] for _ in points]
    for segment in segments:
        index = task("index", _index, [points[g] for g in segment], k, metric)
        for own, parts in zip(points, found, strict=True):
            parts.append(task("nearest", _nearest, index, own, groups[segment[0]].start))
    return cluster.keep(task("neighbors", _merge, parts, group, k) for parts, group in zip(found, groups, strict=True))


def _exchange(cluster: Cluster, found: list[Any], groups: list[slice]) -> list[Any]:
    """For every group: the distances of pairs within reach of either point, (group, n)."""
    sent = [task("split", _split, one, group, groups) for one, group in zip(found, groups, strict=True)]
    return cluster.keep(
        task("graph", _graph, own, [task("pairs", _item, others, g) for others in sent], groups[g], groups[-1].stop)
        for g, own in enumerate(found)
    )


def _kernel(cluster: Cluster, rule: NeighborhoodRule, graph: list[Any], groups: list[slice], scales: Array) -> list[Any]:
    """For every group: its rows of the hollow kernel matrix."""
    sent = task("all-scales", np.array, scales)
    known = [task("neighborhoods", _neighborhoods, one, scales[group]) for one, group in zip(graph, groups, strict=True)]
    N = task("all-neighborhoods", _stack, known) if rule.needs_graph else None
    training = task("training-points", TrainingScales, sent, N)
    made = cluster.keep(task("kernel", _rows, rule, *one, training) for one in zip(graph, groups, strict=True))
    cluster.results([task("entries", _count, made)])  # the graph is given up after this
    return made


def _index(points: list[Array], k: int, metric: Metric) -> Search:
    search = make_search(np.concatenate(points), k, "exact", 1, metric)
    assert isinstance(search, Search)
    return search


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


def _neighborhoods(graph: sparse.csr_array, scales: Array) -> sparse.csr_array:
    return neighborhoods(graph, scales)


def _stack(parts: list[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _rows(rule: NeighborhoodRule, graph: sparse.csr_array, group: slice, training: TrainingScales) -> sparse.csr_array:
    K = rule.logarithms(graph.copy(), training.scales[group], cast(NeighborhoodKernel, training))
    K.data = np.exp(K.data)
    own = np.repeat(np.arange(group.start, group.stop), np.diff(K.indptr)) == K.indices
    K.data[own] = 0.0
    K.eliminate_zeros()
    return K


def _count(parts: list[sparse.csr_array]) -> int:
    return sum(part.nnz for part in parts)


def _item(parts: Any, k: int) -> Any:
    return parts[k]
