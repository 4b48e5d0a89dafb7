r"""The contract of kernels: functions of two points, given block by block.

A kernel answers four questions: a block :math:`k(x_i, y_j)`, the same block in the log domain (so that points far from
everything keep a direction), the diagonal :math:`k(x, x)`, and how smooth the functions of its RKHS are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._utils.arrays import Array


class Kernel(ABC):
    """A symmetric kernel k(x, y)."""

    @abstractmethod
    def log_block(self, X: Array, Y: Array) -> Array:
        """log k(x_i, y_j), shape (n, m); -inf where the kernel vanishes."""

    def block(self, X: Array, Y: Array) -> Array:
        """k(x_i, y_j), shape (n, m)."""
        L = self.log_block(X, Y)
        return np.exp(L, out=L)

    def diagonal(self, X: Array) -> Array:
        """k(x_i, x_i), shape (n,)."""
        return np.ones(len(X))

    @abstractmethod
    def sobolev_order(self, p: int) -> float:
        """Order s of the Sobolev space that the RKHS on R^p is norm-equivalent to.

        ``inf`` when its functions are analytic, ``nan`` when nothing is known.
        """

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return self.block(X, X if Y is None else Y)
