"""Data, weights and bounds that estimators cannot take: each is refused by its name, with what is allowed and what came."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from faults.case import Case, Error, Right, Warned

case = partial(Case, "input")
nan, inf = np.nan, np.inf
X = np.random.default_rng(0).standard_normal((30, 3))
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))
ONES = np.ones(30)
ESTIMATORS = (SDPEmbedding, RKHSEmbedding, DiffusionMap)
CERTIFIED = (SDPEmbedding, RKHSEmbedding)
KERNEL = (SDPEmbedding, DiffusionMap)
METHODS = [
    (E, method) for E in ESTIMATORS for method in ("transform", "score_samples", "learned_kernel") if hasattr(E, method)
]


def changed(array: np.ndarray, *indices: Any, value: Any) -> np.ndarray:
    array = array.copy()
    for index in indices:
        array[index] = value
    return array


# What is given as X; the message; the type of the exception.
MASKED = np.ma.masked_array(X, mask=X > 2)
DATES = np.arange(90).reshape(30, 3).astype("M8[s]")
FRAME = pd.DataFrame({"a": np.arange(30.0), "kind": list("uvw") * 10})
DATA: dict[str, tuple[Any, str, Any]] = {
    "inf": (changed(X, (3, 1), value=inf), "X.*infinity.*row 3, column 1", ValueError),
    "NaN": (changed(X, (3, 1), value=nan), "X.*NaN.*row 3, column 1", ValueError),
    "one dimension": (X[:, 0], "Expected 2D array, got 1D array instead", ValueError),
    "three dimensions": (X[None], "Found array with dim 3", ValueError),
    "no rows": (X[:0], r"Found array with 0 sample\(s\)", ValueError),
    "no columns": (X[:, :0], r"Found array with 0 feature\(s\)", ValueError),
    "complex numbers": (X + 1j, "Complex data not supported", ValueError),
    "sparse matrix": (sparse.csr_array(X), "Sparse data was passed|`X` must be dense for .*got a sparse", TypeError),
    "text": (np.array([["a", "b", "c"], ["d", "e", "f"]]), "`X`.*row 0, column 0.*'a'", ValueError),
    "frame with a column of text": (FRAME, "X.*'kind'.*'u'", ValueError),
    "None": (None, "X.*None", ValueError),
    "dictionary": ({"a": 1}, "X.*dict", ValueError),
    "masked array": (MASKED, "X.*mask", ValueError),
    "dates": (DATES, r"X.*datetime64", ValueError),
    "dates with one missing": (changed(DATES, (3, 1), value="NaT"), r"X.*datetime64", ValueError),
}


@cache
def fitted(Estimator: type) -> Any:
    return Estimator(**({"random_state": 0} if Estimator in CERTIFIED else {})).fit(X)


def data_cases() -> list[Case]:
    at_fit = [
        case(f"fit, X: {name}", lambda E, bad=bad: E().fit(bad), Error(message, error), values=ESTIMATORS)
        for name, (bad, message, error) in DATA.items()
    ]
    later = [
        case(
            f"transform, score_samples, learned_kernel, X: {name}",
            lambda pair, bad=bad: getattr(fitted(pair[0]), pair[1])(bad),
            Error(message, error),
            values=tuple(METHODS),
        )
        for name, (bad, message, error) in DATA.items()
        if name != "frame with a column of text"  # a model of columns without names asks for names first
    ]
    return at_fit + later


ROWS = [
    case(
        "fit, X: one row",
        lambda E: E().fit(X[:1]),
        Error(r"Found array with 1 sample\(s\).*minimum of 2 is required by"),
        values=ESTIMATORS,
    ),
    case(
        "fit, X: two rows",
        lambda: SDPEmbedding(bandwidth=1.0).fit(X[:2]),
        Right("one column, of opposite signs", lambda est: est.embedding_.shape == (2, 1) and est.embedding_.prod() < 0),
    ),
    case(
        "fit, X: equal rows, and a rule for σ",
        lambda make: make.fit(np.full((30, 3), 2.5)),
        Error("`(bandwidth|length_scale)` cannot be chosen by a rule when all points are identical"),
        values=(*(E(bandwidth=rule) for E in KERNEL for rule in ("auto", "knn", "median")), RKHSEmbedding()),
    ),
    case(
        "methods, X: another number of columns",
        lambda pair: getattr(fitted(pair[0]), pair[1])(X[:, :2]),
        Error("X has 2 features, but .* is expecting 3 features"),
        values=tuple(METHODS),
    ),
    case(
        "learned_kernel, second argument: another number of columns",
        lambda: fitted(SDPEmbedding).learned_kernel(X, X[:, :2]),
        Error("X has 2 features, but SDPEmbedding is expecting 3 features"),
    ),
    case(
        "methods before fit",
        lambda pair: getattr(pair[0](), pair[1])(X),
        Error("This .* instance is not fitted yet", NotFittedError),
        values=(*METHODS, (SDPEmbedding, "get_feature_names_out"), (SDPEmbedding, "save")),
    ),
    case(
        "transform, X: frame with columns of other names",
        lambda: (
            SDPEmbedding(bandwidth=1.0)
            .fit(pd.DataFrame(X, columns=list("abc")))
            .transform(pd.DataFrame(X, columns=list("abd")))
        ),
        Error("feature names should match those that were passed during fit"),
    ),
    case(
        "fit, dense distances to kernel='neighbors'",
        lambda: SDPEmbedding(kernel="neighbors", random_state=0).fit(pairwise_distances(X)),
        Warned("like a matrix of distances.*metric='precomputed'", lambda est: est.n_features_in_ == 30),
    ),
]


def weight_cases() -> list[Case]:
    table: dict[str, tuple[Any, str]] = {
        "negative": (changed(ONES, 4, value=-2.0), r"must be non-negative and finite, got -2\.0 at row 4"),
        "NaN": (changed(ONES, 4, value=nan), "must be non-negative and finite, got nan at row 4"),
        "inf": (changed(ONES, 4, value=inf), "must be non-negative and finite, got inf at row 4"),
        "all zero": (np.zeros(30), "must be positive for at least .: the weight is zero for .*30|positive for at least"),
        "too short": (np.ones(29), r"must have one entry per row, shape \(30,\), got shape \(29,\)"),
        "two dimensions": (np.ones((30, 1)), r"must have one entry per row, shape \(30,\), got shape \(30, 1\)"),
        "text": (["a"] * 30, "must be .*(text|dtype <U1|'a')"),
        "a word": ("balanced", "must .*got"),
        "dictionary": ({0: 1.0}, "must .*got"),
        "complex numbers": (ONES + 1j, "must be an array of real numbers, got dtype complex128"),
        "masked array": (np.ma.masked_array(ONES, mask=X[:, 0] > 1), "must be .*without a mask"),
        "dates": (np.arange(30).astype("M8[s]"), "must be an array of real numbers, got dtype datetime64"),
        "None in a list": ([None] * 30, "must be .*got"),
    }
    return [
        case(
            f"fit, sample_weight: {name}",
            lambda E, bad=bad: E().fit(X, sample_weight=bad),
            Error(f"`sample_weight` {message}"),
            values=ESTIMATORS,
        )
        for name, (bad, message) in table.items()
    ]


def diagonal_cases() -> list[Case]:
    table: dict[str, tuple[Any, str]] = {
        "zero": (changed(ONES, 7, value=0.0), r"be positive and finite, got 0\.0 at row 7"),
        "negative": (changed(ONES, 7, value=-1.0), r"be positive and finite, got -1\.0 at row 7"),
        "NaN": (changed(ONES, 7, value=nan), "be positive and finite, got nan at row 7"),
        "too short": (np.ones(29), r"have one entry per row, shape \(30,\), got shape \(29,\)"),
        "two dimensions": (np.ones((30, 1)), r"have one entry per row, shape \(30,\), got shape \(30, 1\)"),
        "None": (None, "have one entry per row"),
        "a number": (1.0, r"have one entry per row, shape \(30,\), got shape \(\)"),
        "complex numbers": (ONES + 1j, "be an array of real numbers, got dtype complex128"),
        "masked array": (np.ma.masked_array(ONES), "be an array without a mask"),
        "function of another shape": (
            lambda rows: np.ones((len(rows), 2)),
            r"have one entry per row, .*got shape \(30, 2\)",
        ),
        "function that gives a number": (lambda rows: 1.0, r"have one entry per row, shape \(30,\), got shape \(\)"),
        "function that gives negative numbers": (lambda rows: -np.ones(len(rows)), "be positive and finite, got -1"),
        "function that gives text": (lambda rows: ["a"] * len(rows), "be an array of real numbers, got dtype <U1"),
    }
    return [
        case(
            f"`diagonal`: {name}",
            lambda E, bad=bad: E(diagonal=bad).fit(X),
            Error(f"`diagonal` must {message}"),
            values=CERTIFIED,
        )
        for name, (bad, message) in table.items()
    ]


def start_cases() -> list[Case]:
    table = {
        "text": ("a", "must be an array of real numbers, got dtype <U1"),
        "another number of rows": (np.ones((3, 2)), r"must be an array of shape \(30, r\), got shape \(3, 2\)"),
        "one dimension": (np.ones(30), r"must be an array of shape \(30, r\), got shape \(30,\)"),
        "no columns": (np.ones((30, 0)), r"must be an array of shape \(30, r\), got shape \(30, 0\)"),
        "NaN": (np.full((30, 2), nan), "must be finite, got nan at row 0, column 0"),
        "masked array": (MASKED, "must be an array without a mask"),
    }
    return [
        case(f"fit, start: {name}", lambda bad=bad: SDPEmbedding().fit(X, start=bad), Error(f"`start` {message}"))
        for name, (bad, message) in table.items()
    ]


CASES = [
    *data_cases(),
    *ROWS,
    *weight_cases(),
    *diagonal_cases(),
    *start_cases(),
]
