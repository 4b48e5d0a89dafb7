"""Single cells beside scanpy's UMAP and diffusion map: clusters, types of neighbours, new cells, outliers, pictures.

700 blood cells in 50 principal components, with the types that their authors give them, from the files of scanpy. Writes
``cells.md``, and with ``--pictures`` the picture of the page on cells.

    pip install 'elliptope[benchmarks]'
    python benchmarks/cells.py --output benchmarks/results --pictures docs
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anndata
import machine
import numpy as np
import scanpy
from quality_data import Sample, draw, with_outliers
from quality_scores import new_rows_accuracy, scores
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score
from umap import UMAP

from elliptope.anndata import embed, layout, transform
from report import table

Array = np.ndarray
# Parts of the cells that are added as outliers, and draws of split and outliers.
SHARES = (0.0, 0.1, 0.2)
SEEDS = (0, 1, 2)
# Neighbours of every graph, as both libraries have them by default.
NEIGHBOURS = 15

RULES = """\
700 blood cells (`scanpy.datasets.pbmc68k_reduced`) in 50 principal components; types of fewer than 20 cells are left out,
which leaves {types}. All methods get the same components and their default parameters, {neighbours} neighbours. In each of
{draws} draws 70 % of the cells are fitted, and the others are new. Outliers, where there are some, are uniform in a box of
three times the range of every component; no score but the last counts them. Means of the draws, and in the first table their
standard deviation.

- *k-means*, *Leiden*: agreement of clusters with the types (normalised mutual information NMI, adjusted Rand index ARI):
  k-means with as many clusters as types on the coordinates; Leiden, with scanpy's defaults, on the graph of neighbours in
  them. On the principal components themselves that is scanpy's usual way to clusters.
- *5-NN*: cells whose type is that of most of their five nearest neighbours, by cross-validation. *new cells*: the same for
  the cells that were not fitted, placed by `transform` (of umap-learn for UMAP: `scanpy.tl.ingest` of this version fails
  with this version of pynndescent) or by the principal components.
- *trustworthiness*: of the two coordinates that are drawn, against the principal components.
- *outliers found*: area under the curve of the outlier score (ROC AUC). Only our methods have one.

These cells are among the data sets on which the defaults of `MultiscaleEmbedding` were chosen; UMAP's were not."""


@dataclass(frozen=True)
class Embedded:
    """Coordinates of the fitted cells, and two to draw; where there are some, new cells and those they are among, scores."""

    Z: Array
    drawn: Array
    new: tuple[Array, Array] | None = None
    outlier_scores: Array | None = None


def multiscale(adata: Any, new: Any) -> Embedded:
    embed(adata)
    layout(adata)
    transform(new, adata)
    scored = adata.obs["sdp_outlier_score"].to_numpy()
    return Embedded(adata.obsm["X_sdp"], adata.obsm["X_sdp_layout"], (new.obsm["X_sdp"], adata.obsm["X_sdp"]), scored)


def multiscale_of_graph(adata: Any, new: Any) -> Embedded:
    neighbors(adata)
    embed(adata, neighbors_key="neighbors")
    layout(adata)
    scored = adata.obs["sdp_outlier_score"].to_numpy()
    return Embedded(adata.obsm["X_sdp"], adata.obsm["X_sdp_layout"], outlier_scores=scored)


def umap(adata: Any, new: Any) -> Embedded:
    neighbors(adata)
    scanpy.tl.umap(adata, random_state=0)
    fitted = UMAP(n_neighbors=NEIGHBOURS, random_state=0, n_jobs=1).fit(adata.obsm["X_pca"])
    placed = fitted.transform(new.obsm["X_pca"]), fitted.embedding_
    return Embedded(adata.obsm["X_umap"], adata.obsm["X_umap"], placed)


def diffmap(adata: Any, new: Any) -> Embedded:
    neighbors(adata)
    scanpy.tl.diffmap(adata, random_state=0)
    Z = adata.obsm["X_diffmap"][:, 1:]  # the first eigenvector is trivial
    return Embedded(Z, Z[:, :2])


def components(adata: Any, new: Any) -> Embedded:
    Z = adata.obsm["X_pca"]
    return Embedded(Z, Z[:, :2], (new.obsm["X_pca"], Z))


METHODS: dict[str, Callable[[Any, Any], Embedded]] = {
    "MultiscaleEmbedding": multiscale,
    "MultiscaleEmbedding, scanpy's neighbours": multiscale_of_graph,
    "UMAP (sc.tl.umap)": umap,
    "diffusion map (sc.tl.diffmap)": diffmap,
    "principal components": components,
}


def cells(X: Array) -> Any:
    """An AnnData of principal components alone."""
    return anndata.AnnData(obsm={"X_pca": X})


def neighbors(adata: Any, use_rep: str = "X_pca") -> None:
    scanpy.pp.neighbors(adata, NEIGHBOURS, use_rep=use_rep, random_state=0)


def leiden(Z: Array, y: Array) -> dict[str, float]:
    adata = cells(Z)
    neighbors(adata)
    scanpy.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, random_state=0)
    found = adata.obs["leiden"].to_numpy()[: len(y)]
    return {"nmi_leiden": normalized_mutual_info_score(y, found), "ari_leiden": adjusted_rand_score(y, found)}


def measure(method: str, sample: Sample) -> dict[str, float]:
    found = METHODS[method](cells(sample.X_fit), cells(sample.X_test))
    n, nan = sample.n_train, float("nan")
    is_outlier = np.arange(len(sample.X_fit)) >= n
    scored = found.outlier_scores is not None and is_outlier.any()
    return {
        **scores(found.Z, sample),
        **leiden(found.Z, sample.y_train),
        "new": nan if found.new is None else new_rows_accuracy(found.new[1], found.new[0], sample),
        "trustworthiness": float(trustworthiness(sample.X_fit[:n], found.drawn[:n])),
        "outliers": float(roc_auc_score(is_outlier, found.outlier_scores)) if scored else nan,
    }


COLUMNS = {
    "nmi": "k-means NMI",
    "ari": "k-means ARI",
    "nmi_leiden": "Leiden NMI",
    "ari_leiden": "Leiden ARI",
    "accuracy": "5-NN",
    "new": "new cells",
    "trustworthiness": "trustworthiness",
}


def number(values: list[float], spread: bool = False) -> str:
    if np.isnan(values).any():
        return "–"
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values):.3f}" if spread else "")


def report(measured: dict[tuple[str, float], list[dict[str, float]]], types: int) -> str:
    def values(method: str, share: float, name: str) -> list[float]:
        return [one[name] for one in measured[method, share]]

    clean = [[m, *(number(values(m, 0.0, name), spread=True) for name in COLUMNS)] for m in METHODS]
    lines = {"k-means NMI": "nmi", "5-NN": "accuracy", "new cells": "new", "outliers found": "outliers"}
    heads = [f"{title}, {share:.0%}" for title in lines for share in SHARES if title != "outliers found" or share]
    spoilt = [
        [m, *(number(values(m, share, name)) for name in lines.values() for share in SHARES if name != "outliers" or share)]
        for m in METHODS
    ]
    rules = RULES.format(types=types, neighbours=NEIGHBOURS, draws=len(SEEDS))
    machine_lines = "\n".join(f"- {line}" for line in machine.describe())
    return "\n\n".join([
        "# Single cells", rules, machine_lines,
        "## No outliers", table(["method", *COLUMNS.values()], clean),
        "## Outliers, as parts of the cells", table(["method", *heads], spoilt),
    ]) + "\n"  # fmt: skip


def draw_pictures(path: Path) -> None:
    """All cells, and with a tenth as many outliers, as three methods show them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from elliptope.plotting import EmbeddingDisplay

    shipped = scanpy.datasets.pbmc68k_reduced()
    X, y = shipped.obsm["X_pca"].astype(float), shipped.obs["bulk_labels"].astype(str).to_numpy()
    far = with_outliers(X, 0.1, np.random.default_rng([0, 1]))
    titles = {"MultiscaleEmbedding": multiscale, "UMAP": umap, "diffusion map": diffmap}
    figure, axes = plt.subplots(2, 3, figsize=(16, 10), layout="constrained")
    for row, (rows, note) in enumerate(((X, ""), (far, ", 70 outliers added"))):
        labels = np.concatenate([y, np.full(len(rows) - len(y), "outlier")])
        for ax, (title, method) in zip(axes[row], titles.items(), strict=True):
            P = method(cells(rows), cells(X[:5])).drawn
            order = {name: name for name in [*np.unique(y), "outlier"]}
            view = {"view": "plane", "radius_scale": "linear", "max_radius": None, "labels": order}
            EmbeddingDisplay.from_embedding(P, labels, **view, name=title + note, ax=ax, legend=ax is axes[row][-1])
            ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    figure.savefig(path, dpi=65)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="folder for cells.md")
    parser.add_argument("--pictures", type=Path, help="folder for cells.png")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of threads and of deprecations within scanpy
    if options.output is not None:
        measured: dict[tuple[str, float], list[dict[str, float]]] = {}
        for method in METHODS:
            for share in SHARES:
                measured[method, share] = [measure(method, draw("blood cells", share, seed)) for seed in SEEDS]
                print(method, share, {name: number([one[name] for one in measured[method, share]]) for name in COLUMNS})
        types = len(np.unique(draw("blood cells", 0.0, 0).y_train))
        (options.output / "cells.md").write_text(report(measured, types), encoding="utf-8")
    if options.pictures is not None:
        draw_pictures(options.pictures / "cells.png")


if __name__ == "__main__":
    main()
