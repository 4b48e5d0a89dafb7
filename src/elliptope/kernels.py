r"""Kernels: functions of two points, given block by block.

A kernel answers four questions: a block :math:`k(x_i, y_j)`, the same block in the log domain (so that points far from
everything keep a direction), the diagonal :math:`k(x, x)`, and how smooth the functions of its RKHS are. Built-in kernels,
user callables and precomputed matrices all come through :func:`make_kernel`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.spatial.distance import cdist
from scipy.special import gammaln, kve

from ._checks import check_positive

Array = np.ndarray

# Up to this dimension direct differences cost no more than the exponential that follows, and round far better.
_DIRECT_DIMENSION = 32
# Largest error of a squared distance, relative to the squared scale, that the expanded form may make.
_EXPANSION_ERROR = 1e-12
# Scaled distance beyond which a Matérn kernel is e^-ρ to all digits of its logarithm.
_FAR = 1e8
# Matérn kernels of higher order differ little from the Gaussian, and their Bessel functions overflow.
LARGEST_NU = 50
# Entries of a block of points when a kernel's diagonal has to be read off blocks.
_DIAGONAL_BLOCK = 64


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
    scale = float(scale)  # Python floats overflow to infinity in silence
    if not error / scale / scale <= _EXPANSION_ERROR:
        return cdist(X, Y, "sqeuclidean"), 0.0
    # dgemm works on the transposes, so that both operands and the result are used as they lie in memory.
    D = dgemm(-2.0, Y_c.T, X_c.T, trans_a=True).T
    D += x2[:, None]
    D += y2
    return np.maximum(D, 0.0, out=D), error


class Kernel(ABC):
    """A symmetric kernel k(x, y)."""

    @abstractmethod
    def log_block(self, X: Array, Y: Array) -> Array:
        """log k(x_i, y_j), shape (n, m); -inf where the kernel vanishes."""

    def block(self, X: Array, Y: Array) -> Array:
        """k(x_i, y_j), shape (n, m)."""
        L = self.log_block(X, Y)
        return np.exp(L, out=L)

    def diagonal(self, X: Array) -> Array:
        """k(x_i, x_i), shape (n,)."""
        return np.ones(len(X))

    @abstractmethod
    def sobolev_order(self, p: int) -> float:
        """Order s of the Sobolev space that the RKHS on R^p is norm-equivalent to.

        ``inf`` when its functions are analytic, ``nan`` when nothing is known.
        """

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        return self.block(X, X if Y is None else Y)


@dataclass(frozen=True)
class Gaussian(Kernel):
    r""":math:`k(x, y) = \exp(-\lVert x-y\rVert^2/\sigma^2)`; its functions are analytic."""

    bandwidth: float

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def log_block(self, X: Array, Y: Array) -> Array:
        D = squared_distances(X, Y, self.bandwidth)
        # Divide twice: the square of a subnormal bandwidth would underflow to zero. Overflow to k = 0 is right.
        with np.errstate(over="ignore"):
            D /= -self.bandwidth
            D /= self.bandwidth
        return D

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
        with np.errstate(over="ignore"):
            D /= -self.bandwidth
        return D

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
            rho /= self.bandwidth
        rho *= math.sqrt(2 * self.nu)
        # Beyond this k is zero to the last bit of the log domain; the formulas would meet ∞ - ∞.
        far = rho > _FAR
        return np.where(far, -rho, self._log_profile(np.where(far, 0.0, rho)))

    def _log_profile(self, rho: Array) -> Array:
        """log k as a function of the scaled distance ρ."""
        degree = self.nu - 0.5
        if degree == int(degree) and degree <= 10:  # K_ν is elementary
            k = int(degree)
            # Σ_j (k+j)! / (j! (k-j)!) (2ρ)^(k-j), times k!/(2k)!
            coefficients = [
                math.exp(gammaln(k + j + 1) - gammaln(j + 1) - gammaln(k - j + 1) + gammaln(k + 1) - gammaln(2 * k + 1))
                * 2.0 ** (k - j)
                for j in range(k + 1)
            ]
            return np.log(np.polyval(coefficients, rho)) - rho
        nu = self.nu
        safe = np.where(rho > 0, rho, 1.0)
        with np.errstate(over="ignore"):
            bessel = kve(nu, safe)
        log_k = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(safe) + np.log(bessel) - safe
        # K_ν overflows as ρ → 0, where two terms of its series are exact.
        near = -(rho**2) / (4 * (nu - 1)) if nu > 1 else np.zeros_like(rho)
        return np.where((rho > 0) & np.isfinite(bessel), np.minimum(log_k, 0.0), near)

    def sobolev_order(self, p: int) -> float:
        return self.nu + p / 2


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function ``k(X, Y) -> (n, m)``, checked block by block."""

    function: Callable[[Array, Array], Array]

    def block(self, X: Array, Y: Array) -> Array:
        K = np.array(self.function(X, Y), dtype=np.float64)
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"`kernel` must return an array of shape ({len(X)}, {len(Y)}) for inputs with {len(X)} and {len(Y)} rows, "
                f"got shape {K.shape}."
            )
        return _check_block(K)

    def log_block(self, X: Array, Y: Array) -> Array:
        return _log_nonnegative(self.block(X, Y))

    def diagonal(self, X: Array) -> Array:
        blocks = [X[i : i + _DIAGONAL_BLOCK] for i in range(0, len(X), _DIAGONAL_BLOCK)]
        return np.concatenate([self.block(b, b).diagonal() for b in blocks])

    def sobolev_order(self, p: int) -> float:
        return math.nan


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Rows of ``X`` are already kernel values against the training points; ``Y`` is not looked at.

    ``self_similarity`` is k(x, x), when all training points share it; without it the diagonal of a new point is unknown.
    ``columns`` are those of the points of positive weight, all by default.
    """

    self_similarity: float | None = None
    columns: Array | None = None

    def block(self, X: Array, Y: Array) -> Array:
        columns = slice(None) if self.columns is None else self.columns
        return _check_block(X[:, columns].astype(np.float64))

    def log_block(self, X: Array, Y: Array) -> Array:
        return _log_nonnegative(self.block(X, Y))

    def diagonal(self, X: Array) -> Array:
        if self.self_similarity is None:
            raise ValueError(
                "`kernel='precomputed'`: k(x, x) differs between training points, so it is unknown for new ones and "
                "diagonal='kernel' cannot be extended. Use diagonal='constant' or a callable, or scale K to a constant "
                "diagonal."
            )
        return np.full(len(X), self.self_similarity)

    def sobolev_order(self, p: int) -> float:
        return math.nan


def _check_block(K: Array) -> Array:
    if not np.isfinite(K).all():
        raise ValueError("`kernel` must give finite values, got NaN or infinity.")
    return K


def _log_nonnegative(K: Array) -> Array:
    if (K < 0).any():
        raise ValueError(f"`kernel` must be non-negative to normalise by its row sums, got a minimum of {K.min():.6g}.")
    with np.errstate(divide="ignore"):
        return np.log(K, out=K)


BUILT_IN: dict[str, Callable[[float], Kernel]] = {"gaussian": Gaussian, "laplacian": Laplacian, "matern": Matern}


def make_kernel(kernel: str | Callable, bandwidth: float | None) -> Kernel:
    """The one door: a name with its bandwidth, a :class:`Kernel`, or a callable ``k(X, Y)``."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return CallableKernel(kernel)
    if kernel == "precomputed":
        return Precomputed()
    if isinstance(kernel, str) and kernel in BUILT_IN:
        if bandwidth is None:
            raise ValueError(f"`bandwidth` is required for kernel={kernel!r}, got None.")
        return BUILT_IN[kernel](bandwidth)
    raise unknown_kernel(kernel, (*BUILT_IN, "precomputed"))


def unknown_kernel(kernel: object, names: tuple[str, ...]) -> ValueError:
    """The error for a ``kernel`` that is none of these names, and no callable."""
    return ValueError(f"`kernel` must be one of {', '.join(map(repr, names))}, or a callable k(X, Y), got {kernel!r}.")
