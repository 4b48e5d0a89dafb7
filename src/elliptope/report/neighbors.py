"""Fits at other numbers of neighbours: which ones, and how they are made."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._utils.callers import warn
from .._utils.checks import check_integer
from ..estimators.path.path import record_of, shortcomings, walk
from ..estimators.path.records import NeighborPath, PathRecord
from .fits import LIMITS, Limits, Slider, has_neighbors, is_auto
from .scales import ScaleRecord, scale_records

# Slider positions on either side of the estimator's number of neighbours, and the factor between it and the last of them.
_STEPS, _REACH = 2, 2.0
# Iterations that each of them may take, at least.
_ITERATIONS = 1000


def neighbor_slider(
    estimator: Any, own: PathRecord, points: Any, others: list[int], automatic: bool, *, random_state: Any, verbose: bool
) -> Slider:
    """The estimator, whose record is ``own``, among fits with ``others`` neighbours.

    ``automatic``: nobody has asked for these, and those that take much longer than the estimator's own are left out.
    """
    w = estimator.training_.given_weights
    max_iter = min(estimator.max_iter, max(_ITERATIONS, 2 * estimator.n_iter_)) if automatic else estimator.max_iter
    scales: dict[int, tuple[ScaleRecord, ...]] = {estimator.n_neighbors_: scale_records(estimator)}

    def solve(value: float, _: Sequence[PathRecord]) -> PathRecord:
        k = int(value)
        est = clone(estimator).set_params(n_neighbors=k, max_iter=max_iter, random_state=random_state, verbose=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page says what there is to say of every fit
            record = record_of(est, lambda: est.fit(points, sample_weight=w), lambda: est.embedding_)
        scales[k] = scale_records(est)
        return replace(record, n_neighbors=k)

    missing: tuple[float, ...]
    try:
        records, missing = walk([float(k) for k in others], solve, None, verbose)
    except KeyboardInterrupt:  # before the first of them was done
        records, missing = (), tuple(map(float, others))
    drafts = [record for record in records if automatic and record.status == "max_iter"]
    records = tuple(record for record in records if record not in drafts)
    notes = [f"{_listed(missing)} left out: stopped by hand."] if missing else []
    messages = [*notes, *shortcomings("n_neighbors", records)]
    if drafts:
        notes.append(f"{_listed(d.n_neighbors or 0 for d in drafts)} left out: not solved in {max_iter} iterations.")
    if messages:
        warn(f"write_report: {' '.join(messages)}", ConvergenceWarning)
    shown = sorted((own, *records), key=lambda record: record.n_neighbors or 0)
    path = NeighborPath(tuple(shown), missing, estimator.training_.weights)
    return Slider(
        path,
        shown.index(own),
        tuple(scales[record.n_neighbors or 0] for record in shown),
        " ".join(notes) or None,
        bool(missing),
    )


def _listed(counts: Iterable[float]) -> str:
    return f"k = {', '.join(str(int(k)) for k in sorted(counts))}"


def other_neighbors(neighbors: Any, estimator: Any, n: int, limits: Limits = LIMITS) -> list[int]:
    """The numbers of neighbours to solve for, without the estimator's own."""
    automatic = is_auto(neighbors)
    if isinstance(neighbors, str) and not automatic:
        raise ValueError(f"`neighbors` must be 'auto', None or a sequence of whole numbers, got {neighbors!r}.")
    if neighbors is None or (automatic and not has_neighbors(estimator)):
        return []
    if not has_neighbors(estimator):
        raise ValueError(
            f"`neighbors` must be 'auto' or None for an estimator that has no neighbours to vary ({estimator!r}), got "
            f"{neighbors!r}."
        )
    own = estimator.n_neighbors_
    if not automatic:
        counts = [check_integer(f"neighbors[{i}]", value, 2) for i, value in enumerate(_listed_counts(neighbors))]
        return sorted({*counts} - {own})
    if n > limits.neighbors:
        return []
    spaced = {round(own * _REACH ** (step / _STEPS)) for step in range(-_STEPS, _STEPS + 1)}
    return sorted(count for count in spaced if 2 <= count < n and count != own)


def _listed_counts(neighbors: Any) -> list[Any]:
    try:
        values = list(neighbors)
    except TypeError:
        values = []
    if not values:
        raise ValueError(f"`neighbors` must be 'auto', None or a sequence of whole numbers, got {neighbors!r}.")
    return values
