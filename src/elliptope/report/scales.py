"""The scales of a fit that has several: every one with its own program, certificate and components."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..estimators.multiscale import MultiscaleEmbedding, in_turn
from ..estimators.path.records import PathRecord
from ..estimators.training import Scale


@dataclass(frozen=True)
class ScaleRecord:
    """One scale: what it is called, the length of its rows, and its own fit."""

    title: str
    weight: float
    record: PathRecord


def scale_records(estimator: Any) -> tuple[ScaleRecord, ...]:
    """The scales of a MultiscaleEmbedding; none for any other estimator."""
    if not isinstance(estimator, MultiscaleEmbedding):
        return ()
    times = [scale.diffusion_time for scale in estimator.scales_]
    return tuple(
        ScaleRecord(
            f"Scale {k}{_purpose(scale.diffusion_time, times)}, diffusion time {scale.diffusion_time}",
            scale.weight,
            _record(scale),
        )
        for k, scale in enumerate(estimator.scales_, start=1)
    )


def _purpose(time: int, times: list[int]) -> str:
    """A long diffusion shows groups, and a short one what is within them."""
    if min(times) == max(times):
        return ""
    return {max(times): ": groups of rows", min(times): ": detail within groups"}.get(time, "")


def _record(scale: Scale) -> PathRecord:
    return PathRecord(
        bandwidth=math.nan,
        embedding=scale.components,
        factor=scale.components,
        eigenvalues=scale.eigenvalues,
        certificate=scale.certificate,
        status=scale.status,
        n_iter=scale.n_iter,
        n_products=scale.n_products,
        seconds=math.nan,  # not known
    )


def axis_names(estimator: Any, count: int) -> tuple[str, ...]:
    """Names of the first ``count`` coordinates."""
    if isinstance(estimator, MultiscaleEmbedding):
        names = [f"Scale {scale + 1}, component {component + 1}" for scale, component in in_turn(estimator.scales_)]
        return tuple((names + ["Zero"] * count)[:count])
    return tuple(f"Component {k + 1}" for k in range(count))


def upward_axis(estimator: Any, count: int) -> int:
    """The coordinate that is drawn upwards, beside the first, of ``count`` coordinates.

    The second of the same scale; but that of the next scale where a scale has but two components, whose rows, being of one
    length, would make a circle.
    """
    if not isinstance(estimator, MultiscaleEmbedding) or len(estimator.scales_) == 1:
        return 1
    second = in_turn(estimator.scales_).index((0, 1)) if len(estimator.scales_[0].eigenvalues) > 2 else 1
    return second if second < count else 1
