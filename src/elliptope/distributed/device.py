"""Kernels of all pairs by workers with a CUDA device, one each.

Every worker has all points on its device, and computes some shares of a product, whose order of sums
(:class:`~elliptope.operators.cuda.products.Grid`) is that of a product on one device: results are the same bits. The
client works on thin matrices on its own device, or with PyTorch on its CPU where it has none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._utils.arrays import Array, as_numpy, like
from .._utils.devices import find_device, usable_device
from ..kernels.base import Kernel
from ..memory.device import check_device_memory, device_errors
from ..operators.cuda.operator import CudaOperator
from ..operators.cuda.products import Products, Profile
from .cluster import Cluster, send, task


class DistributedCudaOperator(CudaOperator):
    """J from a kernel and points, by the CUDA devices of the workers of a Dask cluster.

    Parameters
    ----------
    kernel, sample_weight
        As for :class:`~elliptope.operators.cuda.operator.CudaOperator`.
    X : (n, p) array
    device : str
        "cuda", or "cuda:" with a number: the device of every worker.
    cluster : Cluster, optional
        The current client's by default.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        sample_weight: Array | None = None,
        *,
        device: str = "cuda",
        cluster: Cluster | None = None,
    ) -> None:
        self._cluster = Cluster() if cluster is None else cluster
        self._device = device
        super().__init__(kernel, torch.tensor(X, device=client_device(device)), sample_weight)

    def _make(self, kind: Callable[[Any, Profile, bool], Products], Z: Any, profile: Profile, dot: bool) -> Any:
        return RemoteProducts(ProductMaker(kind, profile, dot, self._device), as_numpy(Z), self._cluster)


def client_device(device: str) -> Any:
    """Where the client has its thin matrices."""
    return usable_device(device) or torch.device("cpu")


@dataclass(frozen=True)
class ProductMaker:
    """What makes the products of a worker, on its device."""

    kind: Any  # of Products
    profile: Profile
    dot: bool
    device: str

    def __call__(self, Z: Array) -> Products:
        device = find_device(self.device)
        n, p = Z.shape
        check_device_memory(n, p, "tiled", device)
        with device_errors(device):
            return self.kind(torch.tensor(Z, device=device), self.profile, self.dot)


class RemoteProducts:
    """Products with the kernel matrix of points Z, (n, p), hollow, computed by workers."""

    def __init__(self, maker: ProductMaker, Z: Array, cluster: Cluster) -> None:
        self._maker, self._cluster = maker, cluster
        self.grid = maker.kind.grid_of(len(Z))
        self._points = cluster.keep([send("points", Z)])[0]
        self._workers: list[str] | None = None
        self._made: list[Any] = []

    def hollow_matmat(self, V: Any, squared: bool = False) -> Any:
        """As :meth:`Products.hollow_matmat`, with V on the device of the client."""
        self._prepare()
        shares, count = self.grid.shares, 1
        while count < min(shares, len(self._made)):
            count *= 2
        parts = [range(k * shares // count, (k + 1) * shares // count) for k in range(count)]
        sent = self._cluster.keep([send("thin-matrix", np.ascontiguousarray(as_numpy(V)))])[0]
        who = [k % len(self._made) for k in range(count)]
        products = [
            task("kernel-product", multiply, self._made[k], sent, squared, part) for k, part in zip(who, parts, strict=True)
        ]
        found = self._cluster.keep(products, None if self._workers is None else [self._workers[k] for k in who])
        while len(found) > 1:
            found = [task("sum-of-products", operator.add, *found[k : k + 2]) for k in range(0, len(found), 2)]
        return like(V, self._cluster.results(found)[0])  # a copy: what has travelled may not be written to

    def _prepare(self) -> None:
        """Have the points on the device of every worker; again where workers have come or gone."""
        workers = list(self._cluster.threads()) or None  # without workers, those that come
        if not self._made or workers != self._workers:
            count = len(workers) if workers else 1
            tasks = [task("points-on-device", self._maker, self._points) for _ in range(count)]
            self._made, self._workers = self._cluster.keep(tasks, workers), workers


def multiply(made: Products, V: Array, squared: bool, shares: range) -> Array:
    """What some shares contribute to a product, on a worker."""
    with device_errors(made.device):
        return as_numpy(made.hollow_matmat(torch.tensor(V, device=made.device), squared, shares))
