"""The methods of the quality benchmark, with the defaults of their libraries.

Bandwidths of the Gaussian kernel follow the library's rule (median distance to the 10th neighbour), those of the Matérn
kernel the median distance between rows. Both see the rows that are fitted, outliers too. Two columns where a number must be
given. A *tuned* method takes, per data set, the best of its candidates by NMI + 5-NN on other seeds without outliers, with
the classes known: more than a user has.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE, SpectralEmbedding
from sklearn.preprocessing import FunctionTransformer

import elliptope
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from elliptope.kernels.bandwidth import knn_bandwidth, median_bandwidth

Array = np.ndarray
Parameters = dict[str, Any]
Seed = int | None


@dataclass(frozen=True)
class Method:
    """``make(X, seed, **parameters)`` is an estimator for the rows X."""

    make: Callable[..., Any]
    candidates: tuple[Parameters, ...] = ({},)
    ours: bool = False  # has certificates, and an exact extension


class PaCMAP:
    """The peer, told to keep what ``transform`` needs."""

    def __init__(self, seed: Seed) -> None:
        from pacmap import PaCMAP

        self.peer = PaCMAP(save_tree=True, random_state=seed)

    def fit_transform(self, X: Array) -> Array:
        return self.peer.fit_transform(X)

    def transform(self, X: Array) -> Array:
        return self.peer.transform(X)


def _grid(**values: tuple) -> tuple[Parameters, ...]:
    return tuple(dict(zip(values, point, strict=True)) for point in itertools.product(*values.values()))


def _threads(seed: Seed) -> int:
    """All, without a seed: with one, UMAP has a single thread, and scores are computed in several processes."""
    return -1 if seed is None else 1


def _raw(X: Array, seed: Seed) -> Any:
    return FunctionTransformer()


def _multiscale(X: Array, seed: Seed) -> Any:
    return elliptope.MultiscaleEmbedding(random_state=seed, n_jobs=_threads(seed))


def _sdp(X: Array, seed: Seed, kernel: str) -> Any:
    return SDPEmbedding(kernel=kernel, normalize="unit", random_state=seed, n_jobs=_threads(seed))


def _rkhs(X: Array, seed: Seed) -> Any:
    return RKHSEmbedding(length_scale=median_bandwidth(X), normalize="unit", random_state=seed)


def _diffusion(X: Array, seed: Seed) -> Any:
    return DiffusionMap(2, bandwidth=knn_bandwidth(X))


def _spectral(X: Array, seed: Seed, columns: int = 2, n_neighbors: int | None = None) -> Any:
    return SpectralEmbedding(columns, n_neighbors=n_neighbors, random_state=seed, n_jobs=1)


def _kernel_pca(X: Array, seed: Seed) -> Any:
    return KernelPCA(2, kernel="rbf", random_state=seed, n_jobs=1)


def _pca(X: Array, seed: Seed) -> Any:
    return PCA(2, random_state=seed)


def _tsne(X: Array, seed: Seed) -> Any:
    return TSNE(random_state=seed, n_jobs=1)


def _pacmap(X: Array, seed: Seed) -> Any:
    return PaCMAP(seed)


def _umap(X: Array, seed: Seed, **parameters: Any) -> Any:
    from umap import UMAP  # compiles for seconds: only when asked for

    return UMAP(**parameters, random_state=seed, n_jobs=_threads(seed))


METHODS: dict[str, Method] = {
    "MultiscaleEmbedding": Method(_multiscale, ours=True),
    "SDPEmbedding, overlap": Method(functools.partial(_sdp, kernel="overlap"), ours=True),
    "SDPEmbedding, neighbors": Method(functools.partial(_sdp, kernel="neighbors"), ours=True),
    "SDPEmbedding": Method(functools.partial(_sdp, kernel="gaussian"), ours=True),
    "RKHSEmbedding": Method(_rkhs, ours=True),
    "DiffusionMap": Method(_diffusion),
    "UMAP": Method(_umap),
    "UMAP, tuned": Method(_umap, _grid(n_neighbors=(5, 15, 30), min_dist=(0.0, 0.1))),
    "t-SNE": Method(_tsne),
    "PaCMAP": Method(_pacmap),
    "SpectralEmbedding": Method(_spectral),
    "SpectralEmbedding, tuned": Method(_spectral, _grid(n_neighbors=(5, 10, 20), columns=(2, 8))),
    "KernelPCA": Method(_kernel_pca),
    "PCA": Method(_pca),
    "no embedding": Method(_raw),
}
