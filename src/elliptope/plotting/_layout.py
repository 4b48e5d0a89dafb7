"""A layout of rows in the plane: t-SNE of a sample, and the other rows next to their neighbours."""

from __future__ import annotations

import numpy as np
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from .._utils.arrays import Array

# Rows that t-SNE lays out, in half a minute; the others are placed by their neighbours among them.
LAID_OUT = 10_000
# Iterations: the groups are apart after 350, and 1000 only add empty space between them.
_ITERATIONS = 500
# Size of a cell relative to its distance, up to which t-SNE takes it for one point. 0.8 takes 0.6 of the time of 0.5, its
# default, and costs a thousandth of the trustworthiness (5000 rows of Covertype).
_ANGLE = 0.8
# Standard deviation at the start, which t-SNE wants small, and of the noise that parts rows with equal leading columns.
_START, _NOISE = 1e-4, 1e-6
# Neighbours that place a row.
_NEIGHBORS = 3


def layout(Z: Array, most: int = LAID_OUT, start: Array | None = None) -> Array:
    """Positions in the plane, (n, 2), where neighbours are rows that are neighbours in Z.

    t-SNE, which starts at the positions ``start``, or at the two leading columns, of at most ``most`` rows, taken at random;
    the others by :func:`place`.
    One thread and a fixed seed: the same Z has the same layout.
    """
    n = len(Z)
    rng = np.random.default_rng(0)
    sample = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    C = Z[sample] / (np.abs(Z).max() or 1.0)
    start = C[:, :2] if start is None else start[sample]
    start = start - start.mean(axis=0)
    start = _START * start / (start.std() or 1.0) + _NOISE * rng.standard_normal(start.shape)
    perplexity = min(30.0, (len(C) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init=start, max_iter=_ITERATIONS, angle=_ANGLE, random_state=0)
    # Several threads sum in no fixed order, and t-SNE can magnify the difference.
    with threadpool_limits(1, user_api="openmp"):
        laid_out = tsne.fit_transform(C).astype(np.float64)
    P = np.empty((n, 2))
    P[sample] = laid_out
    rest = np.setdiff1d(np.arange(n), sample, assume_unique=True)
    if len(rest):
        P[rest] = place(Z[rest], Z[sample], laid_out)
    return P


def place(new: Array, Z: Array, P: Array) -> Array:
    r"""Positions of new rows: means of the positions P of the three nearest rows of Z, weighted by 1/distance."""
    distance, nearest = NearestNeighbors(n_neighbors=min(_NEIGHBORS, len(Z))).fit(Z).kneighbors(new)
    # Relative to the nearest: a row of Z is put where that row is, and no division overflows.
    weight = np.divide(distance[:, :1], distance, out=np.ones_like(distance), where=distance > 0)
    return np.einsum("ik,ikc->ic", weight / weight.sum(axis=1, keepdims=True), P[nearest])
