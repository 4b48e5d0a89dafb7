"""The fits of an estimator: one, or one for every scale, each with its own program and certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._utils.arrays import Array
from ..estimators.multiscale import MultiscaleEmbedding
from ..sdp import Certificate


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
