"""Parts of gpu.py: estimators on the device, from rows in host memory to a fitted model; and the same on the CPU."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.datasets import load_wine

from elliptope import MultiscaleEmbedding, SDPEmbedding, bandwidth_path
from elliptope.datasets import load_htru2
from elliptope.kernels.bandwidth import median_bandwidth
from elliptope.sdp import solve

Rows = Callable[[int], np.ndarray]


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else int
    synchronize()
    begin = time.perf_counter()
    found = work()
    synchronize()
    return time.perf_counter() - begin, found


def multiscale(rows: Rows, short: bool) -> Iterator[dict[str, Any]]:
    """Two scales on the overlap kernel; the first fit compiles."""
    for n in (20_000, 100_000, 100_000) if short else (20_000, 100_000, 100_000, 581_012):
        X = rows(n)
        torch.cuda.reset_peak_memory_stats()
        est = MultiscaleEmbedding(device="cuda", random_state=0, n_jobs=-1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken, _ = clock(lambda est=est, X=X: est.fit(X))
        new = X[:20_000] + 1e-3
        row = {"n": n, "seconds": taken, "transform 20 000": clock(lambda est=est, new=new: est.transform(new))[0]}
        row |= {"points": len(est.training_.rows), "columns": est.embedding_.shape[1], "status": est.status_}
        for scale in est.scales_:
            t, certificate = scale.diffusion_time, scale.certificate
            row |= {f"t={t} gap": certificate.relative_gap, f"t={t} grade": certificate.grade}
            row |= {f"t={t} products": scale.n_products, f"t={t} rank": scale.components.shape[1]}
        yield row | {"gigabytes": torch.cuda.max_memory_allocated() / 1e9}


def new_rows(rows: Rows, short: bool) -> Iterator[dict[str, Any]]:
    """``transform`` and ``score_samples``: growth with rows and with training points, and some rows beside the CPU."""
    X = rows(581_012)
    rng = np.random.default_rng(1)
    cases = [(10_000, 100_000), (100_000, 100_000), (100_000, 200_000), (100_000, 1_000_000)]
    fitted: dict[int, SDPEmbedding] = {}
    for n, count in cases[:2] if short else cases:
        if n not in fitted:
            Y = X[rng.choice(len(X), n, replace=False)]
            fitted[n] = SDPEmbedding(bandwidth=median_bandwidth(Y[:5000]), device="cuda", random_state=0).fit(Y)
            fitted[n].transform(Y[:1000])  # compiles
        est = fitted[n]
        new = X[rng.choice(len(X), count)] + 0.05 * rng.standard_normal((count, X.shape[1]))
        taken, Z = clock(lambda est=est, new=new: est.transform(new))
        some = rng.choice(count, 300, replace=False)
        est.set_params(device="cpu")
        error = float(abs(Z[some] - est.transform(new[some])).max() / abs(Z[some]).max())
        est.set_params(device="cuda")
        yield {"points": n, "rows": count, "seconds": taken, "rank": Z.shape[1], "error": error}


def max_cut(n: int = 20_000, m: int = 80_000) -> sparse.csr_array:
    """The Laplacian of a random graph, over four."""
    ends = np.random.default_rng(0).integers(0, n, (m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    A = sparse.coo_array((np.ones(len(ends)), ends.T), shape=(n, n)).tocsr()
    A = sparse.csr_array(((A + A.T) > 0).astype(float))
    return sparse.csr_array(sparse.diags_array(np.asarray(A.sum(axis=1)).ravel()) - A) / 4


def standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def task(name: str, device: str) -> tuple[float, np.ndarray, dict[str, Any]]:
    """Seconds, numbers by which answers are compared (B at some rows, or an objective), and what else there is."""
    if name.startswith("HTRU2"):
        X = standardized(load_htru2()[0])[np.random.default_rng(0).permutation(17_898)[:12_528]]
        est = SDPEmbedding(bandwidth=float(name.split("=")[1]), tol=1e-8, random_state=0, n_jobs=-1, device=device)
        taken, _ = clock(lambda: est.fit(X))
        Xi = est.embedding_[:2000]
        return taken, Xi @ Xi.T, {"gap": est.certificate_.relative_gap, "grade": est.certificate_.grade}
    if name == "Wine path":
        X = standardized(load_wine(return_X_y=True)[0])
        sigmas = np.geomspace(6, 1, 12)
        taken, path = clock(lambda: bandwidth_path(X, sigmas, tol=1e-8, random_state=0, device=device))
        gap = max(record.certificate.relative_gap for record in path.records)
        grades = {record.certificate.grade for record in path.records}
        blocks = [record.factor @ record.factor.T for record in path.records]
        answers = np.concatenate([block / abs(block).max() for block in blocks])
        return taken, answers, {"gap": gap, "grade": "/".join(sorted(grades))}
    C: Any = max_cut()
    if device == "cuda":
        parts = (torch.tensor(part, device="cuda") for part in (C.indptr, C.indices, C.data))
        C = torch.sparse_csr_tensor(*parts, size=C.shape)
    taken, found = clock(lambda: solve(C, tol=1e-8, rng=0, max_iter=20_000))
    certificate = found.certificate
    rest = {"gap": certificate.relative_gap, "grade": certificate.grade, "products": found.n_products}
    rest["objective"] = f"{certificate.objective:.12g}"
    return taken, np.array([certificate.objective]), rest


def _on_cpu(name: str, queue: Any) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        queue.put((name, *task(name, "cpu")))
    except Exception as error:
        queue.put((name, float("nan"), np.array([np.nan]), {"error": str(error)[:200]}))


TASKS = ("HTRU2 σ=10", "HTRU2 σ=5", "Wine path", "max-cut")


def agreement(short: bool, limit: float = 200.0) -> Iterator[dict[str, Any]]:
    """The same problems on the device and on the CPU, which works on them meanwhile: times, gaps, and the difference."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    names = TASKS[:3] if short else TASKS
    workers = [context.Process(target=_on_cpu, args=(name, queue), daemon=True) for name in names]
    for worker in workers:
        worker.start()
    begin, here = time.monotonic(), {}
    for name in names:
        task(name, "cuda") if name.startswith("HTRU2 σ=10") else None  # compiles
        here[name] = task(name, "cuda")
    for _ in names:
        try:
            name, seconds, answer, rest = queue.get(timeout=max(limit - (time.monotonic() - begin), 1))
        except Exception:  # not ready in time
            break
        own, mine, more = here.pop(name)
        difference = float(abs(mine - answer).max() / abs(answer).max())
        row = {"task": name, "device seconds": own, "CPU seconds": seconds, "difference": difference}
        yield row | {f"device {key}": value for key, value in more.items()} | {f"CPU {key}": v for key, v in rest.items()}
    for name, (own, _, more) in here.items():
        yield {"task": name, "device seconds": own, "CPU seconds": f"> {limit:g}"} | more
    for worker in workers:
        worker.terminate()
