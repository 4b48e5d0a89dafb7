"""The slider of a report: fits at other bandwidths or numbers of neighbours, or none."""

from __future__ import annotations

from typing import Any

from .._utils.arrays import Array
from ..estimators.path.records import BandwidthPath, NeighborPath
from .bandwidths import bandwidth_slider, has_bandwidth, other_bandwidths
from .fits import LIMITS, Limits, Slider, has_neighbors, is_auto, own_record
from .neighbors import neighbor_slider, other_neighbors
from .scales import scale_records


def make_slider(
    estimator: Any,
    points: Array | None,
    rows: Array,
    bandwidths: Any,
    neighbors: Any,
    *,
    random_state: Any,
    verbose: bool,
    limits: Limits = LIMITS,
) -> Slider:
    """Fit at other values: at all that were asked for, or at those of ``"auto"`` that ``limits`` allow.

    Ctrl-C keeps the fits that are done.
    """
    others = other_bandwidths(bandwidths, estimator, len(rows), limits)
    counts = other_neighbors(neighbors, estimator, len(rows), limits)
    own = own_record(estimator, rows)
    if points is not None and others:
        return bandwidth_slider(estimator, own, points, rows, others, is_auto(bandwidths), random_state, verbose, limits)
    if points is not None and counts:
        return neighbor_slider(
            estimator, own, points, counts, is_auto(neighbors), random_state=random_state, verbose=verbose
        )
    silent = bandwidths is None or neighbors is None
    path = (NeighborPath if has_neighbors(estimator) else BandwidthPath)((own,), (), estimator.training_.weights)
    return Slider(path, 0, (scale_records(estimator),), None if silent else _no_slider(estimator, len(rows)))


def _no_slider(estimator: Any, n: int) -> str | None:
    if has_neighbors(estimator):
        return f"There is no slider: with {n} rows every number of neighbours takes long, and must be asked for."
    if not has_bandwidth(estimator):
        return f"There is no slider: this {type(estimator).__name__} has no bandwidth to vary."
    return f"There is no slider: with {n} rows every bandwidth takes long, and those that are wanted must be asked for."
