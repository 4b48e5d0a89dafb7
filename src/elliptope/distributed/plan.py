"""Memory of a fit on a cluster, decided before anything is sent: of the client, and of every worker."""

from __future__ import annotations

import math

from ..memory.available import Memory, available_memory
from ..memory.needs import WIDTH, estimate_memory
from ..memory.planner import InsufficientMemoryError, gigabytes
from .cluster import Cluster
from .exact import shares_of_work
from .order import cut_rows

_DOUBLE = 8
# Thin matrices that a worker holds together: those sent, their products, and sums that are being joined.
_THIN = 3
# Python, its libraries and what Dask keeps.
_FIXED = 2**28
# Lists of pairs, three numbers each, that exist together while the nearest are picked.
_LISTS = 4
# Workers up to which a number that would do is looked for.
_MOST_WORKERS = 4096


def check_client(n: int, p: int, n_neighbors: int | None = None, memory: Memory | None = None) -> None:
    """Raise where the rows of a fit, and the thin matrices of its solver, do not fit into the memory of this process.

    A kernel matrix of neighbours, which the client has too, counts; ``n_neighbors`` is None for a kernel of all pairs.
    """
    memory = available_memory() if memory is None else memory
    sparse = {} if n_neighbors is None else {"n_neighbors": n_neighbors}
    need = estimate_memory(n, p, operator="sparse" if sparse else "tiled", **sparse)
    if memory.bytes is not None and need > memory.bytes:
        raise InsufficientMemoryError(
            f"Not enough memory for the client. It keeps the model and the thin matrices of {n} rows of {p} features, about "
            f"{gigabytes(need)}, and there are {gigabytes(memory.bytes)} ({memory.source}). Instead: a client on a larger "
            f"machine; a fit to a sample of the rows, and `transform` for the others, which takes bounded memory."
        )


def check_workers(cluster: Cluster, n: int, p: int, n_neighbors: int | None) -> None:
    """Raise where a worker would need more memory than it may use; ``n_neighbors`` is None for a kernel of all pairs."""
    limit, threads = cluster.memory(), list(cluster.threads().values())
    if limit is None or not threads:
        return

    def need(threads: list[int]) -> int:
        if n_neighbors is None:
            return exact_need(n, p, threads)
        return neighbor_need(n, p, n_neighbors, len(threads), limit)

    if need(threads) <= limit:
        return
    counts = (2**k for k in range(1, int(math.log2(_MOST_WORKERS)) + 1) if 2**k > len(threads))
    enough = next((count for count in counts if need([max(threads)] * count) <= limit), None)
    more = f"{enough} workers of this size; " if enough else ""
    raise InsufficientMemoryError(
        f"Not enough memory on the workers. Each of {len(threads)} needs about {gigabytes(need(threads))} for {n} rows of "
        f"{p} features, and the smallest may use {gigabytes(limit)}. Instead: {more}workers with that much memory; a fit "
        f"to a sample of the rows, and `transform` for the others."
    )


def exact_need(n: int, p: int, threads: list[int]) -> int:
    """Bytes of the worker with the largest part of the pairs: rows of its parts, and as many of thin matrices."""
    rows = max(shares_of_work(cut_rows(n), {str(k): count for k, count in enumerate(threads)}).values())
    return _FIXED + _DOUBLE * (rows * (2 * p + _THIN * WIDTH) + n * p // len(threads))


def neighbor_need(n: int, p: int, k: int, workers: int, limit: int) -> int:
    """Bytes of a worker that searches among all points, or segments of them, and keeps the pairs that it has found."""
    search = min(4 * _DOUBLE * n * p, limit // 4)
    return _FIXED + search + _LISTS * -(-n // workers) * k * 3 * _DOUBLE
