"""Where a benchmark ran: processor, cores, BLAS, threads and versions."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import threadpoolctl

from elliptope._utils.versions import versions

PACKAGES = ("pymanopt", "umap-learn", "pacmap", "anndata", "scanpy", "leidenalg")
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads(threads: int) -> None:
    """At most that many threads in this process, from now on, and in those it starts."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    threadpoolctl.threadpool_limits(threads)


def describe() -> list[str]:
    """Lines for a report."""
    blas = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')}), {pool['num_threads']} thread(s)"
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }
    installed = {name: number for name, number in versions(*PACKAGES).items() if number is not None}
    python = installed.pop("python")
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores; {platform.system()} {platform.machine()}",
        f"BLAS: {'; '.join(sorted(blas))}",
        f"Python {python}; {', '.join(f'{name} {number}' for name, number in installed.items())}",
    ]


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
