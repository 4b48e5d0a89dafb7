"""The picture that a page opens with, where the coordinates themselves are not the best one; and colours by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from ..plotting.view import Circle, Options, Picture, picture

# Columns that colours can be taken from: at most so many, and bytes of all of them together.
_MAX_COLUMNS, _MAX_BYTES = 200, 4_000_000
# Quantiles at which a scale of colours ends, so that a single value does not use it up; and its number of steps.
_ENDS, _STEPS = (0.01, 0.99), 255


@dataclass(frozen=True)
class PagePicture:
    """A picture beside the coordinates.

    Attributes
    ----------
    view : {"plane", "ring", "sphere", "layout"}
    columns : tuple of int
        Of the coordinates that it is made of. A sphere, which is turned on the page, has the one at the centre first, then
        the one to the right, then the one that points up.
    note : str
    frames : (m or 1, n, 2) array, or None
        Positions at every fit; a single one, of the chosen fit, in a layout; none for a sphere.
    circles : tuple of Circle
    """

    view: str
    columns: tuple[int, ...]
    note: str
    frames: Array | None
    circles: tuple[Circle, ...] = ()


def page_picture(frames: Array, chosen: int, embedding: Array) -> PagePicture | None:
    """The picture of the embedding, with all fits of the slider in it; None where the coordinates themselves are best.

    ``frames`` (m, n, k) are the leading coordinates at every fit, those of the embedding at ``frames[chosen]``.
    """
    own = picture(embedding, Options(len(embedding), embedding))
    if own.note is None:
        return None
    if own.view == "layout":
        return PagePicture(own.view, own.columns, own.note, own.positions[None])
    if len(own.columns) == 1 or max(own.columns) >= frames.shape[2]:
        return None
    if own.view == "sphere":
        return PagePicture(own.view, own.columns, own.note, None)
    drawn = np.stack([_at(frame, own, embedding).positions for frame in frames])
    drawn[chosen] = own.positions
    return PagePicture(own.view, own.columns, own.note, drawn, own.circles)


def _at(frame: Array, own: Picture, embedding: Array) -> Picture:
    """Another fit, in the same scale of the radius."""
    lead = embedding[:, : frame.shape[1]]
    lead = np.hstack([lead, np.zeros((len(lead), frame.shape[1] - lead.shape[1]))])
    reference = frame if own.view == "ring" else lead
    options = Options(len(frame), reference, max_radius=None, radius_scale="symlog")
    return picture(frame, options, own.view, own.columns)


@dataclass(frozen=True)
class Shades:
    """Columns in 256 steps: step s of column j is the value low_j + s/255 (high_j - low_j).

    Beyond the 1st and the 99th percentile, values have the colour of the last step.
    """

    steps: Array  # (q, n), unsigned bytes
    low: Array  # (q,)
    high: Array  # (q,)


def shades(points: Any) -> Shades:
    """Of the leading columns, as many as a page can hold."""
    n, p = points.shape
    count = min(p, _MAX_COLUMNS, max(1, _MAX_BYTES // n))
    values = points[:, :count]
    if sparse.issparse(values):
        values = values.toarray()
    low, high = np.quantile(values, _ENDS, axis=0)
    # A column with few other values than one has no quantiles to speak of.
    flat = high <= low
    low, high = np.where(flat, values.min(axis=0), low), np.where(flat, values.max(axis=0), high)
    share = (values - low) / np.where(high > low, high - low, 1.0)
    return Shades(np.rint(_STEPS * np.clip(share, 0, 1)).astype(np.uint8).T, low, high)
