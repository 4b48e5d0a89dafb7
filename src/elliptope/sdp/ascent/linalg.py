"""Dense factorisations that return None instead of raising."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ..._utils.arrays import Array
from ...operators.factorization import completed


def cholesky(A: Array) -> Array | None:
    """Lower Cholesky factor of A, or None if A is not definite."""
    factor, info = dpotrf(A, lower=1, clean=1, overwrite_a=0)
    return factor if completed(factor, info) else None


def inverse_from_cholesky(factor: Array) -> Array:
    """The full symmetric inverse from :func:`cholesky`."""
    half, _ = dpotri(factor, lower=1)  # zero above its diagonal, as the factor is
    inverse = half + half.T
    np.fill_diagonal(inverse, half.diagonal())
    return inverse
