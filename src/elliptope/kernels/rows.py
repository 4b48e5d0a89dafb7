"""Logarithms of kernel values of new rows against training points, and the sums that an extension takes of them.

Dense and sparse kernels store them differently, and answer the same three questions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from .._utils.arrays import Array


class LogRows(ABC):
    """log k(x_i, y_j) for b rows x_i and some of the training points y_j. Vectors are indexed by all training points."""

    @abstractmethod
    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        """The largest log k(x_i, y_j) - log_scale_j of every row, and its j; both (b,). No scale is a scale of 1."""

    @abstractmethod
    def add(self, log_w: Array) -> Array:
        """Add log w_j to the entries, in place; the largest of every row, (b,), is -inf where k vanishes."""

    @abstractmethod
    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        """Σ_j exp(l_ij - shift_i) v_j, (b, r), and the same without v, (b,), for the entries l_ij, which are overwritten."""


class DenseRows(LogRows):
    """Stored in full, as an array of shape (b, c), against training points ``part``, a slice of c."""

    def __init__(self, L: Array, part: slice) -> None:
        self._L, self._part = L, part

    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        similarity = self._L if log_scale is None else self._L - log_scale[self._part]
        found = similarity.argmax(axis=1)
        return similarity[np.arange(len(found)), found], self._part.start + found

    def add(self, log_w: Array) -> Array:
        self._L += log_w[self._part]
        return self._L.max(axis=1)

    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        self._L -= shift[:, None]
        P = np.exp(self._L, out=self._L)
        return P @ values[self._part], P.sum(axis=1)


class SparseRows(LogRows):
    """Stored entries of shape (b, n); what is not stored is a zero of the kernel."""

    def __init__(self, L: sparse.csr_array) -> None:
        counts = np.diff(L.indptr)
        self._L = L
        self._row = np.repeat(np.arange(L.shape[0]), counts)
        self._some = counts > 0
        self._starts = L.indptr[:-1][self._some]

    def nearest(self, log_scale: Array | None) -> tuple[Array, Array]:
        similarity = self._L.data if log_scale is None else self._L.data - log_scale[self._L.indices]
        top, index = self._largest(similarity), np.zeros(self._L.shape[0], dtype=np.intp)
        found = np.flatnonzero(similarity == top[self._row])
        # The first of the largest entries of every row.
        index[self._some] = self._L.indices[found[np.unique(self._row[found], return_index=True)[1]]]
        return top, index

    def add(self, log_w: Array) -> Array:
        self._L.data += log_w[self._L.indices]
        return self._largest(self._L.data)

    def _largest(self, entries: Array) -> Array:
        top = np.full(self._L.shape[0], -np.inf)
        if len(self._starts):
            top[self._some] = np.maximum.reduceat(entries, self._starts)
        return top

    def sums(self, shift: Array, values: Array) -> tuple[Array, Array]:
        self._L.data = np.exp(self._L.data - shift[self._row])
        total = np.zeros(self._L.shape[0])
        if len(self._starts):
            total[self._some] = np.add.reduceat(self._L.data, self._starts)
        return self._L @ values, total
