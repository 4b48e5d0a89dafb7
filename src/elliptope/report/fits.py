"""What a page shows of an estimator: its rows, and its fits, one for every scale, each with a program and certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..estimators.base import KernelEmbedding
from ..estimators.multiscale import MultiscaleEmbedding
from ..kernels.choice import find_kernel
from ..kernels.pairs import find_rows
from ..sdp import Certificate


def has_neighbors(estimator: Any) -> bool:
    """Whether the kernel is one of neighbours among rows; a graph has those that it has."""
    rule = find_kernel(getattr(estimator, "kernel", None))
    return rule is not None and rule.scale_parameter == "n_neighbors" and estimator.training_.points is not None


def training_rows(estimator: Any) -> Array:
    """The row of every training point in the data."""
    training, n = estimator.training_, len(estimator.embedding_)
    if len(training.rows) != n and not isinstance(estimator, KernelEmbedding):
        raise ValueError(
            f"`X_or_estimator` must have kept all rows, got {len(training.rows)} points for {n} rows: it has merged equal "
            "rows, or left out rows of weight zero. Fit it to distinct rows with positive weights."
        )
    return training.rows


def shown_rows(estimator: Any) -> tuple[Array, Array]:
    """Rows that are points, or equal to one, in the order of the data; and the point that each of them is.

    A kernel of neighbours takes equal rows as one point.
    """
    rows, Z = training_rows(estimator), np.asarray(estimator.embedding_)
    others = np.setdiff1d(np.arange(len(Z)), rows) if has_neighbors(estimator) else rows[:0]
    point = find_rows(Z[rows], Z[others])  # equal rows have equal coordinates
    shown = np.concatenate([rows, others[point >= 0]])
    order = np.argsort(shown)
    return shown[order], np.concatenate([np.arange(len(rows)), point[point >= 0]])[order]


@dataclass(frozen=True, eq=False)
class Fit:
    """What the page says of one program. ``title``: of a scale. ``bandwidth``: NaN for a kernel without one."""

    status: str
    certificate: Certificate
    eigenvalues: Array
    bandwidth: float = math.nan
    title: str | None = None


def fits_of(estimator: Any) -> tuple[Fit, ...]:
    """The scales of a MultiscaleEmbedding; for any other estimator, its only fit."""
    if not isinstance(estimator, MultiscaleEmbedding):
        length = getattr(estimator, "bandwidth_", getattr(estimator, "length_scale_", None))
        bandwidth = math.nan if length is None else length
        return (Fit(estimator.status_, estimator.certificate_, estimator.eigenvalues_, bandwidth),)
    times = [scale.diffusion_time for scale in estimator.scales_]
    titles = [f"Scale {k}{_purpose(time, times)}, diffusion time {time}" for k, time in enumerate(times, start=1)]
    return tuple(
        Fit(scale.status, scale.certificate, scale.eigenvalues, title=title)
        for scale, title in zip(estimator.scales_, titles, strict=True)
    )


def _purpose(time: int, times: list[int]) -> str:
    """A long diffusion shows groups, and a short one what is within them."""
    if min(times) == max(times):
        return ""
    return {max(times): ": groups of rows", min(times): ": detail within groups"}.get(time, "")


def axis_names(count: int) -> tuple[str, ...]:
    """Names of the first ``count`` coordinates."""
    return tuple(f"Component {k + 1}" for k in range(count))
