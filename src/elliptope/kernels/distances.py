"""Euclidean distances between two sets of points, to full precision however far from the origin they lie."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.spatial.distance import cdist

from .._utils.arrays import Array

# Up to this dimension direct differences cost no more than the exponential that follows, and round far better.
_DIRECT_DIMENSION = 32
# Largest error of a squared distance, relative to the squared scale, that the expanded form may make.
_EXPANSION_ERROR = 1e-12


def squared_distances(X: Array, Y: Array, scale: float = 1.0) -> Array:
    r"""Squared Euclidean distances :math:`\lVert x_i - y_j \rVert^2`, shape (n, m), in float64.

    The expansion :math:`\lVert x\rVert^2 - 2 x\cdot y + \lVert y\rVert^2` is one matrix product, but cancels when points
    are close together and far from the origin. It is used, after centring, only where its rounding error is typically below
    1e-12 ``scale``²; elsewhere differences are formed directly. Offsets of 1e8 and float32 input are therefore harmless.
    """
    return _expanded(X, Y, scale)[0]


def distances(X: Array, Y: Array, scale: float = 1.0) -> Array:
    r"""Euclidean distances, shape (n, m), in float64, typically to 1e-12 ``scale``.

    The square root magnifies errors near zero: pairs that are too close for the expansion are formed directly.
    """
    D, error = _expanded(X, Y, scale)
    if error > 0:
        i, j = np.nonzero(np.sqrt(D) < error / (2 * _EXPANSION_ERROR * scale))
        difference = np.asarray(X, dtype=np.float64)[i] - np.asarray(Y, dtype=np.float64)[j]
        D[i, j] = np.einsum("ij,ij->i", difference, difference)
    return np.sqrt(D, out=D)


def _expanded(X: Array, Y: Array, scale: float) -> tuple[Array, float]:
    """Squared distances, and their typical absolute error where the expansion made one."""
    X = np.asarray(X, dtype=np.float64)
    Y = np.asarray(Y, dtype=np.float64)
    if X.shape[1] <= _DIRECT_DIMENSION:
        return cdist(X, Y, "sqeuclidean"), 0.0
    centre = Y.mean(axis=0)
    X_c, Y_c = X - centre, Y - centre
    x2 = np.einsum("ij,ij->i", X_c, X_c)
    y2 = np.einsum("ij,ij->i", Y_c, Y_c)
    error = float(4 * np.finfo(float).eps * max(x2.max(initial=0.0), y2.max(initial=0.0)))
    scale = float(scale)  # Python floats overflow to infinity without a warning
    if not error / scale / scale <= _EXPANSION_ERROR:
        return cdist(X, Y, "sqeuclidean"), 0.0
    # dgemm works on the transposes, so that both operands and the result are used as they lie in memory.
    D = dgemm(-2.0, Y_c.T, X_c.T, trans_a=True).T
    D += x2[:, None]
    D += y2
    return np.maximum(D, 0.0, out=D), error
