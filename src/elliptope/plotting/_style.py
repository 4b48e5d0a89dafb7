"""Colours and markers for all common kinds of colour vision, and sizes for few and for many points."""

from __future__ import annotations

import numpy as np

from .._utils.arrays import Array

# Okabe and Ito's palette for all common kinds of colour vision; then two of Tol's, which have the same purpose.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442", "#882255", "#999933")
BLUE, ORANGE, VERMILION = PALETTE[0], PALETTE[1], PALETTE[3]
GREY = "#999999"
# Markers, for print. Seven of them and ten colours, without a common factor: pairs repeat after 70 classes.
MARKERS = ("o", "s", "^", "*", "D", "v", "P")
# Area of a marker relative to the circle's, for them to look equally large.
_AREAS = {"*": 2.2, "D": 0.8, "^": 1.2, "v": 1.2, "P": 1.2}

# Points beyond which markers are too small to tell apart, and vector graphics become large files.
MANY = 2000
# Area of a marker, in square points, up to this number of points; it shrinks as the points fill the plane.
_LARGEST, _FULL_SIZE = 30.0, 300
_SMALLEST = 1.2
_SHRINKAGE = 0.55
# Cells per axis of the grid on which points are counted, and the count from which points become transparent.
_CELLS = 120
_OPAQUE_COUNT = 3
_FAINTEST = 0.15
# How much larger an isolated point is than one among many.
_ISOLATED = 4.0


def colour(k: int) -> tuple[float, float, float]:
    """RGB of class k: the palette, then the palette in muted shades, and so on in turns."""
    code = PALETTE[k % len(PALETTE)]
    red, green, blue = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    if k // len(PALETTE) % 2:
        red, green, blue = (0.5 * (part + 0.5) for part in (red, green, blue))
    return red, green, blue


def marker(k: int) -> str:
    return MARKERS[k % len(MARKERS)]


def area(n: int, shape: str = "o") -> float:
    """Area of a marker, in square points, when n points are drawn."""
    size = _LARGEST * min(1.0, (_FULL_SIZE / max(n, 1)) ** _SHRINKAGE)
    return max(size, _SMALLEST) * _AREAS.get(shape, 1.0)


def by_density(P: Array) -> tuple[Array, Array]:
    r"""Opacity and area of every one of many points, by the number c of points in its cell of a regular grid.

    The opacity is :math:`\sqrt{c_0 / c}`, at most 1: dense regions show their density and the points of other classes in
    them, while isolated points are opaque and, by their area, large enough to be seen.
    """
    low, span = P.min(axis=0), np.ptp(P, axis=0)
    cells = np.floor((P - low) / np.where(span > 0, span, 1.0) * (_CELLS - 1)).astype(np.int64)
    index = cells @ (_CELLS ** np.arange(P.shape[1]))
    _, inverse, counts = np.unique(index, return_inverse=True, return_counts=True)
    share = np.minimum(_OPAQUE_COUNT / counts[inverse], 1.0)
    return np.maximum(np.sqrt(share), _FAINTEST), area(len(P)) * (1 + (_ISOLATED - 1) * share)
