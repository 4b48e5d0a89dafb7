"""Kernels that vanish beyond the nearest points: what :mod:`neighbors` and :mod:`overlap` share.

Every point x has a scale s(x): the distance to the k-th nearest distinct training point (a training point counts itself),
or to the last one before distances jump by more than a factor of two, from the fourth on. Its neighbourhood N(x) are the
training points within s(x). A pair is *within reach* where d(x, y) ≤ max(s(x), s(y)), and k(x, y) is zero elsewhere.
How often a point occurs, and its weight, change neither. d is any metric of :mod:`metrics`.

All this depends on two points alone: the row of a new point is defined as that of a training point is, and the extension is
exact on the sample. Such kernels are symmetric, but not positive semi-definite, which nothing here needs them to be.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import rows_per_block
from .._utils.checks import check_integer
from .._utils.threads import count_threads
from .base import SPARSE_ROW_ENTRIES, KernelRule, SparseKernel
from .device_search import search_for
from .metrics import PRECOMPUTED, Metric, OtherMetric, RowError, check_metric, make_metric
from .pairs import (
    RIM,
    canonical,
    check_distances,
    check_range,
    check_scales,
    distance_graph,
    entries,
    graph_of,
    has_empty_diagonal,
    reaches,
    replace_rows,
    rows_of_distances,
    unique_entries,
    with_itself,
)
from .search import Search
from .sparse_search import SparseSearch

_DEFAULT_METRIC = "euclidean"


@dataclass(frozen=True)
class NeighborhoodRule(KernelRule):
    """Which neighbours count: what :class:`Neighbors` and :class:`Overlap` share."""

    metric: str | Callable[..., float] | None = None
    metric_params: dict[str, Any] | None = None

    operators = ("sparse",)
    parameters = ("n_neighbors", "n_jobs")
    uses_device = True
    scale_parameter = "n_neighbors"
    accepts_sparse = True
    merges_equal_rows = True
    needs_graph = False  # whether rows of new points depend on the distances between training points

    def __post_init__(self) -> None:
        if self.metric is not None:
            check_metric(self.metric)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise ValueError(f"`metric_params` must be a dictionary or None, got {self.metric_params!r}.")

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == PRECOMPUTED

    def for_metric(self, metric: Any) -> Self:
        check_metric(metric)
        if self.metric is None:
            return replace(self, metric=metric)
        if metric not in (_DEFAULT_METRIC, self.metric):
            raise ValueError(f"`metric` must be that of the kernel, {self.metric!r}, or be left out, got {metric!r}.")
        return self

    def holds_distances(self, X: Any) -> bool:
        if self.pairwise:
            return True
        # Rows of features, of which no feature i is in row i, for all of as many rows as features: improbable.
        looks_so = sparse.issparse(X) and X.shape[0] == X.shape[1] and has_empty_diagonal(X)
        return looks_so and self.metric in (None, _DEFAULT_METRIC)

    def fit(
        self, X: Any, rows: Array | None = None, *, n_neighbors: int, n_jobs: int | None = None, device: Any = None
    ) -> NeighborKernel | GraphKernel:
        """The kernel on distinct training points X (n, p), or on those whose distances are X (n, n).

        X holds distances where the metric is "precomputed", and where X is a square sparse matrix with an empty diagonal.
        """
        check_integer("n_neighbors", n_neighbors, 2)
        rows = np.arange(X.shape[0]) if rows is None else rows
        if self.holds_distances(X):
            graph, scales = graph_of(X, n_neighbors, rows)
            return GraphKernel(self, graph, scales, n_neighbors, rows)
        try:
            return self.fit_points(canonical(X[rows]), n_neighbors, count_threads(n_jobs), device)
        except RowError:
            _prepared(self.metric_for(X), canonical(X), self.metric)  # its error names all rows of X, equal ones, too
            raise

    def fit_points(self, X: Any, n_neighbors: int, n_jobs: int, device: Any = None) -> NeighborKernel:
        n = X.shape[0]
        _check_count(n_neighbors, n)
        metric = self.metric_for(X)
        points = _prepared(metric, X, self.metric)
        if isinstance(metric, OtherMetric):
            metric.try_out(points)
        found = search_for(points, n_neighbors, n_jobs, metric, device).nearest(points)
        i, j, d = with_itself(*found, n)
        scales = reaches(i, d, n, n_neighbors)
        plain = self.metric in (None, _DEFAULT_METRIC)
        check_scales(scales, np.arange(n), "Scale it up" if plain else "Give rows at distance 0 once, with a larger weight")
        graph = distance_graph(i, j, d, scales, device)
        kept = graph if self.needs_graph else None
        kernel = NeighborKernel(self, X, scales, n_neighbors, graph, n_jobs, device)
        return replace(kernel, graph=kept, K=kernel.matrix())

    def metric_for(self, X: Any) -> Metric:
        return make_metric(self.metric or _DEFAULT_METRIC, self.metric_params, X.shape[1])

    def row_entries(self, n_neighbors: int) -> int:
        """Entries that one new row takes while it is made."""
        return SPARSE_ROW_ENTRIES

    @abstractmethod
    def seen_by(
        self, kernel: NeighborKernel, X: Any, neighbors: sparse.csr_array, scales: Array
    ) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) within the scale of the training point, and their distances.

        ``neighbors`` (len(X), n) has the distances of those within the ``scales`` of the rows, which may be left out; and so
        may pairs for which the kernel vanishes.
        """

    @abstractmethod
    def logarithms(self, rows: sparse.csr_array, scales: Array, training: NeighborhoodKernel) -> sparse.csr_array:
        """log k from the distances of all pairs within reach, for points with these scales and the training points."""


class NeighborhoodKernel(SparseKernel):
    """A kernel of this module, fitted: scales s (n,), and where they are kept the distances of pairs within reach."""

    rule: NeighborhoodRule
    scales: Array
    n_neighbors: int
    graph: sparse.csr_array | None
    device: Any = None

    def __post_init__(self) -> None:
        _check_count(self.n_neighbors, self.n_points)

    @property
    def n_points(self) -> int:
        return len(self.scales)

    def matrix(self, n_jobs: int = 1) -> sparse.csr_array:
        assert self.graph is not None
        K = self.rule.logarithms(self.graph.copy(), self.scales, self)
        K.data = np.exp(K.data)
        return K

    @cached_property
    def neighborhoods(self) -> sparse.csr_array:
        """N(x) of the training points, as rows of ones."""
        return neighborhoods(self.distances(), self.scales)

    def distances(self) -> sparse.csr_array:
        """The distances of pairs within reach."""
        assert self.graph is not None
        return self.graph


def neighborhoods(rows: sparse.csr_array, scales: Array) -> sparse.csr_array:
    """N(x), as rows of ones, from the distances of pairs within reach."""
    i, j, d = entries(rows)
    near = d <= RIM * scales[i]
    ends = np.cumsum(np.bincount(i[near], minlength=len(scales)))
    parts = (np.ones(near.sum(), dtype=np.int32), j[near].astype(np.int32), np.r_[0, ends].astype(np.int32))
    return sparse.csr_array(parts, shape=rows.shape)


@dataclass(frozen=True, eq=False)
class NeighborKernel(NeighborhoodKernel):
    """On training points (n, p), dense or sparse."""

    rule: NeighborhoodRule
    points: Any
    scales: Array
    n_neighbors: int
    graph: sparse.csr_array | None = None
    n_jobs: int = 1
    device: Any = field(default=None, repr=False)  # where neighbours are searched for; None for the CPU
    K: sparse.csr_array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_sparse(self.metric, self.points, self.rule.metric)

    @cached_property
    def metric(self) -> Metric:
        return self.rule.metric_for(self.points)

    @cached_property
    def prepared(self) -> Any:
        return _prepared(self.metric, self.points, self.rule.metric)

    def check_rows(self, X: Any) -> None:
        """Raise a ``RowError`` that names all rows of X which the metric cannot take."""
        _prepared(self.metric, self._like_points(X), self.rule.metric)

    @cached_property
    def search(self) -> Search | SparseSearch:
        return search_for(self.prepared, self.n_neighbors, self.n_jobs, self.metric, self.device)

    def rows_together(self, p: int) -> int:
        width = -(-self.points.nnz // self.n_points) if sparse.issparse(self.points) else p
        return rows_per_block(min(self.rule.row_entries(self.n_neighbors), self.n_points), width)

    def matrix(self, n_jobs: int = 1) -> sparse.csr_array:
        if self.K is not None:
            return self.K
        return super().matrix(n_jobs) if self.graph is not None else replace(self, graph=self.distances()).matrix(n_jobs)

    def distances(self) -> sparse.csr_array:
        """Found again where they have not been kept."""
        return distance_graph(*self.search.nearest(self.prepared), self.scales) if self.graph is None else self.graph

    def log_scales(self, X: Any = None) -> Array:
        if X is None:
            return np.log(self.scales)
        i, _, d = self.search.nearest(_prepared(self.metric, self._like_points(X), self.rule.metric))
        return np.log(reaches(i, d, X.shape[0], self.n_neighbors))

    def _like_points(self, X: Any) -> Any:
        """Sparse rows where the points are sparse, and dense ones where they are dense."""
        if sparse.issparse(self.points):
            return canonical(sparse.csr_array(X))
        return X.toarray() if sparse.issparse(X) else X

    def log_rows(self, X: Any) -> sparse.csr_array:
        X = self._like_points(X)
        new = _prepared(self.metric, X, self.rule.metric)
        shape = (X.shape[0], self.n_points)
        i, j, d = self.search.nearest(new)
        scales = reaches(i, d, shape[0], self.n_neighbors)
        near = d <= RIM * scales[i]
        rows = unique_entries(i[near], j[near], d[near], shape)
        i, j, d = self.rule.seen_by(self, new, rows, scales)
        own = entries(rows)
        rows = unique_entries(np.r_[own[0], i], np.r_[own[1], j], np.r_[own[2], d], shape)
        return self.rule.logarithms(rows, scales, self)

    def without_matrix(self) -> NeighborKernel:
        return replace(self, K=None)

    def on(self, device: Any | None) -> NeighborKernel:
        return self if device == self.device else replace(self, device=device)

    def refit(self, K: Array | None, n_jobs: int) -> NeighborKernel:
        return self.rule.fit_points(self.points, self.n_neighbors, n_jobs)

    @property
    def fitted_values(self) -> dict[str, Array]:
        counts = {} if self.graph is None else {"numbers of points within reach": np.diff(self.graph.indptr)}
        return {"scales s": self.scales, **counts}


@dataclass(frozen=True, eq=False)
class GraphKernel(NeighborhoodKernel):
    """On points that are known by their distances only: a graph, as scikit-learn's transformers make, or all of them.

    A row to be extended that has a distance of zero is that training point, and has its neighbours. Another one has those
    that it names: its extension is that of the same point given by coordinates if it names all training points within reach,
    which are the nearest ones and those that it is near to. ``columns`` are those of the training points that have weight.
    """

    rule: NeighborhoodRule
    graph: sparse.csr_array
    scales: Array
    n_neighbors: int
    columns: Array
    points = None

    def rows_together(self, p: int) -> int:
        return super().rows_together(min(p, SPARSE_ROW_ENTRIES))  # rows are sparse themselves

    def log_scales(self, X: Any = None) -> Array:
        if X is None:
            return np.log(self.scales)
        i, _, d = entries(rows_of_distances(X, self.columns))
        return np.log(reaches(i, d, X.shape[0], self.n_neighbors))

    def log_rows(self, X: Any) -> sparse.csr_array:
        if not sparse.issparse(X) and not self.rule.pairwise:
            raise ValueError("`X` must be a sparse graph of distances, as it was in `fit`, got an array.")
        rows = rows_of_distances(X, self.columns)
        i, j, d = entries(rows)
        check_distances(d)
        scales = reaches(i, d, rows.shape[0], self.n_neighbors)
        within = d <= RIM * np.maximum(scales[i], self.scales[j])
        zero = np.flatnonzero(d == 0)
        new, first = np.unique(i[zero], return_index=True)
        old = j[zero[first]]
        scales[new] = self.scales[old]
        rows = replace_rows(unique_entries(i[within], j[within], d[within], rows.shape), new, self.graph[old])
        return self.rule.logarithms(rows, scales, self)


def few_neighbors(n: int) -> int:
    """Neighbours that tell n distinct points apart, for a small n: with all of them every point looks like every other."""
    return max(2, math.ceil(n / 3))


def _check_count(n_neighbors: int, n: int) -> None:
    if n < 2:
        raise ValueError(f"`X` must have at least 2 distinct points, got {n}: a point needs another one for its scale.")
    if not 2 <= n_neighbors <= n:
        remedy = " Lower `n_neighbors`." if n_neighbors > n else ""
        raise ValueError(
            f"`n_neighbors` must be between 2 and the number of distinct points, {n}, got {n_neighbors}: a point counts as "
            f"its own first neighbour.{remedy}"
        )


def _check_sparse(metric: Metric, X: Any, name: Any) -> None:
    if sparse.issparse(X) and not metric.takes_sparse:
        raise ValueError(
            f"`X` must be dense for metric={name!r}, got a sparse matrix; 'cosine', 'euclidean' and 'manhattan' take one."
        )


def _prepared(metric: Metric, X: Any, name: Any) -> Any:
    """Rows as the search wants them."""
    _check_sparse(metric, X, name)
    check_range(X)
    return metric.prepare(X)
