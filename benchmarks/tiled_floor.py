"""Matrix-free products beside the floor that this machine sets, and beside pykeops.

The floor of a product with r columns: sgemm for the distances and exp, on the half of the pairs that symmetry leaves, plus
sgemm for the products from both sides. Each part is timed by itself, on tiles that stay in cache, on all threads at once.
Pairs per second count all n² pairs.

    python benchmarks/tiled_floor.py --n 50000 --threads 1 2 --output benchmarks/results
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine
import numpy as np
import threadpoolctl
from timing import best

from elliptope._utils.blocks import TILE
from elliptope.kernels import Gaussian
from elliptope.operators import TiledOperator
from report import table

# Bytes of tiles per call and calls per timing, enough for the clock and for threads to overlap.
BATCH = 2**19
CALLS = 200
HEADER = ["r", "threads", "dtype", "distances, s", "exp, s", "products, s", "floor, s", "operator, s", "part of the floor"]


def on_threads(make: Callable[[], Callable[[], object]], threads: int) -> float:
    """Seconds per call when every thread makes the same calls on data of its own."""
    calls = [make() for _ in range(threads)]

    def repeat(call: Callable[[], object]) -> None:
        for _ in range(CALLS):
            call()

    with ThreadPoolExecutor(threads) as pool:
        return best(lambda: list(pool.map(repeat, calls))) / CALLS


def floor(p: int, r: int, threads: int, dtype: str) -> np.ndarray:
    """Seconds per pair of the half, and of one thread, for distances, exp, and products from both sides; shape (3,)."""
    rng = np.random.default_rng(0)
    tiles = BATCH // (TILE**2 * np.dtype(dtype).itemsize)
    batch = (tiles, TILE, TILE)

    def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
        return [rng.uniform(-1, 0, shape).astype(dtype) for shape in shapes]

    def distances() -> Callable[[], object]:
        A, B, T = arrays((TILE, p + 2), (tiles, p + 2, TILE), batch)
        return lambda: np.matmul(A, B, out=T)

    def exponential() -> Callable[[], object]:
        S, T = arrays(batch, batch)
        return lambda: np.exp(S, out=T)

    def products() -> Callable[[], object]:
        T, V, W, P, Q = arrays(batch, (tiles, TILE, r), (TILE, r), (tiles, TILE, r), (tiles, TILE, r))
        return lambda: (np.matmul(T, V, out=P), np.matmul(T.mT, W, out=Q))

    parts = [on_threads(make, threads) for make in (distances, exponential, products)]
    return np.array(parts) / (tiles * TILE**2)


def compare(X: np.ndarray, bandwidth: float, r: int, threads: int, dtype: str, repeats: int) -> tuple[list[str], float]:
    """A row of the table, and the seconds of a product with the operator."""
    n, p = X.shape
    V = np.random.default_rng(1).standard_normal((n, r))
    operator = TiledOperator(Gaussian(bandwidth), X, n_jobs=threads)
    operator = operator.single() if dtype == "float32" else operator
    operator.hollow_kernel_matmat(V)  # threads and memory are warm
    parts, seconds = np.full(3, np.inf), np.inf
    for _ in range(repeats):  # in turn, so that both see the machine as it is
        with threadpoolctl.threadpool_limits(1):
            parts = np.minimum(parts, floor(p, r, threads, dtype) * n**2 / 2 / threads)
        seconds = min(seconds, best(lambda: operator.hollow_kernel_matmat(V), 1))
    lowest = float(parts.sum())
    cells = [str(r), str(threads), dtype, *(f"{x:.3f}" for x in (*parts, lowest, seconds)), f"{lowest / seconds:.0%}"]
    return cells, seconds


def keops(X: np.ndarray, bandwidth: float, r: int, threads: int, repeats: int) -> tuple[float, float] | str:
    """Seconds of the same product with pykeops in float32, once compiled, and how far it is from ours; or why not."""
    try:
        from pykeops.numpy import LazyTensor
    except ImportError as error:
        return f"left out ({error}): pip install elliptope[benchmarks]"
    Z = (X / bandwidth).astype("float32")
    V = np.random.default_rng(1).standard_normal((len(X), r)).astype("float32")
    try:
        K = (-((LazyTensor(Z[:, None, :]) - LazyTensor(Z[None, :, :])) ** 2).sum(-1)).exp()
        G = K @ V - V
    except Exception as error:  # whatever its compiler says
        return f"failed ({type(error).__name__}: {error})"
    ours = TiledOperator(Gaussian(bandwidth), X, n_jobs=threads).hollow_kernel_matmat(V)
    with threadpoolctl.threadpool_limits(threads):
        return best(lambda: K @ V, repeats), float(abs(G - ours).max() / abs(ours).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--p", type=int, default=10)
    parser.add_argument("--bandwidth", type=float, default=4.0)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 20])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="folder for tiled_floor.md; printed only, by default")
    options = parser.parse_args()
    X = np.random.default_rng(0).standard_normal((options.n, options.p))
    rows, seconds = [], {}
    for dtype in options.dtypes:
        for r in options.ranks:
            for threads in options.threads:
                cells, seconds[r, threads, dtype] = compare(X, options.bandwidth, r, threads, dtype, options.repeats)
                rows.append([*cells, f"{options.n**2 / seconds[r, threads, dtype] / 1e9:.2f}"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    lines = [f"- peak memory of the process, before pykeops: {peak:.2f} GB"]
    most = max(options.threads)
    for r in options.ranks:
        other = keops(X, options.bandwidth, r, most, options.repeats)
        if isinstance(other, str):
            lines.append(f"- pykeops {other}")
            continue
        ours = seconds[r, most, options.dtypes[0]]
        lines.append(
            f"- pykeops, r = {r}, {most} thread(s), float32: {other[0]:.3f} s, {other[0] / ours:.1f} times ours in "
            f"{options.dtypes[0]}; the results differ by {other[1]:.0e}"
        )
    parts = [
        f"# Matrix-free products: n = {options.n}, p = {options.p}, Gaussian kernel",
        "\n".join(f"- {line}" for line in machine.describe()),
        __doc__.split("\n\n")[1],
        table([*HEADER, "1e9 pairs/s"], rows),
        "\n".join(lines),
    ]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "tiled_floor.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
