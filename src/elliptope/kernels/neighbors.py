r"""The neighbour kernel: every point brings its own scale, and sees only its surroundings.

With s(x) the distance from x to the k-th nearest distinct training point (a training point counts itself),

.. math:: k(x, y) = \exp\Big(-\frac{\lVert x-y\rVert^2}{s(x)\, s(y)}\Big)
          \quad\text{where}\quad \lVert x-y\rVert \le \max(s(x), s(y)), \qquad 0 \text{ elsewhere.}

A function of two points: the row of a new point is defined as that of a training point is, and the extension is exact on the
sample. Sparse and symmetric, but not positive semi-definite, which nothing in this package needs it to be.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.checks import check_choice
from .base import Kernel
from .search import Search, find_rows, kth_distances, make_search, seen_by

SEARCHES = ("exact", "approximate")
# Coordinates beyond this, and distances below its inverse, could not be squared.
_LARGEST = 1e150
# Relative difference of a distance and the distance back that is put down to rounding, be it to single precision.
_ASYMMETRY = 1e-5


class SparseKernel(Kernel):
    """A kernel whose rows, against the training points it was made for, are mostly zero."""

    @abstractmethod
    def log_rows(self, X: Any) -> sparse.csr_array:
        """log k(x_i, y_j), (len(X), n), as stored entries; what is not stored is a zero of the kernel."""

    @abstractmethod
    def matrix(self) -> sparse.csr_array:
        """K on the training points, (n, n), symmetric."""

    @property
    @abstractmethod
    def n_points(self) -> int: ...

    def log_block(self, X: Any, Y: Array) -> Array:
        rows = self.log_rows(X).tocoo()
        block = np.full(rows.shape, -np.inf)
        block[rows.row, rows.col] = rows.data
        return block

    def diagonal(self, X: Any) -> Array:
        return np.ones(X.shape[0])

    def sobolev_order(self, p: int) -> float:
        return np.nan


@dataclass(frozen=True)
class Neighbors:
    """How neighbours are found, for ``SDPEmbedding(kernel=...)``: ``kernel="neighbors"`` is ``Neighbors(search="exact")``.

    ``"approximate"`` is the search of pynndescent (extra ``neighbors``), for many rows in many dimensions. The kernel is
    then that of the graph that was found, and as exact as any other from there on: a training row keeps its neighbours.
    """

    search: str = "exact"

    def __post_init__(self) -> None:
        check_choice("search", self.search, SEARCHES)

    def fit(self, X: Array, n_neighbors: int, n_jobs: int = 1) -> tuple[NeighborKernel, sparse.csr_array]:
        """The kernel on distinct training points X (n, p), and its matrix there."""
        _check_count(n_neighbors, len(X))
        _check_range(X)
        i, j, d = _with_itself(*make_search(X, n_neighbors, self.search, n_jobs).nearest(X), len(X))
        scales = kth_distances(i, d, len(X), n_neighbors)
        _check_scales(scales, np.arange(len(X)), "Scale it up")
        graph = _distance_graph(i, j, d, scales)
        kernel = NeighborKernel(X, scales, n_neighbors, graph if self.search == "approximate" else None, n_jobs)
        return kernel, _kernel_of(graph, scales)


def neighbor_rule(kernel: Any) -> Neighbors | None:
    """The rule that a ``kernel`` parameter stands for; None for all other kernels."""
    if isinstance(kernel, str) and kernel == "neighbors":
        return Neighbors()
    return kernel if isinstance(kernel, Neighbors) else None


@dataclass(frozen=True, eq=False)
class NeighborKernel(SparseKernel):
    """The kernel of this module on training points ``X`` (n, p) with scales s (n,).

    ``graph`` holds the distances of the pairs within reach, where an approximate search found them: the rows of training
    points are then read off it.
    """

    X: Array
    scales: Array
    n_neighbors: int
    graph: sparse.csr_array | None = None
    n_jobs: int = 1

    def __post_init__(self) -> None:
        _check_count(self.n_neighbors, self.n_points)

    @property
    def n_points(self) -> int:
        return len(self.scales)

    @cached_property
    def _search(self) -> Search:
        return make_search(self.X, self.n_neighbors, "exact" if self.graph is None else "approximate", self.n_jobs)

    def matrix(self) -> sparse.csr_array:
        if self.graph is None:
            i, j, d = self._search.nearest(self.X)
            graph = _distance_graph(i, j, d, self.scales)
        else:
            graph = self.graph
        return _kernel_of(graph, self.scales)

    def log_rows(self, X: Array) -> sparse.csr_array:
        if sparse.issparse(X):
            raise ValueError("`X` must be an array of rows, as it was in `fit`, got a sparse matrix.")
        _check_range(X)
        i, j, d = self._search.nearest(X)
        scales = kth_distances(i, d, len(X), self.n_neighbors)
        within = d <= scales[i]
        back, forth, e = seen_by(X, self.X, self.scales)
        i, j, d = np.r_[i[within], back], np.r_[j[within], forth], np.r_[d[within], e]
        rows = _unique_entries(i, j, d, (len(X), self.n_points))
        known = self._known(X)
        if known is not None:
            new, old = np.flatnonzero(known >= 0), known[known >= 0]
            assert self.graph is not None
            scales[new] = self.scales[old]
            rows = _replace_rows(rows, new, self.graph[old])
        return _logarithms(rows, scales, self.scales)

    def _known(self, X: Array) -> Array | None:
        """Which training point each row is, or -1; None where the rule itself gives the rows of training points."""
        return None if self.graph is None else find_rows(self.X, X)


@dataclass(frozen=True, eq=False)
class GraphKernel(SparseKernel):
    """The kernel on points that are known by their distances only: a graph, as scikit-learn's transformers make.

    A row to be extended that has a distance of zero is that training point, and has its neighbours. Another one has those
    that it names: its extension is that of the same point given by coordinates if it names all training points within reach,
    which are the nearest ones and those that it is near to. ``columns`` are those of the training points that have weight.
    """

    graph: sparse.csr_array
    scales: Array
    n_neighbors: int
    columns: Array

    def __post_init__(self) -> None:
        _check_count(self.n_neighbors, self.n_points)

    @property
    def n_points(self) -> int:
        return len(self.scales)

    def matrix(self) -> sparse.csr_array:
        return _kernel_of(self.graph, self.scales)

    def log_rows(self, X: sparse.csr_array) -> sparse.csr_array:
        if not sparse.issparse(X):
            raise ValueError("`X` must be a sparse graph of distances, as it was in `fit`, got an array.")
        rows = sparse.csr_array(X)[:, self.columns]
        rows.sum_duplicates()
        i, j, d = _entries(rows)
        _check_distances(d)
        scales = kth_distances(i, d, rows.shape[0], self.n_neighbors)
        within = d <= np.maximum(scales[i], self.scales[j])
        zero = np.flatnonzero(d == 0)
        new, first = np.unique(i[zero], return_index=True)
        old = j[zero[first]]
        scales[new] = self.scales[old]
        rows = _replace_rows(_unique_entries(i[within], j[within], d[within], rows.shape), new, self.graph[old])
        return _logarithms(rows, scales, self.scales)


def graph_kernel(X: Any, n_neighbors: int, support: Array) -> GraphKernel:
    """The kernel of a graph of distances (N, N) between training points, of which those in ``support`` have weight."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"`X` must be square when it is a sparse graph of distances, got shape {X.shape}.")
    graph = sparse.csr_array(X, dtype=np.float64)[support][:, support]
    graph.sum_duplicates()
    i, j, d = _entries(graph)
    _check_distances(d)
    n = len(support)
    i, j, d = _with_itself(i, j, _one_distance_per_pair(i, j, d, support), n)
    counts = np.bincount(i, minlength=n)
    if counts.min() < n_neighbors:
        row = int(counts.argmin())
        raise ValueError(
            f"`X` must hold the distances to at least n_neighbors = {n_neighbors} points in every row, itself included; row "
            f"{support[row]} has {counts[row]}."
        )
    scales = kth_distances(i, d, n, n_neighbors)
    _check_scales(scales, support, "Give points that coincide once, with a larger sample_weight")
    return GraphKernel(_distance_graph(i, j, d, scales), scales, n_neighbors, support)


def _check_count(n_neighbors: int, n: int) -> None:
    if n < 2:
        raise ValueError(f"`X` must have at least 2 distinct points, got {n}: a point needs another one for its scale.")
    if not 2 <= n_neighbors <= n:
        remedy = " Lower `n_neighbors`." if n_neighbors > n else ""
        raise ValueError(
            f"`n_neighbors` must be between 2 and the number of distinct points, {n}, got {n_neighbors}: a point counts as "
            f"its own first neighbour.{remedy}"
        )


def _check_range(X: Array) -> None:
    size = float(np.abs(X).max(initial=0.0))
    if size > _LARGEST:
        raise ValueError(f"`X` must be at most {_LARGEST:g} in size, so that distances can be squared, got {size:.6g}.")


def _check_distances(d: Array) -> None:
    if d.min(initial=0.0) < 0 or d.max(initial=0.0) > _LARGEST:
        raise ValueError(f"`X` must hold distances from 0 to {_LARGEST:g}, got {d.min():.6g} to {d.max():.6g}.")


def _one_distance_per_pair(i: Array, j: Array, d: Array, rows: Array) -> Array:
    """The smaller one where a graph has d(x_i, x_j) and d(x_j, x_i), which may differ by rounding alone."""
    pair = np.minimum(i, j) * len(rows) + np.maximum(i, j)
    order = np.lexsort((d, pair))
    _, start, place = np.unique(pair[order], return_index=True, return_inverse=True)
    smallest = d[order[start]][place.ravel()]
    off = order[d[order] > (1 + _ASYMMETRY) * smallest]
    if len(off):
        a, b = rows[i[off[0]]], rows[j[off[0]]]
        raise ValueError(f"`X` must hold one distance for every pair of points, got two for points {a} and {b}.")
    out = np.empty_like(d)
    out[order] = smallest
    return out


def _check_scales(scales: Array, rows: Array, remedy: str) -> None:
    if scales.min() < 1 / _LARGEST:
        raise ValueError(
            f"`X` must have distances of at least {1 / _LARGEST:g} among those to the n_neighbors nearest points; in row "
            f"{rows[scales.argmin()]} the largest is {scales.min():.6g}. {remedy}."
        )


def _with_itself(i: Array, j: Array, d: Array, n: int) -> tuple[Array, Array, Array]:
    """Pairs of training points, every point with itself once: an approximate search, or a graph, may not name it."""
    off, itself = i != j, np.arange(n)
    return np.r_[i[off], itself], np.r_[j[off], itself], np.r_[d[off], np.zeros(n)]


def _distance_graph(i: Array, j: Array, d: Array, scales: Array) -> sparse.csr_array:
    """The pairs within reach of either point, both ways; distances of zero are stored."""
    within = d <= np.maximum(scales[i], scales[j])
    i, j, d = i[within], j[within], d[within]
    return _unique_entries(np.r_[i, j], np.r_[j, i], np.r_[d, d], (len(scales), len(scales)))


def _unique_entries(i: Array, j: Array, d: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """Entries given once or more, with one value each, stored once, in order."""
    _, first = np.unique(i.astype(np.int64) * shape[1] + j, return_index=True)
    counts = np.bincount(i[first], minlength=shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((d[first], j[first], indptr), shape=shape)


def _replace_rows(rows: sparse.csr_array, which: Array, by: sparse.csr_array) -> sparse.csr_array:
    if len(which) == 0:
        return rows
    i, j, d = _entries(rows)
    keep = ~np.isin(i, which)
    k, other, e = _entries(by)
    return _unique_entries(np.r_[i[keep], which[k]], np.r_[j[keep], other], np.r_[d[keep], e], rows.shape)


def _entries(rows: sparse.csr_array) -> tuple[Array, Array, Array]:
    """Row, column and value of what is stored, zeros included."""
    i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return i, rows.indices.astype(np.intp), rows.data


def _logarithms(rows: sparse.csr_array, scales: Array, training_scales: Array) -> sparse.csr_array:
    """-d²/(s(x) s(y)), in place; quotients first, so that nothing overflows."""
    i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    rows.data = -(rows.data / scales[i]) * (rows.data / training_scales[rows.indices])
    return rows


def _kernel_of(graph: sparse.csr_array, scales: Array) -> sparse.csr_array:
    K = _logarithms(graph.copy(), scales, scales)
    K.data = np.exp(K.data)
    return K
