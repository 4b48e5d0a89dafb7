"""Everything around the points: axes and their labels, circles, the outlines of a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ._axes import equal_aspect
from ._style import GREY
from .targets import Classes, Target
from .view import Circle, Picture

# Names of the axes, by coordinate.
_AXES = "xyz"
# Intervals between ticks, at most, by the number of coordinates.
_TICKS = {1: 8, 2: 6, 3: 5}
_LINE = {"color": GREY, "linewidth": 0.7, "zorder": 1}
_TEXT = {"color": "#666666", "fontsize": "small", "ha": "center", "va": "center"}
# Distance of a text from the circle that it belongs to.
_ASIDE = 0.07


def draw_background(ax: Any, picture: Picture, labels: Sequence[str], target: Target | None) -> list[Array]:
    """Axes, labels and lines for a picture of coordinates with these ``labels``. Returns the points of the lines."""
    names = [labels[k] for k in picture.columns]
    if picture.positions.shape[1] == 1:
        _one_axis(ax, picture, names[0], target)
    elif picture.view == "plane" and picture.note is None:
        _true_axes(ax, names)
    else:
        ax.set(xticks=[], yticks=[])
        equal_aspect(ax)
        _NAMED[picture.view](ax, picture, names)
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
        equal_aspect(ax)


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


def _plane(ax: Any, picture: Picture, names: list[str]) -> None:
    ax.set(xlabel=_with_note(names[0], picture), ylabel=names[1])


def _sphere(ax: Any, picture: Picture, names: list[str]) -> None:
    ax.set_frame_on(False)
    ax.set_xlabel(picture.note)
    for circle, sign in zip(picture.circles, "+\N{MINUS SIGN}", strict=True):
        x = circle.centre[0]
        ax.text(x, -1 - _ASIDE, f"centre: {sign} {names[0]}", **_TEXT)
        ax.text(x, 1 + _ASIDE, f"up: + {names[2]}", **_TEXT)
    ax.text(0, 0, f"+ {names[1]}", rotation=90, **_TEXT)


def _layout(ax: Any, picture: Picture, names: list[str]) -> None:
    ax.set_xlabel(picture.note)


_NAMED = {"plane": _plane, "ring": _plane, "sphere": _sphere, "layout": _layout}


def _with_note(name: str, picture: Picture) -> str:
    return name if picture.note is None else f"{name}\n{picture.note}"


def _draw_circle(ax: Any, circle: Circle) -> Array:
    t = np.linspace(0, 2 * np.pi, 200)
    x, y = circle.centre
    points = np.column_stack([x + circle.radius * np.cos(t), y + circle.radius * np.sin(t)])
    ax.plot(*points.T, **_LINE)
    if circle.label is not None:
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "boxstyle": "round,pad=0.1"}
        ax.text(x, y + circle.radius, circle.label, bbox=box, zorder=1.5, **_TEXT)
    return points
