"""One CUDA device: rates of products with the exact kernel, and whole solves from rows in host memory to the certificate.

    python benchmarks/gpu.py --output benchmarks/results            # everything
    python benchmarks/gpu.py --only rates solves --short            # minutes instead of a quarter of an hour
    python benchmarks/gpu_report.py benchmarks/results              # table and plot; needs no device

Data are ten z-scored columns of Covertype (``ELLIPTOPE_DATA``, or OpenML). A rate counts ordered pairs of points. Errors are
those of 512 rows beside float64 sums of differences. Beyond 581 012 rows, rows are repeated with noise.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpu_estimators import agreement, multiscale, new_rows

from elliptope.datasets import load_covertype
from elliptope.kernels import Gaussian
from elliptope.kernels.bandwidth import median_bandwidth
from elliptope.operators.cuda.operator import CudaOperator
from elliptope.operators.cuda.products import DoubleProducts, Products, Profile, SingleProducts
from elliptope.sdp import solve

PAIRS_AT = 200_000
NOISE = 0.05


def rows(n: int) -> np.ndarray:
    X, _ = load_covertype()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    rng = np.random.default_rng(0)
    if n <= len(X):
        return X[rng.choice(len(X), n, replace=False)]
    more = X[rng.choice(len(X), n - len(X), replace=False)]
    return np.concatenate([X, more + NOISE * rng.standard_normal(more.shape)])


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The median of some timings by events, after a first call that is not counted."""
    work()
    found = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / 1000)
    return float(np.median(found))


def coordinates(n: int, bandwidth: float) -> tuple[Any, Profile]:
    profile = Profile.of(Gaussian(bandwidth))
    X = torch.tensor(rows(n), device="cuda")
    return (X - X.mean(dim=0)) * (np.sqrt(2) * profile.scale), profile


def make(kind: str, Z: Any, profile: Profile, dot: bool) -> Products:
    base = DoubleProducts if kind == "float64" else SingleProducts
    return base(Z, profile if dot else profile.rescaled(1 / (np.sqrt(2) * profile.scale)), dot)


def error_of(products: Products, Z: Any, V: Any) -> tuple[float, bool]:
    """‖G - exact‖/‖exact‖ over some rows, and whether a second product has the same bits."""
    G = products.hollow_matmat(V)
    chosen = torch.arange(0, len(Z), max(len(Z) // 512, 1), device=Z.device)
    exact = torch.zeros((len(chosen), V.shape[1]), dtype=torch.float64, device=Z.device)
    for part in torch.arange(len(Z), device=Z.device).split(4096):
        K = torch.exp2(-0.5 * torch.cdist(Z[chosen], Z[part], compute_mode="donot_use_mm_for_euclid_dist") ** 2)
        K[chosen[:, None] == part[None, :]] = 0
        exact += K @ V[part]
    error = float(torch.linalg.norm(G[chosen] - exact) / torch.linalg.norm(exact))
    return error, bool((products.hollow_matmat(V) == G).all())


def rates(short: bool) -> Iterator[dict[str, Any]]:
    """Products, with their errors."""
    sigma = median_bandwidth(rows(20_000))
    for n, bandwidth, widths in ((PAIRS_AT, sigma, (1, 8, 16, 32)), (PAIRS_AT, 0.45, (8,)), (100_000, sigma, (8,))):
        Z, profile = coordinates(n, bandwidth)
        for kind, r, dot in itertools.product(("float64", "six digits"), widths, (True, False)):
            V = torch.randn((n, r), dtype=torch.float64, device="cuda")
            products = make(kind, Z, profile, dot)
            taken = seconds(lambda products=products, V=V: products.hollow_matmat(V))
            error, same = error_of(products, Z, V)
            row = {"kind": kind, "n": n, "bandwidth": bandwidth, "r": r, "by": "product" if dot else "differences"}
            yield row | {"rate": n**2 / taken / 1e12, "error": error, "same bits": same}


@contextmanager
def timed_products() -> Iterator[list[tuple[str, int, Any, Any]]]:
    """Events around every product: precision, columns, start and end."""
    log: list[tuple[str, int, Any, Any]] = []
    plain = {kind: kind.hollow_matmat for kind in (DoubleProducts, SingleProducts)}

    def wrapped(kind: type) -> Callable[..., Any]:
        def hollow_matmat(self: Any, V: Any, squared: bool = False) -> Any:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            G = plain[kind](self, V, squared)
            end.record()
            log.append((kind.__name__, V.shape[1], start, end))
            return G

        return hollow_matmat

    for kind in plain:
        kind.hollow_matmat = wrapped(kind)
    try:
        yield log
    finally:
        for kind, method in plain.items():
            kind.hollow_matmat = method


def solve_one(X: np.ndarray, bandwidth: float, tol: float) -> dict[str, Any]:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    with timed_products() as log:
        J = CudaOperator(Gaussian(bandwidth), torch.tensor(X, device="cuda"))
        J.set_row_scale(torch.sqrt(J.abar_diagonal()))
        found = solve(J, polish=True, tol=tol, rng=0)
        torch.cuda.synchronize()
        taken = time.perf_counter() - begin
        spent: dict[str, list[float]] = {}
        for kind, _, start, end in log:
            spent.setdefault(kind, []).append(start.elapsed_time(end) / 1000)
    certificate = found.certificate
    row = {"n": len(X), "bandwidth": bandwidth, "tol": tol, "seconds": taken, "products": found.n_products}
    row |= {"status": found.status, "grade": certificate.grade, "gap": certificate.relative_gap}
    row |= {"exact gap": certificate.exact_relative_gap, "objective": certificate.objective, "rank": found.factor.shape[1]}
    for kind, name in (("DoubleProducts", "float64"), ("SingleProducts", "six digits")):
        times = spent.get(kind, [])
        row |= {f"{name} products": len(times), f"{name} seconds": sum(times)}
    kinds = [("d" if kind == "DoubleProducts" else "s") + str(r) for kind, r, _, _ in log]
    row["order"] = " ".join(f"{sum(1 for _ in run)}×{kind}" for kind, run in itertools.groupby(kinds))
    return row | {"gigabytes": torch.cuda.max_memory_allocated() / 1e9}


def solves(short: bool) -> Iterator[dict[str, Any]]:
    """Wide and narrow bandwidths; the first solve of all compiles, and is told apart."""
    sigma = median_bandwidth(rows(20_000))
    cases = [(20_000, sigma, 1e-6), *2 * [(100_000, sigma, 1e-6)], *2 * [(100_000, 0.45, 1e-3)]]
    if not short:
        cases += [(581_012, sigma, 1e-6), (1_000_000, sigma, 1e-6), (581_012, 0.45, 1e-3)]
    for n, bandwidth, tol in cases:
        yield solve_one(rows(n), bandwidth, tol)


PARTS: dict[str, Callable[[bool], Iterator[dict[str, Any]]]] = {
    "rates": rates,
    "solves": solves,
    "multiscale": lambda short: multiscale(rows, short),
    "new rows": lambda short: new_rows(rows, short),
    "agreement": agreement,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--short", action="store_true", help="no solve beyond 100 000 rows")
    parser.add_argument("--output", type=Path, help="folder for gpu.json")
    args = parser.parse_args()
    device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    print(device, flush=True)
    before = args.output / "gpu.json" if args.output is not None else None
    found: dict[str, Any] = json.loads(before.read_text()) if before is not None and before.exists() else {}
    found |= device  # parts that are not run keep the figures of an earlier run
    for name in args.only:
        begin = time.perf_counter()
        found[name] = []
        try:
            for row in PARTS[name](args.short):
                found[name].append(row)
                print(name, " ".join(f"{key}={_short(value)}" for key, value in row.items()), flush=True)
        except Exception:  # what the other parts measure is not lost
            traceback.print_exc()
        if args.output is not None:
            args.output.mkdir(parents=True, exist_ok=True)
            (args.output / "gpu.json").write_text(json.dumps(found, indent=1))
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace(" ", "")


if __name__ == "__main__":
    main()
