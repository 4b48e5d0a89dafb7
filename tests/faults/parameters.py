"""Parameters of estimators that are wrong: every one is refused by its name, with the allowed range and the value."""

from __future__ import annotations

from functools import partial

import numpy as np

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from faults.case import Case, Error, Warned

case = partial(Case, "input")
nan, inf = np.nan, np.inf
X = np.random.default_rng(0).standard_normal((30, 3))
ESTIMATORS = (SDPEmbedding, RKHSEmbedding, DiffusionMap)
CERTIFIED = (SDPEmbedding, RKHSEmbedding)
KERNEL = (SDPEmbedding, DiffusionMap)
HUGE = 10**400  # beyond the range of floating-point numbers

NOT_INTEGERS = (0, -1, 1.5, "2", True, nan, inf, [1])
NOT_POSITIVE = (0, -1.0, nan, inf, True, None, [1.0], 1j)
# Estimators, a parameter, values that it must not have, and the allowed range in words.
PARAMETERS: list[tuple[tuple, str, tuple, str]] = [
    (CERTIFIED, "n_components", NOT_INTEGERS, "None or an integer of at least 1"),
    ((DiffusionMap,), "n_components", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ((DiffusionMap,), "n_components", (30, 10**12), "at most n - 1 = 29 for 30 samples of positive weight"),
    (KERNEL, "kernel", ("rbf", "", None, 3, nan, ["gaussian"]), "one of 'gaussian', .*, or a callable.*"),
    (KERNEL, "bandwidth", NOT_POSITIVE, "positive and finite"),
    (KERNEL, "bandwidth", ("scott", ""), "a positive number or one of 'auto', 'knn', 'median'"),
    (ESTIMATORS, "normalize", ("l2", "", 0, True, nan, ["unit"]), "one of None, 'unit'"),
    ((SDPEmbedding,), "n_neighbors", (*NOT_INTEGERS, None), "an integer of at least 1"),
    ((SDPEmbedding,), "operator", ("csr", "", None, 1, nan), "one of 'auto', 'dense', 'tiled', .*'dask'"),
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
    ((RKHSEmbedding,), "regularization", ("best", ""), "a positive number, 'auto' or 'theory'"),
    ((RKHSEmbedding,), "jitter", (-1, nan, inf, True, "1", None, [1]), "non-negative and finite"),
    ((DiffusionMap,), "diffusion_time", (-1, nan, inf, True, "1", None, [1]), "non-negative and finite"),
]


def parameter_cases() -> list[Case]:
    return [
        case(
            f"{Estimator.__name__}, `{name}`: {', '.join(map(repr, values))}",
            partial(lambda E, name, value: E(**{name: value}).fit(X), Estimator, name),
            Error(f"`{name}` must be {allowed}[,;]? got {{value}}"),
            values=values,
        )
        for estimators, name, values, allowed in PARAMETERS
        for Estimator in estimators
    ]


SINGLE = [
    case(
        "RKHSEmbedding, regularization='theory', `delta`: 0, 0.7, nan, 'a'",
        lambda value: RKHSEmbedding(regularization="theory", delta=value).fit(X),
        Error("`delta` must lie strictly between 0 and 0.5, got {value}"),
        values=(0, 0.7, nan, "a"),
    ),
    case(
        "RKHSEmbedding, regularization='theory' and weights",
        lambda: RKHSEmbedding(regularization="theory").fit(X, sample_weight=np.arange(30)),
        Error("`regularization` must not be 'theory' when `sample_weight` is not constant"),
    ),
    case(
        "RKHSEmbedding, `direction`: function that is negative somewhere",
        lambda: RKHSEmbedding(direction=lambda rows: rows[:, 0]).fit(X),
        Error("`direction` must be positive and finite, got -"),
    ),
    case(
        "SDPEmbedding, `n_components`: 10**12",
        lambda: SDPEmbedding(10**12).fit(X),
        Error("`n_components` must be .*at most .*got 1000000000000"),
    ),
    case(
        "SDPEmbedding, `n_components` above the rank",
        lambda: SDPEmbedding(20, random_state=0).fit(X),
        Warned("`n_components`.*rank", lambda est: not est.embedding_[:, 10:].any()),
    ),
    case(
        "SDPEmbedding, numbers of 401 digits: `bandwidth`, `tol`, `rank`, `max_iter`",
        lambda name: SDPEmbedding(**{name: HUGE}).fit(X),
        Error("`(bandwidth|tol|rank|max_iter)` must be .*got 10000"),
        values=("bandwidth", "tol", "rank", "max_iter"),
    ),
    case(
        "RKHSEmbedding, numbers of 401 digits: `smoothness`, `length_scale`, `regularization`, `jitter`",
        lambda name: RKHSEmbedding(**{name: HUGE}).fit(X),
        Error("`(smoothness|length_scale|regularization|jitter)` must be .*got 10000"),
        values=("smoothness", "length_scale", "regularization", "jitter"),
    ),
    case(
        "an array for `rank`, `length_scale`",
        lambda make: make(np.ones(3)).fit(X),
        Error("`(rank|length_scale)` must be .*got array"),
        values=(
            lambda value: SDPEmbedding(rank=value),
            lambda value: RKHSEmbedding(rank=value),
            lambda value: RKHSEmbedding(length_scale=value),
        ),
    ),
    case(
        "SDPEmbedding, RKHSEmbedding, `random_state`: -1, 1.5, 'a', 10**12",
        lambda value: [Estimator(random_state=value).fit(X) for Estimator in CERTIFIED],
        Error("`random_state` must be .*got {value}"),
        values=(-1, 1.5, "a", 10**12),
    ),
    case(
        "SDPEmbedding, RKHSEmbedding, `verbose`: 'no', None, [1], nan",
        lambda value: [Estimator(verbose=value).fit(X) for Estimator in CERTIFIED],
        Error("`verbose` must be .*got {value}"),
        values=("no", None, [1], nan),
    ),
    case(
        "RKHSEmbedding, `delta`: 0, 1.5, 'a', nan",
        lambda value: RKHSEmbedding(delta=value).fit(X),
        Error("`delta` must .*got {value}"),
        values=(0, 1.5, "a", nan),
    ),
    case(
        "RKHSEmbedding, `direction`: 'up', '', None, 3",
        lambda value: RKHSEmbedding(direction=value).fit(X),
        Error("`direction` must be .*'mean'.* or a callable.*, got {value}"),
        values=("up", "", None, 3),
    ),
    case(
        "SDPEmbedding, `tol`: 1.5, 1e300",
        lambda value: SDPEmbedding(tol=value).fit(X),
        Error("`tol` must be .*below 1.*got {value}"),
        values=(1.5, 1e300),
    ),
    case(
        "DiffusionMap, `diffusion_time`: 1e12",
        lambda: DiffusionMap(diffusion_time=1e12).fit(X),
        Warned("`diffusion_time`", lambda est: np.isfinite(est.embedding_).all()),
    ),
    case(
        "RKHSEmbedding, `jitter`: 1e300",
        lambda: RKHSEmbedding(jitter=1e300).fit(X),
        Error("`jitter`"),
    ),
]

CASES = [*parameter_cases(), *SINGLE]
