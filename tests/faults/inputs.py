"""Arguments that are wrong: every one is refused by its name, with the allowed range and the value."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from faults.case import Case, Error

case = partial(Case, "input")
nan, inf = np.nan, np.inf
X = np.random.default_rng(0).standard_normal((30, 3))
ESTIMATORS = (SDPEmbedding, RKHSEmbedding, DiffusionMap)
CERTIFIED = (SDPEmbedding, RKHSEmbedding)
HUGE = 10**400  # beyond the range of floating-point numbers

NOT_INTEGERS = (0, -1, 1.5, "2", True, nan, inf, [1])
NOT_POSITIVE = (0, -1.0, nan, inf, True, None, [1.0], 1j)
SWITCHES = ("a", "", 0, True, nan, ["unit"])
# Estimators, a parameter, values that it must not have, and the allowed range in words.
PARAMETERS: list[tuple[tuple, str, tuple, str]] = [
    (CERTIFIED, "n_components", NOT_INTEGERS, "None or an integer of at least 1"),
    ((DiffusionMap,), "n_components", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ((SDPEmbedding,), "kernel", ("rbf", "", None, 3, nan, ["gaussian"]), "one of 'gaussian', .*, or a callable.*"),
    ((DiffusionMap,), "kernel", ("rbf", "", None, 3, nan, ["gaussian"]), "one of 'gaussian', .*, or a callable.*"),
    ((SDPEmbedding, DiffusionMap), "bandwidth", NOT_POSITIVE, "positive and finite"),
    ((SDPEmbedding, DiffusionMap), "bandwidth", ("scott", ""), "a positive number or one of 'auto', 'knn', 'median'"),
    (ESTIMATORS, "normalize", SWITCHES, "one of None, 'unit'"),
    ((SDPEmbedding,), "n_neighbors", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ((SDPEmbedding,), "operator", ("csr", "", None, 1, nan), "one of 'auto', 'dense', 'tiled', 'nystroem', 'sparse'"),
    ((SDPEmbedding,), "n_landmarks", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ((SDPEmbedding,), "solver", ("newton", "", None, 1, nan), "one of 'auto', 'power'"),
    (CERTIFIED, "rank", (*NOT_INTEGERS, None, "full"), "'auto' or an integer of at least 1"),
    (CERTIFIED, "tol", NOT_POSITIVE, "positive and finite"),
    (CERTIFIED, "max_iter", (*NOT_INTEGERS, None), "an integer of at least 1"),
    (ESTIMATORS, "n_jobs", (0, 1.5, "2", True, nan, [1]), "None or an integer other than 0"),
    ((SDPEmbedding,), "diagonal", ("unit", ""), "'kernel', 'constant', an array or a callable"),
    ((RKHSEmbedding,), "diagonal", ("kernel", ""), "'constant', an array or a callable"),
    ((RKHSEmbedding,), "smoothness", (0, -1, nan, inf, "2", True, [1]), "positive and finite"),
    ((RKHSEmbedding,), "smoothness", (1, 1.5, 1e300), r"larger than p/2 = 1\.5 .* and at most .*;"),
    ((RKHSEmbedding,), "length_scale", NOT_POSITIVE, "positive and finite"),
    ((RKHSEmbedding,), "length_scale", ("scott", ""), "a positive number or one of 'auto', 'knn', 'median'"),
    ((RKHSEmbedding,), "regularization", (0, -1.0, nan, inf, True, None, [1.0]), "positive and finite"),
    ((RKHSEmbedding,), "jitter", (-1, nan, inf, True, "1", None, [1]), "non-negative and finite"),
    ((DiffusionMap,), "diffusion_time", (-1, nan, inf, True, "1", None, [1]), "non-negative and finite"),
]


def fit(Estimator: type, name: str, value: Any) -> None:
    Estimator(**{name: value}).fit(X)


def constructor_cases() -> list[Case]:
    return [
        case(
            f"{Estimator.__name__}({name}=...): {', '.join(map(repr, values))}",
            partial(fit, Estimator, name),
            Error(f"`{name}` must be {allowed}[,;]? got {{value}}"),
            values=values,
        )
        for estimators, name, values, allowed in PARAMETERS
        for Estimator in estimators
    ]


def changed(array: np.ndarray, *indices: Any, value: Any) -> np.ndarray:
    array = array.copy()
    for index in indices:
        array[index] = value
    return array


DATA: dict[str, tuple[Any, str, type[Exception]]] = {
    "inf in X": (changed(X, (3, 1), value=inf), "Input X contains infinity", ValueError),
    "X of one dimension": (X[:, 0], "Expected 2D array, got 1D array instead", ValueError),
    "X of three dimensions": (X[None], "Found array with dim 3", ValueError),
    "X without rows": (X[:0], r"Found array with 0 sample\(s\)", ValueError),
    "X without columns": (X[:, :0], r"Found array with 0 feature\(s\)", ValueError),
    "X of text": (np.array([["a", "b", "c"], ["d", "e", "f"]]), "could not convert string to float", ValueError),
    "X of complex numbers": (X + 1j, "Complex data not supported", ValueError),
    "sparse X": (sparse.csr_array(X), "Sparse data was passed for X, but dense data is required", TypeError),
}


def data_cases() -> list[Case]:
    return [
        case(
            f"{name} to {method} of {Estimator.__name__}",
            partial(lambda E, m, bad: getattr(E().fit(X) if m != "fit" else E(), m)(bad), Estimator, method, bad),
            Error(message, error),
        )
        for name, (bad, message, error) in DATA.items()
        for Estimator in ESTIMATORS
        for method in ("fit",)
    ]


SINGLE = [
    case(
        "RKHSEmbedding(direction=...): 'up', '', None, 3",
        partial(fit, RKHSEmbedding, "direction"),
        Error("`direction` must be .*'mean'.* or a callable.*, got {value}"),
        values=("up", "", None, 3),
        pending="the message does not say that a callable is allowed",
    ),
]
CASES = [*constructor_cases(), *data_cases(), *SINGLE]
