"""The fits of a report's slider."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..estimators.certified import CertifiedEmbedding
from ..estimators.outliers import outlier_scores
from ..estimators.path.records import Path, PathRecord
from ..kernels.choice import find_kernel
from .scales import ScaleRecord


@dataclass(frozen=True)
class Limits:
    """What ``bandwidths="auto"`` and ``neighbors="auto"`` may cost.

    A proof costs n³ operations: at ``large`` rows, ``large_steps`` steps on either side take a minute or two, and more rows
    get fewer steps. A product costs n²: at ``small`` rows a fit with ``products`` products takes seconds, and more rows get
    fewer products. Kernels of neighbours have a slider up to ``neighbors`` rows, where a fit takes seconds.
    """

    large: int = 10_000
    large_steps: int = 3
    small: int = 2000
    products: int = 5000
    neighbors: int = 5000


LIMITS = Limits()


@dataclass(frozen=True)
class Slider:
    """Fits in ascending order of what varies; ``path.records[chosen]`` is the estimator itself.

    ``scales`` are those of every fit. ``note`` says which fits are left out, and why; ``interrupted``, whether Ctrl-C is
    the reason.
    """

    path: Path
    chosen: int
    scales: tuple[tuple[ScaleRecord, ...], ...]
    note: str | None = None
    interrupted: bool = False


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def has_neighbors(estimator: Any) -> bool:
    """Whether the kernel is one of neighbours among rows; a graph has those that it has."""
    rule = find_kernel(getattr(estimator, "kernel", None))
    return rule is not None and rule.scale_parameter == "n_neighbors" and estimator.training_.points is not None


def own_record(estimator: CertifiedEmbedding, rows: Array) -> PathRecord:
    """The estimator as a point of a path."""
    embedding = np.asarray(estimator.embedding_)[rows]
    scale = getattr(estimator, "bandwidth_", getattr(estimator, "length_scale_", None))
    return PathRecord(
        bandwidth=math.nan if scale is None else scale,
        embedding=embedding,
        factor=embedding,  # no fit starts from it
        eigenvalues=estimator.eigenvalues_,
        certificate=estimator.certificate_,
        status=estimator.status_,
        n_iter=estimator.n_iter_,
        n_products=estimator.n_products_,
        seconds=math.nan,  # not known
        n_neighbors=estimator.n_neighbors_ if has_neighbors(estimator) else None,
        outlier_scores=outlier_scores(estimator),
    )
