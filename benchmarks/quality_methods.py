"""The methods of the quality benchmark: their usual defaults, and six candidates each to choose from.

A *scale* multiplies a bandwidth: σ = scale × the library's rule (median distance to the 10th neighbour) for the Gaussian
kernels, the median distance between points for the Matérn kernel. The rule sees the rows that are fitted, outliers too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE, SpectralEmbedding
from sklearn.preprocessing import FunctionTransformer

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from elliptope.kernels.bandwidth import knn_bandwidth, median_bandwidth

Parameters = dict[str, Any]
# Columns of a picture, and about as many as clustering wants.
COLUMNS = (2, 8)


@dataclass(frozen=True)
class Method:
    """``make(X, seed, **parameters)`` is an estimator for the rows X."""

    make: Callable[..., Any]
    default: Parameters
    candidates: tuple[Parameters, ...] = ()
    slow: bool = False


def _grid(**values: tuple) -> tuple[Parameters, ...]:
    return tuple(dict(zip(values, point, strict=True)) for point in itertools.product(*values.values()))


def _raw(X: np.ndarray, seed: int) -> Any:
    return FunctionTransformer()


def _sdp(X: np.ndarray, seed: int, scale: float) -> Any:
    return SDPEmbedding(bandwidth=scale * knn_bandwidth(X), normalize="unit", random_state=seed)


def _sdp_neighbors(X: np.ndarray, seed: int, n_neighbors: int) -> Any:
    return SDPEmbedding(kernel="neighbors", n_neighbors=n_neighbors, normalize="unit", random_state=seed)


def _rkhs(X: np.ndarray, seed: int, scale: float, regularization: float | str) -> Any:
    length = scale * median_bandwidth(X)
    return RKHSEmbedding(length_scale=length, regularization=regularization, normalize="unit", random_state=seed)


def _diffusion(X: np.ndarray, seed: int, scale: float, columns: int) -> Any:
    return DiffusionMap(columns, bandwidth=scale * knn_bandwidth(X))


def _diffusion_unit(X: np.ndarray, seed: int, scale: float, columns: int) -> Any:
    return DiffusionMap(columns, bandwidth=scale * knn_bandwidth(X), normalize="unit")


def _spectral(X: np.ndarray, seed: int, n_neighbors: int | None, columns: int) -> Any:
    return SpectralEmbedding(columns, n_neighbors=n_neighbors, random_state=seed, n_jobs=1)


def _kernel_pca(X: np.ndarray, seed: int, scale: float | None, columns: int) -> Any:
    gamma = None if scale is None else (scale * knn_bandwidth(X)) ** -2  # None: scikit-learn's default, 1/p
    return KernelPCA(columns, kernel="rbf", gamma=gamma, random_state=seed, n_jobs=1)


def _pca(X: np.ndarray, seed: int, columns: int) -> Any:
    return PCA(min(columns, X.shape[1]), random_state=seed)


def _tsne(X: np.ndarray, seed: int, perplexity: float) -> Any:
    return TSNE(perplexity=perplexity, random_state=seed, n_jobs=1)


def _umap(X: np.ndarray, seed: int, n_neighbors: int, min_dist: float) -> Any:
    try:
        from umap import UMAP  # compiles for seconds: only when asked for
    except ImportError as error:
        raise ImportError("UMAP needs the extra `benchmarks`: pip install 'elliptope[benchmarks]'.") from error
    return UMAP(n_neighbors=n_neighbors, min_dist=min_dist, random_state=seed, n_jobs=1)


METHODS: dict[str, Method] = {
    "SDPEmbedding": Method(_sdp, {"scale": 1.0}, _grid(scale=(0.5, 0.7, 1.0, 1.4, 2.0, 4.0))),
    "SDPEmbedding, neighbors": Method(
        _sdp_neighbors, {"n_neighbors": 15}, _grid(n_neighbors=(5, 10, 15, 20, 30, 50))
    ),
    "RKHSEmbedding": Method(
        _rkhs,
        {"scale": 1.0, "regularization": "auto"},
        _grid(scale=(0.5, 1.0, 2.0), regularization=("auto", 1e-3)),
        slow=True,
    ),
    "DiffusionMap": Method(_diffusion, {"scale": 1.0, "columns": 2}, _grid(scale=(1.0, 2.0, 4.0), columns=COLUMNS)),
    "DiffusionMap, unit rows": Method(
        _diffusion_unit, {"scale": 1.0, "columns": 2}, _grid(scale=(1.0, 2.0, 4.0), columns=COLUMNS)
    ),
    "SpectralEmbedding": Method(
        _spectral, {"n_neighbors": None, "columns": 2}, _grid(n_neighbors=(5, 10, 20), columns=COLUMNS)
    ),
    "KernelPCA": Method(_kernel_pca, {"scale": None, "columns": 2}, _grid(scale=(1.0, 2.0, 4.0), columns=COLUMNS)),
    "PCA": Method(_pca, {"columns": 2}, _grid(columns=(1, 2, 3, 5, 8, 12))),
    "t-SNE": Method(_tsne, {"perplexity": 30.0}, _grid(perplexity=(5.0, 10.0, 20.0, 30.0, 50.0, 80.0)), slow=True),
    "UMAP": Method(
        _umap, {"n_neighbors": 15, "min_dist": 0.1}, _grid(n_neighbors=(5, 15, 30), min_dist=(0.0, 0.1)), slow=True
    ),
    "no embedding": Method(_raw, {}),
}
