"""Euclidean distances between two sets of points, to full precision however far from the origin they lie."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.spatial.distance import cdist

from .._utils.arrays import Array

# Up to this dimension direct differences cost no more than the exponential that follows, and round far better.
_DIRECT_DIMENSION = 32
# Largest error of a squared distance, relative to the squared scale, that the expanded form may make.
_EXPANSION_ERROR = 1e-12
# Exponents of two: of a scale below which squares of it may underflow, and of data whose squares are still finite.
_TINY_SCALE = -300
_LARGE_DATA = 500


def squared_distances(X: Array, Y: Array, scale: float = 1.0) -> Array:
    r"""Squared Euclidean distances :math:`\lVert x_i - y_j \rVert^2/s^2` in units of the ``scale`` s, (n, m), in float64.

    The expansion :math:`\lVert x\rVert^2 - 2 x\cdot y + \lVert y\rVert^2` is one matrix product, but cancels when points
    are close together and far from the origin. It is used, after centring, only where its rounding error is typically below
    1e-12 s²; elsewhere differences are formed directly. Offsets of 1e8 and float32 input are therefore harmless. So are data
    and scales whose squares underflow.
    """
    X, Y, scale = _in_range(X, Y, scale)
    D = _expanded(X, Y, scale)[0]
    # Divide twice: the square of a subnormal scale would underflow to zero.
    with np.errstate(over="ignore"):
        D /= scale
        D /= scale
    return D


def distances(X: Array, Y: Array, scale: float = 1.0) -> Array:
    r"""Euclidean distances in units of the ``scale``, shape (n, m), in float64, typically to 1e-12.

    The square root magnifies errors near zero: pairs that are too close for the expansion are formed directly.
    """
    X, Y, scale = _in_range(X, Y, scale)
    D, error = _expanded(X, Y, scale)
    if error > 0:
        i, j = np.nonzero(np.sqrt(D) < error / (2 * _EXPANSION_ERROR * scale))
        difference = X[i] - Y[j]
        D[i, j] = np.einsum("ij,ij->i", difference, difference)
    np.sqrt(D, out=D)
    with np.errstate(over="ignore"):
        D /= scale
    return D


def _in_range(X: Array, Y: Array, scale: float) -> tuple[Array, Array, float]:
    """In float64; multiplied, all three, by a power of two where squares of the scale would underflow."""
    X, Y, scale = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64), float(scale)
    exponent = power_of_two(scale, X, Y)
    return (np.ldexp(X, exponent), np.ldexp(Y, exponent), math.ldexp(scale, exponent)) if exponent else (X, Y, scale)


def power_of_two(scale: float, *data: Array) -> int:
    """The exponent of the power of two that brings a tiny ``scale`` to 1, or as near as the data allow; 0 for others."""
    exponent = math.frexp(scale)[1]
    if exponent > _TINY_SCALE:
        return 0
    largest = max(float(np.abs(X).max(initial=0.0)) for X in data)
    return -max(exponent, math.frexp(largest)[1] - _LARGE_DATA)


def _expanded(X: Array, Y: Array, scale: float) -> tuple[Array, float]:
    """Squared distances, and their typical absolute error where the expansion made one."""
    if X.shape[1] <= _DIRECT_DIMENSION:
        return cdist(X, Y, "sqeuclidean"), 0.0
    centre = Y.mean(axis=0)
    X_c, Y_c = X - centre, Y - centre
    x2 = np.einsum("ij,ij->i", X_c, X_c)
    y2 = np.einsum("ij,ij->i", Y_c, Y_c)
    error = float(4 * np.finfo(float).eps * max(x2.max(initial=0.0), y2.max(initial=0.0)))
    # Python floats overflow to infinity without a warning.
    if not error / scale / scale <= _EXPANSION_ERROR:
        return cdist(X, Y, "sqeuclidean"), 0.0
    # dgemm works on the transposes, so that both operands and the result are used as they lie in memory.
    D = dgemm(-2.0, Y_c.T, X_c.T, trans_a=True).T
    D += x2[:, None]
    D += y2
    return np.maximum(D, 0.0, out=D), error
