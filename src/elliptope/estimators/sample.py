"""Rows that are equal are one point, seen more than once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._utils.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Distinct points with the weights of all rows that equal them."""

    points: Array  # (m, p)
    w: Array  # (m,)
    first: Array  # (m,): the first row at which each point stands
    place: Array  # (n,): which point each row is; -1 where its weight is zero
    n: int  # rows of positive weight
    equal_weights: bool

    def closest(self) -> tuple[float, int, int]:
        """The distance of the closest two points, and the rows at which they stand."""
        distances, neighbours = NearestNeighbors(n_neighbors=1).fit(self.points).kneighbors()
        i = int(distances[:, 0].argmin())
        return float(distances[i, 0]), int(self.first[i]), int(self.first[neighbours[i, 0]])


def distinct_points(X: Array, w: Array) -> Sample:
    """The distinct rows of positive weight, in the order in which they were given."""
    support = np.flatnonzero(w > 0)
    if len(support) == 0:
        raise ValueError(f"`sample_weight` must be positive for at least 1 sample: the weight is zero for all {len(w)}.")
    _, first, inverse = np.unique(X[support], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.full(len(X), -1)
    place[support] = np.argsort(order)[inverse.ravel()]
    first = support[first[order]]
    weights = np.bincount(place[support], weights=w[support])
    return Sample(X[first], weights, first, place, len(support), bool(np.ptp(w[support]) == 0))
