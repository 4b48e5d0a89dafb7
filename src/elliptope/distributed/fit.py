"""A fit on a cluster: its rows, its kernel and its operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from .._utils.arrays import Array, is_dask
from ..kernels.base import FittedFormula, FittedKernel, KernelRule
from ..operators.base import KernelOperator
from .cluster import Cluster
from .exact import DistributedOperator
from .log import NO_LOG, ProductLog
from .rows import RowBlocks, collect, collect_vector

# What the parameter `operator` is called with for a fit on a cluster.
DASK = "dask"


@dataclass
class RemoteFit:
    """Where a fit is computed, and where its rows come from: those of X, unless they are in chunks on the cluster."""

    cluster: Cluster
    rows: RowBlocks | None
    log: ProductLog = NO_LOG

    def build(
        self, rule: KernelRule, X: Array, support: Array, w: Array, parameters: dict[str, Any]
    ) -> tuple[FittedKernel, KernelOperator]:
        """The kernel, fitted to the rows ``support`` of X, and the operator that stands for its matrix."""
        kernel = rule.fit(X, support, **parameters)
        assert isinstance(kernel, FittedFormula)
        rows = None if self.rows is None else self.rows.select(support)
        return kernel, DistributedOperator(kernel.formula, kernel.points, w, rows=rows, cluster=self.cluster, log=self.log)


def find_cluster(X: Any, sample_weight: Any, operator: str) -> tuple[Any, Any, RemoteFit | None]:
    """Rows and weights, here, and the cluster for a fit to them; None for it where the fit is to be here, too.

    Chunks of Dask are fitted by its cluster, unless another ``operator`` was asked for.
    """
    remote = operator == DASK or (is_dask(X) and operator == "auto")
    if not remote and not is_dask(X) and not is_dask(sample_weight):
        return X, sample_weight, None
    cluster, rows = Cluster(), None
    if is_dask(X):
        X, rows = collect(X, cluster)
    return X, collect_vector(sample_weight, cluster), RemoteFit(cluster, rows) if remote else None


def check_rule(rule: KernelRule, X: Any, kernel: Any) -> None:
    """Raise for what a cluster does not compute."""
    if rule.pairwise:
        raise ValueError(
            f"`kernel` must be computed from rows for a fit on a cluster, got {kernel!r} with precomputed values."
        )
    if sparse.issparse(X):
        raise TypeError("`X` must be dense for a fit on a cluster, got a sparse matrix.")
    if rule.holds_distances(X):
        raise ValueError("`X` must hold rows of features for a fit on a cluster, got a graph of distances.")
