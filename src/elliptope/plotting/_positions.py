"""Where points are drawn: far ones closer, those of one length on a ring, those on a line in bands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_positive
from .targets import Classes, Target

# With max_radius="auto", points are drawn up to this multiple of the largest radius of a training point.
_FAR = 1.5
# With radius_scale="auto", the radius is logarithmic beyond this quantile where the largest one is so many times as large.
_BULK, _FLATTENED = 0.9, 10.0
# Height of the band in which the points of a one-dimensional embedding are spread, the distance between classes being 1.
_BAND = 0.7
# Cells of the circle in which directions are counted, and the concentration of the window (von Mises; 3 degrees).
_CELLS, _CONCENTRATION = 360, 300.0
# Width of a ring, relative to its radius: at most, and per row where there are few.
_WIDEST, _PER_ROW = 0.8, 0.03
_GOLDEN = (1 + 5**0.5) / 2


def check_max_radius(max_radius: Any) -> None:
    if isinstance(max_radius, str) and max_radius != "auto":
        raise ValueError(f"`max_radius` must be positive, 'auto' or None, got {max_radius!r}.")
    if max_radius is not None and not isinstance(max_radius, str):
        check_positive("max_radius", max_radius)


def within(P: Array, reference: Array, max_radius: float | str | None) -> tuple[Array, float, int]:
    """Points P, with those beyond the limit moved onto its circle; the limit; and their number.

    ``max_radius="auto"`` takes the limit from the points ``reference``.
    """
    limit = np.inf if max_radius is None or isinstance(max_radius, str) else float(max_radius)
    if max_radius == "auto":
        limit = _FAR * float(radii(reference).max(initial=0.0)) or np.inf
    lengths = radii(P)
    beyond = lengths > limit
    drawn = P.copy()
    # Divided first: the radius may be close to the largest number there is.
    drawn[beyond] = drawn[beyond] / lengths[beyond, None] * limit
    return drawn, limit, int(beyond.sum())


def radii(P: Array) -> Array:
    """Lengths of rows, without the overflow of squares."""
    size = np.abs(P).max(axis=1)
    return size * np.linalg.norm(P / np.where(size > 0, size, 1.0)[:, None], axis=1)


def directions(P: Array) -> Array:
    """Rows of length 1; zeros stay zeros."""
    size = np.abs(P).max(axis=1, keepdims=True)
    P = P / np.where(size > 0, size, 1.0)
    lengths = np.linalg.norm(P, axis=1, keepdims=True)
    return P / np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True)
class LogRadius:
    r"""A radius that is logarithmic beyond ``inner`` = c, and in which ``outer`` = R is twice as far out as c:

    .. math:: r \mapsto c\,\Bigl(1 + \frac{\log(r / c)}{\log(R / c)}\Bigr) \quad\text{for } r > c.
    """

    inner: float
    outer: float

    def factor(self, radius: Array) -> Array:
        """What rows of this length are multiplied by."""
        ratio = np.maximum(radius / self.inner, 1.0)
        # Where the logarithm is below 1 the outer rows are not far out, and are not moved farther out.
        return (1 + np.log(ratio) / max(math.log(self.outer / self.inner), 1.0)) / ratio

    def __call__(self, radius: float) -> float:
        return radius * float(self.factor(np.array(radius)))


def log_radius(reference: Array, scale: str) -> LogRadius | None:
    """The scale of the radius: None if it is linear, as "auto" decides unless rows far out flatten the rest."""
    lengths = radii(reference)
    inner, outer = float(np.quantile(lengths, _BULK)), float(lengths.max())
    wanted = scale == "symlog" or (scale == "auto" and outer > _FLATTENED * inner)
    return LogRadius(inner, outer) if wanted and inner > 0 else None


def round_radii(inner: float, outer: float, count: int) -> list[float]:
    """At most ``count`` numbers 1, 2 or 5 times a power of ten, in about equal ratios, between the two radii."""
    decades = range(math.floor(math.log10(inner)), math.ceil(math.log10(outer)) + 1)
    # Not too close to the inner one, for their labels not to touch.
    marks = [m * 10.0**e for e in decades for m in (1, 2, 5) if 1.5 * inner < m * 10.0**e <= 1.05 * outer]
    step = max(1, math.ceil(len(marks) / count))
    return marks[::-1][::step][::-1]


class Ring:
    r"""Directions in the plane, drawn on a ring that is the wider the more rows point the same way.

    A row at angle θ lies between the radii 1 and :math:`1 + w(\theta)`, where w grows in proportion to the number of rows
    around θ and is 0 for a single one. Within the width, rows are spread evenly; there the radius says nothing.
    """

    def __init__(self, reference: Array) -> None:
        cells = (_angles(reference) / (2 * np.pi) * _CELLS).astype(np.int64) % _CELLS
        window = np.exp(_CONCENTRATION * (np.cos(2 * np.pi * np.arange(_CELLS) / _CELLS) - 1))
        counts = np.bincount(cells, minlength=_CELLS)
        around = np.fft.irfft(np.fft.rfft(counts) * np.fft.rfft(window), _CELLS)  # rows in the window, 1 for a single one
        most = max(float(around.max()) - 1.0, 1.0)
        self._width = min(_WIDEST, _PER_ROW * most) * np.maximum(around - 1.0, 0.0) / most

    def place(self, Z: Array) -> Array:
        angles = _angles(Z)
        at = (np.arange(_CELLS) + 0.5) * 2 * np.pi / _CELLS
        width = np.interp(angles, at, self._width, period=2 * np.pi)
        spread = np.empty(len(Z))
        # In the order of the angles: rows next to each other are at different heights.
        spread[np.argsort(angles, kind="stable")] = even(len(Z))
        return (1 + width * spread)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def _angles(Z: Array) -> Array:
    return np.arctan2(Z[:, 1], Z[:, 0]) % (2 * np.pi)


def even(count: int) -> Array:
    """Numbers between 0 and 1, consecutive ones far apart: multiples of the golden ratio."""
    return np.arange(1, count + 1) * _GOLDEN % 1.0


def bands(target: Target | None, n: int, m: int) -> Array:
    """Heights for points on a line: a band per class, and evenly spread within it."""
    spread = np.concatenate([even(size) for size in (n, m)])
    band = np.zeros(n + m)
    if isinstance(target, Classes):
        band = np.where(target.codes < 0, len(target.names), target.codes)
    return _BAND * (spread - 0.5) - band
