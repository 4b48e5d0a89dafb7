r"""How negative can a symmetric operator N be? A test by Chebyshev polynomials of random vectors.

Let G (n, q) have independent standard normal entries and let p be a polynomial with :math:`|p(\lambda)| \ge c` for all
:math:`\lambda \le -s`. If N has such an eigenvalue, with unit eigenvector v, then
:math:`\lVert p(N) G\rVert_2 \ge c \lVert v^\top G\rVert`, where :math:`\lVert v^\top G\rVert^2` is chi-squared with q
degrees of freedom, and below its quantile :math:`\gamma^2` with a small probability δ only. So a norm below :math:`c\gamma`
shows that :math:`\lambda_{\min}(N) \ge -s`, but for the risk δ. Nothing is assumed of the rest of the spectrum.

The polynomial is a low pass, at least 1 for λ ≤ 0 and small on the bulk of the spectrum, times :math:`T_k` on [0, b], which
is :math:`\cosh(k\theta)` at :math:`\lambda = -b(\cosh\theta - 1)/2`. So k grows with :math:`\sqrt{b/s}`, as it does for
Lanczos, but two blocks of vectors suffice, and the recurrence is stable.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from .._arrays import as_numpy, like
from ..operators.base import Array

# The low pass ends at this multiple of the s that is aimed at: wider costs more of T_k, narrower more of the low pass.
_PASS_BAND = 30.0
# By which the low pass damps what is beyond.
_DAMPING = 1e-3
# Growth of p(N)G, over the smallest norm it had, that means an eigenvalue beyond [0, b]; its rate then tells how far.
_GROWTH = 100.0
# The degree may exceed the one predicted by this factor; norms are looked at every few steps.
_PATIENCE = 2.0
_LOOK_EVERY = 8


@dataclass(frozen=True)
class Tested:
    """λmin ≥ -``shift`` but for the risk; and a unit vector of negative curvature, where the target was missed for one."""

    shift: float
    direction: Array | None


def chebyshev_test(
    n: int,
    width: int,
    upper: float,
    target: float,
    risk: float,
    rounding: float,
    rng: np.random.Generator,
    model: Array | None = None,
) -> Generator[Array, Array, Tested]:
    r"""A probe that bounds λmin(N) from below, with ``width`` random vectors; it ends once the shift is below ``target``.

    ``upper`` is where the spectrum is taken to end; if it does not, the test does not end well, but neither does it lie.
    ``rounding`` bounds the error of a product relative to ``upper`` times the norm of the factor. An error made at step j
    grows by :math:`|U_{k-j}(\xi)| \le (k+1)\,|T_k(\xi)|` at most, so that all of them are worth no more than a smaller γ.
    Arrays are like ``model`` (NumPy's by default).
    """
    Y = rng.standard_normal((n, width))
    Y = Y if model is None else like(model, Y)
    Y, lost = yield from _low_pass(Y, upper, min(_PASS_BAND * target, 0.5 * upper), rounding)
    gamma, first = math.sqrt(float(chi2.ppf(risk, width))), _norm(Y)
    predicted = math.acosh(max(first / gamma, 2.0)) / (2 * math.asinh(math.sqrt(target / upper)))
    last, least, norm = int(_PATIENCE * predicted) + _LOOK_EVERY, math.inf, first
    before, shift = Y, math.inf
    for k in range(1, last + 1) if lost < gamma else ():
        P = yield Y
        Z = (2 / upper) * P - Y  # ξ(N) Y
        if k > 1:
            Z *= 2
            Z -= before
        before, Y = Y, Z
        if k % _LOOK_EVERY and k < last:
            continue
        earlier, norm = norm, _norm(Y)
        least = min(least, norm)
        # |T_j| ≤ 1 on [0, b] and grows with j elsewhere: no norm on the way exceeded that of the first block and this one.
        held = gamma - lost - 2 * k * (k + 1) * rounding * (first + norm)
        if held <= 0:
            break
        shift = min(shift, _depth(math.acosh(max(norm / held, 1.0)) / k, upper))
        hopeless = norm > _GROWTH * least and _depth(math.log(norm / earlier) / _LOOK_EVERY, upper) > target
        if shift <= target or hopeless:
            break
    if shift <= target:
        return Tested(shift, None)
    # Where `upper` was too small the largest eigenvalues have grown instead, and at the end of patience nothing may have.
    z = _leading(Y)
    curvature = float(z @ (yield z[:, None])[:, 0])
    return Tested(shift, z if curvature < 0 else None)


def _depth(theta: float, upper: float) -> float:
    """s such that λ = -s has cosh θ = -ξ(λ): b(cosh θ - 1)/2, without its cancellation."""
    return upper * math.sinh(0.5 * theta) ** 2


def _low_pass(Y: Array, upper: float, edge: float, rounding: float) -> Generator[Array, Array, tuple[Array, float]]:
    r""":math:`T_j(\eta(N))\,Y / T_j(\eta(0))`, η mapping [edge, upper] to [-1, 1]; and what rounding may have cost of γ.

    Beyond the edge it is at most the damping; below, it falls from one side to the other, so that it is ≥ 1 for all λ ≤ 0.
    It is left, with all of γ lost, when something beyond [0, b] has grown so much that there is nothing to be shown.
    """
    middle, half = 0.5 * (upper + edge), 0.5 * (upper - edge)
    start = middle / half
    degree = math.ceil(math.acosh(1 / _DAMPING) / math.acosh(start))
    first = largest = _norm(Y)
    before, scale_before, scale = Y, 1.0, start
    Y = (middle * Y - (yield Y)) / (half * scale)
    for _ in range(degree - 1):
        # t_{j+1} = 2η t_j - t_{j-1}, each divided by its value at λ = 0.
        following = 2 * start * scale - scale_before
        Z = (2 * scale / (half * following)) * (middle * Y - (yield Y)) - (scale_before / following) * before
        before, Y = Y, Z
        scale_before, scale = scale, following
        largest = max(largest, _norm(Y))
        if largest > _GROWTH * first:
            return Y, math.inf
    return Y, degree * (degree + 1) * rounding * largest * upper / half


def _norm(Y: Array) -> float:
    """The spectral norm of a thin matrix, never less."""
    return math.sqrt(max(float(np.linalg.eigvalsh(as_numpy(Y.T @ Y))[-1]), 0.0)) * (1 + 1e-10)


def _leading(Y: Array) -> Array:
    _, U = np.linalg.eigh(as_numpy(Y.T @ Y))
    z = Y @ like(Y, U[:, -1])
    return z / math.sqrt(float(z @ z))
