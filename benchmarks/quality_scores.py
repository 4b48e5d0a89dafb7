"""What is measured on an embedding: clusters, neighbours, new rows, how far new rows are off, and the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from quality_data import Sample
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

Array = np.ndarray
NEIGHBOURS = 5
FOLDS = 5
# Starts of k-means.
N_INIT = 10
# HDBSCAN's smallest cluster; as many as the neighbours of UMAP's graph and of ours.
SMALLEST_CLUSTER = 15


def scores(Z: Array, sample: Sample) -> dict[str, float]:
    """Agreement of clusters with the classes, and accuracy, of the embedding Z of ``sample.X_fit``; outliers are not scored.

    k-means and HDBSCAN cluster all rows, as if the outliers were not known; ``nmi_inliers``: k-means without the outliers.
    What HDBSCAN calls noise counts as one cluster. ``accuracy``: five nearest neighbours among the rows that have a class,
    by cross-validation.
    """
    inliers, y = Z[: sample.n_train], sample.y_train
    by_means = _clusters(Z, y)[: len(y)]
    by_density = HDBSCAN(SMALLEST_CLUSTER, copy=True).fit_predict(Z)[: len(y)]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return {
        "nmi": normalized_mutual_info_score(y, by_means),
        "ari": adjusted_rand_score(y, by_means),
        "nmi_hdbscan": normalized_mutual_info_score(y, by_density),
        "ari_hdbscan": adjusted_rand_score(y, by_density),
        "nmi_inliers": normalized_mutual_info_score(y, _clusters(inliers, y)),
        "accuracy": float(cross_val_score(KNeighborsClassifier(NEIGHBOURS), inliers, y, cv=folds).mean()),
    }


def _clusters(Z: Array, y: Array) -> Array:
    return KMeans(len(np.unique(y)), n_init=N_INIT, random_state=0).fit_predict(Z)


def new_rows_accuracy(Z: Array, Z_test: Array, sample: Sample) -> float:
    """Accuracy on the test rows, embedded as Z_test by ``transform``, of neighbours among the training rows."""
    neighbours = KNeighborsClassifier(NEIGHBOURS).fit(Z[: sample.n_train], sample.y_train)
    return float(neighbours.score(Z_test, sample.y_test))


def displacement(Z_train: Array, Z_test: Array, W_train: Array, W_test: Array) -> float:
    r"""Distance between rows embedded by ``transform`` (Z_test) and rows that took part in the fit (W_test).

    Embeddings are defined up to a rotation and, for some methods, a scale. The similarity (s, R, shift) that brings W_train
    closest to Z_train, in least squares, is applied to W_test. Then the root mean square of the rows of
    :math:`Z_{test} - W_{test}` is divided by that of the centred rows of Z_train: 0 is perfect, 1 the size of the picture.
    """
    width = max(Z_train.shape[1], W_train.shape[1])  # the optimum of an SDP may change its rank
    Z_train, Z_test, W_train, W_test = (_widened(A, width) for A in (Z_train, Z_test, W_train, W_test))
    z, w = Z_train.mean(axis=0), W_train.mean(axis=0)
    U, singular, Vt = np.linalg.svd((W_train - w).T @ (Z_train - z))
    scale = singular.sum() / np.sum((W_train - w) ** 2)
    moved = scale * (W_test - w) @ U @ Vt + z
    return _root_mean_square(Z_test - moved) / _root_mean_square(Z_train - z)


def _widened(A: Array, width: int) -> Array:
    return np.pad(A, ((0, 0), (0, width - A.shape[1])))


def _root_mean_square(rows: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def picture(Z: Array, ours: bool) -> Array | None:
    """Two columns to draw: those there are, or a t-SNE layout of our coordinates, started from the leading two."""
    if Z.shape[1] <= 2:
        return Z
    if not ours:
        return None
    start = Z[:, :2] - Z[:, :2].mean(axis=0)
    return TSNE(init=1e-4 * start / start[:, 0].std(), random_state=0, n_jobs=1).fit_transform(Z)


def certificate(estimator: Any, Z: Array, X: Array) -> dict[str, Any]:
    """Worst grade and gap of our estimator, and how far its ``transform`` of the training rows is from ``embedding_``."""
    found = getattr(estimator, "certificates_", None) or [estimator.certificate_]
    grades = ("proved", "probabilistic", "estimate")
    return {
        "grade": grades[max(grades.index(one.grade) for one in found)],
        "gap": max(one.relative_gap for one in found),
        "deviation": float(np.abs(np.asarray(estimator.transform(X)) - Z).max()),
    }


def measure(estimator: Any, sample: Sample, ours: bool = False, again: Any = None) -> dict[str, Any]:
    """All measures of one fit; displacement and trustworthiness only with ``again``, which is fitted with the test rows."""
    Z = np.asarray(estimator.fit_transform(sample.X_fit))
    result: dict[str, Any] = {"columns": Z.shape[1], "status": getattr(estimator, "status_", ""), **scores(Z, sample)}
    n = sample.n_train
    if ours:
        result |= certificate(estimator, Z, sample.X_fit)
    if again is not None:
        drawn = picture(Z, ours)
        result["trustworthiness"] = np.nan if drawn is None else float(trustworthiness(sample.X_fit[:n], drawn[:n]))
    if hasattr(estimator, "transform"):
        Z_test = np.asarray(estimator.transform(sample.X_test))
        result["new_rows"] = new_rows_accuracy(Z, Z_test, sample)
        if again is not None:
            W = np.asarray(again.fit_transform(sample.X_all))
            result["displacement"] = displacement(Z[:n], Z_test, W[:n], W[len(Z) :])
    return result
