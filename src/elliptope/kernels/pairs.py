"""Lists of pairs (row, training point), as searches make them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array

# A distance is within a scale up to this factor. The k-th neighbour of a point lies on the rim of its reach: without it,
# whether the two see each other would change with the last bit of a coordinate, as a file in another format changes it.
RIM = 1 + 1e-9
# Searches are asked for a little more than that, and the distances of what they find are computed again.
SLACK = 1 + 1e-8
# Rounding of a squared distance, per column and relative to the squared norms, where the square was expanded; generous.
EXPANSION = 1e-13


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
