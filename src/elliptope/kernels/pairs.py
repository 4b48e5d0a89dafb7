"""Pairs (row, training point): lists of them, as searches make them, and graphs of their distances.

A graph is a sparse matrix whose stored entries are the pairs that count, zeros included.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.callers import warn
from .._utils.checks import LARGEST_SQUARED, name_rows

# A distance is within a scale up to this factor. The k-th neighbour of a point lies on the rim of its reach: without it,
# whether the two see each other would change with the last bit of a coordinate, as a file in another format changes it.
RIM = 1 + 1e-9
# A point's reach ends where the distances to its nearest points jump by more than this factor, so that groups of fewer than
# k points do not reach into others; not before the fourth point, itself counted, as triples of outliers are no groups.
JUMP = 2 * RIM
_BEFORE_JUMP = 4
# Searches are asked for a little more than that, and the distances of what they find are computed again.
SLACK = 1 + 1e-8
# Rounding of a squared distance, per column and relative to the squared norms, where the square was expanded; generous.
EXPANSION = 1e-13
# Relative difference of a distance and the distance back that may be due to rounding, even to single precision.
_ASYMMETRY = 1e-5
# A distance of a point to itself, relative to the largest distance, that rounding may leave: scikit-learn's neighbours take
# the root of a difference of squares.
_ITSELF = 1e-6


def kth_distances(i: Array, d: Array, n: int, k: int) -> Array:
    """The k-th smallest distance of every row, from entries (row, distance); the largest, where there are fewer."""
    counts = np.bincount(i, minlength=n)
    width = int(counts.max(initial=0))
    if n and width >= k and counts.min() == width:  # as many of every row, which is the rule
        by_row = d if (i[1:] >= i[:-1]).all() else d[np.argsort(i, kind="stable")]
        return np.partition(by_row.reshape(n, width), k - 1, axis=1)[:, k - 1].copy()
    order = np.lexsort((d, i))
    ends = np.cumsum(counts)
    kth = np.zeros(n)
    some = counts > 0
    kth[some] = d[order[(ends - counts + np.minimum(counts, k) - 1)[some]]]
    return kth


def reaches(i: Array, d: Array, n: int, k: int) -> Array:
    """s(x) of every row, from entries (row, distance): the last distance before the first jump, else the k-th smallest.

    A jump is a distance more than twice the one before, from the fourth on. Where there are fewer than k distances, the
    largest takes the place of the k-th.
    """
    counts = np.minimum(np.bincount(i, minlength=n), k)
    order = np.lexsort((d, i))
    i, d = i[order], d[order]
    column = np.arange(len(d)) - np.searchsorted(i, i)
    near = column < k
    nearest = np.full((n, max(int(counts.max(initial=0)), 1)), np.inf)
    nearest[i[near], column[near]] = d[near]
    before, after = nearest[:, :-1], nearest[:, 1:]
    with np.errstate(invalid="ignore"):
        jumps = np.isfinite(after) & (after > JUMP * before)
    jumps[:, : _BEFORE_JUMP - 1] = False
    last = np.where(jumps.any(axis=1), jumps.argmax(axis=1) if jumps.shape[1] else 0, np.maximum(counts - 1, 0))
    return np.where(counts > 0, nearest[np.arange(n), last], 0.0)


def find_rows(X: Any, Y: Any) -> Array:
    """For every row of Y, the index of the first row of X with the same entries, or -1."""
    if Y.shape[0] == 0:
        return np.empty(0, dtype=np.intp)
    both = sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.vstack([X, Y])
    first, inverse = distinct_rows(both)
    found = first[inverse[X.shape[0] :]]
    return np.where(found < X.shape[0], found, -1)


def distinct_rows(X: Any) -> tuple[Array, Array]:
    """The first row, in ascending order, of every set of equal rows; and for each row which of these it equals."""
    if sparse.issparse(X):
        inverse = _row_classes(X)
        first = np.unique(inverse, return_index=True)[1]
    elif len(np.unique(_hashes(X))) == len(X):  # rows that differ in their hashes differ
        return np.arange(len(X)), np.arange(len(X))
    else:
        _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[inverse.ravel()]


def _hashes(X: Array) -> Array:
    """A number of 64 bits for every row, the same for equal rows."""
    bits = (np.asarray(X, dtype=np.float64) + 0.0).view(np.uint64)  # both zeros as one
    found = np.zeros(len(X), dtype=np.uint64)
    for column in bits.T:
        found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)  # odd, and as good as random: 2^64 over the golden ratio
        found ^= found >> np.uint64(29)
    return found


def canonical(X: Any) -> Any:
    """Sparse rows in one form: compressed, without zeros, in order, indices as short as can be. Arrays as they are."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    short = np.int32 if max(*X.shape, X.nnz) < np.iinfo(np.int32).max else np.int64
    return sparse.csr_array((X.data, X.indices.astype(short), X.indptr.astype(short)), shape=X.shape)


def _row_classes(X: sparse.csr_array) -> Array:
    """A number per row, which is that of another exactly if the rows are equal."""
    X = canonical(X)
    seen: dict[bytes, int] = {}
    return np.array(
        [
            seen.setdefault(X.indices[a:b].tobytes() + X.data[a:b].tobytes(), len(seen))
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
    )


def flatten(found: Array) -> tuple[Array, Array]:
    """Lists of neighbours, of one length, as pairs."""
    return np.repeat(np.arange(len(found)), found.shape[1]), found.ravel().astype(np.intp)


def join(lists: Sequence[Any]) -> tuple[Array, Array]:
    """Lists of neighbours, of any lengths, as pairs."""
    counts = np.fromiter(map(len, lists), dtype=np.intp, count=len(lists))
    i = np.repeat(np.arange(len(lists)), counts)
    if len(lists) and isinstance(lists[0], np.ndarray):
        return i, np.concatenate(lists).astype(np.intp)
    return i, np.fromiter(chain.from_iterable(lists), dtype=np.intp, count=len(i))


def check_range(X: Any) -> None:
    size = float(np.abs(X.data if sparse.issparse(X) else X).max(initial=0.0))
    if size > LARGEST_SQUARED:
        raise ValueError(
            f"`X` must be at most {LARGEST_SQUARED:g} in size, so that distances can be squared, got {size:.6g}."
        )


def check_distances(d: Array) -> None:
    if d.min(initial=0.0) < 0 or d.max(initial=0.0) > LARGEST_SQUARED:
        raise ValueError(f"`X` must hold distances from 0 to {LARGEST_SQUARED:g}, got {d.min():.6g} to {d.max():.6g}.")


def has_empty_diagonal(X: sparse.sparray) -> bool:
    """Whether a square sparse matrix has nothing but rounding on its diagonal, as distances have."""
    return float(abs(X.diagonal()).max(initial=0.0)) <= _ITSELF * float(np.abs(X.data).max(initial=0.0))


def graph_of(X: Any, n_neighbors: int, support: Array) -> tuple[sparse.csr_array, Array]:
    """The distances of pairs within reach and the scales of n points, the rows and columns ``support`` of X (N, N).

    Where a row names fewer than ``n_neighbors`` points, itself included, its scale is the distance to the last of them.
    """
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"`X` must be square when it holds distances, got shape {X.shape}.")
    n = len(support)
    i, j, d = entries(rows_of_distances(X, support)[support])
    check_distances(d)
    _check_diagonal(i, j, d, support)
    i, j, d = with_itself(i, j, one_distance_per_pair(i, j, d, support), n)
    counts = np.bincount(i, minlength=n)
    if counts.min() < 2:
        raise ValueError(
            f"`X` must hold the distance to another point in every row; row {support[counts.argmin()]} has none."
        )
    if counts.max() < n_neighbors <= n:
        warn(
            f"`n_neighbors` = {n_neighbors} has no effect: no row of `X` has the distances to more than {counts.max()} "
            f"points, itself included. The scale of a point is the largest of them."
        )
    scales = reaches(i, d, n, n_neighbors)
    check_scales(scales, support, "Give points that coincide once, with a larger sample_weight")
    return distance_graph(i, j, d, scales), scales


def _check_diagonal(i: Array, j: Array, d: Array, rows: Array) -> None:
    """Raise where points are not at distance zero of themselves: similarities are not."""
    off = np.flatnonzero((i == j) & (d > _ITSELF * d.max(initial=0.0)))
    if len(off):
        raise ValueError(
            f"`X` must be zero on the diagonal when it holds distances, got {d[off[0]]:.6g} in {name_rows(rows[i[off]])}. "
            "Are these similarities? Then use kernel='precomputed', or turn them into distances."
        )


def rows_of_distances(X: Any, columns: Array) -> sparse.csr_array:
    """Some columns of a matrix of distances, dense or sparse, with zeros stored and every entry once."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype=np.float64)[:, columns]
        rows.sum_duplicates()
        return rows
    b, n = X.shape[0], len(columns)
    parts = (np.asarray(X, dtype=np.float64)[:, columns].ravel(), np.tile(np.arange(n), b), n * np.arange(b + 1))
    return sparse.csr_array(parts, shape=(b, n))


def one_distance_per_pair(i: Array, j: Array, d: Array, rows: Array) -> Array:
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


def check_scales(scales: Array, rows: Array, remedy: str) -> None:
    if scales.min() < 1 / LARGEST_SQUARED:
        raise ValueError(
            f"`X` must have distances of at least {1 / LARGEST_SQUARED:g} among those to the n_neighbors nearest points; "
            f"in row {rows[scales.argmin()]} the largest is {scales.min():.6g}. {remedy}."
        )


def with_itself(i: Array, j: Array, d: Array, n: int) -> tuple[Array, Array, Array]:
    """Pairs of training points, every point with itself once: a graph may not name it."""
    off, itself = i != j, np.arange(n)
    return np.r_[i[off], itself], np.r_[j[off], itself], np.r_[d[off], np.zeros(n)]


def distance_graph(i: Array, j: Array, d: Array, scales: Array, device: Any | None = None) -> sparse.csr_array:
    """The pairs within reach of either point, both ways; distances of zero are stored. ``device``: where they are sorted."""
    within = d <= RIM * np.maximum(scales[i], scales[j])
    i, j, d = i[within], j[within], d[within]
    return unique_entries(np.r_[i, j], np.r_[j, i], np.r_[d, d], (len(scales), len(scales)), device)


def unique_entries(i: Array, j: Array, d: Array, shape: tuple[int, int], device: Any | None = None) -> sparse.csr_array:
    """Entries given once or more, with one value each, stored once, in order."""
    first = _one_of_each(i.astype(np.int64) * shape[1] + j, device)
    counts = np.bincount(i[first], minlength=shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((d[first], j[first], indptr), shape=shape)


def _one_of_each(keys: Array, device: Any | None) -> Array:
    """Where each of the keys stands, in ascending order of keys."""
    if device is None:
        return np.unique(keys, return_index=True)[1]
    import torch

    ordered, places = torch.sort(torch.tensor(keys, device=device))
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return places[new].cpu().numpy()


def replace_rows(rows: sparse.csr_array, which: Array, by: sparse.csr_array) -> sparse.csr_array:
    if len(which) == 0:
        return rows
    i, j, d = entries(rows)
    keep = ~np.isin(i, which)
    k, other, e = entries(by)
    return unique_entries(np.r_[i[keep], which[k]], np.r_[j[keep], other], np.r_[d[keep], e], rows.shape)


def entries(rows: sparse.csr_array) -> tuple[Array, Array, Array]:
    """Row, column and value of what is stored, zeros included."""
    i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return i, rows.indices.astype(np.intp), rows.data
