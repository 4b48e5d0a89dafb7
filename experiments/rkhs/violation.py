r"""How fast do the constraints come to hold between the sample points?

On the unit ball, :math:`|d(x) - b(x, x)|` with :math:`b(x, x) = \sum_\ell \chi_\ell(x)^2` is measured on a fine cover of the
ball for growing n, and powers of n and of the fill distance h are fitted. Exponents to compare with, in powers of h:

- m, the largest integer below ν = s - p/2: Theorem 3 (ii), worst case;
- ν: the sup norm of the error of interpolation, worst case over the ball of the Sobolev space;
- s: heuristic. What is interpolated is smoother than the space asks for, which inside the ball doubles the order. The
  boundary does not let the L² error fall below :math:`h^{s + 1/2}`; it sits in a layer of width h, whose height is then h^s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import linregress

from elliptope.theory import Cover, cover_ball, fill_distance, samples_needed

from .domains import random_points, spread_points
from .fits import fit
from .rows import Row

LENGTH_SCALE = 1.0
SPACING = {1: 2e-4, 2: 0.0125, 3: 0.1}
# Radius of the ball without its boundary layer.
INNER = 0.8
# Beyond this radius a point of the cover was moved to the sphere; the others are centres of equal cells.
_SPHERE = 1 - 1e-12
# Smaller samples are left out of the fits: they do not resolve the length scale.
LEAST_N = 50
_LEAST_SIZES = 3
DELTA = 0.05


def _wavy(X: np.ndarray) -> np.ndarray:
    """d(x) = 1 + x₁²/2, a sum of two squares of polynomials."""
    return 1 + X[:, 0] ** 2 / 2


DIAGONALS: dict[str, str | Callable] = {"constant": "constant", "1 + x₁²/2": _wavy}


@dataclass(frozen=True)
class Setting:
    """What is held fixed while n grows."""

    p: int
    design: str  # "random" or "spread"
    nu: float
    regularization: float | str = 1e-3
    d: str = "constant"

    @property
    def m(self) -> int:
        """Largest integer below ν; Theorem 3 needs it to be positive."""
        return math.ceil(self.nu) - 1

    def row(self) -> Row:
        return {
            "p": self.p,
            "design": self.design,
            "nu": self.nu,
            "s": self.nu + self.p / 2,
            "regularization": self.regularization,
            "d": self.d,
        }


def settings(quick: bool) -> list[Setting]:
    if quick:
        return [Setting(p, design, nu) for p, design in ((1, "spread"), (2, "random")) for nu in (0.5, 1.5)]
    orders = (0.5, 1.5, 2.5)
    random = [Setting(p, "random", nu) for p in (1, 2, 3) for nu in orders]
    spread = [Setting(p, "spread", nu) for p in (1, 2) for nu in orders]
    weights = [Setting(2, "random", 1.5, regularization=value) for value in ("theory", 1e-1, 1e-5)]
    diagonals = [Setting(2, "random", nu, d="1 + x₁²/2") for nu in orders]
    return random + spread + weights + diagonals


def sizes(quick: bool, design: str) -> dict[int, int]:
    """Seeds per n; a spread design has no randomness."""
    if quick:
        repetitions = {50: 3, 100: 3, 200: 3, 400: 3}
    else:
        repetitions = {25: 5, 50: 5, 100: 5, 200: 5, 400: 5, 800: 5, 1600: 2}
    return repetitions if design == "random" else dict.fromkeys(repetitions, 1)


def measure(quick: bool) -> list[Row]:
    """One row per solve."""
    covers = {p: cover_ball(p, 1.0, SPACING[p]) for p in {setting.p for setting in settings(quick)}}
    return [
        _solve(setting, n, seed, covers[setting.p])
        for setting in settings(quick)
        for n, seeds in sizes(quick, setting.design).items()
        for seed in range(seeds)
    ]


def _solve(setting: Setting, n: int, seed: int, cover: Cover) -> Row:
    p = setting.p
    X = random_points(n, p, seed) if setting.design == "random" else spread_points(n, p)
    d = DIAGONALS[setting.d]
    estimator, found = fit(X, setting.nu, setting.regularization, LENGTH_SCALE, diagonal=d)
    h = fill_distance(X, cover)
    row = {**setting.row(), "n": n, "seed": seed, "fill_distance": h.lower, "fill_distance_upper": h.upper, **found}
    if estimator is not None:
        target = d(cover.points) if callable(d) else 1.0
        row |= violations(target - (estimator.transform(cover.points) ** 2).sum(axis=1), cover.points)
    return row


def violations(gap: np.ndarray, Z: np.ndarray) -> Row:
    """Norms of d(x) - b(x, x), and where it is largest."""
    radius = np.linalg.norm(Z, axis=1)
    worst = int(np.abs(gap).argmax())
    return {
        "sup": abs(gap[worst]),
        "sup_inner": np.abs(gap[radius <= INNER]).max(),
        "mean": np.abs(gap[radius < _SPHERE]).mean(),
        "worst_radius": radius[worst],
        "worst_sign": int(np.sign(gap[worst])),
    }


def slopes(rows: list[Row], quick: bool) -> list[Row]:
    """Fitted exponents with their standard errors beside the theoretical ones, one row per setting."""
    return [_slopes(setting, [row for row in rows if setting.row().items() <= row.items()]) for setting in settings(quick)]


def _slopes(setting: Setting, rows: list[Row]) -> Row:
    solved = [row for row in rows if row["status"] != "singular" and row["n"] >= LEAST_N]
    singular = [row["n"] for row in rows if row["status"] == "singular"]
    p, s = setting.p, setting.nu + setting.p / 2
    result: dict[str, Any] = {
        **setting.row(),
        "solves": len(solved),
        "least_n": min((row["n"] for row in solved), default=0),
        "largest_n": max((row["n"] for row in solved), default=0),
        "singular": len(singular),
        "singular_from_n": min(singular, default=None),
        "m": setting.m,
        "minus_m_over_p": -setting.m / p,
        "minus_nu_over_p": -setting.nu / p,
        "minus_s_over_p": -s / p,
        "worst_near_boundary": sum(row["worst_radius"] > INNER for row in solved),
        "samples_needed": samples_needed(p, DELTA, setting.m) if setting.m > 0 else None,
    }
    if len({row["n"] for row in solved}) < _LEAST_SIZES:
        return result
    for measured in ("sup", "sup_inner", "mean"):
        for against in ("n", "fill_distance"):
            line = linregress(*np.log([[row[against], row[measured]] for row in solved]).T)
            name = f"{measured}_against_{'n' if against == 'n' else 'h'}"
            result |= {name: line.slope, f"{name}_error": line.stderr}
    return result
