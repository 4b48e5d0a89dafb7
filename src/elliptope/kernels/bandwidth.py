r"""Rules that choose the bandwidth σ from the data.

Rules use the *distinct* points only: repeated rows say how often a point occurs, not how far apart points are, and would
otherwise pull σ to zero. A sample weight of two and a point given twice therefore lead to the same σ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import sklearn
from scipy.spatial.distance import pdist

from .._utils.arrays import Array
from .._utils.callers import underflows_to_zero
from .._utils.checks import check_extent, check_positive
from .._utils.rounding import TINY

# Neighbour whose distance sets the scale in the "knn" rule.
_NEIGHBOUR = 10
# Relative error of a squared distance beyond which the search is repeated on differences.
_SEARCH_ERROR = 1e-9
# The median over all pairs is taken on at most this many points (fixed seed: a rule is a function of the data).
_MEDIAN_SAMPLE = 2000


def _distinct(X: Array, name: str) -> tuple[Array, int]:
    """The distinct points, divided by a power of two that makes them at most 1 in size, and its exponent.

    Squares of tiny numbers would underflow.
    """
    points = np.unique(np.asarray(X, dtype=np.float64), axis=0)
    check_extent(points)
    if len(points) < 2:
        raise ValueError(
            f"`{name}` cannot be chosen by a rule when all points are identical: X has 1 distinct row, at least 2 are "
            "needed. Check the data, or pass a number."
        )
    exponent = math.frexp(float(np.abs(points).max()))[1]
    return np.ldexp(points, -exponent), exponent


def _scale(scaled: float, exponent: int, rule: str, name: str) -> float:
    scale = math.ldexp(scaled, exponent)
    if not TINY <= scale < math.inf:
        raise ValueError(f"`{name}` rule {rule!r} gave {scale!r} on this data; rescale the data or pass a number.")
    return scale


@underflows_to_zero
def knn_bandwidth(X: Array, name: str = "bandwidth") -> float:
    """Median, over the distinct points, of the distance to the 10th nearest other point."""
    points, exponent = _distinct(X, name)
    # Moving the bulk of the data to the origin keeps the search, which expands squares, accurate.
    points = points - np.median(points, axis=0)
    scale = _kth_distance(points, "auto")
    rounding = np.finfo(float).eps * np.einsum("ij,ij->i", points, points).max()
    if not rounding <= _SEARCH_ERROR * scale**2:
        scale = _kth_distance(points, "ball_tree")  # slower, on differences
    return _scale(scale, exponent, "knn", name)


def _kth_distance(points: Array, algorithm: str) -> float:
    search = sklearn.neighbors.NearestNeighbors(n_neighbors=min(_NEIGHBOUR, len(points) - 1), algorithm=algorithm)
    distances, _ = search.fit(points).kneighbors()
    return float(np.median(distances[:, -1]))


@underflows_to_zero
def median_bandwidth(X: Array, name: str = "bandwidth") -> float:
    """Median distance between pairs of distinct points (of a fixed subsample beyond 2000 points)."""
    points, exponent = _distinct(X, name)
    if len(points) > _MEDIAN_SAMPLE:
        points = points[np.random.default_rng(0).choice(len(points), _MEDIAN_SAMPLE, replace=False)]
    return _scale(float(np.median(pdist(points))), exponent, "median", name)


RULES: dict[str, Callable[[Array, str], float]] = {
    "auto": knn_bandwidth,  # docs/bandwidth.md has the evidence
    "knn": knn_bandwidth,
    "median": median_bandwidth,
}


def resolve_bandwidth(bandwidth: float | str, X: Array, name: str = "bandwidth") -> float:
    """A number as it is, checked; or the value of the named rule on ``X``. ``name`` is what the caller calls it."""
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            names = ", ".join(repr(rule) for rule in RULES)
            raise ValueError(f"`{name}` must be a positive number or one of {names}, got {bandwidth!r}.")
        return RULES[bandwidth](X, name)
    check_extent(X)
    return check_positive(name, bandwidth)
