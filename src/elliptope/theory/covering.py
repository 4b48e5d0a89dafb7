r"""How well a sample covers its domain: the fill distance, enclosed from both sides.

.. math:: h_{\hat X, X} = \sup_{x \in X} \min_i \lVert x_i - x \rVert .

The distance to the sample is Lipschitz with constant 1, so that its largest value over finitely many candidates
:math:`z \in X` is below h by at most the covering radius of the candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils import check_array

from .._utils.arrays import Array
from .._utils.checks import check_integer, check_positive

# Largest number of points of a cover, so that a mistaken `spacing` does not fill the memory.
_LARGEST_COVER = 10**7


@dataclass(frozen=True)
class Cover:
    """Points of a domain such that no point of the domain is farther than ``radius`` from all of them."""

    points: Array  # (q, p)
    radius: float


@dataclass(frozen=True)
class FillDistance:
    """``lower`` ≤ h ≤ ``upper``; the upper end is infinite for candidates of unknown covering radius."""

    lower: float
    upper: float


def fill_distance(X: Array, candidates: Array | Cover) -> FillDistance:
    r"""Enclosure of the fill distance of the sample ``X`` (n, p) in its domain.

    .. math:: \max_z \min_i \lVert x_i - z\rVert \;\le\; h_{\hat X, X} \;\le\; \max_z \min_i \lVert x_i - z\rVert + \rho

    ``candidates`` z are points of the domain, shape (q, p): a grid, or a fresh sample. They alone give the lower end; a
    :class:`Cover` brings the covering radius ρ too. With candidates outside the domain the lower end is not valid.
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    cover = candidates if isinstance(candidates, Cover) else Cover(candidates, math.inf)
    Z = check_array(cover.points, dtype=np.float64, input_name="candidates")
    if Z.shape[1] != X.shape[1]:
        raise ValueError(f"`candidates` must have {X.shape[1]} columns, as `X` has, got shape {Z.shape}.")
    lower = float(cKDTree(X).query(Z)[0].max())
    return FillDistance(lower, lower + cover.radius)


def cover_box(low: Array | float, high: Array | float, spacing: float) -> Cover:
    """Centres of equal cells, no wider than ``spacing``, that fill the box [low, high]; numbers stand for an interval."""
    low, high = np.atleast_1d(np.asarray(low, dtype=np.float64)), np.atleast_1d(np.asarray(high, dtype=np.float64))
    if low.ndim != 1 or low.shape != high.shape or not ((-np.inf < low) & (low < high) & (high < np.inf)).all():
        raise ValueError(f"`low` must be finite and below `high`, axis by axis, got low={low} and high={high}.")
    spacing = check_positive("spacing", spacing)
    cells = np.ceil((high - low) / spacing)
    if np.log(cells).sum() > np.log(_LARGEST_COVER):
        raise ValueError(f"`spacing` must give at most {_LARGEST_COVER} cells, got {spacing!r} for {cells} cells per axis.")
    width = (high - low) / cells
    axes = [a + h * (np.arange(k) + 0.5) for a, h, k in zip(low, width, cells, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    return Cover(points, float(np.linalg.norm(width)) / 2)


def cover_ball(p: int, R: float, spacing: float) -> Cover:
    r"""A cover of the ball of radius R around the origin of :math:`\mathbb R^p`.

    The cells of a box are taken, and their centres moved to the nearest point of the ball. No pair of points gets farther
    apart by that, so the covering radius of the box remains.
    """
    p, R = check_integer("p", p, 1), check_positive("R", R)
    box = cover_box(np.full(p, -R), np.full(p, R), spacing)
    norm = np.linalg.norm(box.points, axis=1)
    near = norm <= R + box.radius  # the other cells do not meet the ball
    return Cover(box.points[near] / np.maximum(norm[near] / R, 1.0)[:, None], box.radius)
