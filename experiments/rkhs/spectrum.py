"""Rank and spectrum of the optimum against λ and s, on the disc, on two moons and on Wine."""

from __future__ import annotations

import numpy as np

from .domains import moons, random_points, wine
from .fits import fit
from .rows import Row

QUICK_ROWS = 90


def measure(quick: bool) -> list[Row]:
    """One row per data set, ν and λ; length scale: the median distance."""
    orders = (0.5, 2.5) if quick else (0.5, 1.0, 1.5, 2.5, 4.5)
    weights = np.logspace(-1, -5, 3) if quick else np.logspace(-0.5, -7, 14)
    return [
        {"data": name, "n": len(X), "nu": nu, "s": nu + X.shape[1] / 2, "regularization": value}
        | fit(X, nu, value, "median")[1]
        for name, X in data(quick).items()
        for nu in orders
        for value in weights
    ]


def data(quick: bool) -> dict[str, np.ndarray]:
    sets = {"disc": random_points(300, 2, seed=0), "two moons": moons(), "Wine": wine()}
    return {name: X[:: len(X) // QUICK_ROWS] for name, X in sets.items()} if quick else sets
