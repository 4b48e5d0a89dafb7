"""A tall factor F (n, k), read by blocks of rows: products and Gram matrices without a second n × k array.

Work is cut into chunks of rows that do not depend on the number of threads, and partial sums are added in the order of the
rows, so that results are the same, to the last bit, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dsyrk

from ..._utils.arrays import Array
from ..._utils.blocks import blocks
from ..._utils.threads import in_order

# Rows that one thread takes at a time.
_CHUNK = 8192
# Rows of a thin product: a block in double precision stays in a core's cache, and BLAS need not pack it.
_ROWS = 128
# Rows of one symmetric product: enough for BLAS to be fast, few enough for the rounding of sums to stay small.
_GRAM_ROWS = 1024


def chunks(n: int) -> Iterator[slice]:
    """The rows, as threads share them."""
    return blocks(0, n, _CHUNK)


class TallFactor:
    """F (n, k), stored by rows in float64 or float32. What it computes is in float64, for F exactly as it is stored."""

    def __init__(self, F: Array, n_jobs: int = 1) -> None:
        self.n, self.k = F.shape
        self.F = F
        self.n_jobs = n_jobs
        self.squares = np.empty(self.n)  # ‖f_i‖², to γ_k
        for _ in in_order(self._fill_squares, chunks(self.n), n_jobs):
            pass

    def _fill_squares(self, rows: slice) -> None:
        for block in blocks(rows.start, rows.stop, _ROWS):
            F = self._read(block)
            self.squares[block] = np.einsum("ij,ij->i", F, F)

    def _read(self, rows: slice) -> Array:
        return self.F[rows].astype(np.float64, copy=False)

    def transposed_product(self, V: Array) -> Array:
        """FᵀV, shape (k, r)."""

        def partial(rows: slice) -> Array:
            total = np.zeros((V.shape[1], self.k))
            for block in blocks(rows.start, rows.stop, _ROWS):
                # The thin matrix from the left: so BLAS reads F as it lies in memory.
                total += V[block].T @ self._read(block)
            return total

        return sum(in_order(partial, chunks(self.n), self.n_jobs), np.zeros((V.shape[1], self.k))).T

    def product(self, W: Array) -> Array:
        """F W, shape (n, r), in Fortran order."""
        out = np.empty((W.shape[1], self.n))
        left = np.ascontiguousarray(W.T)

        def fill(rows: slice) -> None:
            for block in blocks(rows.start, rows.stop, _ROWS):
                np.matmul(left, self._read(block).T, out=out[:, block])

        for _ in in_order(fill, chunks(self.n), self.n_jobs):
            pass
        return out.T

    def gram(self, c: Array, Q: Array) -> Array:
        """[Diag(c) F, Q]ᵀ [Diag(c) F, Q] for a thin Q (n, q): its upper triangle, shape (k + q, k + q), Fortran order."""
        size = self.k + Q.shape[1]

        def partial(rows: slice) -> Array:
            total = np.zeros((size, size), order="F")
            for block in blocks(rows.start, rows.stop, _GRAM_ROWS):
                W = np.empty((block.stop - block.start, size))
                np.multiply(self.F[block], c[block, None], out=W[:, : self.k])
                W[:, self.k :] = Q[block]
                # Added to the total by itself: how a BLAS would order the sum over blocks is not known.
                total += dsyrk(1.0, W.T)
            return total

        return sum(in_order(partial, chunks(self.n), self.n_jobs), np.zeros((size, size), order="F"))

    @property
    def gram_additions(self) -> int:
        """Additions that a term of an entry of :meth:`gram` goes through, at most: in its block, its chunk, and in all."""
        return _GRAM_ROWS + -(-_CHUNK // _GRAM_ROWS) + -(-self.n // _CHUNK)


def to_single(F: Array, k: int) -> Array:
    """The first k columns of F, rounded to float32, in the memory of F, of which the rest is given back; F is void then."""
    n = len(F)
    target = F.reshape(-1).view(np.float32)
    for rows in blocks(0, n, _GRAM_ROWS):  # ascending: what is written has been read before
        target[rows.start * k : rows.stop * k] = F[rows, :k].astype(np.float32).reshape(-1)
    del target
    F.resize((n * k + 1) // 2, refcheck=False)
    return F.view(np.float32)[: n * k].reshape(n, k)
