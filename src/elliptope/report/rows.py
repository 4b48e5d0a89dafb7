"""Rows of the data that a page shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..estimators.base import KernelEmbedding
from ..kernels.choice import find_kernel
from ..kernels.pairs import find_rows


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
