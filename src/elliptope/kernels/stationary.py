r"""Kernels of the distance between two points: Gaussian, Laplacian, Matérn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, kve

from .._utils.arrays import Array
from .._utils.checks import check_positive
from .base import Kernel
from .distances import distances, squared_distances

# Scaled distance beyond which a Matérn kernel is e^-ρ to all digits of its logarithm.
_FAR = 1e8
# Matérn kernels of higher order differ little from the Gaussian, and their Bessel functions overflow.
LARGEST_NU = 50


@dataclass(frozen=True)
class Gaussian(Kernel):
    r""":math:`k(x, y) = \exp(-\lVert x-y\rVert^2/\sigma^2)`; its functions are analytic."""

    bandwidth: float

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def log_block(self, X: Array, Y: Array) -> Array:
        D = squared_distances(X, Y, self.bandwidth)
        return np.negative(D, out=D)

    def sobolev_order(self, p: int) -> float:
        return math.inf


@dataclass(frozen=True)
class Laplacian(Kernel):
    r""":math:`k(x, y) = \exp(-\lVert x-y\rVert_2/\sigma)`, the Matérn kernel with ν = 1/2.

    The norm is Euclidean, so that rotations of the data change nothing; scikit-learn's ``laplacian_kernel`` uses the
    Manhattan norm.
    """

    bandwidth: float

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def log_block(self, X: Array, Y: Array) -> Array:
        D = distances(X, Y, self.bandwidth)
        return np.negative(D, out=D)

    def sobolev_order(self, p: int) -> float:
        return (p + 1) / 2


@dataclass(frozen=True)
class Matern(Kernel):
    r"""Matérn kernel with :math:`\rho = \sqrt{2\nu}\,\lVert x-y\rVert/\sigma`:

    .. math:: k(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)}\,\rho^{\nu} K_\nu(\rho),

    the reproducing kernel of the Sobolev space of order :math:`s = \nu + p/2`. ``bandwidth`` is scikit-learn's
    ``length_scale``. For half-integer ν the Bessel function is a polynomial times :math:`e^{-\rho}`; other orders use
    the exponentially scaled Bessel function.
    """

    bandwidth: float
    nu: float = 1.5

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)
        check_positive("nu", self.nu)
        if self.nu > LARGEST_NU:
            raise ValueError(f"`nu` must be at most {LARGEST_NU}, got {self.nu!r}; the limit is the Gaussian kernel.")

    def log_block(self, X: Array, Y: Array) -> Array:
        rho = distances(X, Y, self.bandwidth)
        with np.errstate(over="ignore"):
            rho *= math.sqrt(2 * self.nu)
        # Beyond this k is zero to the last bit of the log domain; the formulas would meet ∞ - ∞.
        far = rho > _FAR
        return np.where(far, -rho, self._log_profile(np.where(far, 0.0, rho)))

    def _log_profile(self, rho: Array) -> Array:
        """log k as a function of the scaled distance ρ."""
        coefficients = self.polynomial()
        if coefficients is not None:
            return np.log(np.polyval(coefficients, rho)) - rho
        nu = self.nu
        safe = np.where(rho > 0, rho, 1.0)
        with np.errstate(over="ignore"):
            bessel = kve(nu, safe)
        log_k = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(safe) + np.log(bessel) - safe
        # K_ν overflows as ρ → 0, where two terms of its series are exact.
        near = -(rho**2) / (4 * (nu - 1)) if nu > 1 else np.zeros_like(rho)
        return np.where((rho > 0) & np.isfinite(bessel), np.minimum(log_k, 0.0), near)

    def polynomial(self) -> list[float] | None:
        r"""Coefficients of q in :math:`k = q(\rho) e^{-\rho}`, from the highest on, where ν is half an odd number up to 21.

        .. math:: q(\rho) = \frac{k!}{(2k)!} \sum_{j=0}^{k} \frac{(k+j)!}{j!\,(k-j)!} (2\rho)^{k-j},
                  \qquad k = \nu - \tfrac12.

        None for other orders.
        """
        degree = self.nu - 0.5
        if degree != int(degree) or degree > 10:
            return None
        k = int(degree)
        return [
            math.exp(gammaln(k + j + 1) - gammaln(j + 1) - gammaln(k - j + 1) + gammaln(k + 1) - gammaln(2 * k + 1))
            * 2.0 ** (k - j)
            for j in range(k + 1)
        ]

    def sobolev_order(self, p: int) -> float:
        return self.nu + p / 2


def has_profile(kernel: object) -> bool:
    """Whether a kernel is exp(-ρ²), or a polynomial in ρ times exp(-ρ): those that there are device functions for."""
    return isinstance(kernel, Gaussian | Laplacian) or (isinstance(kernel, Matern) and kernel.polynomial() is not None)
