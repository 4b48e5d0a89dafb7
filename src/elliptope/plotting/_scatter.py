"""The points of an embedding: collections, colours, legend and colour bar."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._utils.arrays import Array
from . import _style
from .targets import Classes, Target, Values

# Opacity of training points when new ones are drawn over them.
_BACKGROUND = 0.35
_EDGE = 0.3
_NEW_EDGE = 1.0
# White, not quite transparent: hollow markers must show on a background full of points.
_HOLLOW = (1.0, 1.0, 1.0, 0.5)
# Entries of a legend that fit inside the axes, in a column beside them, and altogether.
_INSIDE, _COLUMN, _ALTOGETHER = 9, 18, 36
# Sizes in a legend, in inches, rounded up: its marker and margins, a letter, a line.
_MARKER, _LETTER, _LINE = 0.7, 0.085, 0.22


@dataclass
class Scatter:
    """Positions P (n + m, 2) of n points and m new ones, with what they are coloured by."""

    ax: Any
    P: Array
    n: int
    target: Target | None
    cmap: Any
    norm: Any = None
    handles: list[Any] = field(default_factory=list)
    lines: list[Array] = field(default_factory=list)  # points, (k, 2), of lines in the plane that a legend should not cover

    @property
    def n_new(self) -> int:
        return len(self.P) - self.n

    @cached_property
    def mappable(self) -> Any:
        """The colour scale of values, common to old and new points."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        assert isinstance(self.target, Values)
        known = self.target.values[np.isfinite(self.target.values)]
        mappable = ScalarMappable(Normalize() if self.norm is None else self.norm, self.cmap)
        mappable.norm.autoscale_None(known if len(known) else np.array([0.0, 1.0]))
        return mappable

    def colours(self, rows: Array, otherwise: str) -> Array:
        """RGBA of the given rows of P."""
        from matplotlib.colors import to_rgba

        rgba = np.tile(to_rgba(otherwise), (len(rows), 1))
        if isinstance(self.target, Classes):
            codes = self.target.codes[rows]
            table = np.array([_style.colour(k) for k in range(len(self.target.names))]).reshape(-1, 3)
            rgba[codes >= 0, :3] = table[codes[codes >= 0]]
        elif isinstance(self.target, Values):
            values = self.target.values[rows]
            known = np.isfinite(values)
            rgba[known] = self.mappable.to_rgba(values[known])
        return rgba

    def groups(self, rows: Array) -> list[tuple[Array, str]]:
        """Rows that are drawn together, and their marker: a class each, or all in a fixed random order."""
        if len(rows) > _style.MANY or not isinstance(self.target, Classes):
            return [(np.random.default_rng(0).permutation(rows), "o")]
        codes = self.target.codes[rows]
        found = [(rows[codes == k], _style.marker(k) if k >= 0 else "o") for k in [-1, *range(len(self.target.names))]]
        return [(members, shape) for members, shape in found if len(members)]

    def name_classes(self) -> list[Any]:
        """Names at the medians of the classes, where colours repeat and markers are too small to tell."""
        if not isinstance(self.target, Classes) or self.n <= _style.MANY or len(self.target.names) <= len(_style.PALETTE):
            return []
        P, codes = self.P[: self.n], self.target.codes[: self.n]
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
        style: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "zorder": 4}
        return [
            self.ax.text(*np.median(P[codes == k], axis=0), name, **style)
            for k, name in enumerate(self.target.names)
            if (codes == k).any()
        ]

    def draw_limit(self, radius: float, dimension: int, label: str) -> None:
        """The circle that points farther out were drawn on."""
        style = {"color": _style.GREY, "linestyle": "--", "linewidth": 1.0, "zorder": 1}
        if dimension == 1:
            for x in (-radius, radius):
                line = self.ax.axvline(x, label=label, **style)
        else:
            t = np.linspace(0, 2 * np.pi, 200)
            circle = [radius * np.cos(t), radius * np.sin(t)]
            self.lines.append(np.column_stack(circle))
            line = self.ax.plot(*circle, label=label, **style)[0]
        self.handles.append(line)

    def explain(self, title: str | None) -> tuple[Any, Any]:
        """Legend and colour bar, or None where they would be empty."""
        colorbar = None
        if isinstance(self.target, Values):
            colorbar = self.ax.figure.colorbar(self.mappable, ax=self.ax, label=title or "")
        classes = isinstance(self.target, Classes)
        handles = self._class_handles() + self.handles
        if not handles:
            return None, colorbar
        if len(handles) > _ALTOGETHER:
            rest = len(handles) - _ALTOGETHER + 1
            handles = [*handles[: _ALTOGETHER - 1], _handle(f"… and {rest} more", "")]
        return self.ax.legend(handles=handles, title=title if classes else None, **self._place(handles)), colorbar

    def _class_handles(self) -> list[Any]:
        if not isinstance(self.target, Classes):
            return []
        shapes = [_style.marker(k) if len(self.P) <= _style.MANY else "o" for k in range(len(self.target.names))]
        handles = [
            _handle(name, shape, markerfacecolor=_style.colour(k))
            for k, (name, shape) in enumerate(zip(self.target.names, shapes, strict=True))
        ]
        if (self.target.codes[: self.n] < 0).any():
            handles.append(_handle("no label", "o", markerfacecolor=_style.GREY))
        return handles

    def _place(self, handles: list[Any]) -> dict[str, Any]:
        """Place of the legend: a corner without points, or else beside the axes; in a crowded figure, the emptiest corner.

        Not matplotlib's own search: it takes long for many points, and covers some where no corner is free.
        """
        limits = self.ax.get_xlim(), self.ax.get_ylim()
        self.ax.apply_aspect()  # which widens the limits
        drawn = np.vstack([self.P, *self.lines])
        x, y = self.ax.transAxes.inverted().transform(self.ax.transData.transform(drawn)).T
        # Restored, because matplotlib widens them again when it draws.
        self.ax.set_xlim(limits[0], auto=None)
        self.ax.set_ylim(limits[1], auto=None)
        inches = self.ax.get_window_extent().size / self.ax.figure.dpi
        lines = [line for handle in handles for line in handle.get_label().split("\n")]
        width, height = np.array([_MARKER + _LETTER * max(map(len, lines)), _LINE * (len(lines) + 1)]) / inches
        covered = {}
        for loc in ("upper right", "upper left", "lower left", "lower right"):
            vertical, horizontal = loc.split()
            beside = x > 1 - width if horizontal == "right" else x < width
            level = y > 1 - height if vertical == "upper" else y < height
            covered[loc] = int((beside & level).sum())
        corner = min(covered, key=covered.__getitem__)
        # Without a layout engine, a legend beside these axes would cover the next ones.
        crowded = self.ax.figure.get_layout_engine() is None and len(self.ax.figure.axes) > 1
        if len(handles) <= _INSIDE and (not covered[corner] or crowded):
            return {"loc": corner}
        columns = math.ceil(len(handles) / _COLUMN)
        return {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "ncols": columns}


def draw_training(scatter: Scatter, kwargs: dict[str, Any]) -> tuple[list[Any], list[Array]]:
    """Filled markers, small classes over large ones, which would hide them."""
    n = scatter.n
    many = n > _style.MANY
    collections, rows_drawn = [], []
    plain = _style.BLUE if scatter.target is None else _style.GREY
    groups = scatter.groups(np.arange(n))
    depth = np.argsort(np.argsort([-len(rows) for rows, _ in groups], kind="stable"))
    for (rows, shape), level in zip(groups, depth, strict=True):
        rgba = scatter.colours(rows, plain)
        opacity, size = _style.by_density(scatter.P[rows]) if many else (1.0, _style.area(n, shape))
        rgba[:, 3] = opacity if scatter.n_new == 0 else _BACKGROUND * opacity
        style = {
            "s": size,
            "c": rgba,
            "marker": shape,
            "edgecolors": "none" if many else "black",
            "linewidths": 0.0 if many else _EDGE,
            "rasterized": many,
            "zorder": 2 + 0.5 * level / len(groups),
        }
        collections.append(scatter.ax.scatter(*scatter.P[rows].T, **{**style, **kwargs}))
        rows_drawn.append(rows)
    return collections, rows_drawn


def draw_new(scatter: Scatter) -> tuple[list[Any], list[Array]]:
    """The hollow markers of the new points."""
    n, m = scatter.n, scatter.n_new
    many = m > _style.MANY
    collections, rows_drawn = [], []
    for rows, shape in scatter.groups(np.arange(n, n + m)) if m else []:
        collections.append(
            scatter.ax.scatter(
                *scatter.P[rows].T,
                s=1.5 * _style.area(m, shape),
                marker=shape,
                facecolors=_HOLLOW,
                edgecolors=scatter.colours(rows, "black"),
                linewidths=_NEW_EDGE * (0.5 if many else 1.0),
                rasterized=many,
                zorder=3,
            )
        )
        rows_drawn.append(rows - n)
    if m:
        scatter.handles.append(_handle("new", "o", markerfacecolor="none", markeredgewidth=_NEW_EDGE))
    return collections, rows_drawn


def _handle(label: str, shape: str, **style: Any) -> Any:
    """An entry of the legend, with a marker of full size."""
    from matplotlib.lines import Line2D

    size = np.sqrt(1.5 * _style.area(1, shape))
    edge = {"markeredgecolor": "black", "markeredgewidth": _EDGE, "markersize": size}
    return Line2D([], [], label=label, linestyle="", marker=shape, **{**edge, **style})
