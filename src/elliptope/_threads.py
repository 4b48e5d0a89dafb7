"""Work shared by threads: how many there are, and results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention: None is 1, -1 all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def in_order(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """``map`` by ``n_jobs`` threads; results come in the order of the items, and so do errors."""
    if n_jobs == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        yield from pool.map(function, items)
