r"""Tiles of the Gaussian kernel: one matrix product, one exponential; and how far they are from the truth.

With :math:`z = \sqrt2 (x - c)/\sigma` for some centre c,

.. math:: -\lVert x_i - x_j\rVert^2/\sigma^2 = z_i \cdot z_j - \tfrac12\lVert z_i\rVert^2 - \tfrac12\lVert z_j\rVert^2
          = (z_i, -\tfrac12\lVert z_i\rVert^2, 1) \cdot (z_j, 1, -\tfrac12\lVert z_j\rVert^2).

**Rounding.** Let u be the unit roundoff, :math:`\gamma_k = ku/(1-ku)` and :math:`\rho_i = \lVert z_i\rVert^2`. The inner
product of p + 2 terms errs by :math:`\gamma_{p+2}` times the sum of their sizes, which is at most :math:`\rho_i + \rho_j`.
Rounding z by a part θ of its size moves the exponent by :math:`2\theta(\rho_i + \rho_j)`, rounding the half norms by half of
their relative error. In float32, z is rounded once and the norms come from float64; in float64, z has up to four roundings
and the norms p + 1. So the exponent errs by at most :math:`\Delta_{ij} = \gamma_k (\rho_i + \rho_j)` with k = p + 6 in
float32 and k = 2p + 12 in float64; and with an exponential that is good to 4 ulp,

.. math:: |\tilde K_{ij} - K_{ij}| \le (\kappa_i + \kappa_j) \tilde K_{ij}, \qquad
          \kappa_i = e^{\max\Delta} (\gamma_k \rho_i + \tfrac92 u),

but for underflow, which costs at most the smallest normal number. This is why points are centred, and why single precision
is for points that are not too far out: ρ is large where the bandwidth is small.
"""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array
from ..._utils.rounding import gamma
from .tiles import Fill, TileErrors, Tiles, pad_rows, roundings

# exp of NumPy is good to 2.52 ulp in float32 with AVX-512, and better elsewhere.
_EXP_ULPS = 4
# Rows of an operand are this many numbers, a cache line, more apart than a power of two, so as not to share cache sets.
_CACHE_LINE = 16


def gaussian_coordinates(X: Array, bandwidth: float) -> Array:
    r""":math:`z = \sqrt2 (x - c)/\sigma` about the mean c, shape (n, p); not finite where that overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (X - X.mean(axis=0)) * (np.sqrt(2.0) / np.float64(bandwidth))


def gaussian_errors(Z: Array, dtype: type[np.floating]) -> TileErrors:
    """The errors of :class:`GaussianTiles`; those of entries are infinite where the bound would say nothing."""
    n, p = Z.shape
    u = float(np.finfo(dtype).eps) / 2
    k = p + 6 if dtype is np.float32 else 2 * p + 12
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = gamma(k, u) * np.einsum("ij,ij->i", Z, Z)  # (n,)
    worst = 2 * float(exponent.max())
    entry = np.full(n, np.inf)
    if worst <= 1:  # and is a number
        entry = np.exp(worst) * (exponent + (_EXP_ULPS + 0.5) * u)
    within, across = roundings(n)
    return TileErrors(entry, gamma(within, u) + gamma(across))


class GaussianTiles(Tiles):
    r"""Tiles :math:`\exp(z_i\cdot z_j - \frac12\lVert z_i\rVert^2 - \frac12\lVert z_j\rVert^2)` in ``dtype``."""

    def __init__(self, Z: Array, dtype: type[np.floating], n_jobs: int) -> None:
        n, p = Z.shape
        super().__init__(n, n_jobs, inner=p + 2)
        self.dtype = dtype
        self.errors = gaussian_errors(Z, dtype)
        A = np.empty((n, p + 2), dtype=dtype)
        A[:, :p] = Z
        Z = A[:, :p].astype(np.float64)  # norms are those of the rounded coordinates
        A[:, p] = -0.5 * np.einsum("ij,ij->i", Z, Z)
        A[:, p + 1] = 1
        self._A = pad_rows(A)

    def in_single(self) -> Tiles | None:
        if self.dtype is np.float32:
            return None
        return GaussianTiles(self._A[: self.n, :-2], np.float32, self.n_jobs)

    def filler(self, rows: slice, columns: slice, side: int) -> Fill:
        A, B = self._A[rows], self._A[columns]
        p = A.shape[1] - 2
        left = A.reshape(-1, side, p + 2)
        right = np.empty((p + 2, len(B) + _CACHE_LINE), dtype=self.dtype)[:, : len(B)]
        right[:p], right[p], right[p + 1] = B[:, :p].T, B[:, p + 1], B[:, p]
        right = right.reshape(p + 2, -1, side).transpose(1, 0, 2)  # (tiles, p + 2, side), a view

        def fill(i: int, j: int, T: Array) -> None:
            np.matmul(left[i], right[j : j + len(T)], out=T)
            np.exp(T, out=T)

        return fill
