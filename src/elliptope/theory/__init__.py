"""Statistical constants of the kernelised problem, and fill distances of samples."""

from .constants import (
    Guarantee,
    constraint_rate,
    deviation,
    fill_distance_bound,
    least_regularization,
    objective_bound,
    samples_needed,
    shortfall_bound,
    top_eigenvalue,
    trace_deviation,
    trace_floor,
)
from .covering import Cover, FillDistance, cover_ball, cover_box, fill_distance

__all__ = [
    "Cover",
    "FillDistance",
    "Guarantee",
    "constraint_rate",
    "cover_ball",
    "cover_box",
    "deviation",
    "fill_distance",
    "fill_distance_bound",
    "least_regularization",
    "objective_bound",
    "samples_needed",
    "shortfall_bound",
    "top_eigenvalue",
    "trace_deviation",
    "trace_floor",
]
