"""The cluster: which one, results of tasks, and what is said where nobody is left to compute them.

Scheduling, transfers, repetition of lost tasks and serialisation are Dask's. Data of a fit are results of tasks, never
scattered: Dask can compute them again where the workers that held them are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from typing import Any
from uuid import uuid4

from .._utils.versions import missing_module

# For workers that we start, settings of Dask. By default they give memory back to the system as soon as it is free, and to
# get it again takes as long as many products. With these, arrays of up to 32 MB, the most that glibc allows, keep it.
WORKER_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}
# Seconds between two looks at whether there are workers, while tasks are waited for.
_LOOK = 1.0
# Seconds after which we look again while results are fetched; doubled every time.
_FETCH = 30.0


class ClusterError(RuntimeError):
    """The cluster cannot go on: its workers, or its scheduler, are gone."""


class Cluster:
    """A client of Dask, with what fits need of it: the current one, unless another is given."""

    def __init__(self, client: Any = None) -> None:
        self.client = find_client() if client is None else client

    def threads(self) -> dict[str, int]:
        """The number of threads of every worker, by address, in a fixed order."""
        return dict(sorted(self.client.nthreads().items()))

    def memory(self) -> int | None:
        """Bytes that the smallest worker may use; None where there is no limit."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return min((worker["memory_limit"] for worker in workers if worker["memory_limit"]), default=None)

    def keep(self, tasks: Iterable[Any], workers: Sequence[str] | None = None) -> list[Any]:
        """Have the tasks computed, and their results kept by the workers for as long as what is returned is.

        ``workers`` has the one that should compute each of them; another one does where it is gone.
        """
        tasks = list(tasks)
        with _large_graphs():
            if workers is None:
                return self.client.compute(tasks)
            return [
                self.client.compute(one, workers=[worker], allow_other_workers=True)
                for one, worker in zip(tasks, workers, strict=True)
            ]

    def results(self, tasks: Iterable[Any], workers: Sequence[str] | None = None) -> list[Any]:
        """The results of the tasks, here. What a task raises is raised."""
        return self.collect(self.keep(tasks, workers))

    def collect(self, kept: Sequence[Any]) -> list[Any]:
        """The results of tasks that are kept; waits until they are computed."""
        kept, seconds = list(kept), _FETCH

        async def gather() -> list[Any]:
            return await self.client.gather(kept, asynchronous=True)

        while True:
            self._wait(kept)
            failed = any(future.status == "error" for future in kept)
            try:
                return self.client.sync(gather, callback_timeout=None if failed else seconds)
            except CancelledError as error:
                raise ClusterError(_NO_SCHEDULER) from error
            except TimeoutError:  # many bytes, or a worker has just died with its results
                if failed:
                    raise
                seconds *= 2

    def _wait(self, futures: Sequence[Any]) -> None:
        import dask
        from dask.distributed import wait

        patience = dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
        alone = None  # since when there are no workers
        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=_LOOK)
                return
            except CancelledError as error:
                raise ClusterError(_NO_SCHEDULER) from error
            except TimeoutError:
                alone = None if self.client.nthreads() else alone or monotonic()
                if alone is not None and monotonic() - alone > patience:
                    raise ClusterError(_NO_WORKERS.format(patience)) from None


_NO_WORKERS = (
    "The cluster has had no workers for {:g} seconds, so that the fit cannot go on. Start workers and fit again. "
    "(The time is that of Dask's `distributed.comm.timeouts.connect`.)"
)
_NO_SCHEDULER = (
    "The connection to the scheduler of the cluster was lost, or its tasks were cancelled, so that the fit cannot go on. "
    "Connect to a running one and fit again."
)


def task(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A call to be made by a worker; the dashboard shows it under its name."""
    from dask import delayed

    return delayed(function, pure=False)(*arguments, dask_key_name=f"{name}-{uuid4().hex}")


def send(name: str, data: Any) -> Any:
    """Data of this process, to be held by a worker."""
    return task(name, _as_it_is, data)


def _as_it_is(data: Any) -> Any:
    return data


def find_client() -> Any:
    """The current client of Dask; an error where there is none."""
    try:
        from dask.distributed import get_client
    except ImportError as error:
        raise missing_module("A fit on a cluster", "dask", error) from error
    try:
        return get_client()
    except ValueError as error:
        raise ClusterError(
            "There is no cluster to fit on. Connect to one first: dask.distributed.Client(address), or Client() for one on "
            "this machine."
        ) from error


def _large_graphs() -> Any:
    """A context without Dask's warning that a graph holds data: thin matrices travel that way, so that none can be lost."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"})
