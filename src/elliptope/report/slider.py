"""The fits that the slider of a report runs through: which bandwidths, and what they may cost."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from ..estimators.certified import CertifiedEmbedding
from ..estimators.path.path import check_bandwidths, follow_path, shortcomings
from ..estimators.path.records import BandwidthPath, PathRecord
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.choice import BUILT_IN

# Slider positions on either side of the estimator's bandwidth, and the factor between it and the last of them.
_STEPS, _REACH = 5, 2.0
# A proof costs n³: with so many steps, no longer ones, at so many rows all take a minute or two; larger tables get fewer.
_LARGE_STEPS, _LARGE = 3, 10_000
# A product costs n²: with so many of them at so many rows a fit takes seconds, and larger tables get fewer.
_PRODUCTS, _SMALL = 5000, 2000
# Bandwidths that a note lists one by one.
_LISTED = 6


@dataclass(frozen=True)
class Slider:
    """Fits in ascending order of bandwidth; ``path.records[chosen]`` is the estimator itself.

    ``note`` says which bandwidths one might look for in vain, and why; ``interrupted``, that Ctrl-C is the reason.
    """

    path: BandwidthPath
    chosen: int
    note: str | None = None
    interrupted: bool = False


def make_slider(
    estimator: Any, points: Array | None, rows: Array, bandwidths: Any, *, random_state: Any, verbose: bool
) -> Slider:
    """Fit at other bandwidths: all that were asked for; or those of ``"auto"``, as far as they are cheap.

    Ctrl-C keeps what is done.
    """
    automatic = isinstance(bandwidths, str) and bandwidths == "auto"
    others = other_bandwidths(bandwidths, estimator, len(rows))
    own, w = _own_record(estimator, rows), estimator.training_.weights
    if not others or points is None:
        return Slider(BandwidthPath((own,), (), w), 0, _no_slider(estimator, len(rows)) if automatic else None)
    budget = _budget(estimator, len(rows)) if automatic else None
    parameters = {**estimator.get_params(), "random_state": random_state}
    del parameters["bandwidth"], parameters["verbose"]
    if not isinstance(estimator.diagonal, str) and not callable(estimator.diagonal):
        parameters["diagonal"] = np.asarray(estimator.diagonal)[rows]

    def ends(record: PathRecord) -> bool:
        """Smaller bandwidths are harder still."""
        return budget is not None and record.bandwidth < own.bandwidth and record.status != "optimal"

    try:
        path = follow_path(points, others, parameters, sample_weight=w, callback=ends, verbose=verbose, max_products=budget)
    except KeyboardInterrupt:  # before the first of them was done
        path = BandwidthPath((), tuple(others), w)
    # A draft is of no use to somebody who has not asked for it.
    drafts = [record for record in path.records if budget is not None and record.status == "max_iter"]
    shown = {record.bandwidth: record for record in (*path.records, own) if record not in drafts}
    records = tuple(shown[sigma] for sigma in sorted(shown))
    interrupted = bool(path.missing) and not any(map(ends, path.records))
    reasons = _reasons(path, drafts, budget, interrupted)
    messages = [*(reasons if interrupted else []), *shortcomings([record for record in records if record is not own])]
    if messages:
        warnings.warn(f"write_report: {' '.join(messages)}", ConvergenceWarning, stacklevel=4)
    if automatic and len(others) < 2 * _STEPS:
        reasons.insert(0, f"{len(others) + 1} bandwidths instead of {2 * _STEPS + 1}, because there are many rows.")
    return Slider(BandwidthPath(records, path.missing, w), records.index(own), " ".join(reasons) or None, interrupted)


def other_bandwidths(bandwidths: Any, estimator: Any, n: int) -> list[float]:
    """The bandwidths to be solved for, the estimator's own left out."""
    automatic = isinstance(bandwidths, str) and bandwidths == "auto"
    if isinstance(bandwidths, str) and not automatic:
        raise ValueError(f"`bandwidths` must be 'auto', None or a sequence of positive numbers, got {bandwidths!r}.")
    if bandwidths is None or (automatic and not _varies(estimator)):
        return []
    if not _varies(estimator):
        raise ValueError(
            f"`bandwidths` must be 'auto' or None for an estimator that has no bandwidth to vary ({estimator!r}), got "
            f"{bandwidths!r}."
        )
    if automatic:
        count = min(_STEPS, int(_LARGE_STEPS * (_LARGE / n) ** 3))
        return [estimator.bandwidth_ * _REACH ** (step / _STEPS) for step in range(-count, count + 1) if step]
    return [sigma for sigma in check_bandwidths(bandwidths) if sigma != estimator.bandwidth_]


def _varies(estimator: Any) -> bool:
    return isinstance(estimator, SDPEmbedding) and isinstance(estimator.kernel, str) and estimator.kernel in BUILT_IN


def _budget(estimator: Any, n: int) -> int | None:
    """Products for each fit, no fewer than the estimator's own has taken; None where fits are cheap anyway."""
    return None if n <= _SMALL else max(int(_PRODUCTS * (_SMALL / n) ** 2), estimator.n_products_)


def _no_slider(estimator: Any, n: int) -> str:
    if not _varies(estimator):
        return f"There is no slider: this {type(estimator).__name__} has no bandwidth to vary."
    return f"There is no slider: with {n} rows every bandwidth takes long, and those that are wanted must be asked for."


def _reasons(path: BandwidthPath, drafts: list[PathRecord], budget: int | None, interrupted: bool) -> list[str]:
    """Why bandwidths are left out, in a sentence for each reason."""
    reasons = []
    if drafts:
        reasons.append(f"{_listed(r.bandwidth for r in drafts)} left out: not solved by {budget} products.")
    if interrupted:
        reasons.append(f"{_listed(path.missing)} left out: stopped by hand.")
    elif path.missing:
        last = min(record.bandwidth for record in path.records)
        reasons.append(f"{_listed(path.missing)} left out: no optimum that is settled was found at {last:.4g}.")
    return reasons


def _listed(sigmas: Iterable[float]) -> str:
    texts = [f"{sigma:.4g}" for sigma in sorted(sigmas)]
    if len(texts) > _LISTED:
        return f"{len(texts)} bandwidths from {texts[0]} to {texts[-1]}"
    return f"σ = {', '.join(texts)}"


def _own_record(estimator: CertifiedEmbedding, rows: Array) -> PathRecord:
    """The estimator as a point of a path."""
    embedding = np.asarray(estimator.embedding_)[rows]
    scale = getattr(estimator, "bandwidth_", getattr(estimator, "length_scale_", None))
    return PathRecord(
        bandwidth=math.nan if scale is None else scale,
        embedding=embedding,
        factor=embedding,  # nothing will start from it
        eigenvalues=estimator.eigenvalues_,
        certificate=estimator.certificate_,
        status=estimator.status_,
        n_iter=estimator.n_iter_,
        n_products=estimator.n_products_,
        seconds=math.nan,  # not known
    )
