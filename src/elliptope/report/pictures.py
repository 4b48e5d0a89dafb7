"""The picture that a page opens with, where the coordinates themselves are not the best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array
from ..plotting._layout import layout
from ..plotting.view import Circle, Options, Picture, picture

# Rows up to which every fit of the slider has a layout of its own, in seconds each; beyond, the chosen one alone.
_LAID_OUT = 1000


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
        Positions at every fit; a single one, of the chosen fit, in a layout of many rows; none for a sphere.
    circles : tuple of Circle
    """

    view: str
    columns: tuple[int, ...]
    note: str
    frames: Array | None
    circles: tuple[Circle, ...] = ()


def page_picture(frames: Array, chosen: int, embeddings: Sequence[Array]) -> PagePicture | None:
    """The picture of the chosen embedding, with all fits in it; None where the coordinates themselves are best.

    ``frames`` (m, n, k) are the leading coordinates at every fit, and ``embeddings`` all coordinates.
    """
    embedding = embeddings[chosen]
    own = picture(embedding, Options(len(embedding), embedding))
    if own.note is None:
        return None
    if own.view == "layout":
        return PagePicture(own.view, own.columns, own.note, _layouts(own, chosen, embeddings))
    if len(own.columns) == 1 or max(own.columns) >= frames.shape[2]:
        return None
    if own.view == "sphere":
        return PagePicture(own.view, own.columns, own.note, None)
    drawn = np.stack([_at(frame, own, embedding).positions for frame in frames])
    drawn[chosen] = own.positions
    return PagePicture(own.view, own.columns, own.note, drawn, own.circles)


def _layouts(own: Picture, chosen: int, embeddings: Sequence[Array]) -> Array:
    """Layouts of all fits, each of which starts from that of the fit before it, outwards from the chosen one."""
    n = len(own.positions)
    if n > _LAID_OUT:
        return own.positions[None]
    made = {chosen: own.positions}
    for k in (*range(chosen + 1, len(embeddings)), *range(chosen - 1, -1, -1)):
        made[k] = layout(embeddings[k], start=made[k - 1 if k > chosen else k + 1])
    return np.stack([made[k] for k in range(len(embeddings))])


def _at(frame: Array, own: Picture, embedding: Array) -> Picture:
    """Another fit, in the same scale of the radius."""
    lead = embedding[:, : frame.shape[1]]
    lead = np.hstack([lead, np.zeros((len(lead), frame.shape[1] - lead.shape[1]))])
    reference = frame if own.view == "ring" else lead
    options = Options(len(frame), reference, max_radius=None, radius_scale="symlog")
    return picture(frame, options, own.view, own.columns)
