"""What surrounds a fit: global state, memory layout, interruptions, callbacks that fail."""

from __future__ import annotations

import random
import signal
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

import elliptope
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, bandwidth_path
from elliptope.sdp import solve
from faults.case import Case, Error, Right, Warned

case = partial(Case, "runtime")
X = np.random.default_rng(0).standard_normal((40, 3))


@cache
def reference() -> SDPEmbedding:
    return SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)


def equal_to_reference(Z: np.ndarray) -> None:
    np.testing.assert_array_equal(Z, reference().embedding_)


SAME = Right("the embedding of the same numbers, to the last bit", equal_to_reference)


def embedding(data: Any) -> np.ndarray:
    return SDPEmbedding(bandwidth=1.5, random_state=0).fit(data).embedding_


def read_only() -> np.ndarray:
    data = X.copy()
    data.flags.writeable = False
    return data


def memory_map() -> np.ndarray:
    np.save("X.npy", X)
    return np.load("X.npy", mmap_mode="r")


ARRAYS = [
    case(f"X: {name}", lambda make=make: embedding(make()), SAME)
    for name, make in {
        "read-only": read_only,
        "a memory map": memory_map,
        "Fortran order": lambda: np.asfortranarray(X),
        "every second row of a larger array": lambda: np.repeat(X, 2, axis=0)[::2],
        "backwards": lambda: X[::-1].copy()[::-1],
        "nested lists": X.tolist,
        "columns of a larger array": lambda: np.hstack([X, X])[:, :3],
        "columns backwards": lambda: X[:, ::-1].copy()[:, ::-1],
        "broadcast rows": lambda: np.broadcast_to(X, (2, *X.shape))[1],
    }.items()
]


def untouched(state: Callable[[], Any]) -> bool:
    before = state()
    SDPEmbedding(bandwidth=1.5, random_state=0).fit(X).transform(X)
    RKHSEmbedding(random_state=0).fit(X).transform(X)
    DiffusionMap().fit(X)
    reference().save("m")
    elliptope.load("m").transform(X)
    return before == state()


def numpy_rng() -> tuple:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return kind, tuple(keys), *rest


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info()]


def data_unchanged() -> bool:
    data, w = X.copy(), np.linspace(1, 2, 40)
    kept = data.copy(), w.copy()
    for Estimator in (SDPEmbedding, RKHSEmbedding, DiffusionMap):
        Estimator().fit(data, sample_weight=w).transform(data)
    return (data == kept[0]).all() and (w == kept[1]).all()


UNTOUCHED = [
    case(f"{name} after fit, transform, save and load", lambda state=state: untouched(state), Right("as before", bool))
    for name, state in {
        "NumPy's global random state": numpy_rng,
        "Python's random state": random.getstate,
        "the number of BLAS threads": blas_threads,
        "np.geterr": np.geterr,
        "warning filters": lambda: list(warnings.filters),
        "signal handlers": lambda: {number: signal.getsignal(number) for number in signal.valid_signals()},
    }.items()
] + [
    case("data and weights after fits", data_unchanged, Right("as before", bool)),
    case(
        "random_state=None after np.random.seed(0), twice",
        lambda: [(np.random.seed(0), SDPEmbedding(bandwidth=1.5).fit(X).embedding_)[1] for _ in range(2)],  # noqa: NPY002
        Right("twice the same, as everywhere in scikit-learn", lambda Z: (Z[0] == Z[1]).all()),
    ),
]


class Failure(Exception):
    pass


def interrupt(_: Any) -> None:
    raise KeyboardInterrupt


def fail(*_: Any) -> None:
    raise Failure("it failed")


def after_failed_refit(**change: Any) -> np.ndarray:
    """`transform` after a refit that raised: on other data, with a parameter that is changed and changed back."""
    est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)
    start = change.pop("start", None)
    kept = {name: getattr(est, name) for name in change}
    try:
        est.set_params(**change).fit(np.hstack([X, X[:, :2]]), start=start)
    except (ValueError, Failure):
        est.set_params(**kept)
        return est.transform(X)
    raise AssertionError("the refit should have failed")


def failed_first_fit() -> Any:
    est = SDPEmbedding(bandwidth=1.5)
    try:
        est.fit(X, start=np.ones((3, 2)))
    except ValueError:
        return est.transform(X)
    raise AssertionError("the fit should have failed")


def changed_normalize() -> float:
    est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(X).set_params(normalize="unit")
    return np.abs(est.transform(X) - est.embedding_).max()


AFTER_FAILURE = Right("the embedding of before", lambda Z: np.testing.assert_array_equal(Z, reference().transform(X)))
FAILURES = [
    case("transform after a refit with a bad start", lambda: after_failed_refit(start=np.ones((3, 2))), AFTER_FAILURE),
    case("transform after a refit with a bad parameter", lambda: after_failed_refit(tol=-1), AFTER_FAILURE),
    case("transform after a refit with a kernel that raises", lambda: after_failed_refit(kernel=fail), AFTER_FAILURE),
    case(
        "transform after a first fit that failed",
        failed_first_fit,
        Error("This SDPEmbedding instance is not fitted yet", NotFittedError),
    ),
    case(
        "transform after set_params(normalize='unit')",
        changed_normalize,
        Right("embedding_", lambda difference: difference < 1e-5),
    ),
    case(
        "Ctrl-C during sdp.solve",
        lambda: solve(np.exp(-((X[:, None] - X) ** 2).sum(-1)), callback=interrupt),
        Right("the best iterate so far, and its status", lambda solution: solution.status == "interrupted"),
    ),
    case(
        "Ctrl-C during bandwidth_path, after the first bandwidth",
        lambda: bandwidth_path(X, [1.0, 2.0, 3.0], random_state=0, callback=interrupt),
        Warned("ended early, bandwidths missing: 2", lambda path: [record.bandwidth for record in path.records] == [3.0]),
    ),
    case(
        "callback of bandwidth_path that raises",
        lambda: bandwidth_path(X, [1.0, 2.0], callback=fail),
        Error("it failed", Failure),
    ),
    case(
        "warnings as errors",
        lambda: with_errors(lambda: SDPEmbedding(bandwidth=1.0, max_iter=1).fit(X)),
        Error("SDPEmbedding ended with status 'max_iter'", UserWarning),
    ),
]


def with_errors(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return run()


CASES = [*ARRAYS, *UNTOUCHED, *FAILURES]
