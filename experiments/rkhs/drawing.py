"""Colours and markers of series, in the style of all experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import style
from ..style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, save

SERIES = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]
MARKERS = ["o", "s", "^", "D", "v", "P"]

__all__ = ["BLACK", "MARKERS", "SERIES", "figure", "save"]


def figure(rows: int, columns: int, height: float = 3.8, **options: Any) -> tuple[Any, np.ndarray]:
    """Three panels in a row need more width than those of the paper's figures."""
    return style.figure(rows, columns, width=12.0, height=height, **options)
