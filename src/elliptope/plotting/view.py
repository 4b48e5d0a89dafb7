"""Which picture suits an embedding, and where it puts the rows: one decision for matplotlib and for the report page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._utils.arrays import Array
from ._layout import LAID_OUT, layout, place
from ._positions import Ring, directions, log_radius, radii, round_radii, within

# A column with less than this share of the sum of squares cannot be seen in a picture.
_NEGLIGIBLE = 1e-3
# Rows are of one length if this part of them is within this distance of the median length, relative to it.
_MOST, _CLOSE = 0.99, 0.01
# Length of the mean direction of rows that all point the same way: those in a cone of 20 degrees around it.
_NARROW = 0.97
# Rows from which on t-SNE has neighbours to speak of.
_ENOUGH = 10
# Circles that show a logarithmic radius, at most.
_CIRCLES = 4
# Fewest and most columns that a view can be given.
COLUMNS = {"auto": (1, 3), "plane": (1, 3), "ring": (2, 2), "layout": (2, sys.maxsize)}


@dataclass(frozen=True)
class Circle:
    """A line of the background, around the origin, in the units of the positions."""

    radius: float
    label: str | None = None


@dataclass(frozen=True)
class Picture:
    """Where rows are drawn, and what has to be said about it.

    Attributes
    ----------
    view : {"plane", "ring", "layout"}
    positions : (n + m, 1 to 3) array
        Of n rows, and of m new ones.
    columns : tuple of int
        The columns of the embedding that the picture is made of.
    note : str or None
        What a reader must know, in a few words. None: the axes are the columns themselves, true to scale.
    circles : tuple of Circle
        Lines of the background.
    beyond : Circle or None
        The circle on which rows farther out are drawn, with their number.
    """

    view: str
    positions: Array
    columns: tuple[int, ...]
    note: str | None = None
    circles: tuple[Circle, ...] = ()
    beyond: Circle | None = None


def visible_columns(Z: Array) -> tuple[int, ...]:
    """Columns with at least a thousandth of the sum of squares; the first where there is none."""
    size = np.abs(Z).max(axis=0, initial=0.0)
    squares = ((Z / (size.max() or 1.0)) ** 2).sum(axis=0)
    return tuple(np.flatnonzero((squares >= _NEGLIGIBLE * squares.sum()) & (squares > 0)).tolist()) or (0,)


def on_circle(Z: Array) -> bool:
    """Whether 99 % of the rows are within 1 % of the median length, and the rows do not all point the same way.

    Any data far from the origin, such as latitudes and longitudes, have rows of about one length in about one direction.
    """
    lengths = radii(Z)
    median = np.median(lengths)
    if median == 0 or (np.abs(lengths / median - 1) <= _CLOSE).mean() < _MOST:
        return False
    return bool(np.linalg.norm(directions(Z).mean(axis=0)) < _NARROW)


def choose_view(Z: Array) -> str:
    """The view that shows most of the embedding Z.

    ==================  =======================  =====================
    visible columns     rows of one length       rows of any length
    ==================  =======================  =====================
    1                   plane                    plane
    2                   ring                     plane
    more                layout                   layout
    ==================  =======================  =====================

    Rows of one length and two columns lie on a circle, whose picture would show nothing but the circle.
    """
    k = len(visible_columns(Z))
    if k == 1:
        return "plane"
    if k == 2 and on_circle(Z):
        return "ring"
    return "layout" if k > 2 and len(Z) >= _ENOUGH else "plane"


@dataclass(frozen=True)
class Options:
    """What a view may need to know besides the rows and columns."""

    n: int  # rows that are not new
    reference: Array  # rows that decide what is far out, and where a ring is wide
    max_radius: float | str | None = "auto"
    radius_scale: str = "auto"
    laid_out: int = LAID_OUT  # rows that t-SNE is given, at most


def picture(Z: Array, options: Options, view: str = "auto", components: Sequence[int] | None = None) -> Picture:
    """Rows Z as ``view`` shows them: all columns that can be seen, as far as it has room for them, or those given.

    ``view="auto"`` is :func:`choose_view` of the reference, and the plane where columns are given.
    """
    k = Z.shape[1]
    least, most = COLUMNS[view]
    if k < least:
        raise ValueError(f"`view`={view!r} needs an embedding of at least {least} columns, got {k}.")
    if components is not None and not least <= len(components) <= most:
        wanted = f"{least}" if least == most else f"{least} to {min(most, k)}"
        raise ValueError(f"`components` must be {wanted} columns for `view`={view!r}, got {len(components)}.")
    if components is not None:
        return _VIEWS["plane" if view == "auto" else view](Z, tuple(components), options)
    visible = visible_columns(options.reference)
    view = choose_view(options.reference) if view == "auto" else view
    least, most = COLUMNS[view]
    ordered = (*visible, *(column for column in range(k) if column not in visible))
    room = 2 if view == "plane" else most
    return _VIEWS[view](Z, ordered[: min(max(len(visible), least), room)], options)


def _plane(Z: Array, columns: tuple[int, ...], options: Options) -> Picture:
    """The coordinates themselves; one or two may have a logarithmic radius."""
    reference = options.reference[:, columns]
    P, limit, n_beyond = within(Z[:, columns], reference, options.max_radius)
    beyond = Circle(limit, f"{n_beyond} beyond\nradius {limit:.3g}") if n_beyond else None
    scale = log_radius(reference, options.radius_scale) if len(columns) < 3 else None
    if scale is None:
        return Picture("plane", P, columns, beyond=beyond)
    if beyond is not None:
        beyond = replace(beyond, radius=scale(limit))
    marks = [scale.inner, *round_radii(scale.inner, float(radii(P).max()), _CIRCLES - 1)]
    circles = tuple(Circle(scale(mark), f"{mark:.3g}") for mark in marks)
    note = f"radius logarithmic beyond {scale.inner:.3g}"
    return Picture("plane", P * scale.factor(radii(P))[:, None], columns, note, circles, beyond)


def _ring(Z: Array, columns: tuple[int, ...], options: Options) -> Picture:
    """Directions in the plane of two columns."""
    ring = Ring(options.reference[:, columns])
    P = np.vstack([ring.place(part[:, columns]) for part in (Z[: options.n], Z[options.n :])])
    note = "directions; wider where more rows point the same way"
    return Picture("ring", P, columns, note, circles=(Circle(1.0),))


def _layout(Z: Array, columns: tuple[int, ...], options: Options) -> Picture:
    """t-SNE of the n rows; new ones next to their neighbours."""
    C = within(Z[:, columns], options.reference[:, columns], "auto")[0]
    n = options.n
    P = layout(C[:n], options.laid_out)
    P = np.vstack([P, place(C[n:], C[:n], P)]) if len(C) > n else P
    note = f"layout (t-SNE) of {len(columns)} coordinates"
    return Picture("layout", P, columns, f"{note}, by {options.laid_out} of {n} rows" if n > options.laid_out else note)


_VIEWS: dict[str, Callable[[Array, tuple[int, ...], Options], Picture]] = {
    "plane": _plane,
    "ring": _ring,
    "layout": _layout,
}
