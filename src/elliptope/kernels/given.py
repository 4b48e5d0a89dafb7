"""Kernels that users bring: a function of two sets of points, or a matrix of kernel values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array
from .._utils.blocks import blocks
from .base import Kernel

# Entries of a block of points when a kernel's diagonal has to be read off blocks.
_DIAGONAL_BLOCK = 64


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function ``k(X, Y) -> (n, m)``, checked block by block."""

    function: Callable[[Array, Array], Array]

    def block(self, X: Array, Y: Array) -> Array:
        K = np.array(self.function(X, Y), dtype=np.float64)
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"`kernel` must return an array of shape ({len(X)}, {len(Y)}) for inputs with {len(X)} and {len(Y)} rows, "
                f"got shape {K.shape}."
            )
        return _check_block(K)

    def log_block(self, X: Array, Y: Array) -> Array:
        return _log_nonnegative(self.block(X, Y))

    def diagonal(self, X: Array) -> Array:
        return np.concatenate([self.block(X[b], X[b]).diagonal() for b in blocks(0, len(X), _DIAGONAL_BLOCK)])

    def sobolev_order(self, p: int) -> float:
        return math.nan


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Rows of ``X`` are already kernel values against the training points; ``Y`` is not looked at.

    ``self_similarity`` is k(x, x), when all training points share it; without it the diagonal of a new point is unknown.
    ``columns`` are those of the points of positive weight, all by default.
    """

    self_similarity: float | None = None
    columns: Array | None = None

    def block(self, X: Array, Y: Array) -> Array:
        columns = slice(None) if self.columns is None else self.columns
        return _check_block(X[:, columns].astype(np.float64))

    def log_block(self, X: Array, Y: Array) -> Array:
        return _log_nonnegative(self.block(X, Y))

    def diagonal(self, X: Array) -> Array:
        if self.self_similarity is None:
            raise ValueError(
                "`kernel='precomputed'`: k(x, x) differs between training points, so it is unknown for new ones and "
                "diagonal='kernel' cannot be extended. Use diagonal='constant' or a callable, or scale K to a constant "
                "diagonal."
            )
        return np.full(len(X), self.self_similarity)

    def sobolev_order(self, p: int) -> float:
        return math.nan


def _check_block(K: Array) -> Array:
    if not np.isfinite(K).all():
        raise ValueError("`kernel` must give finite values, got NaN or infinity.")
    return K


def _log_nonnegative(K: Array) -> Array:
    if (K < 0).any():
        raise ValueError(f"`kernel` must be non-negative to normalise by its row sums, got a minimum of {K.min():.6g}.")
    with np.errstate(divide="ignore"):
        return np.log(K, out=K)
