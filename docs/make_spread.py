"""Draw the page on the spread: from the paper's program to the diffusion kernel, on real data with outliers.

Run ``python docs/make_spread.py``; it needs matplotlib. It prints the table of the page, too.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from elliptope import SDPEmbedding

FOLDER = Path(__file__).parent
SPREADS = (0.0, 0.05, 0.3, 1.0, 3.0, 10.0, math.inf)
N_OUTLIERS = 9  # 5 %


def main() -> None:
    X, y, outlier = data()
    fits = [SDPEmbedding(kernel="neighbors", spread=spread, random_state=0).fit(X) for spread in SPREADS]
    draw(fits, y, outlier)
    print("| spread η | `spread_` | rank | share of two columns | outliers' share | NMI | gap | distance bound |")
    print("|---|---|---|---|---|---|---|---|")
    for spread, est in zip(SPREADS, fits, strict=True):
        print(line(spread, est, y, outlier))


def data() -> tuple[Any, Any, Any]:
    """Wine, z-scored, and rows uniform in a box of three times its range."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    extra = 3 * np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (N_OUTLIERS, X.shape[1]))
    return np.vstack([X, extra]), np.append(y, np.full(N_OUTLIERS, 3)), np.arange(len(X) + N_OUTLIERS) >= len(X)


def line(spread: float, est: SDPEmbedding, y: Any, outlier: Any) -> str:
    Z, c = est.embedding_, est.certificate_
    squares = est.eigenvalues_**2
    rows = (Z[outlier, :2] ** 2).sum() / (Z[:, :2] ** 2).sum()
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    found = KMeans(3, n_init=10, random_state=0).fit_predict(unit)
    nmi = normalized_mutual_info_score(y[~outlier], found[~outlier])
    name = "∞" if math.isinf(spread) else f"{spread:g}"
    bound = "–" if math.isinf(c.distance_bound) else f"{c.distance_bound:.1e}"
    return (
        f"| {name} | {est.spread_:.3g} | {Z.shape[1]} | {squares[:2].sum() / squares.sum():.0%} | {rows:.0%} | {nmi:.2f} | "
        f"{c.relative_gap:.1e} ({c.grade}) | {bound} |"
    )


def draw(fits: list[SDPEmbedding], y: Any, outlier: Any) -> None:
    chosen = (0, 2, 4, 6)
    figure, axes = plt.subplots(1, len(chosen), figsize=(13, 3.4), layout="constrained")
    for axis, number in zip(axes, chosen, strict=True):
        Z = fits[number].embedding_
        for group in range(3):
            axis.scatter(*Z[y == group, :2].T, s=12)
        axis.scatter(*Z[outlier, :2].T, s=30, marker="x", color="black")
        name = "∞" if math.isinf(SPREADS[number]) else f"{SPREADS[number]:g}"
        axis.set_title(f"spread {name}, rank {Z.shape[1]}")
        axis.set_aspect("equal", adjustable="datalim")
    figure.savefig(FOLDER / "spread_wine.png", dpi=120)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
