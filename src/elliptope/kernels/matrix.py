"""Kernel matrices: computed from points, and checked where users bring them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf

from .._utils.arrays import Array
from .._utils.blocks import blocks
from .._utils.threads import in_order

if TYPE_CHECKING:
    from .base import Kernel

# Side of the tiles in which a matrix is computed: two float64 tiles stay in a core's cache.
_TILE = 512
# Asymmetry and negative eigenvalues, relative to the diagonal, that a given matrix may owe to rounding.
KERNEL_ROUNDING = 1e-8


def kernel_matrix(kernel: Kernel, X: Array, n_jobs: int = 1) -> Array:
    """K_ij = k(x_i, x_j), shape (n, n); tiles of one half are computed by ``n_jobs`` threads and mirrored."""
    n = len(X)
    K = np.empty((n, n))

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        T = kernel.block(X[rows], X[columns])
        if rows == columns:  # mirrored, so that K is symmetric to the last bit
            T = np.tril(T, -1)
            T += T.T
            np.fill_diagonal(T, kernel.diagonal(X[rows]))
        else:
            K[columns, rows] = T.T
        K[rows, columns] = T

    lower = ((rows, columns) for rows in blocks(0, n, _TILE) for columns in blocks(0, rows.stop, _TILE))
    for _ in in_order(fill, lower, n_jobs):  # consuming the iterator raises what a tile raised
        pass
    return K


def check_kernel_matrix(K: Array, message: str = "`X` must be {} for kernel='precomputed'") -> Array:
    """A symmetric positive semi-definite copy of a kernel matrix, or an error that says what it is not."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{message.format('a square kernel matrix')}, got shape {K.shape}.")
    diagonal = K.diagonal()
    if not (diagonal > 0).all():
        raise ValueError(f"{message.format('positive on the diagonal')}, got a minimum of {diagonal.min():.6g}.")
    size = float(diagonal.max())
    asymmetry = float(np.abs(K - K.T).max())
    if asymmetry > KERNEL_ROUNDING * size:
        raise ValueError(f"{message.format('symmetric')}, got max|K - K.T| = {asymmetry:.3g}.")
    if K.min() < -KERNEL_ROUNDING * size:
        raise ValueError(f"{message.format('non-negative')}, got a minimum of {K.min():.6g}.")
    K = np.maximum(0.5 * (K + K.T), 0.0)
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += len(K) * KERNEL_ROUNDING * size
    if dpotrf(shifted, overwrite_a=1)[1] != 0:
        smallest = float(np.linalg.eigvalsh(K)[0])
        raise ValueError(f"{message.format('positive semi-definite')}, got a smallest eigenvalue of {smallest:.6g}.")
    return K
