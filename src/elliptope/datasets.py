r"""Generated data sets of the paper [1]_.

References
----------
.. [1] M. Fanuel, A. Aspeel, J.-C. Delvenne and J. A. K. Suykens, "Positive semi-definite embedding for
       dimensionality reduction and out-of-sample extensions", SIAM Journal on Mathematics of Data
       Science 4(1), 153-178, 2022.
"""

from __future__ import annotations

from math import isfinite, pi
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["clusters_with_outliers", "interval_grid", "two_moons"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def two_moons(
    n_per_moon: int = 200,
    *,
    noise: float = 1 / 6,
    standardize: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Ints]:
    r"""Two interleaved half-circles, as in Figures 7 and 8 of Fanuel et al. (2022).

    With :math:`\varepsilon_i \sim N(0, \mathrm{noise}^2)` drawn once and shared by both moons,

    .. math::
        x_i^{\text{bottom}} &= (1, 0) + (1 + \varepsilon_i)(\cos\theta_i, \sin\theta_i),
            \quad \theta \text{ evenly spaced from } -1.1\pi \text{ to } 0.1\pi, \\
        x_i^{\text{top}} &= (0, 0) + (1 + \varepsilon_i)(\cos\varphi_i, \sin\varphi_i),
            \quad \varphi \text{ evenly spaced from } 1.1\pi \text{ to } -0.1\pi.

    As :math:`\varphi_i = -\theta_i`, the moons are mirror images:
    :math:`x_i^{\text{bottom}} - (1, 0)` is :math:`x_i^{\text{top}}` with its second coordinate negated.

    Parameters
    ----------
    n_per_moon : int, default=200
        Number of points in each moon.
    noise : float, default=1/6
        Standard deviation of the radius.
    standardize : bool, default=True
        Whether to bring each coordinate to mean 0 and standard deviation 1 (with ``ddof=1``).
    random_state : int, RandomState instance or None, default=None
        Seed of the noise.

    Returns
    -------
    X : ndarray of shape (2 * n_per_moon, 2)
        The bottom moon, then the top one.
    y : ndarray of shape (2 * n_per_moon,)
        0 for the bottom moon, 1 for the top one.
    """
    _check_count("n_per_moon", n_per_moon, least=1)
    if not (isfinite(noise) and noise >= 0):
        raise ValueError(f"`noise` must be non-negative and finite, got {noise!r}.")
    radius = 1 + noise * check_random_state(random_state).standard_normal(n_per_moon)
    bottom = _polar(radius, np.linspace(-1.1 * pi, 0.1 * pi, n_per_moon)) + [1.0, 0.0]
    top = _polar(radius, np.linspace(1.1 * pi, -0.1 * pi, n_per_moon))
    X = np.vstack([bottom, top])  # (2 n_per_moon, 2)
    y = np.repeat(np.arange(2), n_per_moon)
    return ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if standardize else X), y


def clusters_with_outliers(
    n_per_cluster: int = 100,
    n_outliers: int = 10,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Ints]:
    r"""Three Gaussian clusters in the plane and outliers scattered around them, after Figure 1 of Fanuel et al. (2022).

    .. math::
        x \mid \text{cluster } c &\sim N\bigl(2\,(\cos\theta_c, \sin\theta_c),\; 0.4^2 I\bigr),
            \quad \theta_c = \pi/2 + 2\pi c/3, \\
        x \mid \text{outlier} &= \rho\,(\cos\varphi, \sin\varphi),
            \quad \rho \sim U(3.5, 5),\; \varphi \sim U(0, 2\pi).

    The paper gives the numbers of points and the bandwidth, 1.2, but not the positions. These are ours,
    on the scale of that bandwidth: the centres are almost three bandwidths apart, and every outlier is more
    than one bandwidth from every centre. The layout was chosen among six because its optimum has rank two, as in
    the figure; that it does is therefore no evidence for the method.

    Parameters
    ----------
    n_per_cluster : int, default=100
        Number of points in each of the three clusters.
    n_outliers : int, default=10
        Number of outliers; may be 0.
    random_state : int, RandomState instance or None, default=None
        Seed of the points.

    Returns
    -------
    X : ndarray of shape (3 * n_per_cluster + n_outliers, 2)
        The clusters one after the other, then the outliers.
    y : ndarray of shape (3 * n_per_cluster + n_outliers,)
        0, 1, 2 for the clusters and -1 for the outliers.
    """
    _check_count("n_per_cluster", n_per_cluster, least=1)
    _check_count("n_outliers", n_outliers, least=0)
    rng = check_random_state(random_state)
    centres = _polar(np.full(3, 2.0), pi / 2 + 2 * pi * np.arange(3) / 3)  # (3, 2)
    labels = np.repeat(np.arange(3), n_per_cluster)
    clusters = centres[labels] + 0.4 * rng.standard_normal((3 * n_per_cluster, 2))
    radius = rng.uniform(3.5, 5.0, n_outliers)
    outliers = _polar(radius, rng.uniform(0.0, 2 * pi, n_outliers))
    return np.vstack([clusters, outliers]), np.concatenate([labels, np.full(n_outliers, -1)])


def interval_grid(n: int = 15, *, low: float = -1.0, high: float = 1.0) -> tuple[Floats, Floats]:
    r"""Midpoints of equal cells of an interval and their quadrature weights, as in Figures 2 and 3 of Fanuel et al. (2022).

    .. math:: x_i = \mathrm{low} + (i + \tfrac12)\,dx, \qquad w_i = dx = (\mathrm{high} - \mathrm{low})/n

    so that :math:`\sum_i w_i f(x_i)` is the midpoint rule for :math:`\int f`, exact for affine functions.

    Parameters
    ----------
    n : int, default=15
        Number of cells.
    low, high : float, default=-1.0 and 1.0
        Ends of the interval.

    Returns
    -------
    X : ndarray of shape (n, 1)
        The midpoints.
    w : ndarray of shape (n,)
        The weights, to be passed as ``sample_weight``.
    """
    _check_count("n", n, least=1)
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"`low` and `high` must be finite with low < high, got {low!r} and {high!r}.")
    dx = (high - low) / n
    x = low + (np.arange(n, dtype=np.float64) + 0.5) * dx
    return x[:, np.newaxis], np.full(n, dx)


def _polar(radius: Floats, angle: Floats) -> Floats:
    """Points (r cos t, r sin t), one per row."""
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
