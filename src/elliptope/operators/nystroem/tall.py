"""A tall factor F (n, k), read by blocks of rows: products and Gram matrices without a second n × k array.

Blocks do not depend on the number of threads, and partial sums are added in the order of the rows, so that results are the
same, to the last bit, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsyrk

from ..._utils.arrays import Array
from ..._utils.blocks import ROWS, blocks
from ..._utils.threads import in_order


class TallFactor:
    """F (n, k), stored by rows."""

    def __init__(self, F: Array, n_jobs: int = 1) -> None:
        self.n, self.k = F.shape
        self.F = F
        self.n_jobs = n_jobs
        self.squares = np.einsum("ij,ij->i", F, F)  # ‖f_i‖², (n,), to γ_k

    def transposed_product(self, V: Array) -> Array:
        """FᵀV, shape (k, r)."""
        # The thin matrix from the left: so BLAS reads F as it lies in memory.
        return self._sum(lambda rows: V[rows].T @ self.F[rows], np.zeros((V.shape[1], self.k))).T

    def product(self, W: Array) -> Array:
        """F W, shape (n, r), in Fortran order."""
        out = np.empty((W.shape[1], self.n))
        left = np.ascontiguousarray(W.T)

        def fill(rows: slice) -> None:
            np.matmul(left, self.F[rows].T, out=out[:, rows])

        for _ in in_order(fill, blocks(0, self.n, ROWS), self.n_jobs):
            pass
        return out.T

    def gram(self, c: Array, Q: Array) -> Array:
        """[Diag(c) F, Q]ᵀ [Diag(c) F, Q] for a thin Q (n, q): its lower triangle, shape (k + q, k + q), Fortran order."""
        size = self.k + Q.shape[1]

        def partial(rows: slice) -> Array:
            W = np.empty((rows.stop - rows.start, size))
            np.multiply(self.F[rows], c[rows, None], out=W[:, : self.k])
            W[:, self.k :] = Q[rows]
            return dsyrk(1.0, W.T, lower=1)

        return self._sum(partial, np.zeros((size, size), order="F"))

    @property
    def gram_additions(self) -> int:
        """Additions that a term of an entry of :meth:`gram` goes through, at most: in its block, and over the blocks."""
        return ROWS + -(-self.n // ROWS)

    def _sum(self, partial: Callable[[slice], Array], out: Array) -> Array:
        """Σ partial(rows) over blocks of rows, in their order, added to ``out`` in place."""
        for term in in_order(partial, blocks(0, self.n, ROWS), self.n_jobs):
            out += term
        return out
