"""Arguments of functions that are wrong: the solver, paths of bandwidths, streaming, saving."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

import elliptope
from elliptope import (
    DiffusionMap,
    ModelFileError,
    SDPEmbedding,
    bandwidth_path,
    estimate_memory,
    recertify,
    score_to,
    sdp,
    transform_to,
)
from elliptope.sdp import solve
from faults.case import Case, Error, Right
from faults.inputs import K, X, changed, fitted
from faults.parameters import HUGE, NOT_INTEGERS, NOT_POSITIVE
from faults.processes import forked

case = partial(Case, "input")
nan, inf = np.nan, np.inf
C = K - 0.1


def linear(function: Any, dtype: Any = float) -> LinearOperator:
    return LinearOperator((30, 30), matvec=function, matmat=function, dtype=dtype)


COSTS: dict[str, tuple[Any, str]] = {
    "None": (None, r"must be a square symmetric matrix, got shape \(\)"),
    "text": ("a", "must be an array of real numbers, got dtype <U1"),
    "one dimension": (np.ones(3), r"must be a square symmetric matrix, got shape \(3,\)"),
    "not square": (np.ones((3, 4)), r"must be a square symmetric matrix, got shape \(3, 4\)"),
    "no rows": (np.ones((0, 0)), r"must be a square symmetric matrix, got shape \(0, 0\)"),
    "not symmetric": (
        changed(C, (0, 1), value=9.0),
        r"must be symmetric, got max\|C - C.T\| = .* with entries of up to 9",
    ),
    "NaN": (changed(C, (0, 1), (1, 0), value=nan), "must be finite, got nan at row 0, column 1"),
    "inf": (changed(C, (0, 1), (1, 0), value=inf), "must be finite, got inf at row 0, column 1"),
    "complex numbers": (C + 1j, "must be an array of real numbers, got dtype complex128"),
    "masked array": (np.ma.masked_array(C), "must be an array without a mask"),
    "dates": (np.ones((3, 3)).astype("M8[s]"), "must be an array of real numbers, got dtype datetime64"),
    "sparse with NaN": (sparse.csr_array(C * nan), "must be finite, got nan at row 0, column 0"),
    "of size 1e200": (1e200 * C, r"must have a diagonal of at most 1e\+140.*multiply it by a constant"),
    "of size 1e-200": (1e-200 * C, r"products with vectors of size 1 between 1e-140.*multiply it by a constant"),
    "linear operator, NaN": (linear(lambda V: C @ V * nan), "must be finite, got nan at row 0 of a product"),
    "linear operator, complex": (linear(lambda V: C @ V, complex), "must be real, got dtype complex128"),
    "linear operator, not symmetric": (linear(lambda V: np.triu(C) @ V), "must be symmetric, got x'Cy"),
    "linear operator, text": (linear(lambda V: np.full(V.shape, "a")), "must return an array of real numbers, got"),
    "linear operator, too few rows": (
        linear(lambda V: (C @ V)[:20]),
        r"must .*\(30, .*\(20",
    ),
}
DIAGONALS: dict[str, tuple[Any, str]] = {
    "a number": (2.0, r"have one entry per row, shape \(30,\), got shape \(\)"),
    "text": ("a", "be an array of real numbers, got dtype <U1"),
    "too short": (np.ones(3), r"have one entry per row, shape \(30,\), got shape \(3,\)"),
    "negative": (-np.ones(30), r"be positive and finite, got -1\.0 at row 0"),
    "zero": (np.zeros(30), r"be positive and finite, got 0\.0 at row 0"),
    "NaN": (np.full(30, nan), "be positive and finite, got nan at row 0"),
    "masked array": (np.ma.masked_array(np.ones(30)), "be an array without a mask"),
}
SETTINGS: list[tuple[str, tuple, str]] = [
    ("method", ("newton", "", None, 1, nan), "one of 'auto', 'power'"),
    ("rank", (*NOT_INTEGERS, None, "full"), "'auto' or an integer of at least 1"),
    ("tol", NOT_POSITIVE, "positive and finite"),
    ("polish", (0, 1, "a", None), "True or False"),
    ("max_iter", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ("max_products", NOT_INTEGERS, "None or an integer of at least 1"),
    ("rng", ("a", -1, 1.5, [0.5]), "a Generator, a non-negative integer or None"),
    ("callback", (3, "print", False), "a callable or None"),
]


def solver_cases() -> list[Case]:
    costs = [
        case(f"sdp.solve, cost: {name}", lambda bad=bad: solve(bad), Error(f"`cost`.* {message}"))
        for name, (bad, message) in COSTS.items()
    ]
    diagonals = [
        case(f"sdp.solve, diagonal: {name}", lambda bad=bad: solve(C, bad), Error(f"`diagonal` must {message}"))
        for name, (bad, message) in DIAGONALS.items()
    ]
    settings = [
        case(
            f"sdp.solve, {name}: {', '.join(map(repr, values))}",
            lambda value, name=name: solve(C, **{name: value}),
            Error(f"`{name}` must be {allowed}, got {{value}}"),
            values=values,
        )
        for name, values, allowed in SETTINGS
    ]
    return [*costs, *diagonals, *settings]


SOLVER = [
    case(
        "sdp.solve, start: NaN",
        lambda: solve(C, start=np.full((30, 2), nan)),
        Error("`start` must be finite, got nan at row 0"),
    ),
    case(
        "sdp.solve, start: too few rows",
        lambda: solve(C, start=np.ones((3, 2))),
        Error(r"`start` must .*\(30, r\), got shape \(3, 2\)"),
    ),
    case(
        "sdp.solve, method='power' on an indefinite cost",
        lambda: solve(C - 5 * np.eye(30), method="power", rng=0),
        Error("`cost` must be positive semi-definite for the power method.*use 'auto'"),
    ),
    case(
        "sdp.solve, callback that raises", lambda: solve(C, callback=lambda _: 1 / 0), Error("division", ZeroDivisionError)
    ),
    case(
        "sdp.solve, rank above n",
        lambda: solve(C, rank=10**12, rng=0),
        Right(
            "the objective from another start",
            lambda s: np.isclose(s.certificate.objective, solve(C, rng=1).certificate.objective),
        ),
    ),
    case("sdp.solve, a single row", lambda: solve(np.ones((1, 1))), Right("B = 1", lambda s: abs(s.factor) == 1)),
    case(
        "sdp.solve, a cost of zero",
        lambda: solve(np.zeros((5, 5)), rng=0),
        Right("status degenerate", lambda s: s.status == "degenerate"),
    ),
    case(
        "sdp.solve, tuning: 0, None, 'a'",
        lambda value: solve(C, tuning=value),
        Error("`tuning` must be a Tuning, got {value}"),
        values=(0, None, "a"),
    ),
    case(
        "sdp.solve, numbers of 401 digits: tol, max_iter, max_products",
        lambda name: solve(C, **{name: HUGE}),
        Error("`(tol|max_iter|max_products)` must be .*got 10000"),
        values=("tol", "max_iter", "max_products"),
    ),
    case(
        "sdp.certify, factor of another shape",
        lambda: sdp.certify(C, np.ones((3, 2))),
        Error(r"`factor` must .*\(30, r\), got shape \(3, 2\)"),
    ),
    case(
        "sdp.certify, factor with NaN",
        lambda: sdp.certify(C, np.full((30, 2), nan)),
        Error("`factor` must be finite, got nan at row 0"),
    ),
    case(
        "sdp.certify, a factor that is far from optimal",
        lambda: sdp.certify(C, np.eye(30)),
        Right("a bound above the optimum", lambda found: found.upper_bound >= solve(C).certificate.objective),
    ),
]


CERTIFY = [
    case(
        "sdp.certify, tol: 0, nan, 'a'",
        lambda value: sdp.certify(C, np.eye(30), tol=value),
        Error("`tol` must be positive and finite, got {value}"),
        values=(0, nan, "a"),
    ),
    case("sdp.certify, cost with NaN", lambda: sdp.certify(C * nan, np.eye(30)), Error("`cost` must be finite, got nan")),
    case(
        "sdp.certify, rows of length 2",
        lambda: sdp.certify(C, 2 * np.eye(30)),
        Error("`factor` must have rows of length 1, got 2"),
    ),
    case(
        "sdp.certify, diagonal: negative",
        lambda: sdp.certify(C, np.eye(30), -np.ones(30)),
        Error("`diagonal` must be positive and finite, got -1"),
    ),
]


def path(bandwidths: Any = (1.0, 2.0), data: Any = X, **options: Any) -> Any:
    return bandwidth_path(data, bandwidths, **{"random_state": 0, **options})


PATH = [
    case(
        "bandwidth_path, bandwidths: None, 2.0",
        path,
        Error("`bandwidths` must be a sequence of positive numbers, got {value}"),
        values=(None, 2.0),
    ),
    case("bandwidth_path, bandwidths: none", lambda: path([]), Error("`bandwidths` must hold at least 1 value, got none")),
    case(
        "bandwidth_path, bandwidths: 0, -1, nan, inf, '1', True, [1]",
        lambda value: path([1.0, value]),
        Error(r"`bandwidths\[1\]` must be positive and finite, got {value}"),
        values=(0, -1, nan, inf, "1", True, [1]),
    ),
    case(
        "bandwidth_path, bandwidths: a value given twice",
        lambda: path([2.0, 2.0]),
        Right("two equal records", lambda found: (found.records[0].embedding == found.records[1].embedding).all()),
    ),
    case(
        "bandwidth_path, bandwidth", lambda: path(bandwidth=1), Error("`bandwidth` is what varies along the path", TypeError)
    ),
    case(
        "bandwidth_path, a parameter with a typing error",
        lambda: path(diagnal=1),
        Error("unexpected keyword argument 'diagnal'", TypeError),
    ),
    case(
        "bandwidth_path, kernel: 'neighbors', 'precomputed', None",
        lambda value: path(kernel=value),
        Error("`kernel` must be one of 'gaussian', .*, which have a bandwidth to vary, got {value}"),
        values=("neighbors", "precomputed", None),
    ),
    case("bandwidth_path, X: one row", lambda: path(data=X[:1]), Error("minimum of 2 is required by SDPEmbedding")),
    case("bandwidth_path, X with NaN", lambda: path(data=changed(X, (3, 1), value=nan)), Error("X.*NaN")),
    case("bandwidth_path, tol: 0", lambda: path(tol=0), Error("`tol` must be positive and finite, got 0")),
    case(
        "bandwidth_path, sample_weight: too short",
        lambda: path(sample_weight=np.ones(3)),
        Error(r"`sample_weight` must have one entry per row, shape \(30,\), got shape \(3,\)"),
    ),
    case(
        "bandwidth_path, callback: 3, 'print'",
        lambda value: path(callback=value),
        Error("`callback` must be a callable or None, got {value}"),
        values=(3, "print"),
    ),
]
STREAMING = [
    case(
        "transform_blocks, block_rows: 0, -1, 1.5, 'a', True",
        lambda value: list(fitted(SDPEmbedding).transform_blocks(X, value)),
        Error("`block_rows` must be None or an integer of at least 1, got {value}"),
        values=(0, -1, 1.5, "a", True),
    ),
    case(
        "transform_blocks, X: a number",
        lambda: list(fitted(SDPEmbedding).transform_blocks(3)),
        Error("`X` must be an array or an iterable of blocks of rows, got int", TypeError),
    ),
    case(
        "transform_blocks, NaN in the second block",
        lambda: list(fitted(SDPEmbedding).transform_blocks([X, changed(X, (3, 1), value=nan)])),
        Error("NaN at row 33, column 1"),
    ),
    case(
        "transform_to, out: arrays of other shapes, a list",
        lambda out: transform_to(fitted(SDPEmbedding), X, out),
        Error(r"`out` must be the path of a .npy file or a floating-point array of shape \(n, \d\), got (shape|\[)"),
        values=(np.empty((30, 99)), np.empty(30), [[0.0, 0.0]]),
    ),
    case(
        "transform_to, an iterator with more rows than `out`",
        lambda: transform_to(fitted(SDPEmbedding), iter([X, X]), np.empty((40, fitted(SDPEmbedding).n_components_))),
        Error("`out` must have room for all rows of `X`, 60 or more, got 40"),
    ),
    case(
        "transform_to, out: array of integers",
        lambda: transform_to(fitted(SDPEmbedding), X, np.empty((30, fitted(SDPEmbedding).n_components_), int)),
        Error("`out` must be .*floating-point array.*dtype int"),
    ),
    case(
        "transform_to, out: 'a.csv'",
        lambda: transform_to(fitted(SDPEmbedding), X, "a.csv"),
        Error("`out` must be the path of a .npy file or an array, got 'a.csv'"),
    ),
    case(
        "score_to, out: too short",
        lambda: score_to(fitted(SDPEmbedding), X, np.empty(9)),
        Error("`out` must have as many rows as `X`, 30, got 9"),
    ),
]
SAVING = [
    case("load: None", elliptope.load, Error("NoneType", TypeError), values=(None,)),
    case(
        "load: an integer",
        lambda: forked(lambda: elliptope.load(os.open(os.devnull, os.O_RDONLY))),
        Error("path.*int|int.*path", TypeError),
    ),
    case(
        "save: None, 3", lambda value: fitted(SDPEmbedding).save(value), Error("NoneType|int", TypeError), values=(None, 3)
    ),
    case(
        "save, a kernel that is a function",
        lambda: SDPEmbedding(kernel=lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(-1))).fit(X).save("m"),
        Error("`kernel` is .*(kernel='precomputed'|joblib)", ModelFileError),
    ),
    case(
        "save, a random_state that is a RandomState",
        lambda: SDPEmbedding(random_state=np.random.RandomState(0)).fit(X).save("m"),
        Error("`random_state` is .*an integer", ModelFileError),
    ),
    case(
        "save, parameters that `fit` would refuse",
        lambda value: SDPEmbedding(bandwidth=1.0).fit(X).set_params(tol=value).save("m"),
        Error(r"`(parameters\.)?tol`", ModelFileError),
        values=(HUGE, ["a"], {"a": 1}),
    ),
    case(
        "recertify of a diffusion map",
        lambda: recertify(fitted(DiffusionMap)),
        Error("`est` must be an SDPEmbedding, a MultiscaleEmbedding or an RKHSEmbedding, got DiffusionMap", TypeError),
    ),
    case(
        "recertify, K of another shape",
        lambda: recertify(SDPEmbedding(kernel="precomputed").fit(K), K[:5]),
        Error(r"`K` must be the kernel matrix given to `fit`, of shape \(30, 30\), got shape \(5, 30\)"),
    ),
    case(
        "recertify, no K",
        lambda: recertify(SDPEmbedding(kernel="precomputed").fit(K)),
        Error("`K` must be the kernel matrix given to `fit`, got None"),
    ),
    case(
        "estimate_memory, operator: 'csr'",
        lambda: estimate_memory(1000, 3, operator="csr"),
        Error("`operator` must be one of .*, got 'csr'"),
    ),
    case(
        "estimate_memory, n: -5, 1.5, 'a'",
        lambda value: estimate_memory(value, 3),
        Error("`n` must be .*got {value}"),
        values=(-5, 1.5, "a"),
    ),
]
CASES = [*solver_cases(), *SOLVER, *CERTIFY, *PATH, *STREAMING, *SAVING]
