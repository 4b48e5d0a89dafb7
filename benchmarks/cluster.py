"""Fits on a Dask cluster of processes beside fits in one process: time, bytes moved, and new rows from file to file.

    python benchmarks/cluster.py --output benchmarks/results

Workers are processes of one thread each; the fit without a cluster has as many threads. Takes half an hour on a quiet
machine; --quick: small sizes, to try it out.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import numpy as np
import psutil

from elliptope import SDPEmbedding
from elliptope.distributed.cluster import Cluster
from elliptope.distributed.exact import DistributedOperator
from elliptope.distributed.neighbors import fit_neighbors
from elliptope.distributed.rows import RowBlocks
from elliptope.distributed.sparse import DistributedSparseOperator
from elliptope.kernels import Gaussian, Overlap
from elliptope.operators import SparseOperator, TiledOperator

COLUMNS = 20
REPEATS = 5


@contextmanager
def workers(count: int) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=count, **options) as local, Client(local, direct_to_workers=True) as client:
        yield client


def rows(n: int, p: int = 10) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, p)) + 3 * rng.standard_normal((20, p))[rng.integers(20, size=n)]


def seconds(call: Callable[[], Any]) -> float:
    """The least of a few calls, after one that is not counted."""
    call()
    return min(_timed(call) for _ in range(REPEATS))


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def sent_by_workers(client: Any) -> int:
    """Bytes that workers have sent to each other and to the client, by Dask's own count."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def products(name: str, n: int, count: int) -> str:
    """A line: time of a product here and there, efficiency, and bytes relative to n r 8 for every worker."""
    X, V = rows(n), np.random.default_rng(1).standard_normal((n, COLUMNS))
    here: Any
    if name == "exact":
        here = TiledOperator(Gaussian(3.0), X, n_jobs=count)
    else:
        here = SparseOperator(Overlap().fit(X, n_neighbors=15, n_jobs=count).matrix(), n_jobs=count)
    local = seconds(lambda: here.core_matmat(V))
    with workers(count) as client:
        there: Any
        if name == "exact":
            there = DistributedOperator(Gaussian(3.0), X)
        else:
            there = DistributedSparseOperator(fit_neighbors(Overlap(), X, RowBlocks.of_array(X), 15, Cluster())[1])
        remote = seconds(lambda: there.core_matmat(V))
        before = sent_by_workers(client)
        there.core_matmat(V)
        unit = V.nbytes * count
        moved = (sent_by_workers(client) - before) / unit
    by_scheduler = 2 * V.nbytes / unit  # once to the scheduler, once from it
    return (
        f"{name:8} n={n:7} workers={count}: {local:.3f} s here, {remote:.3f} s there, efficiency {local / remote:.0%}; "
        f"bytes {moved:.2f} between workers and to the client, {by_scheduler:.2f} by way of the scheduler"
    )


def fits(n: int, count: int, **parameters: Any) -> str:
    """A line: time of a whole fit here and there."""
    import dask.array as da

    X = rows(n)
    est = SDPEmbedding(random_state=0, **parameters)
    local = _timed(lambda: est.set_params(n_jobs=count).fit(X))
    with workers(count):
        remote = _timed(lambda: est.fit(da.from_array(X, chunks=(n // 8, -1))))
    return f"fit      n={n:7} workers={count} {parameters}: {local:.1f} s here, {remote:.1f} s there, {local / remote:.0%}"


def transform(n: int, count: int, training: int) -> str:
    """A line: new rows from Parquet files to Parquet files, and the largest memory of client and workers."""
    import dask.dataframe as dd
    import pandas

    names = [f"x{k}" for k in range(10)]
    points = pandas.DataFrame(rows(training), columns=names)
    est = SDPEmbedding(kernel="overlap", spread=1.0, tol=1e-3, random_state=0, n_jobs=1).fit(points)
    with tempfile.TemporaryDirectory() as folder, workers(count) as client:
        source, size = Path(folder, "in"), 100_000
        source.mkdir()
        for k in range(-(-n // size)):
            part = pandas.DataFrame(rows(size)[: n - k * size], columns=names)
            part.to_parquet(source / f"part.{k:04}.parquet", index=False)
        local = _timed(lambda: est.transform(part)) / len(part)
        start = time.perf_counter()
        est.transform(dd.read_parquet(source)).to_parquet(Path(folder, "out"))
        elapsed = time.perf_counter() - start
        peaks = client.run(lambda: psutil.Process().memory_info().rss)
        client_peak = psutil.Process().memory_info().rss
    rate = n / elapsed / count
    return (
        f"transform of {n} rows, {training} training rows: {elapsed:.0f} s, {rate:,.0f} rows/s for every worker, "
        f"{rate * local:.0%} of one thread here; memory {max(peaks.values()) / 1e9:.2f} GB (worker), "
        f"{client_peak / 1e9:.2f} GB (client)"
    )


def latency(count: int) -> str:
    """A line: what a product takes that has hardly anything to compute."""
    X, V = rows(500), np.ones((500, 1))
    with workers(count):
        there = DistributedSparseOperator(fit_neighbors(Overlap(), X, RowBlocks.of_array(X), 15, Cluster())[1])
        found = seconds(lambda: there.core_matmat(V))
    return f"latency of a product, workers={count}: {1e3 * found:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    machine.limit_threads(1)
    warnings.simplefilter("ignore")
    quick = 20 if args.quick else 1
    lines = [*machine.describe(), f"load before: {os.getloadavg()[0]:.1f}", ""]
    for count in (1, 2):
        lines += [latency(count), products("exact", 50_000 // quick, count), products("overlap", 200_000 // quick, count)]
    lines += [
        fits(200_000 // quick, 2, kernel="overlap", spread=0.3, tol=1e-4),
        transform(5_000_000 // quick, 2, 50_000 // quick),
    ]
    args.output.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (args.output / "cluster.txt").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
