"""Work shared by threads: how many to use, results in order, and limits on the threads of BLAS and OpenMP."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from numbers import Integral
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# Up to this many rows several threads of BLAS wait for each other for longer than they work.
ONE_THREAD = 1500
# Processors on which OpenBLAS multiplies small matrices without copying them first, by its names for them.
_FAST_SMALL_PRODUCTS = ("SkylakeX", "Cooperlake", "SapphireRapids")

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores() -> int:
    """The number of cores that this process may run on; of all cores, if the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention: None is 1, -1 all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, usable_cores() + 1 + int(n_jobs))


def in_order(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """``map`` by ``n_jobs`` threads; results come in the order of the items, and so do errors.

    No more than a few items are taken beyond those whose results have been asked for.
    """
    if n_jobs == 1:
        yield from map(function, items)
        return
    pool, ahead = ThreadPoolExecutor(n_jobs), deque[Future[Result]]()
    try:
        for item in items:
            ahead.append(pool.submit(function, item))
            if len(ahead) > 2 * n_jobs:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class _OneBlasThread(AbstractContextManager):
    """Limits BLAS, in the whole process, to one thread. The first block to be entered sets the limit, the last lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _pools().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS has one thread: more would compete with ours for the same cores."""
    return _ONE_BLAS_THREAD


def openmp_threads(count: int) -> AbstractContextManager:
    """A context in which OpenMP has ``count`` threads: scikit-learn's loops take all that there are, whatever ``n_jobs``."""
    return _pools().limit(limits=count, user_api="openmp")


@cache
def has_fast_small_products() -> bool:
    """Whether several small products with BLAS are faster than a large one; on other processors they are slower."""
    used = [pool for pool in _pools().info() if pool["user_api"] == "blas"]
    return bool(used) and all(pool.get("architecture") in _FAST_SMALL_PRODUCTS for pool in used)


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
