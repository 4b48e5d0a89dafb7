"""Kernels, kernel matrices and graphs of distances that users give, and that are none."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from elliptope import DiffusionMap, SDPEmbedding
from elliptope.kernels import Matern
from faults.case import Case, Error, Right, Warned
from faults.inputs import KERNEL, K, X, changed

case = partial(Case, "input")
nan = np.nan
GRAPH = kneighbors_graph(X, 8, mode="distance", include_self=True)


def gauss(A: Any, B: Any) -> np.ndarray:
    return np.exp(-((A[:, None] - B) ** 2).sum(axis=-1))


def overwriting(A: Any, B: Any) -> np.ndarray:
    """The Gaussian kernel, by a function that uses its argument as working space."""
    values = gauss(A, B)
    A *= 0.0
    return values


def matrix_cases() -> list[Case]:
    table = {
        "not square": (K[:20], r"must be a square kernel matrix for kernel='precomputed', got shape \(20, 30\)"),
        "not symmetric": (
            changed(K, (0, 1), value=0.9),
            r"must be symmetric for kernel='precomputed', got max\|K - K.T\| = 0\.",
        ),
        "not psd": (changed(K, (0, 1), (1, 0), value=3.0), "must be positive semi-definite .*smallest eigenvalue of -2"),
        "negative entry": (changed(K, (0, 1), (1, 0), value=-0.1), r"must be non-negative .*minimum of -0\.1"),
        "zero on the diagonal": (changed(K, (2, 2), value=0.0), "must be positive on the diagonal .*minimum of 0"),
        "NaN": (changed(K, (0, 1), (1, 0), value=nan), "contains NaN"),
    }
    later = {
        "another number of columns": (K[:, :20], "X has 20 features, but .* is expecting 30 features"),
        "negative": (-K[:2], "`kernel` must be non-negative"),
        "NaN": (changed(K, (0, 1), value=nan), "contains NaN"),
        "rows of zeros": (changed(K, slice(2, 4), value=0.0), "kernel vanishes for every training point.*rows 2, 3"),
    }
    return [
        case(
            f"kernel='precomputed', fit: {name}",
            lambda E, bad=bad: E(kernel="precomputed").fit(bad),
            Error(message),
            values=KERNEL,
        )
        for name, (bad, message) in table.items()
    ] + [
        case(
            f"kernel='precomputed', transform: {name}",
            lambda E, bad=bad: E(kernel="precomputed").fit(K).transform(bad),
            Error(message),
            values=KERNEL,
        )
        for name, (bad, message) in later.items()
    ]


def callable_cases() -> list[Case]:
    """What is refused of a precomputed matrix is refused of a function that gives the same matrix."""
    table: dict[str, tuple[Any, str]] = {
        "another shape": (lambda A, B: A, r"must return an array of shape \(30, 30\).*got shape \(30, 3\)"),
        "NaN": (lambda A, B: gauss(A, B) * nan, "must give finite values"),
        "negative": (lambda A, B: -gauss(A, B), "must .*minimum of -"),
        # Positive row sums, so that only a look at the entries finds the negative ones.
        "some negative": (lambda A, B: (A @ B.T + 2) ** 3, "must be non-negative"),
        "not symmetric": (lambda A, B: np.exp(-np.abs(A[:, :1] - 1.1 * B[:, 0])), "must be symmetric"),
        "text": (lambda A, B: [["a"] * len(B)] * len(A), "must .*(real|number)"),
        "None": (lambda A, B: None, "must"),
        "complex numbers": (lambda A, B: gauss(A, B) + 1j, "must .*real"),
    }
    return [
        case(
            f"function as kernel: {name}",
            lambda E, bad=bad: E(kernel=bad).fit(X),
            Error(f"`kernel` {message}"),
            values=KERNEL,
        )
        for name, (bad, message) in table.items()
    ]


def graph_cases() -> list[Case]:
    def asymmetric() -> Any:
        graph = GRAPH.tolil()
        graph[0, 1], graph[1, 0] = 1.0, 2.0
        return graph.tocsr()

    table = {
        "not square": (GRAPH[:20], r"X.*square|`X` must"),
        "negative distance": (-GRAPH, "`X` must hold distances from 0 to"),
        "two distances for a pair": (
            asymmetric(),
            "`X` must hold one distance for every pair of points, got two for points",
        ),
        "no entries": (sparse.csr_array((30, 30)), "`X` must hold the distance to another point in every row; row 0 has"),
        "NaN": (GRAPH * nan, "contains NaN"),
    }
    return [
        case(
            f"graph to kernel='neighbors': {name}",
            lambda bad=bad: SDPEmbedding(kernel="neighbors", n_neighbors=6, metric="precomputed").fit(bad),
            Error(message),
        )
        for name, (bad, message) in table.items()
    ]


SINGLE = [
    case(
        "kernel='precomputed': rounding of 1e-12",
        lambda: SDPEmbedding(kernel="precomputed", random_state=0).fit(K + 1e-12 * np.random.default_rng(1).random(K.shape)),
        Right(
            "the embedding of the Gaussian kernel itself",
            lambda est: np.testing.assert_allclose(
                abs(est.embedding_), abs(SDPEmbedding(bandwidth=1.0, random_state=0).fit(X).embedding_), atol=1e-4
            ),
        ),
    ),
    case(
        "kernel='precomputed': transform where k(x, x) is unknown",
        lambda: SDPEmbedding(kernel="precomputed").fit(np.outer(w := np.linspace(1, 2, 30), w) * K).transform(K),
        Error(r"k\(x, x\) differs between training points.*diagonal='constant'"),
    ),
    case(
        "`diagonal`: function that is negative for a new point",
        lambda: SDPEmbedding(bandwidth=1.0, diagonal=lambda rows: 10.0 - rows[:, 0]).fit(X).transform([[20.0, 0.0, 0.0]]),
        Error(r"`diagonal` must be positive and finite, got -10"),
    ),
    case(
        "function as kernel that overwrites its argument",
        lambda: SDPEmbedding(kernel=overwriting, random_state=0).fit(X),
        Right(
            "the embedding of the same kernel, which overwrites nothing",
            lambda est: np.testing.assert_allclose(
                est.embedding_, SDPEmbedding(kernel=gauss, random_state=0).fit(X).embedding_, atol=1e-6
            ),
        ),
    ),
    case(
        "function as kernel that raises",
        lambda: SDPEmbedding(kernel=lambda A, B: 1 / 0).fit(X),
        Error("division by zero", ZeroDivisionError),
    ),
    case(
        "`n_neighbors` above the number of distinct points",
        lambda: SDPEmbedding(kernel="neighbors", n_neighbors=31, random_state=0).fit(X),
        Warned(
            "`n_neighbors` is 10 in place of 31: `X` has no more than 30 distinct rows", lambda est: est.n_neighbors_ == 10
        ),
    ),
    case(
        "`n_neighbors`: 1 with kernel='neighbors'",
        lambda: SDPEmbedding(kernel="neighbors", n_neighbors=1).fit(X),
        Error(r"`n_neighbors` must be an integer of at least 2, got 1"),
    ),
    case(
        "kernel='neighbors', data of size 1e160",
        lambda: SDPEmbedding(kernel="neighbors").fit(1e160 * X),
        Error(r"`X` must be at most 1e\+150 in size.*got"),
    ),
    case(
        "kernel='neighbors', data of size 1e-200",
        lambda: SDPEmbedding(kernel="neighbors").fit(1e-200 * X),
        Error(r"`X` must have distances of at least 1e-150.*Scale it up"),
    ),
    case(
        "kernel='neighbors', fitted to a graph, transform of an array",
        lambda: SDPEmbedding(kernel="neighbors", n_neighbors=6).fit(GRAPH).transform(GRAPH.toarray()),
        Error("must be a sparse graph of distances, as it was in `fit`"),
    ),
    case(
        "kernel='neighbors', fitted to an array, transform of a graph",
        lambda: SDPEmbedding(kernel="neighbors", n_neighbors=6).fit(X).transform(GRAPH),
        Error("X has 30 features, but SDPEmbedding is expecting 3 features as input"),
    ),
    case(
        "kernel='overlap', graph of fewer neighbours than `n_neighbors`",
        lambda: SDPEmbedding(kernel="overlap", n_neighbors=15, random_state=0).fit(GRAPH),
        Warned(
            "`n_neighbors` = 15 has no effect: no row of `X` has the distances to more than 8 points",
            lambda est: np.testing.assert_allclose(
                est.embedding_, SDPEmbedding(kernel="overlap", n_neighbors=8, random_state=0).fit(X).embedding_, atol=1e-6
            ),
        ),
    ),
    case(
        "`metric`: 'cubic', '', None, 3",
        lambda value: SDPEmbedding(kernel="overlap", metric=value).fit(X),
        Error("`metric` must be one of 'braycurtis', .*or a callable d\\(x, y\\), got {value}"),
        values=("cubic", "", None, 3),
    ),
    case(
        "`metric`: 'cosine' with the kernels 'gaussian', 'laplacian', 'precomputed'",
        lambda value: SDPEmbedding(kernel=value, metric="cosine").fit(X),
        Error("`metric` must be 'euclidean' for this kernel, got 'cosine'; 'neighbors' and 'overlap' take others"),
        values=("gaussian", "laplacian", "precomputed"),
    ),
    case(
        "metric='cosine', a row of zeros",
        lambda: SDPEmbedding(kernel="overlap", n_neighbors=6, metric="cosine").fit(changed(X, (4, slice(None)), value=0.0)),
        Error("`X` must have no rows without a direction: of zeros for metric='cosine'.*Leave out row 4 "),
    ),
    case(
        "metric='cosine', transform of a row of zeros",
        lambda: SDPEmbedding(kernel="overlap", n_neighbors=6, metric="cosine").fit(X).transform(np.zeros((1, 3))),
        Error("`X` must have no rows without a direction.*Leave out row 0 "),
    ),
    case(
        "metric='haversine', three columns",
        lambda: SDPEmbedding(kernel="overlap", metric="haversine").fit(X),
        Error("`X` must have 2 columns, latitude and longitude in radians, for metric='haversine', got 3"),
    ),
    case(
        "metric='hamming', sparse rows",
        lambda: SDPEmbedding(kernel="overlap", metric="hamming").fit(sparse.csr_array(X)),
        Error("`X` must be dense for metric='hamming', got a sparse matrix; 'cosine', 'euclidean' and 'manhattan' take one"),
    ),
    case(
        "function as metric: NaN, negative, one between equal rows",
        lambda value: SDPEmbedding(kernel="overlap", metric=lambda x, y: value).fit(X),
        Error("`metric` must (give finite numbers of at least 0|be 0 between equal rows), got .* from '<lambda>'"),
        values=(nan, -1.0, 1.0),
    ),
    case(
        "kernel='neighbors', equal rows",
        lambda: SDPEmbedding(kernel="neighbors").fit(np.ones((30, 2))),
        Error("`X` must have at least 2 distinct points, got 1"),
    ),
    case(
        "kernel='neighbors' in a diffusion map of more components than there are",
        lambda: DiffusionMap(30, kernel="neighbors", n_neighbors=6).fit(X),
        Error("`n_components` must be at most n - 1 = 29 for 30 samples of positive weight, got 30"),
    ),
    case(
        "kernel='neighbors', `operator`: 'tiled'",
        lambda value: SDPEmbedding(kernel="neighbors", operator=value).fit(X),
        Error("`operator` must be one of .* for kernel='neighbors', got {value}"),
        values=("tiled",),
    ),
    case(
        "Matern kernel, bandwidth: 0, -1, nan, 'a'",
        lambda value: Matern(value),
        Error("`bandwidth` must be .*got {value}"),
        values=(0, -1, nan, "a"),
    ),
    case(
        "two groups of points that do not see each other, kernel='neighbors'",
        lambda: SDPEmbedding(kernel="neighbors", n_neighbors=5, random_state=0).fit(np.vstack([X, X + 1e3])),
        Warned("form 2 separate groups; how the groups lie to each other may be arbitrary"),
    ),
]
CASES = [*matrix_cases(), *callable_cases(), *graph_cases(), *SINGLE]
