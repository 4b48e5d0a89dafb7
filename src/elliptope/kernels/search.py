r"""Exact and approximate search for neighbours.

Whether a pair is within reach is decided by distances formed in one way only (:func:`pair_distances`), so that a pair
at exactly that distance is not found or lost by the rounding of a search, nor by what other rows are asked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import KDTree, NearestNeighbors

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.threads import openmp_threads, usable_cores
from .distances import power_of_two

# Candidates beyond the k-th, among which rounding may have changed the order.
_SPARE = 2
# Searches are asked for a little more than the radius, and the distances of what they find are computed again.
SLACK = 1 + 1e-9
# Rounding of a squared distance, per column and relative to the squared norms, where the square was expanded; generous.
EXPANSION = 1e-13
# Rows whose neighbours within a radius are searched for at a time; how many rows are sampled to tell what share of pairs is
# within, and the share beyond which trees do not beat comparing all.
_RADIUS_ROWS = 4096
_SAMPLED = 200
_MANY = 1e-3
# New points up to which :func:`pairs_within_scales` compares all distances.
_FEW = 64
# Columns beyond which trees do not beat comparing all distances.
_TREE_DIMENSION = 15
# Coordinates, in units of the largest training one, up to which an approximate search goes: it squares single precision.
_FARTHEST = 1e15


def pair_distances(X: Array, Y: Array, i: Array, j: Array) -> Array:
    """‖x_i - y_j‖ for pairs (i, j), from differences: the same bits whatever other pairs are asked for, and for (j, i)."""
    out = np.empty(len(i))
    for part in blocks(0, len(i), rows_per_block(X.shape[1])):
        difference = X[i[part]] - Y[j[part]]
        out[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return out


def pairs_within(X: Array, radius: float, n_jobs: int) -> Iterator[tuple[slice, Array, Array, Array]]:
    """Pairs (i, j), i ≤ j, at distances up to ``radius``: a slice of rows, then i, j and their distances, in order of i."""
    exponent = power_of_two(radius, X)
    X, radius = np.ldexp(X, exponent) if exponent else X, math.ldexp(radius, exponent)
    centred = X - np.median(X, axis=0)
    algorithm = _radius_algorithm(centred, radius)
    search = NearestNeighbors(radius=SLACK * radius, algorithm=algorithm, n_jobs=n_jobs).fit(centred)
    for part in blocks(0, len(X), _RADIUS_ROWS):
        with openmp_threads(n_jobs):
            i, j = _join(search.radius_neighbors(centred[part], return_distance=False))
        i += part.start
        i, j = i[i <= j], j[i <= j]
        d = pair_distances(X, X, i, j)
        within = d <= radius
        yield part, i[within], j[within], np.ldexp(d[within], -exponent)


def _radius_algorithm(X: Array, radius: float) -> str:
    """Trees are for few neighbours; where many are near, comparing all is faster, if squares may be expanded."""
    if not EXPANSION * X.shape[1] * _squared_norms(X).max() <= (SLACK - 1) * radius**2:
        return "ball_tree"
    rows = X[:: max(1, len(X) // _SAMPLED)]
    share = float(np.mean([(_squared_norms(X - row) <= radius**2).mean() for row in rows]))
    return "brute" if share > _MANY else "auto"


class Search(ABC):
    """The nearest training points, with distances from :func:`pair_distances`."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int) -> None:
        self._X, self._k, self._n_jobs = X, n_neighbors, n_jobs
        self._asked = min(n_neighbors + _SPARE, len(X))

    def nearest(self, X: Array) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) and their distances: at least the k nearest, and all that tie with the k-th."""
        i, j = _flatten(self._candidates(X))
        d = pair_distances(X, self._X, i, j)
        doubtful = self._doubtful(X, i, d)
        if len(doubtful) == 0:
            return i, j, d
        again, others = self._search_again(X[doubtful], kth_distances(i, d, len(X), self._k)[doubtful])
        again, rest = doubtful[again], ~np.isin(i, doubtful)
        i, j = np.r_[i[rest], again], np.r_[j[rest], others]
        return i, j, np.r_[d[rest], pair_distances(X, self._X, again, others)]

    @abstractmethod
    def _candidates(self, X: Array) -> Array:
        """Indices of training points, as many for every row; -1 for none."""

    def _doubtful(self, X: Array, i: Array, d: Array) -> Array:
        """Rows for which there may be others as near as the k-th of the candidates, at distances d of rows i."""
        if self._asked == len(self._X):
            return np.empty(0, dtype=np.intp)
        last = d.reshape(len(X), -1).max(axis=1)
        scales = kth_distances(i, d, len(X), self._k)
        return np.flatnonzero(last**2 <= (SLACK * scales) ** 2 + self._rounding(X))

    def _rounding(self, X: Array) -> Array | float:
        """What squared distances may be wrong by when the search compares them, beside what ``SLACK`` covers."""
        return 0.0

    @abstractmethod
    def _search_again(self, X: Array, scales: Array) -> tuple[Array, Array]:
        """Pairs (row, training point) with all that are as near as the k-th nearest, which is no farther than ``scales``."""


class TreeSearch(Search):
    """A tree, which compares distances formed from differences; for few columns."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int) -> None:
        super().__init__(X, n_neighbors, n_jobs)
        self._index = NearestNeighbors(n_neighbors=self._asked, algorithm="kd_tree", n_jobs=n_jobs).fit(X)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self._X)

    def _candidates(self, X: Array) -> Array:
        return self._index.kneighbors(X, return_distance=False)

    def _search_again(self, X: Array, scales: Array) -> tuple[Array, Array]:
        return _join(self._tree.query_radius(X, SLACK * scales))


class ScanSearch(Search):
    """All distances are compared: from expanded squares, and from differences where those have lost what counts."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int) -> None:
        super().__init__(X, n_neighbors, n_jobs)
        # Moving the bulk of the data to the origin keeps expanded squares accurate there.
        self._centre = np.median(X, axis=0)
        index = NearestNeighbors(n_neighbors=self._asked, algorithm="brute", n_jobs=n_jobs)
        self._index = index.fit(X - self._centre)

    def _candidates(self, X: Array) -> Array:
        return self._index.kneighbors(X - self._centre, return_distance=False)

    def _rounding(self, X: Array) -> Array:
        return EXPANSION * X.shape[1] * _squared_norms(X - self._centre)

    def _search_again(self, X: Array, scales: Array) -> tuple[Array, Array]:
        return _nearest_of_all(X, self._X, self._k)


class ApproximateSearch(Search):
    """The search of pynndescent; rows for which it finds too few are compared with all points."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int) -> None:
        super().__init__(X, n_neighbors, n_jobs)
        self._centre = np.median(X, axis=0)
        self._scale = float(np.abs(X - self._centre).max())
        self._index = _approximate_index(self._in_single_precision(X), self._asked, n_jobs)

    def _in_single_precision(self, X: Array) -> Array:
        return np.clip((X - self._centre) / self._scale, -_FARTHEST, _FARTHEST).astype(np.float32)

    def _candidates(self, X: Array) -> Array:
        return self._index.query(self._in_single_precision(X), k=self._asked)[0]

    def _doubtful(self, X: Array, i: Array, d: Array) -> Array:
        return np.flatnonzero(np.bincount(i, minlength=len(X)) < self._k)

    def _search_again(self, X: Array, scales: Array) -> tuple[Array, Array]:
        return _nearest_of_all(X, self._X, self._k)


def make_search(X: Array, n_neighbors: int, search: str, n_jobs: int) -> Search:
    """The search among training points X that suits their number of columns, or the approximate one."""
    n_jobs = min(n_jobs, usable_cores())  # a model may come from a larger machine
    if search == "approximate":
        return ApproximateSearch(X, n_neighbors, n_jobs)
    return (TreeSearch if X.shape[1] <= _TREE_DIMENSION else ScanSearch)(X, n_neighbors, n_jobs)


def pairs_within_scales(X: Array, training: Array, scales: Array) -> tuple[Array, Array, Array]:
    """Pairs (row of X, training point) no farther apart than the scale of the training point, and their distances.

    A tree over the new points, asked by every training point with its own radius; for few rows, or many columns, all
    distances are compared.
    """
    if len(X) <= _FEW or X.shape[1] > _TREE_DIMENSION:
        return _compare_all(X, training, scales)
    j, i = _join(KDTree(X).query_radius(training, SLACK * scales))
    return _within(X, training, scales, i, j)


def _within(X: Array, training: Array, scales: Array, i: Array, j: Array) -> tuple[Array, Array, Array]:
    """Those of the pairs (i, j) that are no farther apart than the scale of j, with their distances."""
    d = pair_distances(X, training, i, j)
    within = d <= scales[j]
    return i[within], j[within], d[within]


def _compare_all(X: Array, training: Array, scales: Array) -> tuple[Array, Array, Array]:
    centre = training.mean(axis=0)
    Y = training - centre
    y2 = _squared_norms(Y)
    reach = (SLACK * scales) ** 2
    found = []
    for part in blocks(0, len(X), rows_per_block(len(training))):
        Z = X[part] - centre
        z2 = _squared_norms(Z)
        D = z2[:, None] + y2 - 2 * (Z @ Y.T)
        # What the expansion may be wrong by is let through: distances are formed again.
        allowance = EXPANSION * X.shape[1] * (z2[:, None] + y2)
        i, j = np.nonzero(reach + allowance >= D)
        found.append(_within(X, training, scales, i + part.start, j))
    i, j, d = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, d


def _nearest_of_all(X: Array, training: Array, k: int) -> tuple[Array, Array]:
    """Pairs (row of X, training point): the k nearest and all that tie with the k-th, from differences."""
    found = []
    for part in blocks(0, len(X), rows_per_block(len(training))):
        D = cdist(X[part], training)
        kth = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
        i, j = np.nonzero(SLACK * kth >= D)
        found.append((i + part.start, j))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


def _squared_norms(X: Array) -> Array:
    return np.einsum("ij,ij->i", X, X)


def kth_distances(i: Array, d: Array, n: int, k: int) -> Array:
    """The k-th smallest distance of every row, from entries (row, distance); the largest, where there are fewer."""
    order = np.lexsort((d, i))
    counts = np.bincount(i, minlength=n)
    ends = np.cumsum(counts)
    kth = np.zeros(n)
    some = counts > 0
    kth[some] = d[order[(ends - counts + np.minimum(counts, k) - 1)[some]]]
    return kth


def find_rows(X: Array, Y: Array) -> Array:
    """For every row of Y, the index of the first row of X with the same entries, or -1."""
    if len(Y) == 0:
        return np.empty(0, dtype=np.intp)
    _, inverse = np.unique(np.vstack([X, Y]), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    where = np.full(inverse.max() + 1, -1)
    where[inverse[: len(X)][::-1]] = np.arange(len(X))[::-1]
    return where[inverse[len(X) :]]


def _flatten(found: Array) -> tuple[Array, Array]:
    """Lists of neighbours, of one length, as pairs; an index of -1 means none."""
    i, j = np.repeat(np.arange(len(found)), found.shape[1]), found.ravel().astype(np.intp)
    return i[j >= 0], j[j >= 0]


def _join(lists: Array) -> tuple[Array, Array]:
    """Lists of neighbours, of any lengths, as pairs."""
    counts = np.fromiter((len(found) for found in lists), dtype=np.intp, count=len(lists))
    return np.repeat(np.arange(len(lists)), counts), np.concatenate(lists).astype(np.intp)


def _approximate_index(X: Array, n_neighbors: int, n_jobs: int) -> Any:
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "`kernel=Neighbors(search='approximate')` needs pynndescent: pip install 'elliptope[neighbors]'."
        ) from error
    index = NNDescent(X, n_neighbors=max(2 * n_neighbors, 30), random_state=0, n_jobs=n_jobs)
    index.prepare()
    return index
