"""Where a benchmark ran: processor, cores, BLAS, threads and versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import threadpoolctl

import elliptope

PACKAGES = ("numpy", "scipy", "scikit-learn", "pymanopt", "cvxpy", "scs", "clarabel", "umap-learn")
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads(threads: int) -> None:
    """At most that many threads in this process, from now on, and in those it starts."""
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    threadpoolctl.threadpool_limits(threads)


def describe() -> list[str]:
    """Lines for a report."""
    blas = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')}), {pool['num_threads']} thread(s)"
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores; {platform.system()} {platform.machine()}",
        f"BLAS: {'; '.join(sorted(blas))}",
        f"Python {platform.python_version()}; elliptope {elliptope.__version__}, {', '.join(_versions())}",
    ]


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _versions() -> Iterator[str]:
    """Of those packages that are there."""
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            yield f"{package} {version(package)}"
