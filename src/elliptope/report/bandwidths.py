"""Fits at other bandwidths: which ones, and what they may cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.callers import warn
from ..estimators.path.path import check_bandwidths, follow_path, shortcomings
from ..estimators.path.records import BandwidthPath, PathRecord
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.choice import BUILT_IN
from .fits import LIMITS, Limits, Slider, is_auto
from .numbers import number_text
from .scales import ScaleRecord

# Slider positions on either side of the estimator's bandwidth, and the factor between it and the last of them.
_STEPS, _REACH = 5, 2.0
# Bandwidths that a note lists one by one.
_LISTED = 6


def bandwidth_slider(
    estimator: Any,
    own: PathRecord,
    points: Array,
    rows: Array,
    others: list[float],
    automatic: bool,
    random_state: Any,
    verbose: bool,
    limits: Limits,
) -> Slider:
    """The estimator, whose record is ``own``, among fits at the bandwidths ``others``."""
    w = estimator.training_.weights
    budget = _budget(estimator, len(rows), limits) if automatic else None
    parameters = _parameters(estimator, rows, random_state)

    def ends(record: PathRecord) -> bool:
        """Whether to stop here: smaller bandwidths are harder still."""
        return budget is not None and record.bandwidth < own.bandwidth and record.status != "optimal"

    try:
        path = follow_path(points, others, parameters, sample_weight=w, callback=ends, verbose=verbose, max_products=budget)
    except KeyboardInterrupt:  # before the first of them was done
        path = BandwidthPath((), tuple(others), w)
    # Unfinished fits are shown only at bandwidths that were asked for.
    drafts = [record for record in path.records if budget is not None and record.status == "max_iter"]
    shown = {record.bandwidth: record for record in (*path.records, own) if record not in drafts}
    records = tuple(shown[sigma] for sigma in sorted(shown))
    interrupted = bool(path.missing) and not any(map(ends, path.records))
    reasons = _reasons(path, drafts, budget, interrupted)
    beside = [record for record in records if record is not own]
    messages = [*(reasons if interrupted else []), *shortcomings("bandwidth", beside)]
    if messages:
        warn(f"write_report: {' '.join(messages)}", ConvergenceWarning)
    if automatic and len(others) < 2 * _STEPS:
        reasons.insert(0, f"{len(others) + 1} bandwidths instead of {2 * _STEPS + 1}, because there are many rows.")
    none: tuple[tuple[ScaleRecord, ...], ...] = ((),) * len(records)
    return Slider(BandwidthPath(records, path.missing, w), records.index(own), none, " ".join(reasons) or None, interrupted)


def other_bandwidths(bandwidths: Any, estimator: Any, n: int, limits: Limits = LIMITS) -> list[float]:
    """The bandwidths to solve for, without the estimator's own."""
    automatic = is_auto(bandwidths)
    if isinstance(bandwidths, str) and not automatic:
        raise ValueError(f"`bandwidths` must be 'auto', None or a sequence of positive numbers, got {bandwidths!r}.")
    if bandwidths is None or (automatic and not has_bandwidth(estimator)):
        return []
    if not has_bandwidth(estimator):
        raise ValueError(
            f"`bandwidths` must be 'auto' or None for an estimator that has no bandwidth to vary ({estimator!r}), got "
            f"{bandwidths!r}. A fitted SDPEmbedding has one."
        )
    if automatic:
        count = min(_STEPS, int(limits.large_steps * (limits.large / n) ** 3))
        return [estimator.bandwidth_ * _REACH ** (step / _STEPS) for step in range(-count, count + 1) if step]
    return [sigma for sigma in check_bandwidths(bandwidths) if sigma != estimator.bandwidth_]


def _parameters(estimator: Any, rows: Array, random_state: Any) -> dict[str, Any]:
    """Parameters of the other fits: the estimator's own, with the diagonal of the rows that are shown."""
    parameters = {**estimator.get_params(), "random_state": random_state}
    del parameters["bandwidth"], parameters["verbose"]
    if not isinstance(estimator.diagonal, str) and not callable(estimator.diagonal):
        parameters["diagonal"] = np.asarray(estimator.diagonal)[rows]
    return parameters


def has_bandwidth(estimator: Any) -> bool:
    return isinstance(estimator, SDPEmbedding) and isinstance(estimator.kernel, str) and estimator.kernel in BUILT_IN


def _budget(estimator: Any, n: int, limits: Limits) -> int | None:
    """Products allowed per fit, at least those of the estimator's own; None, without limit, where n is small."""
    return None if n <= limits.small else max(int(limits.products * (limits.small / n) ** 2), estimator.n_products_)


def _reasons(path: BandwidthPath, drafts: list[PathRecord], budget: int | None, interrupted: bool) -> list[str]:
    """Why bandwidths are left out: a sentence for each reason."""
    reasons = []
    if drafts:
        reasons.append(f"{_listed(r.bandwidth for r in drafts)} left out: not solved by {budget} products.")
    if interrupted:
        reasons.append(f"{_listed(path.missing)} left out: stopped by hand.")
    elif path.missing:
        last = min(record.bandwidth for record in path.records)
        reasons.append(f"{_listed(path.missing)} left out: at σ = {number_text(last)} no unique optimum was found.")
    return reasons


def _listed(sigmas: Iterable[float]) -> str:
    texts = [number_text(sigma) for sigma in sorted(sigmas)]
    if len(texts) > _LISTED:
        return f"{len(texts)} bandwidths from {texts[0]} to {texts[-1]}"
    return f"σ = {', '.join(texts)}"
