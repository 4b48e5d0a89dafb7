"""Dense factorisations that never raise: a failed Cholesky is an answer."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ...operators.base import Array


def cholesky(A: Array) -> Array | None:
    """Lower Cholesky factor of A in the lower triangle (the upper one is rubbish), or None if A is not definite."""
    factor, info = dpotrf(A, lower=1, clean=0, overwrite_a=0)
    return factor if info == 0 else None


def inverse_from_cholesky(factor: Array) -> Array:
    """The full symmetric inverse from :func:`cholesky`."""
    inverse, _ = dpotri(factor, lower=1)
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    return inverse
