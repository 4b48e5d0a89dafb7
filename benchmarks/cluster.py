"""A Dask cluster of processes beside one process: products with the exact kernel, and new rows from file to file.

    python benchmarks/cluster.py --part products      # products, transform, device

Two minutes each on two cores. One part a process: the largest memory is that of all that it has done. `device` needs a CUDA
device.

Workers are processes of one thread each; the fit without a cluster has as many threads. A part replaces its own section of
cluster.md. --quick: small sizes, to try it out, and nothing is written.
"""

from __future__ import annotations

import argparse
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
from elliptope.distributed.cluster import WORKER_SETTINGS
from elliptope.distributed.exact import DistributedOperator
from elliptope.kernels import Gaussian
from elliptope.operators import TiledOperator

REPEATS = 5
WORKERS = 2


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


def products(quick: int) -> Iterator[str]:
    """Time of a product here and there, and bytes relative to those of a thin matrix for every worker."""
    yield "| n | columns | seconds here | there | efficiency | bytes / (n r workers · 8) |"
    yield "| --- | --- | --- | --- | --- | --- |"
    X = rows(50_000 // quick)
    here = TiledOperator(Gaussian(3.0), X, n_jobs=WORKERS)
    with workers(WORKERS):
        there = DistributedOperator(Gaussian(3.0), X)
        for r in (5, 20):
            V = np.random.default_rng(1).standard_normal((here.n, r))
            local, remote = (seconds(lambda J=J, V=V: J.core_matmat(V)) for J in (here, there))
            size = moved_by(lambda V=V: there.core_matmat(V)) / (V.nbytes * WORKERS)
            yield f"| {here.n} | {r} | {local:.3f} | {remote:.3f} | {local / remote:.0%} | {size:.2f} |"
    yield ""
    yield "Bytes count every hop: to the scheduler, from it to workers, and back to the client."


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


PARTS = {part.__name__: part for part in (products, transform, device)}


def record(file: Path, name: str, lines: list[str]) -> None:
    """Replace the section of that name."""
    title, *sections = (file.read_text() if file.exists() else "# A Dask cluster\n").split("\n## ")
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
