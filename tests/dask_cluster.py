"""Clusters of Dask for tests, which are skipped where it is not installed."""

from functools import cache

import pytest

REASON = "needs Dask: pip install 'elliptope[dask]'"


@cache
def in_this_process():
    """Two workers of one thread each, in this process: started once, and ended with it."""
    distributed = pytest.importorskip("dask.distributed", reason=REASON)
    from elliptope.distributed.cluster import Cluster

    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="inproc"
    )
    return Cluster(distributed.Client(local, set_as_default=False))
