"""Everything around the points: matplotlib, imported when something is drawn; axes, titles and labels; circles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.versions import missing_module
from ._style import GREY
from .targets import Classes, Target
from .view import Circle, Picture

# Names of the axes, by coordinate.
_AXES = "xyz"
# Intervals between ticks, at most, by the number of coordinates.
_TICKS = {1: 8, 2: 6, 3: 5}
_LINE = {"color": GREY, "linewidth": 0.7, "zorder": 1}
_TEXT = {"color": "#666666", "fontsize": "small", "ha": "center", "va": "center"}


def check_matplotlib(caller: str) -> None:
    """Raise an error that names the extra where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing_module(caller, "plot", error) from error


def open_axes(ax: Any, caller: str, dimension: int = 2) -> Any:
    """The axes to draw on: ``ax``, or those of a new figure. pyplot is used for the latter only."""
    check_matplotlib(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        projection = {"projection": "3d"} if dimension == 3 else {}
        _, ax = plt.subplots(layout="constrained", subplot_kw=projection)
    elif (dimension == 3) != (getattr(ax, "name", None) == "3d"):
        wanted = "3-D axes (`subplot_kw={'projection': '3d'}`)" if dimension == 3 else "2-D axes"
        raise ValueError(f"`ax` must be {wanted} for {dimension} coordinates, got {ax!r}.")
    return ax


def heading(*lines: str | None) -> str:
    """A title of the lines that are not empty."""
    return "\n".join(line for line in lines if line)


def _equal_aspect(ax: Any) -> None:
    """The same unit on both axes, so that distances and angles are right."""
    # If both axes are shared with others, matplotlib can change the box but not the limits.
    shared = all(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")


def draw_background(ax: Any, picture: Picture, labels: Sequence[str], target: Target | None) -> list[Array]:
    """Axes, labels and lines for a picture of coordinates with these ``labels``. Returns the points of the lines."""
    names = [labels[k] for k in picture.columns]
    if picture.positions.shape[1] == 1:
        _one_axis(ax, picture, names[0], target)
    elif picture.view == "plane" and picture.note is None:
        _true_axes(ax, names)
    else:
        ax.set(xticks=[], yticks=[])
        _equal_aspect(ax)
        if picture.view == "layout":
            ax.set_xlabel(picture.note)
        else:
            ax.set(xlabel=_with_note(names[0], picture), ylabel=names[1])
        return [_draw_circle(ax, circle) for circle in picture.circles]
    return []


def _true_axes(ax: Any, names: list[str]) -> None:
    for axis, name in zip(_AXES, names, strict=False):
        getattr(ax, f"set_{axis}label")(name)
        # Fewer ticks than matplotlib's default, and more room in perspective, for labels not to collide.
        ax.locator_params(axis=axis, nbins=_TICKS[len(names)])
        if len(names) == 3:
            getattr(ax, f"{axis}axis").labelpad = 8
    if len(names) == 2:
        _equal_aspect(ax)


def _one_axis(ax: Any, picture: Picture, name: str, target: Target | None) -> None:
    """A line from left to right, and the names of the classes beside their bands."""
    if picture.note is None:
        ax.locator_params(axis="x", nbins=_TICKS[1])
    else:
        right = [(circle.radius, str(circle.label)) for circle in picture.circles]
        left = [(-radius, f"\N{MINUS SIGN}{label}") for radius, label in reversed(right)]
        ax.set_xticks(*zip(*left, (0.0, "0"), *right, strict=True))
    ax.set_xlabel(_with_note(name, picture))
    names = [*target.names, "no label"] if isinstance(target, Classes) else []
    present = [k for k in range(len(names)) if k < len(names) - 1 or (target.codes < 0).any()]  # type: ignore[union-attr]
    ax.set_yticks([-k for k in present], [names[k] for k in present])


def _with_note(name: str, picture: Picture) -> str:
    return name if picture.note is None else f"{name}\n{picture.note}"


def _draw_circle(ax: Any, circle: Circle) -> Array:
    t = np.linspace(0, 2 * np.pi, 200)
    points = circle.radius * np.column_stack([np.cos(t), np.sin(t)])
    ax.plot(*points.T, **_LINE)
    if circle.label is not None:
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "boxstyle": "round,pad=0.1"}
        ax.text(0, circle.radius, circle.label, bbox=box, zorder=1.5, **_TEXT)
    return points
