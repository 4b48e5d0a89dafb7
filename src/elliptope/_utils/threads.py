"""Work shared by threads: how many to use, results in order, and limits on the threads of BLAS and OpenMP."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from numbers import Integral
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

# Up to this many rows several threads wait for each other for longer than they work on a product with an n × n matrix.
ONE_THREAD = 1500
# The same for those of BLAS in a factorisation: at n = 5000 they save a tenth of the time, and where other programs keep the
# cores busy they may need ten times as long.
ONE_THREAD_FACTORIZES = 5000
# Processors on which OpenBLAS multiplies small matrices without copying them first, by its names for them.
_FAST_SMALL_PRODUCTS = ("SkylakeX", "Cooperlake", "SapphireRapids")

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores(root: str | os.PathLike = "/") -> int:
    """The number of cores that this process may keep busy: those it may run on, and what control groups leave of them.

    A group may have a part of all cores (`docker run --cpus 1.5`); that counts as the next larger number. ``root`` is where
    ``proc`` and ``sys`` are looked for.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quotas = [_quota(folder) for _, folder in control_groups(Path(root))]
    except (OSError, ValueError):  # not Linux, or files of another form: doing without the answer is better than failing
        quotas = []
    return max(1, math.ceil(min([cores, *quotas])))


def _quota(folder: Path) -> float:
    """The cores that a control group may keep busy; infinite without a limit."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except OSError:  # at the top there is no limit, and no file
        return math.inf
    return int(quota) / int(period) if quota != "max" else math.inf


def control_groups(root: Path) -> Iterator[tuple[str, Path]]:
    """The control group (Linux, version 2) of this process and those above it: names, and folders of their files.

    Containers, batch systems and systemd limit by them. A container may see its own group at the top, whatever the host
    calls it, so that the first parts of its name lead nowhere.
    """
    top = root / "sys/fs/cgroup"
    name = (root / "proc/self/cgroup").read_text().partition("0::")[2].partition("\n")[0]
    parts = PurePosixPath(name).parts[1:]
    inside = (top.joinpath(*parts[k:]) for k in range(len(parts)) if ".." not in parts[k:])
    folder = next((folder for folder in inside if folder.is_dir()), top)
    while folder != top:
        yield f"/{folder.relative_to(top).as_posix()}", folder
        folder = folder.parent
    yield "/", top


def count_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention: None is 1, -1 all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, usable_cores() + 1 + int(n_jobs))


def in_order(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """``map`` by ``n_jobs`` threads; results come in the order of the items, and so do errors.

    No more than a few items are taken beyond those whose results have been asked for. Several threads have one thread of
    BLAS each.
    """
    if n_jobs == 1:
        yield from map(function, items)
        return

    def run(item: Item) -> Result:
        with one_blas_thread():  # here, not around the loop: between results the caller has all threads
            return function(item)

    pool, ahead = ThreadPoolExecutor(n_jobs), deque[Future[Result]]()
    try:
        for item in items:
            ahead.append(pool.submit(run, item))
            if len(ahead) > 2 * n_jobs:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class Workers:
    """Threads that stay as long as this object does: for work so short that starting threads would take as long."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._others = ThreadPoolExecutor(count - 1) if count > 1 else None

    def run(self, function: Callable[[Item], Any], items: Sequence[Item]) -> None:
        """Call the function with every item, the first one in this thread; BLAS has one thread meanwhile."""
        if self._others is None:
            for item in items:
                function(item)
            return
        with one_blas_thread():
            pending = [self._others.submit(function, item) for item in items[1:]]
            try:
                for item in items[:1]:
                    function(item)
            finally:
                wait(pending)
        for future in pending:
            future.result()


class _BlasThreads:
    """How many blocks of the process ask BLAS for one thread, and how many of them ask for all of them again for a while."""

    def __init__(self) -> None:
        self._lock, self._ones, self._alls = Lock(), 0, 0
        self._limit: Any = None  # of the pools, where there is one, and the number of threads before and with it
        self._before = self._now = 0

    @contextmanager
    def asking(self, ones: int = 0, alls: int = 0) -> Iterator[None]:
        self._ask(ones, alls)
        try:
            yield
        finally:
            self._ask(-ones, -alls)

    def _ask(self, ones: int, alls: int) -> None:
        with self._lock:
            self._ones, self._alls = self._ones + ones, self._alls + alls
            wanted = 0 if not self._ones else 1 if not self._alls else self._number()
            if wanted == self._now:
                return
            if self._limit is None:
                self._before = _count_blas_threads()
            else:
                self._limit.restore_original_limits()
            self._limit = _pools().limit(limits=wanted, user_api="blas") if wanted else None
            self._now = wanted

    def number(self) -> int:
        with self._lock:
            return self._number()

    def _number(self) -> int:
        return min(_count_blas_threads() if self._limit is None else self._before, _cores_at_first())


_BLAS_THREADS = _BlasThreads()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS has one thread, in the whole process.

    More would compete with ours for the same cores. In products of thin matrices, which are short, they would mostly wait
    for each other, and they wait by spinning: where other programs are busy, that takes many times as long as the work.
    """
    return _BLAS_THREADS.asking(ones=1)


def all_blas_threads(wanted: bool = True) -> AbstractContextManager:
    """Within :func:`one_blas_thread`, a context in which BLAS has :func:`blas_threads` again, where that is ``wanted``."""
    return _BLAS_THREADS.asking(alls=1) if wanted else nullcontext()


def blas_threads() -> int:
    """As many threads as BLAS is set to, or was before :func:`one_blas_thread`; no more than there are cores."""
    return _BLAS_THREADS.number()


@cache
def has_fast_small_products() -> bool:
    """Whether several small products with BLAS are faster than a large one; on other processors they are slower."""
    used = [pool for pool in _pools().info() if pool["user_api"] == "blas"]
    return bool(used) and all(pool.get("architecture") in _FAST_SMALL_PRODUCTS for pool in used)


def _count_blas_threads() -> int:
    return max((pool["num_threads"] for pool in _pools().info() if pool["user_api"] == "blas"), default=1)


@cache
def _cores_at_first() -> int:
    """Asking takes as long as a product of medium size."""
    return usable_cores()


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
