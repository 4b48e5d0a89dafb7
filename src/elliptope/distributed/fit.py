"""A fit on a cluster: its rows, its kernel and its operator."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from scipy import sparse

from .._utils.arrays import Array, is_dask
from .._utils.checks import check_integer
from .._utils.devices import check_device, on_cpu, refuse_device
from .._utils.threads import count_threads
from ..kernels.base import FittedFormula, FittedKernel, KernelRule
from ..kernels.metrics import RowError
from ..kernels.neighborhoods import NeighborhoodRule
from ..operators.base import KernelOperator
from ..operators.sparse import SparseOperator
from .cluster import Cluster
from .exact import DistributedOperator
from .neighbors import fit_neighbors
from .plan import check_client, check_workers
from .rows import RowBlocks, collect, collect_vector

# What the parameter `operator` is called with for a fit on a cluster.
DASK = "dask"


@dataclass
class RemoteFit:
    """Where a fit is computed, and where its rows come from: those of X, unless they are in chunks on the cluster."""

    cluster: Cluster
    rows: RowBlocks | None
    device: str | None = None  # of every worker; None for their CPUs

    def build(
        self, rule: KernelRule, X: Array, support: Array, w: Array, parameters: dict[str, Any]
    ) -> tuple[FittedKernel, KernelOperator]:
        """The kernel, fitted to the rows ``support`` of X, and the operator that stands for its matrix."""
        if self.device is not None:
            return self._on_devices(rule, X, support, w, parameters)
        rows = RowBlocks.of_array(X[support]) if self.rows is None else self.rows.select(support)
        k = parameters["n_neighbors"] if isinstance(rule, NeighborhoodRule) else None
        check_workers(self.cluster, len(support), X.shape[1], k)
        if isinstance(rule, NeighborhoodRule):
            return self._neighbors(rule, X, support, rows, w, **parameters)
        kernel = rule.fit(X, support, **parameters)
        assert isinstance(kernel, FittedFormula)
        return kernel, DistributedOperator(kernel.formula, kernel.points, w, rows=rows, cluster=self.cluster)

    def _on_devices(
        self, rule: KernelRule, X: Array, support: Array, w: Array, parameters: dict[str, Any]
    ) -> tuple[FittedKernel, KernelOperator]:
        from .device import DistributedCudaOperator

        assert self.device is not None
        kernel = rule.fit(X, support, **parameters)
        assert isinstance(kernel, FittedFormula)
        J = DistributedCudaOperator(kernel.formula, kernel.points, w, device=self.device, cluster=self.cluster)
        return kernel, J

    def client_device(self) -> Any | None:
        """Where the client has the operator's thin matrices; None for arrays of NumPy."""
        if self.device is None:
            return None
        from .device import client_device

        return client_device(self.device)

    def _neighbors(
        self,
        rule: NeighborhoodRule,
        X: Array,
        support: Array,
        rows: RowBlocks,
        w: Array,
        n_neighbors: int,
        n_jobs: int | None,
    ) -> tuple[FittedKernel, KernelOperator]:
        check_integer("n_neighbors", n_neighbors, 2)
        n_threads = count_threads(n_jobs)
        try:
            kernel = fit_neighbors(rule, X[support], rows, n_neighbors, n_threads, self.cluster)
        except RowError as error:
            raise RowError(error.message, support[error.rows]) from None
        return kernel, SparseOperator(kernel.matrix(), w, n_threads)


def find_cluster(
    X: Any, sample_weight: Any, operator: str, device: Any = None, n_neighbors: int | None = None
) -> tuple[Any, Any, RemoteFit | None]:
    """Rows and weights, here, and the cluster for a fit to them; None for it where the fit is to be here, too.

    Chunks of Dask are fitted by its cluster, unless another ``operator`` was asked for. ``n_neighbors`` is None for a kernel
    of all pairs.
    """
    remote = operator == DASK or (is_dask(X) and operator == "auto")
    if not remote and not is_dask(X) and not is_dask(sample_weight):
        return X, sample_weight, None
    name = check_device(device)
    there = name if remote and name is not None and name.startswith("cuda") else None
    if remote and there is None:
        refuse_device(device, X, "a fit on a cluster")  # tensors
    cluster, rows, shape = Cluster(), None, getattr(X, "shape", ())
    if remote and len(shape) == 2 and all(isinstance(size, Integral) for size in shape):
        check_client(X.shape[0], X.shape[1], n_neighbors)
    if is_dask(X):
        X, rows = collect(X, cluster)
    return on_cpu(X), on_cpu(collect_vector(sample_weight, cluster)), RemoteFit(cluster, rows, there) if remote else None


def check_rule(rule: KernelRule, X: Any, kernel: Any, device: str | None) -> None:
    """Raise for what a cluster does not compute."""
    if device is not None and isinstance(rule, NeighborhoodRule):
        refuse_device(device, X, f"kernel={kernel!r} on a cluster")
    if rule.pairwise:
        raise ValueError(
            f"`kernel` must be computed from rows for a fit on a cluster, got {kernel!r} with precomputed values."
        )
    if sparse.issparse(X):
        raise TypeError("`X` must be dense for a fit on a cluster, got a sparse matrix.")
    if rule.holds_distances(X):
        raise ValueError("`X` must hold rows of features for a fit on a cluster, got a graph of distances.")
