r"""How negative can a symmetric operator N be? A test by Chebyshev polynomials of random vectors.

Let G (n, q) have independent standard normal entries and let p be a polynomial with :math:`|p(\lambda)| \ge c` for all
:math:`\lambda \le -s`. If N has such an eigenvalue, with unit eigenvector v, then
:math:`\lVert p(N) G\rVert_2 \ge c \lVert v^\top G\rVert`, where :math:`\lVert v^\top G\rVert^2` is chi-squared with q
degrees of freedom, and below its quantile :math:`\gamma^2` with a small probability δ only. So a norm below :math:`c\gamma`
shows that :math:`\lambda_{\min}(N) \ge -s`, but for the risk δ. Nothing is assumed of the rest of the spectrum.

The polynomial is a product. First come low passes, each at least 1 for all λ ≤ 0 and small beyond its edge, which follows
the smallest Ritz value down. Where N is definite they bring the norm below γ: that takes about :math:`\sqrt{b/\lambda_{
\min}}` products, b being the end of the spectrum, and shows that nothing is negative at all. What small or negative
eigenvalues leave is multiplied by :math:`T_k` on [0, b], which is :math:`\cosh(k\theta)` at
:math:`\lambda = -b(\cosh\theta - 1)/2`. So k grows with :math:`\sqrt{b/s}`, as it does for Lanczos, but two blocks of
vectors suffice, and the recurrence is stable.

The choice of the polynomial may depend on what was seen: the inequality for |p| holds for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from ..._utils.arrays import Array, as_numpy, like, spectral_norm
from ..tuning import TUNING, Tuning

# Growth of p(N)G, over the smallest norm it had, that means an eigenvalue beyond [0, b]; its rate then tells how far.
_GROWTH = 100.0
# Norms are looked at every few steps; the degree may exceed the one predicted by a factor of 2.
_LOOK_EVERY = 8


@dataclass(frozen=True)
class Tested:
    """λmin ≥ -``shift`` but for the risk; and a unit vector of negative curvature, where the target was missed for one."""

    shift: float
    direction: Array | None


def chebyshev_test(
    start: Array, upper: float, target: float, risk: float, rounding: float, tuning: Tuning = TUNING
) -> Generator[Array, Array, Tested]:
    r"""A probe that bounds λmin(N) from below; it ends once the shift is below ``target``.

    ``start`` (n, q) has independent standard normal entries; or it is their projection, and then the claim is about N on the
    space that they were projected to, which N has to leave invariant. ``upper`` is where the spectrum is taken to end; if it
    does not, the test may miss its target, but its bound still holds.
    ``rounding`` bounds the error of a product relative to ``upper`` times the norm of the factor. An error made at step j
    grows by :math:`|U_{k-j}(\xi)| \le (k+1)\,|T_k(\xi)|` at most, so that all of them are worth no more than a smaller γ.
    """
    gamma = math.sqrt(float(chi2.ppf(risk, start.shape[1])))
    lowest = min(30 * target, 0.5 * upper)  # T_k deals with what is below at less expense
    Y, lost = yield from _low_passes(start, gamma, upper, lowest, rounding, tuning.damping)
    first = spectral_norm(Y)
    if first < gamma - lost:
        return Tested(0.0, None)
    predicted = math.acosh(max(first / gamma, 2.0)) / (2 * math.asinh(math.sqrt(target / upper)))
    last, least, norm = int(2 * predicted) + _LOOK_EVERY, math.inf, first
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
        earlier, norm = norm, spectral_norm(Y)
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


def _low_passes(
    Y: Array, gamma: float, upper: float, lowest: float, rounding: float, damping: float
) -> Generator[Array, Array, tuple[Array, float]]:
    """p(N) Y for a product p of low passes with edges ≥ ``lowest``, as many as help; and what rounding may cost of γ."""
    lost, norm = 0.0, spectral_norm(Y)
    while norm >= gamma - lost and lost < gamma:
        P = yield Y
        edge = min(max(_smallest_ritz(Y, P), lowest), 0.5 * upper)
        Y, cost = yield from _low_pass(Y, P, upper, edge, rounding, damping)
        before, norm = norm, spectral_norm(Y)
        lost += cost * (before + norm)
        if edge == lowest and norm > 0.4 * before:  # T_k is cheaper
            break
    return Y, lost


def _low_pass(
    Y: Array, P: Array, upper: float, edge: float, rounding: float, damping: float
) -> Generator[Array, Array, tuple[Array, float]]:
    r""":math:`T_j(\eta(N))\,Y / T_j(\eta(0))`, η mapping [edge, upper] to [-1, 1]; P is N Y.

    Beyond the edge it is at most the damping; below, it falls from one side to the other, so that it is ≥ 1 for all λ ≤ 0.
    Also returns what its rounding may cost of γ, relative to the norms on the way. Polynomials of lower degree are at most 1
    on [0, b], and elsewhere at most 1 or smaller than the last: no norm exceeded that of the first block and of the last. It
    is infinite where something beyond [0, b] has grown so much that there is nothing to be shown.
    """
    middle, half = 0.5 * (upper + edge), 0.5 * (upper - edge)
    start = middle / half
    degree = math.ceil(math.acosh(1 / damping) / math.acosh(start))
    before, scale_before, scale, allowed = Y, 1.0, start, _GROWTH * spectral_norm(Y)
    Y = (middle * Y - P) / (half * scale)
    for j in range(2, degree + 1):
        # t_{j+1} = 2η t_j - t_{j-1}, each divided by its value at λ = 0.
        following = 2 * start * scale - scale_before
        Z = (2 * scale / (half * following)) * (middle * Y - (yield Y)) - (scale_before / following) * before
        before, Y = Y, Z
        scale_before, scale = scale, following
        if j % _LOOK_EVERY == 0 and not spectral_norm(Y) <= allowed:
            return Y, math.inf
    return Y, degree * (degree + 1) * rounding * upper / half


def _smallest_ritz(Y: Array, P: Array) -> float:
    """The smallest Ritz value of N on the range of Y, on which P = NY; columns that depend on others count for nothing."""
    values, U = np.linalg.eigh(as_numpy(Y.T @ Y))
    used = values > 1e-10 * values[-1]  # the others are rounding
    U = U[:, used] / np.sqrt(values[used])
    return float(np.linalg.eigvalsh(U.T @ as_numpy(Y.T @ P) @ U)[0]) if used.any() else 0.0


def _leading(Y: Array) -> Array:
    _, U = np.linalg.eigh(as_numpy(Y.T @ Y))
    z = Y @ like(Y, U[:, -1])
    return z / math.sqrt(float(z @ z))
