"""How the pictures look; the same names as in ``experiments.style``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np

# Okabe and Ito's palette, told apart by all common kinds of colour vision.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
SERIES = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]
MARKERS = ["o", "s", "^", "D", "v", "P"]
_RESOLUTION = 110

STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 9.5,
    "grid.alpha": 0.25,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.markersize": 4,
    "svg.fonttype": "path",
    "svg.hashsalt": "elliptope",  # the same picture gives the same file
}


def figure(rows: int, columns: int, width: float = 12.0, height: float = 3.8, **options: Any) -> tuple[Any, np.ndarray]:
    """A figure of ``rows`` × ``columns`` axes, always as a flat array."""
    plt.rcParams.update(STYLE)
    fig, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options)
    return fig, axes.ravel()


def save(fig: Any, folder: Path, name: str) -> None:
    """Write ``name``.png and ``name``.svg, without a date, so that equal pictures are equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    fig.savefig(folder / f"{name}.png", dpi=_RESOLUTION)
    fig.savefig(folder / f"{name}.svg", dpi=_RESOLUTION, metadata={"Date": None})
    plt.close(fig)
