r"""Who is near: exact and approximate searches for neighbours, whose answers do not depend on how they were found.

Whether a pair is within reach is decided by distances formed in one way only (:func:`pair_distances`), so that a pair
on the rim does not come and go with the rounding of a search, nor with the other rows that are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KDTree, NearestNeighbors

from .kernels import Array

# Candidates beyond the k-th, among which rounding may have changed the order.
_SPARE = 2
# Searches are asked for a little more than the radius, and their answers looked at again.
_SLACK = 1 + 1e-9
# Coordinates that are gathered at a time when distances are formed (64 MB).
_GATHERED = 2**23
# New points up to which those that see them are found by comparing all distances.
_FEW = 64
# Columns beyond which trees do not beat comparing all distances.
_TREE_DIMENSION = 15
# Distances held at a time in such comparisons (32 MB).
_BLOCK_ENTRIES = 2**22


def pair_distances(X: Array, Y: Array, i: Array, j: Array) -> Array:
    """‖x_i - y_j‖ for pairs (i, j), from differences: the same bits whatever other pairs are asked for, and for (j, i)."""
    out = np.empty(len(i))
    step = max(1, _GATHERED // X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = X[i[part]] - Y[j[part]]
        out[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return out


class Search:
    """Who is near: nearest training points, with distances from :func:`pair_distances`."""

    def __init__(self, X: Array, n_neighbors: int, search: str, n_jobs: int) -> None:
        self._X, self._k, self._n_jobs = X, n_neighbors, n_jobs
        self._asked = min(n_neighbors + _SPARE, len(X))
        # Moving the bulk of the data to the origin keeps searches that expand squares accurate.
        self._centre = np.median(X, axis=0)
        centred = X - self._centre
        if search == "exact":
            algorithm = "kd_tree" if X.shape[1] <= _TREE_DIMENSION else "brute"
            self._exact = NearestNeighbors(n_neighbors=self._asked, algorithm=algorithm, n_jobs=n_jobs).fit(centred)
        self._approximate = _approximate_index(centred, self._asked, n_jobs) if search == "approximate" else None

    def nearest(self, X: Array) -> tuple[Array, Array, Array]:
        """Pairs (row of X, training point) and their distances: at least the k nearest, and all that tie with the k-th."""
        centred = X - self._centre
        if self._approximate is not None:
            found = self._approximate.query(centred, k=self._asked)[0]
            i, j = _flatten(found)
            return i, j, pair_distances(X, self._X, i, j)
        found = self._exact.kneighbors(centred, return_distance=False)
        i, j = _flatten(found)
        d = pair_distances(X, self._X, i, j)
        scales = kth_distances(i, d, len(X), self._k)
        if self._asked == len(self._X):
            return i, j, d
        # Where the last candidate is no farther than the k-th there may be others that tie with it.
        tied = np.flatnonzero(d.reshape(found.shape).max(axis=1) <= _SLACK * scales)
        if len(tied):
            more, others = self._within(centred[tied], _SLACK * scales[tied])
            rest = ~np.isin(i, tied)
            more = tied[more]
            i, j = np.r_[i[rest], more], np.r_[j[rest], others]
            d = np.r_[d[rest], pair_distances(X, self._X, more, others)]
        return i, j, d

    def _within(self, centred: Array, radii: Array) -> tuple[Array, Array]:
        """Pairs (row, training point) no farther apart than the radius of the row, a little more included."""
        lists = [
            self._exact.radius_neighbors(row[None], radius, return_distance=False)[0]
            for row, radius in zip(centred, radii, strict=True)
        ]
        counts = np.array([len(found) for found in lists])
        return np.repeat(np.arange(len(lists)), counts), np.concatenate(lists).astype(np.intp)


def seen_by(X: Array, training: Array, scales: Array) -> tuple[Array, Array, Array]:
    """Pairs (row of X, training point) no farther apart than the scale of the training point, and their distances.

    A tree over the new points, asked by every training point with its own radius; for few rows, or many columns, all
    distances are compared.
    """
    if len(X) <= _FEW or X.shape[1] > _TREE_DIMENSION:
        i, j = _compare_all(X, training, scales)
    else:
        centre = np.median(training, axis=0)
        lists = KDTree(X - centre).query_radius(training - centre, _SLACK * scales)
        counts = np.fromiter((len(found) for found in lists), dtype=np.intp, count=len(lists))
        i, j = np.concatenate(lists).astype(np.intp), np.repeat(np.arange(len(lists)), counts)
    d = pair_distances(X, training, i, j)
    within = d <= scales[j]
    return i[within], j[within], d[within]


def _compare_all(X: Array, training: Array, scales: Array) -> tuple[Array, Array]:
    centre = training.mean(axis=0)
    Y = training - centre
    y2 = np.einsum("ij,ij->i", Y, Y)
    found = []
    step = max(1, _BLOCK_ENTRIES // len(training))
    for start in range(0, len(X), step):
        Z = X[start : start + step] - centre
        z2 = np.einsum("ij,ij->i", Z, Z)
        D = z2[:, None] + y2 - 2 * (Z @ Y.T)
        # What the expansion may be wrong by is let through: distances are formed again.
        allowance = 1e-13 * X.shape[1] * (z2[:, None] + y2)
        i, j = np.nonzero((_SLACK * scales) ** 2 + allowance >= D)
        found.append((i + start, j))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


def kth_distances(i: Array, d: Array, n: int, k: int) -> Array:
    """The k-th smallest distance of every row (the largest, where there are fewer), from entries (row, distance)."""
    order = np.lexsort((d, i))
    counts = np.bincount(i, minlength=n)
    if (counts == 0).any():
        row = int(counts.argmin())
        raise ValueError(f"`X` must hold the distance to at least 1 training point in every row; row {row} has none.")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return d[order[starts + np.minimum(counts, k) - 1]]


def find_rows(X: Array, Y: Array) -> Array:
    """For every row of Y, the index of the first row of X with the same entries, or -1."""
    if len(Y) == 0:
        return np.empty(0, dtype=np.intp)
    _, inverse = np.unique(np.vstack([X, Y]) + 0.0, axis=0, return_inverse=True)  # + 0.0: -0 and 0 are equal
    inverse = inverse.ravel()
    where = np.full(inverse.max() + 1, -1)
    where[inverse[: len(X)][::-1]] = np.arange(len(X))[::-1]
    return where[inverse[len(X) :]]


def _flatten(found: Array) -> tuple[Array, Array]:
    """Lists of neighbours as pairs; an index of -1 stands for none."""
    i, j = np.repeat(np.arange(len(found)), found.shape[1]), found.ravel().astype(np.intp)
    return i[j >= 0], j[j >= 0]


def _approximate_index(X: Array, n_neighbors: int, n_jobs: int) -> Any:
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "`kernel=Neighbors(search='approximate')` needs pynndescent: pip install 'elliptope[neighbors]'."
        ) from error
    index = NNDescent(X.astype(np.float32), n_neighbors=max(2 * n_neighbors, 30), random_state=0, n_jobs=n_jobs)
    index.prepare()
    return index
