"""How well scores find outliers: those of elliptope, of its embeddings, and of scikit-learn.

    python benchmarks/outlier_scores.py --output benchmarks/results

takes about a minute and writes ``outlier_scores.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import machine
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import scale

from elliptope import MultiscaleEmbedding, SDPEmbedding
from elliptope.estimators.outliers import outlier_scores
from report import table

DRAWS = 5
SHARE = 0.05
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}

NOTE = """\
# Outlier scores

Area under the ROC curve: 1 if all outliers score above all other rows, 0.5 for a score that says nothing. Means over
{draws} draws of outliers, {share:.0%} of the rows, added to z-scored data. *box*: every column uniform over three times its
range. *shuffled*: every column drawn from the values of that column, so that only the combination of values is unusual.
*group*: 20 rows of the data, half as far from each other, moved together to a place drawn as in *box*: no score that looks
at 15 neighbours can know that they are far.

*m* is the density, `exp(score_samples)`, of the estimator named; *distance* is that to the 15th nearest row, in the data.
The *score of report pages*, and of cells, is log s - ¼ min(log m, c), s being the distance and c the median of log m.
Scores are high for outliers. All methods have their defaults.

{machine}

{table}"""


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    output = parser.parse_args(argv).output
    cases = [(name, kind) for name in SETS for kind in (box, shuffled, group)]
    results = {f"{name}, {kind.__name__}": measure(name, kind) for name, kind in cases}
    methods = list(next(iter(results.values())))
    rows = [[method, *(f"{values[method]:.3f}" for values in results.values())] for method in methods]
    text = NOTE.format(
        draws=DRAWS,
        share=SHARE,
        machine="\n".join(f"- {line}" for line in machine.describe()),
        table=table(["score", *results], rows),
    )
    (output / "outlier_scores.md").write_text(text + "\n")
    print(text)


def measure(name: str, kind: Any) -> dict[str, float]:
    X = SETS[name]().data
    X = X[:, X.std(axis=0) > 0]
    draws = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        outliers = kind(scale(X), round(SHARE * len(X)), rng)
        truth = np.repeat([0, 1], [len(X), len(outliers)])
        found = scores(np.vstack([scale(X), outliers]))
        draws.append({method: roc_auc_score(truth, values) for method, values in found.items()})
    return {method: float(np.mean([draw[method] for draw in draws])) for method in draws[0]}


def box(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    low, size = X.min(axis=0), np.ptp(X, axis=0)
    return rng.uniform(low - size, low + 2 * size, (n, X.shape[1]))


def shuffled(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.choice(column, n) for column in X.T])


def group(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return box(X, 1, rng) + X[rng.choice(len(X), 20, replace=False)] / 2


def scores(X: np.ndarray) -> dict[str, np.ndarray]:
    """High for outliers."""
    gaussian = SDPEmbedding(random_state=0).fit(X)
    neighbors = SDPEmbedding(kernel="neighbors", random_state=0).fit(X)
    overlap = MultiscaleEmbedding(random_state=0).fit(X)
    distance = NearestNeighbors(n_neighbors=15).fit(X).kneighbors()[0][:, -1]
    return {
        "distance": distance,
        "-log m, SDPEmbedding": -gaussian.score_samples(X),
        "-log m, SDPEmbedding(kernel='neighbors')": -neighbors.score_samples(X),
        "score of report pages, SDPEmbedding(kernel='neighbors')": outlier_scores(neighbors, X),
        "-log m, MultiscaleEmbedding": -overlap.score_samples(X),
        "score of report pages, MultiscaleEmbedding": outlier_scores(overlap, X),
        "LocalOutlierFactor": -LocalOutlierFactor().fit(X).negative_outlier_factor_,
        "IsolationForest": -IsolationForest(random_state=0).fit(X).score_samples(X),
    }


if __name__ == "__main__":
    main()
