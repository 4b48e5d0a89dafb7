r"""What λ does: the two parts of the objective, the point where all data collapse to one place, and the λ of the theory."""

from __future__ import annotations

import numpy as np

from elliptope.theory import least_regularization, top_eigenvalue

from .domains import moons, random_points, wine
from .fits import fit
from .matrices import collapse_threshold, gain_scale, matern_matrix
from .rows import Row
from .violation import DELTA, LENGTH_SCALE

ORDERS = (0.5, 1.5, 2.5)
PATH_ORDER = 1.5
# How close the path comes to the predicted collapse.
_NEAR = 1.02
# The theory's λ is looked up no farther than this.
_LARGEST_N = 10**15


def weights(quick: bool) -> np.ndarray:
    """λ from 10 down to 1e-7, two per decade."""
    return np.logspace(1, -5, 7) if quick else np.logspace(1, -7, 17)


def path(quick: bool) -> list[Row]:
    """The solution on the disc for every λ, two more on either side of the collapse: objective, f_n, λ Tr, trace, rank."""
    rows = []
    for n in (50, 100) if quick else (100, 400, 1000):
        X = random_points(n, 2, seed=0)
        threshold = collapse_threshold(matern_matrix(X, PATH_ORDER, LENGTH_SCALE))
        near = [threshold / _NEAR, threshold * _NEAR]
        for value in np.sort(np.append(weights(quick), near))[::-1]:
            _, found = fit(X, PATH_ORDER, value, LENGTH_SCALE)
            rows.append({"n": n, "nu": PATH_ORDER, "regularization": value, "collapse": threshold, **found})
    return rows


def thresholds(quick: bool) -> list[Row]:
    """λ_c beside the theory's 2 C, for uniform points of the ball, and for the data at the median length scale."""
    sizes = (50, 100) if quick else (100, 200, 400, 800)
    dimensions = (2,) if quick else (1, 2, 3)
    balls = [
        (f"ball p={p}", random_points(n, p, seed), LENGTH_SCALE, nu, seed)
        for p in dimensions
        for nu in ORDERS
        for n in sizes
        for seed in range(1 if quick else 3)
    ]
    sets = [] if quick else [("Wine", wine()), ("two moons", moons())]
    data = [(name, X, "median", nu, 0) for name, X in sets for nu in ORDERS]
    return [_threshold(*case) for case in [*balls, *data]]


def _threshold(name: str, X: np.ndarray, length_scale: float | str, nu: float, seed: int) -> Row:
    """The theory's λ is solved for as well: what embedding does it give?"""
    row: Row = {"data": name, "n": len(X), "nu": nu, "seed": seed}
    estimator, found = fit(X, nu, "theory", length_scale, delta=DELTA)
    if estimator is None:
        return row | found
    K = matern_matrix(X, nu, estimator.length_scale_)
    lambda_max, threshold = top_eigenvalue(K), collapse_threshold(K)
    return row | {
        "lambda_max": lambda_max,
        "theory": least_regularization(len(X), DELTA, lambda_max),
        "collapse": threshold,
        "gain_scale": gain_scale(K),
        "n_needed": n_needed(threshold, lambda_max),
        **found,
    }


def n_needed(threshold: float, lambda_max: float) -> int:
    """Least n with 2 C_{n,δ} below λ_c, were λmax and λ_c to stay as they are."""
    low, high = 0, 1
    while least_regularization(high, DELTA, lambda_max) >= threshold:
        low, high = high, 2 * high
        if high > _LARGEST_N:
            return _LARGEST_N
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if least_regularization(middle, DELTA, lambda_max) >= threshold else (low, middle)
    return high
