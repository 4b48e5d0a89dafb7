"""Workers that die, stop for a while and come: real processes, and the same bits."""

import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import dask_cluster
from elliptope import DiffusionMap, SDPEmbedding
from elliptope.distributed import ClusterError
from elliptope.distributed.exact import DistributedOperator
from elliptope.kernels import Gaussian

distributed = pytest.importorskip("dask.distributed", reason=dask_cluster.REASON)
dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")

# Two blocks of rows, and a fit of a few seconds.
N = 4200


class Workers:
    """Processes with one thread each, without anybody who would start them again."""

    def __init__(self, address):
        self.address, self.running = address, []

    def start(self, count=1):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1"]
        for _ in range(count):
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.running.append(subprocess.Popen([*command, "--no-dashboard", "--memory-limit", "0"], **quiet))

    def kill(self, worker):
        self.running.remove(worker)
        worker.kill()
        worker.wait()


@contextmanager
def cluster():
    """A scheduler in this process, its client and no workers yet."""
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as local,
        distributed.Client(local, direct_to_workers=True) as client,
    ):
        workers = Workers(local.scheduler_address)
        try:
            yield client, workers
        finally:
            for worker in list(workers.running):
                workers.kill(worker)


def data():
    rng = np.random.default_rng(0)
    return da.from_array(rng.standard_normal((N, 4)) + rng.choice([0.0, 2.0], (N, 1)), chunks=1000)


def estimator(kernel="gaussian"):
    """With a kernel of all pairs; or with one of neighbours, most of whose time is the search."""
    if kernel == "gaussian":
        return SDPEmbedding(bandwidth=3.0, rank=3, tol=1e-3, random_state=0, max_iter=20)
    return DiffusionMap(2, kernel="neighbors", metric="canberra")


def fitted_with(fault, est):
    """A fit during which ``fault`` runs in another thread."""
    thread = threading.Thread(target=fault)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return est.fit(data())
    finally:
        thread.join()


def test_the_number_of_workers_changes_nothing():
    """For kernels of all pairs, in several blocks, and of neighbours."""
    X = data()[:500].compute()
    found = []
    with cluster() as (client, workers):
        for count in (1, 2, 3, 4):
            workers.start()
            client.wait_for_workers(count, timeout=60)
            kernel = SDPEmbedding(kernel="overlap", operator="dask", spread=1.0, tol=0.1, random_state=0).fit(X)
            V = np.random.default_rng(0).standard_normal((N, 3))
            tiles = DistributedOperator(Gaussian(1.0), data().compute(), block_rows=512)
            found.append((kernel.embedding_, tiles.m, tiles @ V, tiles.single() @ V, tiles.core_square(tiles.m)))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "neighbors"])
def test_faults_change_nothing_but_the_time(kernel):
    """Ten workers killed, each at a random time of a fit; one that stops for 20 seconds; all but one killed; one more."""
    rng = np.random.default_rng(0)
    with cluster() as (client, workers):
        workers.start(2)
        client.wait_for_workers(2, timeout=60)
        fitted_with(lambda: None, estimator(kernel))  # workers import what they need
        began = time.monotonic()
        expected = fitted_with(lambda: None, estimator(kernel)).embedding_
        seconds = time.monotonic() - began

        def kill_one():
            time.sleep(rng.uniform(0.05, 0.95) * seconds)
            workers.start()
            workers.kill(workers.running[0])

        def kill_all_but_one():
            workers.start(2)
            time.sleep(0.5 * seconds)
            for worker in workers.running[:-1]:
                workers.kill(worker)

        def pause_one():
            time.sleep(0.3 * seconds)
            workers.running[0].send_signal(signal.SIGSTOP)
            time.sleep(20)
            workers.running[0].send_signal(signal.SIGCONT)

        for fault in [kill_one] * 10 + [pause_one, kill_all_but_one, workers.start]:
            assert np.array_equal(fitted_with(fault, estimator(kernel)).embedding_, expected), fault
            client.wait_for_workers(1, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "neighbors"])
def test_without_workers_there_is_an_error_and_the_estimator_is_as_before(kernel):
    with cluster() as (client, workers), dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        workers.start(2)
        client.wait_for_workers(2, timeout=60)
        expected = fitted_with(lambda: None, estimator(kernel)).embedding_

        def kill_all():
            time.sleep(0.1)  # a fit takes a second at least
            for worker in list(workers.running):
                workers.kill(worker)

        est = estimator(kernel)
        before = vars(est).copy()
        with pytest.raises(ClusterError, match="no workers for 2 seconds"):
            fitted_with(kill_all, est)
        assert vars(est) == before
        workers.start()
        client.wait_for_workers(1, timeout=60)
        assert np.array_equal(fitted_with(lambda: None, est).embedding_, expected)
