"""Which rows of X are points of the program, and with what weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn

from .._utils.arrays import Array
from ..kernels.pairs import distinct_rows


@dataclass(frozen=True)
class Sample:
    """The n points among N rows."""

    w: Array  # (n,): the weight of a point, that of all rows that equal it where these are one point
    rows: Array  # (n,): the row of X, or the first of equal rows, that each point is
    place: Array  # (N,): which point each row is; -1 where its weight is zero
    n_weighted: int  # rows of positive weight
    equal_weights: bool

    def reordered(self, order: Array) -> Sample:
        """The same points in another order."""
        number = np.empty(len(order), dtype=self.place.dtype)
        number[order] = np.arange(len(order))
        place = np.where(self.place < 0, -1, number[self.place])
        return replace(self, w=self.w[order], rows=self.rows[order], place=place)


def weighted_rows(w: Array) -> Sample:
    """Every row of positive weight is a point."""
    rows = np.flatnonzero(w > 0)
    place = np.full(len(w), -1)
    place[rows] = np.arange(len(rows))
    return Sample(w[rows], rows, place, len(rows), bool(np.ptp(w[rows]) == 0))


def distinct_points(X: Any, w: Array) -> Sample:
    """Rows of positive weight that are equal are one point, in the order in which they were given."""
    support = np.flatnonzero(w > 0)
    if len(support) == 0:
        raise ValueError(f"`sample_weight` must be positive for at least 1 sample: the weight is zero for all {len(w)}.")
    first, inverse = distinct_rows(X[support])
    place = np.full(len(w), -1)
    place[support] = inverse
    weights = np.bincount(inverse, weights=w[support])
    return Sample(weights, support[first], place, len(support), bool(np.ptp(w[support]) == 0))


def closest_pair(points: Array) -> tuple[float, int, int]:
    """The distance of the closest two points, and their numbers."""
    distances, neighbours = sklearn.neighbors.NearestNeighbors(n_neighbors=1).fit(points).kneighbors()
    i = int(distances[:, 0].argmin())
    return float(distances[i, 0]), i, int(neighbours[i, 0])
