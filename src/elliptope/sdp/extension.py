r"""Where each row of a factor belongs, given all others: the map T, of which optima are fixed points.

With :math:`\Lambda = H^\top E H`, which is zero without a quadratic term, the rows of an optimum satisfy

.. math:: h_i\, (y_i + e_i \Lambda) = (J H)_i , \qquad \lVert h_i\rVert = 1 ,

where y_i is the largest number for which this holds. T(H) solves these equations, row by row, for the J H and Λ of any H.
New points have the same equation: T(H) at the sample is what the extension of H gives there. Without a quadratic term it is
a step of the projected power method.
"""

from __future__ import annotations

import numpy as np

from .._utils.arrays import Array, as_numpy, like
from .iterate import Iterate

# Newton's steps, which converge quadratically from below; and the tolerance on ‖h‖² = 1.
_STEPS = 100
_EXCESS = 1e-15
# Bounds on 1/e_i, relative to the largest: beyond them the quadratic term is negligible for a row.
_LARGEST_RATIO = 1e100


def extended(iterate: Iterate) -> Array:
    """T(H), (n, r). A row that no other holds stays as it is."""
    H, quadratic = iterate.H, iterate.quadratic
    JH = iterate.P + iterate.offset[:, None] * H
    if quadratic is None:
        V = as_numpy(JH)
    else:
        values, basis = np.linalg.eigh(as_numpy(quadratic.G))
        e = as_numpy(quadratic.e)
        G = as_numpy(JH + quadratic.EH @ quadratic.G) @ basis
        V = unit_solutions(G / np.maximum(e, e.max() / _LARGEST_RATIO)[:, None], values - values[0]) @ basis.T
    length = np.linalg.norm(V, axis=1, keepdims=True)
    kept = as_numpy(H)
    return like(H, np.where(length > 0, V / np.where(length > 0, length, 1.0), kept))


def unit_solutions(G: Array, gaps: Array) -> Array:
    r"""Rows :math:`g_\ell/(z + \text{gap}_\ell)` of length one, with z ≥ 0 for each row; zero where g vanishes.

    The reciprocal of the length is a concave function of z, and the start is left of the root; so Newton's method comes from
    the left and never passes it.
    """
    z = np.maximum((np.abs(G) - gaps).max(axis=1), np.finfo(float).tiny)[:, None]
    for _ in range(_STEPS):
        H = G / (z + gaps)
        squared = np.einsum("ij,ij->i", H, H)[:, None]
        if (squared <= 1 + _EXCESS).all():
            break
        length = np.sqrt(squared)
        slope = np.einsum("ij,ij->i", H, H / (z + gaps))[:, None]
        z = z + np.where(squared > 1, (length - 1) * squared / np.where(slope > 0, slope, 1.0), 0.0)
    length = np.linalg.norm(H, axis=1, keepdims=True)
    return np.divide(H, length, out=np.zeros_like(H), where=length > 0)
