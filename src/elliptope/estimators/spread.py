r"""New points of the strictly concave program: the direction of a row comes from an equation of its own.

With unit rows h_i, weights :math:`e_i = w_i \sqrt{s\, d_i \bar A_{ii}}` and :math:`\Lambda = \sum_j e_j h_j h_j^\top`, a row
of the optimum of :math:`\max \operatorname{Tr}(J Z) - \frac12 \sum_{ij} e_i e_j Z_{ij}^2` satisfies

.. math:: h_i\, (y_i + e_i \Lambda) = (J H)_i , \qquad \lVert h_i\rVert = 1 ,

with y_i the largest number for which this holds. A new point x has the same equation, with the extended row of J on the
right. Weights of rows and √d(x) cancel: with the mean of :mod:`elliptope.estimators.extension`, in the basis in which Λ is
diagonal,

.. math:: h_\ell(x) = \frac{\rho(x)\, \text{mean}_\ell(x)}{z + \lambda_\ell - \lambda_{\min}} , \qquad
          \rho(x) = \Big(\frac{m_e(x)}{s\, \bar a_e(x, x)}\Big)^{1/2} ,

where z ≥ 0 is such that :math:`\lVert h(x)\rVert = 1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array
from .diagonals import KernelDiagonal
from .extension import Attention, unit_rows

# Bounds on log ρ(x): beyond them the quadratic term is negligible, or all there is, and squares would overflow.
_LARGEST_LOG = 230.0
# Newton's steps, which converge quadratically from below; and the excess of a squared length that counts as none.
_STEPS = 100
_EXCESS = 1e-15


@dataclass(frozen=True, eq=False)
class SpreadDirections:
    """What the extension needs to know of the quadratic term."""

    s: float
    values: Array  # (r,): eigenvalues of Λ, ascending
    basis: Array  # (r, r): its eigenvectors
    kernel: KernelDiagonal  # d(x) = diag(Abar), whatever the bound on the diagonal is

    @classmethod
    def of(cls, s: float, Xi: Array, e: Array, kernel: KernelDiagonal) -> SpreadDirections:
        """For the embedding Ξ, (n, r), and weights e of its rows."""
        H = unit_rows(Xi)
        values, basis = np.linalg.eigh(H.T @ (e[:, None] * H))
        return cls(s, values, basis, kernel)

    def directions(self, attention: Attention) -> Array:
        """Unit rows h(x), (b, r); zero where the mean vanishes."""
        log_radius = self.kernel.log_radius(attention) + 0.5 * math.log(attention.unit)  # of weights in the unit
        log_rho = 0.5 * (attention.log_mass - math.log(self.s)) - log_radius
        rho = np.exp(np.clip(log_rho, -_LARGEST_LOG, _LARGEST_LOG))
        G = rho[:, None] * (attention.mean @ self.basis)
        return _unit_solutions(G, self.values - self.values[0]) @ self.basis.T


def _unit_solutions(G: Array, gaps: Array) -> Array:
    r"""Rows :math:`g_\ell/(z + \text{gap}_\ell)` of length one, with z ≥ 0 for each row.

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
