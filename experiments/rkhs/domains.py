"""Points of the unit ball: the theory's random samples, well spread ones, and the data that the study looks at."""

from __future__ import annotations

import math

import numpy as np
from sklearn.datasets import load_wine

from elliptope.datasets import interval_grid, two_moons

# Angle between consecutive points of a sunflower, as a fraction of the circle: the golden section.
_GOLDEN = (3 - math.sqrt(5)) / 2


def random_points(n: int, p: int, seed: int) -> np.ndarray:
    """n independent points, uniform in the unit ball of dimension p."""
    rng = np.random.default_rng([seed, n, p])
    Z = rng.standard_normal((n, p))
    return Z * (rng.random(n) ** (1 / p) / np.linalg.norm(Z, axis=1))[:, None]


def spread_points(n: int, p: int) -> np.ndarray:
    """Midpoints of n equal cells for p = 1; for p = 2 Vogel's sunflower, whose points have equal shares of the disc."""
    if p == 1:
        return interval_grid(n)[0]
    radius, angle = np.sqrt((np.arange(n) + 0.5) / n), 2 * np.pi * _GOLDEN * np.arange(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def standardize(train: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, ...]:
    """z-scores (ddof = 1) with the mean and deviation of ``train``; constant columns are only centred."""
    mean, deviation = train.mean(axis=0), train.std(axis=0, ddof=1)
    deviation[deviation == 0] = 1.0
    return tuple((X - mean) / deviation for X in (train, *others))


def wine() -> np.ndarray:
    return standardize(load_wine(return_X_y=True)[0])[0]


def moons() -> np.ndarray:
    return standardize(two_moons(random_state=0)[0])[0]
