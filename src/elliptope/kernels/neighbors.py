r"""The neighbour kernel: every point has its own scale, and sees only the points near it.

With s(x) the distance from x to the k-th nearest distinct training point (a training point counts itself),

.. math:: k(x, y) = \exp\Big(-\frac{\lVert x-y\rVert^2}{s(x)\, s(y)}\Big)
          \quad\text{where}\quad \lVert x-y\rVert \le \max(s(x), s(y)), \qquad 0 \text{ elsewhere.}

A function of two points: the row of a new point is defined as that of a training point is, and the extension is exact on the
sample. Sparse and symmetric, but not positive semi-definite, which nothing in this package needs it to be.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import rows_per_block
from .._utils.checks import check_choice, check_integer
from .._utils.threads import count_threads
from .base import FittedKernel, KernelRule
from .rows import LogRows, SparseRows
from .search import Search, find_rows, kth_distances, make_search, seen_by

SEARCHES = ("exact", "approximate")
# Coordinates beyond this, and distances below its inverse, could not be squared.
_LARGEST = 1e150
# Relative difference of a distance and the distance back that is put down to rounding, be it to single precision.
_ASYMMETRY = 1e-5
# Entries that one new row takes: its neighbours, the points that see it, and the search for both.
_ROW_ENTRIES = 64


class SparseKernel(FittedKernel):
    """A kernel whose rows are mostly zero, and one on the diagonal."""

    is_sparse = True
    threaded = True  # the search is

    @abstractmethod
    def log_rows(self, X: Any) -> sparse.csr_array:
        """log k(x_i, y_j), (len(X), n), as stored entries; what is not stored is a zero of the kernel."""

    def rows(self, X: Any) -> Iterator[LogRows]:
        yield SparseRows(self.log_rows(X))

    def rows_together(self, p: int) -> int:
        return rows_per_block(min(_ROW_ENTRIES, self.n_points), p)


@dataclass(frozen=True)
class Neighbors(KernelRule):
    """How neighbours are found, for ``SDPEmbedding(kernel=...)``: ``kernel="neighbors"`` is ``Neighbors(search="exact")``.

    ``"approximate"`` is the search of pynndescent (extra ``neighbors``), for many rows in many dimensions. The kernel is
    then that of the graph that was found, and as exact as any other from there on: a training row keeps its neighbours.
    """

    search: str = "exact"

    operators = ("sparse",)
    parameters = ("n_neighbors", "n_jobs")
    scale_parameter = "n_neighbors"
    psd = False
    accepts_sparse = True
    merges_equal_rows = True

    def __post_init__(self) -> None:
        check_choice("search", self.search, SEARCHES)

    def fit(
        self, X: Any, rows: Array | None = None, *, n_neighbors: int, n_jobs: int | None = None
    ) -> NeighborKernel | GraphKernel:
        """The kernel on distinct training points X (n, p), or on those whose distances are a sparse graph X (n, n)."""
        check_integer("n_neighbors", n_neighbors, 2)
        rows = np.arange(X.shape[0]) if rows is None else rows
        if sparse.issparse(X):
            return _fit_graph(X, n_neighbors, rows)
        return self._fit_points(X[rows], n_neighbors, count_threads(n_jobs))

    def _fit_points(self, X: Array, n_neighbors: int, n_jobs: int) -> NeighborKernel:
        _check_count(n_neighbors, len(X))
        _check_range(X)
        i, j, d = _with_itself(*make_search(X, n_neighbors, self.search, n_jobs).nearest(X), len(X))
        scales = kth_distances(i, d, len(X), n_neighbors)
        _check_scales(scales, np.arange(len(X)), "Scale it up")
        graph = _distance_graph(i, j, d, scales)
        kept = graph if self.search == "approximate" else None
        return NeighborKernel(X, scales, n_neighbors, kept, n_jobs, _kernel_of(graph, scales))


@dataclass(frozen=True, eq=False)
class NeighborKernel(SparseKernel):
    """The kernel of this module on training points (n, p) with scales s (n,).

    ``graph`` holds the distances of the pairs within reach, where an approximate search found them: the rows of training
    points are then read off it.
    """

    points: Array
    scales: Array
    n_neighbors: int
    graph: sparse.csr_array | None = None
    n_jobs: int = 1
    K: sparse.csr_array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_count(self.n_neighbors, self.n_points)

    @property
    def n_points(self) -> int:
        return len(self.scales)

    @cached_property
    def _search(self) -> Search:
        return make_search(self.points, self.n_neighbors, "exact" if self.graph is None else "approximate", self.n_jobs)

    def matrix(self, n_jobs: int = 1) -> sparse.csr_array:
        if self.K is not None:
            return self.K
        if self.graph is not None:
            return _kernel_of(self.graph, self.scales)
        return _kernel_of(_distance_graph(*self._search.nearest(self.points), self.scales), self.scales)

    def log_rows(self, X: Array) -> sparse.csr_array:
        if sparse.issparse(X):
            raise ValueError("`X` must be an array of rows, as it was in `fit`, got a sparse matrix.")
        _check_range(X)
        i, j, d = self._search.nearest(X)
        scales = kth_distances(i, d, len(X), self.n_neighbors)
        within = d <= scales[i]
        back, forth, e = seen_by(X, self.points, self.scales)
        i, j, d = np.r_[i[within], back], np.r_[j[within], forth], np.r_[d[within], e]
        rows = _unique_entries(i, j, d, (len(X), self.n_points))
        if self.graph is not None:  # it, and not the search, says what the rows of training points are
            known = find_rows(self.points, X)
            new, old = np.flatnonzero(known >= 0), known[known >= 0]
            scales[new] = self.scales[old]
            rows = _replace_rows(rows, new, self.graph[old])
        return _logarithms(rows, scales, self.scales)

    def without_matrix(self) -> NeighborKernel:
        return replace(self, K=None)

    def refit(self, K: Array | None, n_jobs: int) -> NeighborKernel:
        # The graph that an approximate search has found defines the kernel.
        return self if self.graph is not None else Neighbors()._fit_points(self.points, self.n_neighbors, n_jobs)

    @property
    def fitted_values(self) -> dict[str, Array]:
        return {"scales s": self.scales}


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
    points = None

    def __post_init__(self) -> None:
        _check_count(self.n_neighbors, self.n_points)

    @property
    def n_points(self) -> int:
        return len(self.scales)

    def matrix(self, n_jobs: int = 1) -> sparse.csr_array:
        return _kernel_of(self.graph, self.scales)

    def rows_together(self, p: int) -> int:
        return super().rows_together(min(p, _ROW_ENTRIES))  # rows are sparse themselves

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


def _fit_graph(X: Any, n_neighbors: int, support: Array) -> GraphKernel:
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
