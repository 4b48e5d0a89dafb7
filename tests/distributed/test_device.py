"""Products by the devices of workers: the bits of one device without a cluster. Or in Triton's interpreter."""

import os

import numpy as np
import pytest

import dask_cluster

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton", reason="triton is not installed: make test-gpu installs it")
distributed = pytest.importorskip("dask.distributed", reason=dask_cluster.REASON)

from elliptope import DiffusionMap, MultiscaleEmbedding, SDPEmbedding  # noqa: E402
from elliptope.distributed.cluster import Cluster  # noqa: E402
from elliptope.distributed.device import DistributedCudaOperator  # noqa: E402
from elliptope.kernels import Gaussian, Laplacian  # noqa: E402
from elliptope.operators.cuda import products  # noqa: E402
from elliptope.operators.cuda.operator import CudaOperator  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def rows(n, p=3):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, p)) + rng.choice([0.0, 3.0], (n, 1))


@pytest.fixture(scope="module")
def client():
    """One worker: the interpreter has one thread."""
    options = {"processes": False, "dashboard_address": None, "protocol": "inproc"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(1.0)], ids=repr)
def test_products_are_those_of_one_device(kernel, client, monkeypatch):
    """In both precisions, of squares too, and in shares for as many workers as there are."""
    monkeypatch.setattr(products, "_LAUNCHED", 2)
    X, V = rows(1100), torch.tensor(np.random.default_rng(1).standard_normal((1100, 3)), device=DEVICE)
    here = CudaOperator(kernel, torch.tensor(X, device=DEVICE))
    assert here._products.grid.shares > 1
    cluster = Cluster(client)
    for names in ((), ("one", "other")):  # of workers; tasks for those that are gone are computed by others
        if names:
            monkeypatch.setattr(cluster, "threads", lambda names=names: dict.fromkeys(names, 1))
        there = DistributedCudaOperator(kernel, X, cluster=cluster)
        for one, other in (
            (here.m, there.m),
            (here @ V, there @ V),
            (here.product(V, squared=True), there.product(V, squared=True)),
        ):
            assert torch.equal(one, other)
        if isinstance(kernel, Gaussian):  # others in single precision are more than the interpreter can do
            assert torch.equal(here.single() @ V, there.single() @ V)
        assert here.error_bounds == there.error_bounds


def test_fits_are_those_of_one_device(client):
    X = rows(150)
    options = {"bandwidth": 2.0, "device": "cuda", "random_state": 0, "tol": 1e-6}
    here, there = SDPEmbedding(**options).fit(X), SDPEmbedding(operator="dask", **options).fit(X)
    np.testing.assert_array_equal(there.embedding_, here.embedding_)
    assert there.certificate_ == here.certificate_
    np.testing.assert_array_equal(there.transform(X[:9]), here.transform(X[:9]))
    import dask.array as da

    chunks = da.from_array(X, chunks=40)
    options = {"n_components": 2, "bandwidth": 2.0, "device": "cuda"}
    np.testing.assert_array_equal(DiffusionMap(**options).fit(chunks).embedding_, DiffusionMap(**options).fit(X).embedding_)
    with pytest.raises(ValueError, match="`device` must be None, 'cpu' or 'auto' for kernel='overlap' on a cluster"):
        MultiscaleEmbedding(device="cuda").fit(chunks)
