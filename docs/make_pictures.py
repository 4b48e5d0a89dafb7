"""Draw the pictures of the page on pictures: our embeddings as the displays show them, beside UMAP with its defaults.

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
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

from elliptope import MultiscaleEmbedding, SDPEmbedding
from elliptope.datasets import two_moons
from elliptope.plotting import EmbeddingDisplay

FOLDER = Path(__file__).parent
# 700 blood cells in 50 principal components, with the types that their authors give them.
CELLS = "scanpy/datasets/10x_pbmc68k_reduced.h5ad"


def main() -> None:
    sets = {"digits": digits(), "wine": wine(), "moons": moons(), "cells": cells()}
    for name, (title, X, y, labels) in sets.items():
        beside_umap(title, X, y, labels, FOLDER / f"pictures_{name}.png")
    views(*sets["digits"][1:3], FOLDER / "pictures_views.png")
    layout_times()


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
    """The same digits as a ring, a sphere and a layout."""
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.6), layout="constrained", width_ratios=[1, 1.7, 1.2])
    for ax, k, view in zip(axes, (2, 3, 3), ("ring", "sphere", "layout"), strict=True):
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
