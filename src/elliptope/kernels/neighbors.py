r"""The neighbour kernel: every point has its own scale, and k vanishes beyond it.

With s(x) the distance from x to the k-th nearest distinct training point (a training point counts itself),

.. math:: k(x, y) = \exp\Big(-\frac{\lVert x-y\rVert^2}{s(x)\, s(y)}\Big)
          \quad\text{where}\quad \lVert x-y\rVert \le \max(s(x), s(y)), \qquad 0 \text{ elsewhere.}

A function of two points: the row of a new point is defined as that of a training point is, and the extension is exact on the
sample. Sparse and symmetric, but not positive semi-definite, which nothing in this package needs it to be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.checks import check_choice, check_integer
from .._utils.threads import count_threads
from .base import SPARSE_ROW_ENTRIES, KernelRule, SparseKernel
from .graphs import (
    check_distances,
    check_range,
    check_scales,
    distance_graph,
    entries,
    one_distance_per_pair,
    replace_rows,
    unique_entries,
    with_itself,
)
from .search import Search, find_rows, kth_distances, make_search, pairs_within_scales

SEARCHES = ("exact", "approximate")
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
        check_range(X)
        i, j, d = with_itself(*make_search(X, n_neighbors, self.search, n_jobs).nearest(X), len(X))
        scales = kth_distances(i, d, len(X), n_neighbors)
        check_scales(scales, np.arange(len(X)), "Scale it up")
        graph = distance_graph(i, j, d, scales)
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
        return _kernel_of(distance_graph(*self._search.nearest(self.points), self.scales), self.scales)

    def log_rows(self, X: Array) -> sparse.csr_array:
        if sparse.issparse(X):
            raise ValueError("`X` must be an array of rows, as it was in `fit`, got a sparse matrix.")
        check_range(X)
        i, j, d = self._search.nearest(X)
        scales = kth_distances(i, d, len(X), self.n_neighbors)
        within = d <= scales[i]
        back, forth, e = pairs_within_scales(X, self.points, self.scales)
        i, j, d = np.r_[i[within], back], np.r_[j[within], forth], np.r_[d[within], e]
        rows = unique_entries(i, j, d, (len(X), self.n_points))
        if self.graph is not None:  # it, and not the search, says what the rows of training points are
            known = find_rows(self.points, X)
            new, old = np.flatnonzero(known >= 0), known[known >= 0]
            scales[new] = self.scales[old]
            rows = replace_rows(rows, new, self.graph[old])
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
        return super().rows_together(min(p, SPARSE_ROW_ENTRIES))  # rows are sparse themselves

    def log_rows(self, X: sparse.csr_array) -> sparse.csr_array:
        if not sparse.issparse(X):
            raise ValueError("`X` must be a sparse graph of distances, as it was in `fit`, got an array.")
        rows = sparse.csr_array(X)[:, self.columns]
        rows.sum_duplicates()
        i, j, d = entries(rows)
        check_distances(d)
        scales = kth_distances(i, d, rows.shape[0], self.n_neighbors)
        within = d <= np.maximum(scales[i], self.scales[j])
        zero = np.flatnonzero(d == 0)
        new, first = np.unique(i[zero], return_index=True)
        old = j[zero[first]]
        scales[new] = self.scales[old]
        rows = replace_rows(unique_entries(i[within], j[within], d[within], rows.shape), new, self.graph[old])
        return _logarithms(rows, scales, self.scales)


def _fit_graph(X: Any, n_neighbors: int, support: Array) -> GraphKernel:
    """The kernel of a graph of distances (N, N) between training points, of which those in ``support`` have weight."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"`X` must be square when it is a sparse graph of distances, got shape {X.shape}.")
    graph = sparse.csr_array(X, dtype=np.float64)[support][:, support]
    graph.sum_duplicates()
    i, j, d = entries(graph)
    check_distances(d)
    n = len(support)
    i, j, d = with_itself(i, j, one_distance_per_pair(i, j, d, support), n)
    counts = np.bincount(i, minlength=n)
    if counts.min() < n_neighbors:
        row = int(counts.argmin())
        raise ValueError(
            f"`X` must hold the distances to at least n_neighbors = {n_neighbors} points in every row, itself included; row "
            f"{support[row]} has {counts[row]}."
        )
    scales = kth_distances(i, d, n, n_neighbors)
    check_scales(scales, support, "Give points that coincide once, with a larger sample_weight")
    return GraphKernel(distance_graph(i, j, d, scales), scales, n_neighbors, support)


def _check_count(n_neighbors: int, n: int) -> None:
    if n < 2:
        raise ValueError(f"`X` must have at least 2 distinct points, got {n}: a point needs another one for its scale.")
    if not 2 <= n_neighbors <= n:
        remedy = " Lower `n_neighbors`." if n_neighbors > n else ""
        raise ValueError(
            f"`n_neighbors` must be between 2 and the number of distinct points, {n}, got {n_neighbors}: a point counts as "
            f"its own first neighbour.{remedy}"
        )


def _logarithms(rows: sparse.csr_array, scales: Array, training_scales: Array) -> sparse.csr_array:
    """-d²/(s(x) s(y)), in place; quotients first, so that nothing overflows."""
    i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    rows.data = -(rows.data / scales[i]) * (rows.data / training_scales[rows.indices])
    return rows


def _kernel_of(graph: sparse.csr_array, scales: Array) -> sparse.csr_array:
    K = _logarithms(graph.copy(), scales, scales)
    K.data = np.exp(K.data)
    return K
