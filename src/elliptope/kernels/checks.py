"""Checks of kernel matrices that users give."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from .._utils.arrays import Array

# Asymmetry and negative eigenvalues, relative to the diagonal, that a given matrix may owe to rounding.
KERNEL_ROUNDING = 1e-8


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
