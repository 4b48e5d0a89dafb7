"""Parts of gpu.py: search for neighbours, sparse products, new points, and soundness beside the CPU."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch
from scipy import sparse

from elliptope.estimators.extension import Extension
from elliptope.kernels import Gaussian, Laplacian, Matern
from elliptope.kernels.bandwidth import median_bandwidth
from elliptope.kernels.base import kernel_matrix
from elliptope.kernels.device_search import DeviceSearch
from elliptope.kernels.pairs import kth_distances
from elliptope.kernels.search import make_search
from elliptope.operators import DenseOperator
from elliptope.operators.cuda.attention import Attention
from elliptope.operators.cuda.operator import CudaOperator
from elliptope.operators.cuda.sparse import CudaSparseOperator
from elliptope.sdp import solve

Rows = Callable[[int], np.ndarray]
DEVICE, K = "cuda", 15


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    found = work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, found


def search(rows: Rows, short: bool) -> Iterator[dict[str, Any]]:
    """The 15 nearest: on the device, with distances formed anew on the CPU; some rows beside the CPU's search."""
    for n in (20_000, 100_000) if short else (20_000, 100_000, 581_012):
        X = rows(n)
        taken, found = clock(lambda X=X: DeviceSearch(X, K, 1, DEVICE))
        alone, candidates = clock(lambda found=found, X=X: found._candidates(X))
        i = np.repeat(np.arange(n), candidates.shape[1])
        whole, (i, j, d) = clock(lambda found=found, X=X: found.nearest(X))
        some = np.random.default_rng(0).choice(n, 500, replace=False)
        ours = kth_distances(i, d, n, K)[some]
        _, _, theirs = make_search(X, K, "exact", 1).nearest(X[some])
        expected = np.partition(theirs.reshape(500, -1), K - 1, axis=1)[:, K - 1] if len(theirs) % 500 == 0 else None
        same = None if expected is None else bool((ours == expected).all())
        yield {"n": n, "preparation": taken, "candidates": alone, "seconds": taken + whole, "pairs": len(j), "same": same}


def sparse_products(rows: Rows, seconds: Callable[..., float], short: bool) -> Iterator[dict[str, Any]]:
    """A neighbour kernel times 8 and 40 columns, beside torch's own product."""
    for n in (100_000,) if short else (100_000, 581_012):
        X = rows(n)
        i, j, d = DeviceSearch(X, K, 1, DEVICE).nearest(X)
        s = kth_distances(i, d, n, K)
        A = sparse.coo_array((np.exp(-(d**2) / np.maximum(s[i] * s[j], 1e-300)), (i, j)), shape=(n, n)).tocsr()
        A = sparse.csr_array(A.maximum(A.T))
        A.setdiag(1.0)
        J = CudaSparseOperator(A, DEVICE)
        plain = torch.sparse_csr_tensor(J._starts, J._indices.long(), J._values, (n, n))
        for r in (8, 40):
            V = torch.randn((n, r), dtype=torch.float64, device=DEVICE)
            G = J.hollow_kernel_matmat(V)
            row = {"n": n, "entries": J._K.nnz, "r": r, "longest row": int(np.diff(J._K.indptr).max())}
            row["float64 ms"] = 1e3 * seconds(lambda J=J, V=V: J.hollow_kernel_matmat(V))
            row["torch ms"] = 1e3 * seconds(lambda plain=plain, V=V: plain @ V)
            row["error"] = float(abs(G.cpu().numpy()[:1000] - (J._K[:1000] @ V.cpu().numpy())).max())
            yield row | {"same bits": bool((J.hollow_kernel_matmat(V) == G).all())}


def transform(rows: Rows, short: bool) -> Iterator[dict[str, Any]]:
    """New rows against training points: rows in host memory to means in host memory."""
    X = rows(581_012)
    rng = np.random.default_rng(1)
    cases = [(10_000, 100_000), (100_000, 100_000), (100_000, 1_000_000)]
    for n, count in cases[:2] if short else cases:
        Y = X[rng.choice(len(X), n, replace=False)]
        new = X[rng.choice(len(X), count)] + 0.05 * rng.standard_normal((count, X.shape[1]))
        for kernel in (Gaussian(median_bandwidth(Y[:5000])), Gaussian(0.45), Laplacian(2.0), Matern(2.0, 1.5)):
            F, w, m = rng.standard_normal((n, 4)), np.ones(n), rng.uniform(1, 2, n)
            attention = Attention(kernel, Y, w, F / np.sqrt(m)[:, None], DEVICE)
            next(attention(new[:64]))  # compiles
            taken, found = clock(lambda attention=attention, new=new: list(attention(new)))
            some = rng.choice(min(count, len(found[0][1])), 128, replace=False)
            extension = Extension(kernel.fit(Y), w, m, 1.0, np.ones(n), F)
            expected = [one for _, one in extension.attend(new[some])]
            mean, mass = (np.concatenate([getattr(one, name) for one in expected]) for name in ("mean", "log_mass"))
            c = (w * np.sqrt(m)) @ F
            error = float(abs(found[0][1][some] - c - mean).max() / abs(mean + c).max())
            yield {"points": n, "rows": count, "kernel": str(kernel), "seconds": taken, "error": error} | {
                "error of log mass": float(abs(found[0][2][some] - mass).max())
            }


def instance(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """A kernel, points and weights: all kernels, narrow to wide, with outliers and duplicates."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 200))
    X = rng.standard_normal((n, 3)) + 4 * rng.integers(0, 3, (n, 1))
    if seed % 3 == 0:
        X[: n // 20] *= 10
    if seed % 5 == 0:
        X[1] = X[0]
    sigma = median_bandwidth(X) * 10 ** rng.uniform(-0.8, 0.7)
    kernel = (Gaussian(sigma), Laplacian(sigma), Matern(sigma, 1.5), Matern(sigma, 2.5))[seed % 4]
    return kernel, X, 10 ** rng.uniform(-0.5, 0.5, n) if seed % 2 else np.ones(n)


def compare(seed: int) -> dict[str, Any]:
    """One instance solved on the CPU, with a proof, and on the device."""
    kernel, X, w = instance(seed)
    exact = DenseOperator(kernel_matrix(kernel, X), w)
    t = w * np.sqrt(np.maximum(exact.abar_diagonal(), 0))
    exact.set_row_scale(t)
    expected = solve(exact, polish=True, tol=1e-7, rng=0)
    J = CudaOperator(kernel, torch.tensor(X, device=DEVICE), w)
    J.set_row_scale(t)
    found = solve(J, polish=True, tol=1e-7, rng=1)
    H, G = found.factor.cpu().numpy(), expected.factor
    low, high = found.certificate.exact_interval
    truth = expected.certificate
    return {
        "seed": seed,
        "kernel": str(kernel),
        "n": len(X),
        "status": f"{expected.status}/{found.status}",
        "grade": found.certificate.grade,
        "gap": found.certificate.relative_gap,
        "difference": float(abs(H @ H.T - G @ G.T).max()),
        "violated": bool(high < truth.objective * (1 - 1e-13) or low > truth.upper_bound * (1 + 1e-13)),
    }


def soundness(count: int) -> Iterator[dict[str, Any]]:
    """Answers of the device beside those of the CPU, on random instances: bounds that do not hold, and Z = H Hᵀ."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(12, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(compare, range(count)))
    unique = [one for one in found if one["status"] == "optimal/optimal"]
    for one in found:
        if one["violated"] or (one in unique and one["difference"] > 1e-6) or one not in unique:
            yield one
    yield {
        "instances": count,
        "both optimal": len(unique),
        "violated": sum(one["violated"] for one in found),
        "largest difference": max((one["difference"] for one in unique), default=float("nan")),
        "beyond 1e-6": sum(one["difference"] > 1e-6 for one in unique),
    }
