"""Fits on a Dask cluster of processes beside fits in one process: time, bytes moved, and new rows from file to file.

    python benchmarks/cluster.py --part products      # constants, products, fits, transform, covertype, device

Times on two cores: constants 1, products 4, fits 2, transform 2 and covertype 15 minutes. One part a process: the largest
memory is that of all that a process has done. `device` needs a CUDA device, `products` and `covertype` need ELLIPTOPE_DATA.

Workers are processes of one thread each; the fit without a cluster has as many threads. A part replaces its own section of
cluster.md. --quick: small sizes, to try it out, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import numpy as np

from elliptope import SDPEmbedding
from elliptope.distributed.cluster import WORKER_SETTINGS, Cluster, task
from elliptope.distributed.exact import DistributedOperator
from elliptope.distributed.neighbors import fit_neighbors
from elliptope.distributed.rows import RowBlocks
from elliptope.distributed.sparse import DistributedSparseOperator
from elliptope.kernels import Gaussian, Overlap
from elliptope.kernels.search import near_rows_together
from elliptope.operators import SparseOperator, TiledOperator
from elliptope.operators.polynomial import power

REPEATS = 5
WORKERS = 2
TIME = 32  # of diffusion, that of the coarse scale
POLYNOMIAL = power(TIME)


@contextmanager
def workers(count: int) -> Iterator[Any]:
    from dask import config
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    with config.set(WORKER_SETTINGS), LocalCluster(**options) as local, Client(local, direct_to_workers=True) as client:
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


def moved() -> int:
    """Bytes that processes of this machine have sent each other, by the count of the system: every hop, and headers."""
    return int(Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


def moved_by(call: Callable[[], Any]) -> int:
    """The least of a few calls: other processes may send, too."""

    def once() -> int:
        before = moved()
        call()
        return moved() - before

    return min(once() for _ in range(REPEATS))


def covertype_rows() -> np.ndarray:
    with np.load(Path(os.environ["ELLIPTOPE_DATA"], "covtype10.npz")) as data:
        X = next(value for value in data.values() if value.ndim == 2)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def pair_of_operators(kernel: str, X: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    """The operator here, on threads; and what makes the one on the cluster. Points come in the order that fits give them."""
    if kernel == "exact":
        return TiledOperator(Gaussian(3.0), X, n_jobs=WORKERS), lambda: DistributedOperator(Gaussian(3.0), X)
    X = np.unique(X, axis=0)
    X = X[near_rows_together(X)]

    def there() -> Any:
        return DistributedSparseOperator(fit_neighbors(Overlap(), X, RowBlocks.of_array(X), 15, Cluster())[1])

    return SparseOperator(Overlap().fit(X, n_neighbors=15, n_jobs=WORKERS).matrix(), n_jobs=WORKERS), there


def products(quick: int) -> Iterator[str]:
    """Time of a product here and there, and bytes relative to those of a thin matrix for every worker."""
    yield "| kernel | n | columns | precision | seconds here | there | efficiency | bytes / (n r workers · 8, or 4) |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for kernel, X in (
        ("exact", rows(50_000 // quick)),
        ("overlap", rows(200_000 // quick)),
        ("overlap, Covertype", np.random.default_rng(0).permutation(covertype_rows())[: 200_000 // quick]),
    ):
        here, make = pair_of_operators(kernel, X)
        with workers(WORKERS):
            there = make()
            for dtype in (np.float64, np.float32) if kernel != "exact" else (np.float64,):
                pair = (here, there) if dtype is np.float64 else (here.float32(), there.float32())
                for r in (5, 20):
                    V = np.random.default_rng(1).standard_normal((here.n, r)).astype(dtype)
                    yield row_of_products(kernel, pair, V, lambda J, V: J.core_matmat(V))
                    if kernel != "exact":
                        name = f"{kernel}, polynomial"
                        yield row_of_products(name, pair, V, lambda J, V: J.polynomial(POLYNOMIAL, V), POLYNOMIAL.degree)
    yield ""
    yield (
        f"*polynomial*: of degree {POLYNOMIAL.degree}, for the diffusion time {TIME}; numbers are per product. Bytes "
        f"count every hop: to the scheduler, from it to workers, between these, and back to the client."
    )


def row_of_products(name: str, pair: tuple[Any, Any], V: np.ndarray, apply: Callable, count: int = 1) -> str:
    """A row of the table, for a call that makes so many products."""
    local, remote = (seconds(lambda J=J: apply(J, V)) / count for J in pair)
    size = moved_by(lambda: apply(pair[1], V)) / count / (V.nbytes * WORKERS)
    n, r = V.shape
    return f"| {name} | {n} | {r} | {V.dtype} | {local:.3f} | {remote:.3f} | {local / remote:.0%} | {size:.2f} |"


def fits(quick: int) -> Iterator[str]:
    """Time of whole fits here and there: search for neighbours, ascent and certificate."""
    import dask.array as da

    yield "| kernel | n | seconds here | there | efficiency | products | relative gap |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    n = 200_000 // quick
    X = rows(n)
    for kernel in ("neighbors", "overlap"):
        est = SDPEmbedding(kernel=kernel, rank=4, max_iter=50, random_state=0, n_jobs=WORKERS)
        local = _timed(lambda est=est: est.fit(X))
        with workers(WORKERS):
            remote = _timed(lambda est=est: est.fit(da.from_array(X, chunks=(n // 8, -1))))
        gap = est.certificate_.relative_gap
        yield f"| {kernel} | {n} | {local:.1f} | {remote:.1f} | {local / remote:.0%} | {est.n_products_} | {gap:.1e} |"


def transform(quick: int) -> Iterator[str]:
    """New rows from Parquet files to Parquet files, and the largest memory of client and workers."""
    import dask.dataframe as dd
    import pandas

    n, training, size = 5_000_000 // quick, 2_000, 100_000 // quick
    names = [f"x{k}" for k in range(10)]
    points = pandas.DataFrame(rows(training), columns=names)
    est = SDPEmbedding(bandwidth=6.0, tol=1e-3, random_state=0).fit(points)
    new = pandas.DataFrame(rows(size), columns=names)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in")
        source.mkdir()
        for k in range(n // size):
            new.to_parquet(source / f"part.{k:04}.parquet", index=False)

        def some_here() -> None:
            for k in range(10):
                table = pandas.read_parquet(source / f"part.{k:04}.parquet")
                est.transform(table).to_parquet(Path(folder, "here.parquet"))

        est.set_output(transform="pandas").set_params(n_jobs=WORKERS)
        before = _timed(some_here)
        with workers(WORKERS) as client:
            est.transform(dd.read_parquet(source).partitions[:4]).compute()  # workers import what they need
            elapsed = _timed(lambda: est.transform(dd.read_parquet(source)).to_parquet(Path(folder, "out")))
            peaks = client.run(peak)
        local = 20 * size / (before + _timed(some_here))  # other work on the machine comes and goes
    yield (
        f"{n} rows of 10 columns in {n // size} files, {training} training rows, Gaussian kernel: {elapsed:.0f} s, "
        f"{n / elapsed:,.0f} rows/s by {WORKERS} workers; {local:,.0f} rows/s here with {WORKERS} threads, "
        f"file by file: {n / elapsed / local:.0%}. "
        f"Peak memory {max(peaks.values()):.2f} GB a worker, {peak():.2f} GB client, its own fit and files included."
    )


def covertype(quick: int) -> Iterator[str]:
    """A fit of all rows of Covertype from a folder of Parquet files; memory of client and workers."""
    import dask.dataframe as dd
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        X = covertype_rows()[::quick]
        for k, part in enumerate(np.array_split(X, 12)):
            pandas.DataFrame(part, columns=[f"x{j}" for j in range(X.shape[1])]).to_parquet(f"{folder}/{k:02}.parquet")
        del X, part
        with workers(WORKERS) as client:
            for tol in (1e-2, 1e-3):  # the one that takes more memory last
                est = SDPEmbedding(kernel="overlap", rank=4, tol=tol, random_state=0)
                elapsed = _timed(lambda est=est: est.fit(dd.read_parquet(folder)))
                certificate, peaks = est.certificate_, client.run(peak)
                yield (
                    f"- n = {len(est.embedding_)}, overlap kernel, rank 4, tol {tol:g}, {WORKERS} workers: {elapsed:.0f} s, "
                    f"{est.n_iter_} iterations, {est.n_products_} products, {certificate.grade} gap "
                    f"{certificate.relative_gap:.1e}. Peak memory {peak():.2f} GB client, {max(peaks.values()):.2f} GB a "
                    f"worker."
                )


def constants(quick: int) -> Iterator[str]:
    """The constants of the model of cost (cluster_model.py), for this machine."""
    with workers(WORKERS):
        cluster, one = Cluster(), np.zeros(1)
        count = 400
        tasks = seconds(lambda: cluster.results(task("nothing", np.array, one) for _ in range(count))) / count
        first = seconds(lambda: cluster.results([task("nothing", np.array, one)]))
        one_worker, *_, other = cluster.threads()
        kept = cluster.keep([task("zeros", np.zeros, 2**24 // quick)], [one_worker])
        cluster.results([task("size", len, kept[0])])
        size = 8 * 2**24 // quick
        back = size / seconds(lambda: cluster.collect(kept))

        def pass_on() -> None:
            cluster.results([task("size", len, task("copy", np.copy, kept[0]))], [other])

        there = size / seconds(pass_on)
    n = 20_000 // quick
    X, V = rows(n), np.random.default_rng(1).standard_normal((n, 20))
    tiled = TiledOperator(Gaussian(3.0), X, n_jobs=1)
    pairs = n**2 / 2 / seconds(lambda: tiled.product(V))
    X = rows(10 * n)
    K = Overlap().fit(X[near_rows_together(X)], n_neighbors=15).matrix()
    V = np.random.default_rng(1).standard_normal((10 * n, 20))
    entries = 20 * K.nnz / seconds(lambda: K @ V)
    needed = [f"{others(K, count):.1f} with {count}" for count in (2, 4, 8, 64)]
    yield f"- first task: {1e3 * first:.1f} ms; every further one: {1e3 * tasks:.2f} ms"
    yield f"- bandwidth: {back / 1e9:.2f} GB/s to the client, {there / 1e9:.2f} GB/s to a worker and copied there"
    yield f"- pairs of the exact kernel, 20 columns: {pairs:.2g} a second and thread"
    yield f"- entries of a sparse kernel, {K.nnz / K.shape[0]:.0f} a row, times columns: {entries:.2g} a second and thread"
    yield f"- rows of others that a worker needs, for each of its own, {K.shape[0]} rows: {', '.join(needed)} workers"


def others(K: Any, count: int) -> float:
    """Columns with an entry, for each of the rows, less one: on average over so many workers."""
    n = K.shape[0]
    return sum(len(np.unique(K[k * n // count : (k + 1) * n // count].indices)) for k in range(count)) / n - 1


def device(quick: int) -> Iterator[str]:
    """Products, and a fit, by the CUDA device of one worker beside the same without a cluster: are the bits the same?"""
    import torch
    from dask.distributed import Client, LocalCluster

    from elliptope.distributed.device import DistributedCudaOperator
    from elliptope.operators.cuda.operator import CudaOperator

    n = 200_000 // quick
    X = rows(n)
    place = "cuda" if torch.cuda.is_available() else "cpu"
    V = torch.tensor(np.random.default_rng(1).standard_normal((n, 20)), device=place)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local, Client(local):
        here, there = CudaOperator(Gaussian(3.0), torch.tensor(X, device=place)), DistributedCudaOperator(Gaussian(3.0), X)
        same = {
            "degrees": torch.equal(here.m, there.m),
            "J V": torch.equal(here @ V, there @ V),
            "squared entries": torch.equal(here.product(V, squared=True), there.product(V, squared=True)),
            "six digits": torch.equal(here.single() @ V, there.single() @ V),
        }
        times = [seconds(lambda J=J: (J @ V).cpu()) for J in (here, there)]
        X = X[: 20_000 // quick]
        options = {"bandwidth": 6.0, "tol": 1e-4, "random_state": 0, "device": "cuda"}
        fitted = [SDPEmbedding(operator=name, **options).fit(X).embedding_ for name in ("tiled", "dask")]
        same[f"embedding, n = {len(X)}"] = np.array_equal(*fitted)
    name = torch.cuda.get_device_name() if place == "cuda" else "Triton's interpreter"
    yield f"{name}; n = {n}, {here._products.grid.shares} shares; equal to the last bit:"
    yield ""
    yield from (f"- {what}: {'yes' if equal else 'NO'}" for what, equal in same.items())
    yield f"- seconds a product of 20 columns: {times[0]:.3f} without a cluster, {times[1]:.3f} with it"


def peak() -> float:
    """The largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


PARTS = {part.__name__: part for part in (constants, products, fits, transform, covertype, device)}


def record(file: Path, name: str, lines: list[str]) -> None:
    """Replace the section of that name."""
    title, *sections = (file.read_text() if file.exists() else "# Fits on a Dask cluster\n").split("\n## ")
    kept = {text.split("\n", 1)[0]: text for text in sections}
    kept[name] = "\n".join([name, "", *lines]) + "\n"
    file.write_text("\n## ".join([title, *(kept[part] for part in PARTS if part in kept)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    machine.limit_threads(1)
    warnings.simplefilter("ignore")
    lines = list(PARTS[args.part](20 if args.quick else 1))
    lines += ["", "; ".join(machine.describe())]
    print("\n".join([f"## {args.part}", *lines]), flush=True)
    if not args.quick:
        args.output.mkdir(parents=True, exist_ok=True)
        record(args.output / "cluster.md", args.part, lines)


if __name__ == "__main__":
    main()
