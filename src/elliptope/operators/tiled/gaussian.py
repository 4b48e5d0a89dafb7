r"""Tiles of the Gaussian kernel: one matrix product, one exponential; and how far they are from the truth.

With :math:`z = \sqrt2 (x - c)/\sigma` for some centre c,

.. math:: -\lVert x_i - x_j\rVert^2/\sigma^2 = z_i \cdot z_j - \tfrac12\lVert z_i\rVert^2 - \tfrac12\lVert z_j\rVert^2
          = (z_i, -\tfrac12\lVert z_i\rVert^2, 1) \cdot (z_j, 1, -\tfrac12\lVert z_j\rVert^2).

**Rounding.** Let u be the unit roundoff of float64, :math:`\gamma_k = ku/(1-ku)`, :math:`\rho_i = \lVert z_i\rVert^2`. The
inner product of p + 2 terms errs by :math:`\gamma_{p+2}` times the sum of their sizes, which is at most
:math:`\rho_i + \rho_j`. Rounding z by a part θ of its size moves the exponent by :math:`2\theta(\rho_i + \rho_j)`, rounding
the half norms by half of their relative error; z has up to four roundings and the norms p + 1. So the exponent errs by at
most :math:`\Delta_{ij} = \gamma_k (\rho_i + \rho_j)` with k = 2p + 12; and with an exponential that is good to 4 ulp,

.. math:: |\tilde K_{ij} - K_{ij}| \le (\kappa_i + \kappa_j) \tilde K_{ij}, \qquad
          \kappa_i = e^{\max\Delta} (\gamma_k \rho_i + \tfrac92 u),

but for underflow, which costs at most the smallest normal number. This is why points are centred, and why tiles in float32
are for points that are not too far out: ρ is large where the bandwidth is small.
"""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array
from ..._utils.blocks import TILE
from ..._utils.rounding import UNIT, gamma
from ..recomputed import TileErrors
from .tiles import Fill, Tiles, pad_rows, roundings, split

# exp of NumPy is good to 2.52 ulp with AVX-512, and better elsewhere.
_EXP_ULPS = 4


def gaussian_coordinates(X: Array, bandwidth: float, centre: Array | None = None) -> Array:
    r""":math:`z = \sqrt2 (x - c)/\sigma` about c, the mean by default, shape (n, p); not finite where that overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        c = X.mean(axis=0) if centre is None else centre
        return (X - c) * (np.sqrt(2.0) / np.float64(bandwidth))


def gaussian_errors(Z: Array) -> TileErrors:
    """The errors of :class:`GaussianTiles` in float64; those of entries are infinite beyond the range of the bound."""
    n, p = Z.shape
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = gamma(2 * p + 12) * np.einsum("ij,ij->i", Z, Z)  # (n,)
    worst = 2 * float(exponent.max())
    entry = np.full(n, np.inf)
    if worst <= 1:  # and is a number
        entry = np.exp(worst) * (exponent + (_EXP_ULPS + 0.5) * UNIT)
    return TileErrors(entry, gamma(roundings(n)))


class GaussianTiles(Tiles):
    r"""Tiles :math:`\exp(z_i\cdot z_j - \frac12\lVert z_i\rVert^2 - \frac12\lVert z_j\rVert^2)` in ``dtype``."""

    def __init__(self, Z: Array, n_jobs: int, dtype: type[np.floating] = np.float64) -> None:
        n, p = Z.shape
        super().__init__(n, n_jobs, dtype)
        A = np.empty((n, p + 2), dtype=dtype)
        A[:, :p] = Z
        Z = A[:, :p].astype(np.float64)  # norms are those of the rounded coordinates
        A[:, p] = -0.5 * np.einsum("ij,ij->i", Z, Z)
        A[:, p + 1] = 1
        self._A = pad_rows(A)

    def in_single(self) -> Tiles:
        return GaussianTiles(self._A[: self.n, :-2], self.n_jobs, np.float32)

    def filler(self, rows: slice, columns: slice) -> Fill:
        A, B = self._A[rows], self._A[columns]
        p = A.shape[1] - 2
        left = split(A)  # (tiles, TILE, p + 2)
        right = np.empty((p + 2, len(B)), dtype=self.dtype)
        right[:p], right[p], right[p + 1] = B[:, :p].T, B[:, p + 1], B[:, p]
        right = right.reshape(p + 2, -1, TILE).transpose(1, 0, 2)  # (tiles, p + 2, TILE), a view

        def fill(i: int, j: int, T: Array) -> None:
            np.matmul(left[i], right[j : j + len(T)], out=T)
            np.exp(T, out=T)

        return fill
