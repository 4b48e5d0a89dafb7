"""Draw the picture of README, and those of the page on pictures: our embeddings beside those of other methods.

Run ``python docs/make_pictures.py``. It needs matplotlib and umap-learn (extra ``benchmarks``), and scanpy, whose package
holds the single cells; no network. At the end it prints how long layouts take.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from elliptope import DiffusionMap, MultiscaleEmbedding, SDPEmbedding
from elliptope.datasets import two_moons
from elliptope.plotting import EmbeddingDisplay

FOLDER = Path(__file__).parent
# 700 blood cells in 50 principal components, with the types that their authors give them.
CELLS = "scanpy/datasets/10x_pbmc68k_reduced.h5ad"


def main() -> None:
    at_a_glance(FOLDER / "at_a_glance.png")
    sets = {"digits": digits(), "wine": wine(), "moons": moons(), "cells": cells()}
    for name, (title, X, y, labels) in sets.items():
        beside_umap(title, X, y, labels, FOLDER / f"pictures_{name}.png")
    views(*sets["digits"][1:3], FOLDER / "pictures_views.png")
    layout_times()


def at_a_glance(path: Path, draws: int = 5) -> None:
    """Wine with ten outliers in four methods, with two scores of each: means over draws, of which the first is drawn."""
    scores, drawn = {}, {}
    for seed in range(draws):
        X, y = wine_with_outliers(seed)
        for name, Z in four_methods(X, seed).items():
            scores.setdefault(name, []).append((classes_found(Z, y), outliers_seen(Z, y)))
            drawn.setdefault(name, (Z, y))
    figure, axes = plt.subplots(1, len(drawn), figsize=(15, 4.9), layout="constrained")
    for ax, (name, (Z, y)) in zip(axes, drawn.items(), strict=True):
        for c, colour in enumerate(("#0072b2", "#e69f00", "#009e73")):
            ax.scatter(*Z[y == c, :2].T, s=26, color=colour, edgecolors="white", linewidths=0.4, label=f"cultivar {c + 1}")
        ax.scatter(
            *Z[y < 0, :2].T, s=70, color="#c00000", marker="x", linewidths=2.2, label="outliers, which belong to no cultivar"
        )
        nmi, seen = np.mean(scores[name], axis=0)
        ax.set_title(name, fontsize=17, weight="bold" if name == "elliptope" else "normal")
        ax.set_xlabel(f"classes found: {nmi:.2f}\noutliers seen: {seen:.1f} of 10", fontsize=14)
        ax.set(xticks=[], yticks=[], box_aspect=1)
        ax.margins(0.08)
        wines = Z[y >= 0, :2]
        if np.all(np.ptp(wines, axis=0) < 0.02 * np.ptp(Z[:, :2], axis=0)):
            ax.annotate("all 178 wines", np.median(wines, axis=0), xytext=(14, 8), textcoords="offset points", fontsize=14)
        print(f"{path.name}: {name}, NMI {nmi:.3f}, outliers {seen:.1f} of 10")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=14, frameon=False)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def wine_with_outliers(seed: int) -> tuple[Any, Any]:
    """178 wines, and ten rows drawn from a box of three times their range in every column; these have the label -1."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    low, size = X.min(axis=0), np.ptp(X, axis=0)
    outliers = np.random.default_rng(seed).uniform(low - size, low + 2 * size, (10, X.shape[1]))
    return np.vstack([X, outliers]), np.append(y, np.full(10, -1))


def four_methods(X: Any, seed: int) -> dict[str, Any]:
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP's, about threads
        return {
            "PCA": PCA(2).fit_transform(X),
            "diffusion map": DiffusionMap(n_components=2).fit_transform(X),
            "UMAP": umap.UMAP(random_state=seed).fit_transform(X),
            "elliptope": SDPEmbedding(kernel="neighbors", random_state=0).fit_transform(X),
        }


def classes_found(Z: Any, y: Any) -> float:
    """Agreement (NMI) of k-means with the classes; outliers are clustered, and not counted."""
    found = KMeans(3, n_init=10, random_state=0).fit_predict(Z)
    return normalized_mutual_info_score(y[y >= 0], found[y >= 0])


def outliers_seen(Z: Any, y: Any) -> int:
    """How many of the outliers are among as many rows farthest from the middle of the picture."""
    distance = np.linalg.norm(Z - np.median(Z, axis=0), axis=1)
    return int(np.sum(y[np.argsort(-distance)[: np.sum(y < 0)]] < 0))


def digits() -> tuple[str, Any, Any, dict | None]:
    X, y = load_digits(return_X_y=True)
    return "Digits", X / 16, y, None


def wine() -> tuple[str, Any, Any, dict | None]:
    X, y = load_wine(return_X_y=True)
    return "Wine", scale(X), y, {c: f"cultivar {c + 1}" for c in range(3)}


def moons() -> tuple[str, Any, Any, dict | None]:
    X, y = two_moons(200, random_state=0)
    return "Two moons", X, y, None


def cells() -> tuple[str, Any, Any, dict | None]:
    import h5py

    package = importlib.util.find_spec("scanpy")
    assert package is not None
    assert package.origin is not None
    with h5py.File(Path(package.origin).parents[1] / CELLS) as file:
        names = [name.decode() for name in file["uns/bulk_labels_categories"][:]]
        return "Blood cells", file["obsm"]["X_pca"].astype(np.float64), np.array(names)[file["obs"]["bulk_labels"]], None


def beside_umap(title: str, X: Any, y: Any, labels: dict | None, path: Path) -> None:
    """Two scales, the paper's program, UMAP: all with their defaults."""
    import umap

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for ax, est in zip(axes, (MultiscaleEmbedding(random_state=0), SDPEmbedding(random_state=0)), strict=False):
        EmbeddingDisplay.from_estimator(est.fit(X), y=y, labels=labels, ax=ax, legend=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads
        P = umap.UMAP(random_state=0).fit_transform(X)
    EmbeddingDisplay.from_embedding(P, y, labels=labels, view="plane", radius_scale="linear", name="UMAP", ax=axes[2])
    figure.suptitle(title)
    figure.savefig(path, dpi=70)
    plt.close(figure)
    print(f"{path.name}: MultiscaleEmbedding, SDPEmbedding, UMAP")


def views(X: Any, y: Any, path: Path) -> None:
    """The same digits as a ring and a layout."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", width_ratios=[1, 1.2])
    for ax, k, view in zip(axes, (2, 3), ("ring", "layout"), strict=True):
        est = SDPEmbedding(k, kernel="neighbors", normalize="unit", random_state=0).fit(X)
        EmbeddingDisplay.from_estimator(est, X, y, view=view, ax=ax, legend=ax is axes[-1], name=f'view="{view}"')
    figure.savefig(path, dpi=70)
    plt.close(figure)


def layout_times() -> None:
    for n in (1000, 5000, 20_000):
        Z = np.random.default_rng(0).standard_normal((n, 8))
        wall, processor = time.perf_counter(), time.process_time()
        display = EmbeddingDisplay.from_embedding(Z)
        seconds = time.perf_counter() - wall, time.process_time() - processor
        plt.close(display.figure_)
        print(f"layout of {n} rows of 8 columns: {seconds[0]:.1f} s, {seconds[1]:.1f} s of one core")


if __name__ == "__main__":
    main()
