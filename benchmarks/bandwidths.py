"""Which rule should choose the bandwidth? k-means and nearest neighbours on the embedding, with and without outliers.

For every labelled data set and rule: NMI between the classes and k-means on the unit-normalised embedding, and the accuracy
of 5 nearest neighbours on held-out rows that the extension embeds. Outliers (3 % of the rows, uniform in a box three times
the range of the data) take part in the fit and not in the scores. Writes a Markdown table and a CSV file.

    python benchmarks/bandwidths.py --output benchmarks/results
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from quality_data import with_outliers
from quality_sets import standardize
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from elliptope import SDPEmbedding
from elliptope.datasets import load_htru2, two_moons

RULES = ("knn", "median")
FIELDS = ["data", "n", "outliers", "rule", "bandwidth", "rank", "status", "nmi", "accuracy", "seconds"]


def data_sets(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in ("wine", "iris", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, standardize(X), y
    X, y = datasets.load_digits(return_X_y=True)
    few = y < 4
    yield "digits 0-3", X[few] / 16, y[few]
    yield "digits", X / 16, y
    X, y = datasets.make_blobs(400, n_features=10, centers=4, cluster_std=2.0, random_state=0)
    yield "blobs", standardize(X), y
    yield "two moons", *two_moons(random_state=0)
    try:
        X, y = load_htru2()
    except OSError:
        print("HTRU2 left out: no local file and no network")
        return
    pulsars, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    rows = np.concatenate([rng.choice(pulsars, 500, replace=False), rng.choice(others, 500, replace=False)])
    yield "HTRU2 (1000 rows)", standardize(X[rows]), y[rows]


def measure(X: np.ndarray, y: np.ndarray, rule: str, share: float, rng: np.random.Generator) -> dict[str, object]:
    start = time.perf_counter()
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, stratify=y, random_state=0)
    est = SDPEmbedding(bandwidth=rule, normalize="unit", random_state=0)
    Z = est.fit_transform(with_outliers(X[train], share, rng))[: len(train)]
    labels = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(Z)
    neighbours = KNeighborsClassifier(5).fit(Z, y[train])
    return {
        "bandwidth": est.bandwidth_,
        "rank": len(est.eigenvalues_),
        "status": est.status_,
        "nmi": normalized_mutual_info_score(y[train], labels),
        "accuracy": neighbours.score(est.transform(X[test]), y[test]),
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, X, y in data_sets(np.random.default_rng(0)):
        for share in (0.0, 0.03):
            for rule in RULES:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the status is in the table
                    result = measure(X, y, rule, share, np.random.default_rng(1))
                rows.append({"data": name, "n": len(X), "outliers": f"{share:.0%}", "rule": rule, **result})
                print({k: f"{v:.3g}" if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    with (folder / "bandwidths.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    (folder / "bandwidths.md").write_text(table(rows))


def table(rows: list[dict]) -> str:
    lines = ["| data | n | outliers | NMI knn | NMI median | accuracy knn | accuracy median | σ knn | σ median |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for knn, median in zip(rows[::2], rows[1::2], strict=True):
        cells = [f"{r[k]:.3f}" for k in ("nmi", "accuracy") for r in (knn, median)]
        sigmas = [f"{r['bandwidth']:.3g}" for r in (knn, median)]
        lines.append(f"| {knn['data']} | {knn['n']} | {knn['outliers']} | " + " | ".join(cells + sigmas) + " |")
    for key in ("nmi", "accuracy"):
        means = [np.mean([r[key] for r in rows if r["rule"] == rule]) for rule in RULES]
        lines.append(f"\nMean {key}: " + ", ".join(f"{rule} {m:.3f}" for rule, m in zip(RULES, means, strict=True)) + ".")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
