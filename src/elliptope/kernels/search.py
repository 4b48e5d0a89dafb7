r"""Exact search for neighbours among dense rows; :mod:`elliptope.kernels.sparse_search` has sparse ones.

Whether a pair is within reach is decided by distances formed in one way only (:meth:`Metric.between`), so that a pair
at exactly that distance is not found or lost by the rounding of a search, nor by what other rows are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import sklearn  # of which modules are imported when they are used first
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.threads import in_order, usable_cores
from .metrics import Euclidean, Metric, Minkowski, OtherMetric, Rows
from .pairs import EXPANSION, RIM, SLACK, flatten, join, kth_distances
from .sparse_search import SparseSearch

# Candidates beyond the k-th, among which rounding may have changed the order.
_SPARE = 2
# New points up to which :meth:`Search.within` compares all distances.
_FEW = 64
# Columns beyond which trees do not beat comparing all distances.
_TREE_DIMENSION = 15
# Points in a leaf of a tree, and groups of training points that are searched for one after the other; by measurement.
_LEAF = 32
_GROUPS = 8
# Rows that a thread searches for at a time, where it is not the library that has the threads.
_THREAD_ROWS = 256

EUCLIDEAN = Euclidean()


class Search(ABC):
    """The nearest training points, with distances of :class:`Metric`. All rows are prepared for it."""

    def __init__(self, X: Rows, n_neighbors: int, n_jobs: int = 1, metric: Metric = EUCLIDEAN) -> None:
        self._X, self._k, self._n_jobs, self._metric = X, n_neighbors, n_jobs, metric
        self._asked = min(n_neighbors + _SPARE, X.shape[0])

    def nearest(self, X: Rows) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) and their distances: at least the k nearest, and all that tie with the k-th."""
        i, j = flatten(self._candidates(X))
        c = self._metric.between(X, self._X, i, j)
        doubtful = self._doubtful(X, i, c)
        if len(doubtful):
            again, others = self._search_again(X[doubtful], kth_distances(i, c, X.shape[0], self._k)[doubtful])
            again, rest = doubtful[again], ~np.isin(i, doubtful)
            i, j = np.r_[i[rest], again], np.r_[j[rest], others]
            c = np.r_[c[rest], self._metric.between(X, self._X, again, others)]
        return i, j, self._metric.value(c)

    @abstractmethod
    def _candidates(self, X: Array) -> Array:
        """Indices of training points, as many for every row."""

    def _doubtful(self, X: Array, i: Array, c: Array) -> Array:
        """Rows for which there may be others as near as the k-th of the candidates, at distances c of rows i."""
        if self._asked == self._X.shape[0]:
            return np.empty(0, dtype=np.intp)
        last = c.reshape(len(X), -1).max(axis=1)
        kth = kth_distances(i, c, len(X), self._k)
        return np.flatnonzero(last**2 <= (SLACK * kth) ** 2 + self._rounding(X))

    def _rounding(self, X: Array) -> Array | float:
        """What squared distances may be wrong by when the search compares them, beside what ``SLACK`` covers."""
        return 0.0

    @abstractmethod
    def _search_again(self, X: Array, kth: Array) -> tuple[Array, Array]:
        """Pairs (row, training point) with all that are as near as the k-th nearest, which is no farther than ``kth``."""

    def within(self, X: Array, scales: Array, known: Array) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) no farther apart than the scale of the training point, and their distances.

        Pairs no farther apart than the entry of the row in ``known``, (len(X),), may be left out.
        """
        radii = SLACK * self._metric.radius(scales)
        i, j = self._compare_all(X, radii) if len(X) <= _FEW else self._within(X, radii, self._metric.radius(known))
        d = self._metric.value(self._metric.between(X, self._X, i, j))
        near = d <= RIM * scales[j]
        return i[near], j[near], d[near]

    def _within(self, X: Array, radii: Array, known: Array) -> tuple[Array, Array]:
        """Candidates for :meth:`within`, in the units of the search."""
        return self._compare_all(X, radii)

    def _compare_all(self, X: Array, radii: Array) -> tuple[Array, Array]:
        return _expanded_within(X, self._X, radii)


class TreeSearch(Search):
    """A tree, which compares distances formed from differences; for few columns and Minkowski distances."""

    _metric: Minkowski

    @cached_property
    def _tree(self) -> cKDTree:
        return _tree(self._X)

    def _candidates(self, X: Array) -> Array:
        # One after the other, near rows need the same part of the tree: in twice the time otherwise.
        order = near_rows_together(X)
        found = np.empty((len(X), self._asked), dtype=np.intp)
        asked = range(1, self._asked + 1)
        found[order] = self._tree.query(X[order], k=asked, p=self._metric.order, workers=self._n_jobs)[1]
        return found

    def _search_again(self, X: Array, kth: Array) -> tuple[Array, Array]:
        return self._balls(self._tree, X, SLACK * kth)

    def _balls(self, tree: cKDTree, X: Array, radii: Array) -> tuple[Array, Array]:
        return join(tree.query_ball_point(X, radii, p=self._metric.order, workers=self._n_jobs, return_sorted=False))

    def _within(self, X: Array, radii: Array, known: Array) -> tuple[Array, Array]:
        """Every training point asks a tree of new points; those whose known pairs reach farther than it sees are left out.

        Training points are asked in groups of similar radii, so that those of small ones see a small tree.
        """
        pairs = []
        for group in np.array_split(np.argsort(radii), _GROUPS):
            rows = np.flatnonzero(known < radii[group].max(initial=0.0))
            if len(rows):
                group = group[near_rows_together(self._X[group])]
                j, i = self._balls(_tree(X[rows]), self._X[group], radii[group])
                pairs.append((rows[i], group[j]))
        return _concatenate(pairs)

    def _compare_all(self, X: Array, radii: Array) -> tuple[Array, Array]:
        if self._metric.order == 2:
            return super()._compare_all(X, radii)
        i, j = np.nonzero(cdist(X, self._X, "minkowski", p=self._metric.order) <= radii)
        return i, j


class BallSearch(Search):
    """A ball tree of scikit-learn, for any distance that it takes."""

    @cached_property
    def _distance(self) -> sklearn.metrics.DistanceMetric:
        if isinstance(self._metric, OtherMetric):
            return self._metric.distance
        assert isinstance(self._metric, Minkowski)
        return sklearn.metrics.DistanceMetric.get_metric("minkowski", p=self._metric.order)

    @cached_property
    def _tree(self) -> sklearn.neighbors.BallTree:
        return sklearn.neighbors.BallTree(self._X, metric=self._distance)

    def _candidates(self, X: Array) -> Array:
        tree = self._tree

        def some(part: slice) -> Array:
            return tree.query(X[part], k=self._asked, return_distance=False)

        return np.concatenate(list(in_order(some, blocks(0, len(X), _THREAD_ROWS), self._n_jobs)))

    def _search_again(self, X: Array, kth: Array) -> tuple[Array, Array]:
        return join(self._tree.query_radius(X, SLACK * kth))

    def _within(self, X: Array, radii: Array, known: Array) -> tuple[Array, Array]:
        j, i = join(sklearn.neighbors.BallTree(X, metric=self._distance).query_radius(self._X, radii))
        return i, j

    def _compare_all(self, X: Array, radii: Array) -> tuple[Array, Array]:
        return self._within(X, radii, np.zeros(len(X)))


class ScanSearch(Search):
    """All distances are compared: from expanded squares, and from differences where those have lost what counts."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int = 1, metric: Metric = EUCLIDEAN) -> None:
        super().__init__(X, n_neighbors, n_jobs, metric)
        # Moving the bulk of the data to the origin keeps expanded squares accurate there.
        self._centre = np.median(X, axis=0)
        index = sklearn.neighbors.NearestNeighbors(n_neighbors=self._asked, algorithm="brute", n_jobs=n_jobs)
        self._index = index.fit(X - self._centre)

    def _candidates(self, X: Array) -> Array:
        return self._index.kneighbors(X - self._centre, return_distance=False)

    def _rounding(self, X: Array) -> Array:
        return EXPANSION * X.shape[1] * _squared_norms(X - self._centre)

    def _search_again(self, X: Array, kth: Array) -> tuple[Array, Array]:
        """From differences."""
        found = []
        for part in blocks(0, len(X), rows_per_block(self._X.shape[0])):
            D = cdist(X[part], self._X)
            i, j = np.nonzero(SLACK * np.partition(D, self._k - 1, axis=1)[:, self._k - 1 : self._k] >= D)
            found.append((i + part.start, j))
        return _concatenate(found)


def make_search(X: Rows, n_neighbors: int, n_jobs: int, metric: Metric = EUCLIDEAN) -> Search | SparseSearch:
    """The search among prepared training points X that suits them and the metric."""
    n_jobs = min(n_jobs, usable_cores())  # a model may come from a larger machine
    if not isinstance(metric, Minkowski):
        return BallSearch(X, n_neighbors, n_jobs, metric)
    if sparse.issparse(X):
        return SparseSearch(X, n_neighbors, n_jobs, metric)
    if X.shape[1] <= _TREE_DIMENSION:
        return TreeSearch(X, n_neighbors, n_jobs, metric)
    return (ScanSearch if metric.order == 2 else BallSearch)(X, n_neighbors, n_jobs, metric)


def near_rows_together(X: Array) -> Array:
    """An order of the rows, (n,), in which those that are near each other mostly come after each other."""
    return _tree(X).indices


def _tree(X: Array) -> cKDTree:
    # Splitting at midpoints makes rounder cells than splitting at medians, and searches that are a quarter faster.
    return cKDTree(X, leafsize=_LEAF, balanced_tree=False)


def _expanded_within(X: Array, training: Array, radii: Array) -> tuple[Array, Array]:
    """Pairs at Euclidean distances up to the radius of the training point, from expanded squares, and a few more."""
    centre = training.mean(axis=0)
    Y = training - centre
    y2 = _squared_norms(Y)
    found = []
    for part in blocks(0, len(X), rows_per_block(len(training))):
        Z = X[part] - centre
        z2 = _squared_norms(Z)
        D = z2[:, None] + y2 - 2 * (Z @ Y.T)
        # What the expansion may be wrong by is let through: distances are formed again.
        allowance = EXPANSION * X.shape[1] * (z2[:, None] + y2)
        i, j = np.nonzero(radii**2 + allowance >= D)
        found.append((i + part.start, j))
    return _concatenate(found)


def _squared_norms(X: Array) -> Array:
    return np.einsum("ij,ij->i", X, X)


def _concatenate(found: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    if not found:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])
