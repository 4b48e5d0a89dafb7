"""Table 1 of the paper: precision and recall of pulsars in HTRU2, from 5 neighbours in two components.

    ELLIPTOPE_DATA=... python benchmarks/htru2_table1.py --splits 6 --sigma 10 5 --size full

Every split is a random permutation seeded by its number: 70 % of the rows are embedded, 30 % extended. Columns are
standardised over the whole data. One SDP fit at full size (12 529 rows) takes 13 to 37 s on two cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time

import numpy as np
import scipy
from sklearn.metrics import precision_score, recall_score
from sklearn.neighbors import KNeighborsClassifier

import elliptope
from elliptope import DiffusionMap, SDPEmbedding
from elliptope.datasets import load_htru2

TRAINING_PART = 0.7
NEIGHBOURS = 5
# (method, σ): precision and recall, each with its standard deviation over three runs.
PUBLISHED = {
    ("SDP", 10.0): ("0.90(0.01)", "0.76(0.02)"),
    ("SDP", 5.0): ("0.91(0.01)", "0.79(0.01)"),
    ("DM", 10.0): ("0.90(0.01)", "0.78(0.02)"),
    ("DM", 5.0): ("0.91(0.01)", "0.79(0.01)"),
}


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    X, y = load_htru2()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    size = len(X) if options.size == "full" else min(int(options.size), len(X))
    describe_machine()
    print(f"{size} rows of {len(X)}, {round(TRAINING_PART * size)} of them embedded; float64; {options.splits} splits\n")

    rows = []
    for sigma in options.sigma:
        for method in ("SDP", "DM"):
            scores = [run(method, sigma, X, y, size, seed) for seed in range(options.splits)]
            rows.append((method, sigma, *summary(scores)))
    print(f"\n{'':4}{'σ':>5}  {'precision':>14} {'published':>11}  {'recall':>14} {'published':>11}")
    for method, sigma, precision, recall in rows:
        published = PUBLISHED.get((method, sigma), ("-", "-"))
        print(f"{method:4}{sigma:5g}  {precision:>14} {published[0]:>11}  {recall:>14} {published[1]:>11}")
    print("\nmean(standard deviation) over the splits; published: the same over three runs")
    print(f"peak memory {peak_memory():.2f} GB")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=6, help="number of random 70/30 splits")
    parser.add_argument("--sigma", type=float, nargs="+", default=[10.0, 5.0], help="bandwidths")
    parser.add_argument("--size", default="full", help="rows to draw before splitting, or 'full'")
    options = parser.parse_args(argv)
    if options.size != "full" and not (options.size.isdigit() and int(options.size) >= 100):
        parser.error(f"--size must be 'full' or an integer of at least 100, got {options.size!r}")
    if options.splits < 1:
        parser.error(f"--splits must be at least 1, got {options.splits}")
    return options


def run(method: str, sigma: float, X: np.ndarray, y: np.ndarray, size: int, seed: int) -> tuple[float, float]:
    """Precision and recall on one split; prints the time and the certificate of the fit."""
    rows = np.random.default_rng(seed).permutation(len(X))[:size]
    train, test = np.split(rows, [round(TRAINING_PART * size)])
    if method == "SDP":
        embedding = SDPEmbedding(n_components=2, bandwidth=sigma, random_state=seed)
    else:
        embedding = DiffusionMap(n_components=2, bandwidth=sigma, diffusion_time=0)
    started = time.perf_counter()
    embedding.fit(X[train])
    fitted = time.perf_counter()
    Z = embedding.transform(X[test])
    extended = time.perf_counter()
    predicted = KNeighborsClassifier(NEIGHBOURS).fit(embedding.embedding_, y[train]).predict(Z)
    scores = precision_score(y[test], predicted), recall_score(y[test], predicted)
    proof = ""
    if method == "SDP":
        certificate = embedding.certificate_
        proof = (
            f"  {embedding.status_}, {certificate.grade} relative gap {certificate.relative_gap:.1e}, "
            f"rank {len(embedding.eigenvalues_)}, {embedding.n_products_} products"
        )
    print(
        f"{method:4} σ={sigma:<4g} split {seed}: precision {scores[0]:.3f} recall {scores[1]:.3f}  "
        f"fit {fitted - started:5.1f} s, transform {extended - fitted:4.1f} s{proof}",
        flush=True,
    )
    return scores


def summary(scores: list[tuple[float, float]]) -> tuple[str, str]:
    mean = np.mean(scores, axis=0)
    scatter = np.std(scores, axis=0, ddof=1) if len(scores) > 1 else [np.nan, np.nan]
    return f"{mean[0]:.3f}({scatter[0]:.3f})", f"{mean[1]:.3f}({scatter[1]:.3f})"


def describe_machine() -> None:
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, BLAS threads {threads}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, elliptope {elliptope.__version__}"
    )


def peak_memory() -> float:
    """Largest resident size of this process so far, in GB (the unit of ru_maxrss depends on the system)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    main()
