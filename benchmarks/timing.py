"""Stopwatches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best(run: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


class Stopwatch:
    """Times and counts the calls of one function of a module."""

    def __init__(self, module: Any, name: str) -> None:
        self.seconds, self.calls = 0.0, 0
        plain = getattr(module, name)

        def timed(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            self.calls += 1
            try:
                return plain(*args, **options)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(module, name, timed)
