"""Where points are drawn: those far out on a circle, those of one dimension in bands."""

from __future__ import annotations

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_positive
from .targets import Classes, Target

# With max_radius="auto", points are drawn up to this multiple of the largest radius of a training point.
_FAR = 1.5
# Height of the band in which the points of a one-dimensional embedding are spread, the distance between classes being 1.
_BAND = 0.7


def within(P: Array, reference: Array, max_radius: float | str | None) -> tuple[Array, float, int]:
    """Points P, with those beyond the limit moved onto its circle; the limit; and their number.

    ``max_radius="auto"`` takes the limit from the points ``reference``.
    """
    limit = np.inf
    if max_radius == "auto":
        largest = float(_radii(reference).max(initial=0.0))
        limit = _FAR * largest if largest > 0 else np.inf
    elif isinstance(max_radius, str):
        raise ValueError(f"`max_radius` must be positive, 'auto' or None, got {max_radius!r}.")
    elif max_radius is not None:
        limit = check_positive("max_radius", max_radius)
    radii = _radii(P)
    beyond = radii > limit
    drawn = P.copy()
    # Divided first: the radius may be close to the largest number there is.
    drawn[beyond] = drawn[beyond] / radii[beyond, None] * limit
    return drawn, limit, int(beyond.sum())


def _radii(P: Array) -> Array:
    """Lengths of rows, without the overflow of squares."""
    size = np.abs(P).max(axis=1)
    return size * np.linalg.norm(P / np.where(size > 0, size, 1.0)[:, None], axis=1)


def bands(target: Target | None, n: int, m: int) -> Array:
    """Heights for points on a line: a band per class, and within it multiples of the golden ratio, which spread evenly."""
    golden = (1 + 5**0.5) / 2
    spread = np.concatenate([np.arange(1, size + 1) * golden % 1.0 for size in (n, m)])
    band = np.zeros(n + m)
    if isinstance(target, Classes):
        band = np.where(target.codes < 0, len(target.names), target.codes)
    return _BAND * (spread - 0.5) - band
