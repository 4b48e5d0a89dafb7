"""How the pictures look: colours that everybody can tell apart, files for print and for the web."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np

# Okabe and Ito's palette, told apart by all common kinds of colour vision.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
# Colour and marker of the classes 0, 1, 2; markers serve where colours do not, in print for instance.
CLASSES = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "^")]
OUTLIERS = (VERMILION, "*")
EIGENVALUES = [BLUE, VERMILION, GREEN, PURPLE, ORANGE]
# From this many points on a vector file holds them as one picture: a circle each would take megabytes.
_MANY_POINTS = 1000
_RESOLUTION = 110

STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 9.5,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.markersize": 4,
    "svg.fonttype": "path",
    "svg.hashsalt": "elliptope",  # the same picture gives the same file
}


def figure(rows: int, columns: int, width: float = 10.0, height: float = 3.6, **options: Any) -> tuple[Any, np.ndarray]:
    """A figure of ``rows`` × ``columns`` axes, always as a flat array."""
    plt.rcParams.update(STYLE)
    fig, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options)
    return fig, axes.ravel()


def scatter(ax: Any, Z: np.ndarray, y: np.ndarray, labels: dict[int, str], size: float = 16.0) -> None:
    """The first two columns of ``Z`` by class; the class -1 are outliers. A missing second column is drawn as 0."""
    second = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
    many = len(Z) >= _MANY_POINTS
    for place, (value, label) in enumerate(labels.items()):
        colour, marker = OUTLIERS if value == -1 else CLASSES[place]
        area = 5 * size if value == -1 else size
        rows = y == value
        edges: dict[str, Any] = {"linewidths": 0} if many else {"edgecolors": "black", "linewidths": 0.3}
        ax.scatter(Z[rows, 0], second[rows], s=area, c=colour, marker=marker, label=label, rasterized=many, **edges)
    ax.locator_params(nbins=6)  # more labels would run into each other


def save(fig: Any, folder: Path, name: str) -> None:
    """Write ``name``.png and ``name``.svg, without a date, so that equal pictures are equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    fig.savefig(folder / f"{name}.png", dpi=_RESOLUTION)
    fig.savefig(folder / f"{name}.svg", dpi=_RESOLUTION, metadata={"Date": None})
    plt.close(fig)
