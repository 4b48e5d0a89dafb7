"""Warnings point to the caller's line, and what callers set for floating-point errors does not disturb anything."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, bandwidth_path, recertify, transform_to
from elliptope._utils.callers import underflows_to_zero, warn
from elliptope.kernels import Gaussian, Laplacian, Matern, kernel_matrix
from elliptope.kernels.bandwidth import knn_bandwidth, median_bandwidth
from elliptope.sdp import certify, solve

X = np.random.default_rng(0).standard_normal((40, 3))
NARROW = SDPEmbedding(bandwidth=1e-9, random_state=0)
FITTED = SDPEmbedding(bandwidth=0.5, random_state=0).fit(X)

# Calls that warn, each on one line.
CALLS = {
    "fit": lambda tmp: clone(NARROW).fit(X),
    "fit_transform": lambda tmp: clone(NARROW).fit_transform(X),
    "fit_transform with set_output": lambda tmp: clone(NARROW).set_output(transform="pandas").fit_transform(X),
    "a pipeline": lambda tmp: make_pipeline(clone(NARROW)).fit_transform(X),
    "a pipeline with a cache": lambda tmp: make_pipeline(clone(NARROW), DiffusionMap(), memory=str(tmp)).fit(X),
    "transform": lambda tmp: FITTED.transform(1e3 * X),
    "transform of a pipeline": lambda tmp: make_pipeline(FITTED).transform(1e3 * X),
    "transform_blocks": lambda tmp: list(FITTED.transform_blocks(1e3 * X)),
    "transform_to": lambda tmp: transform_to(FITTED, 1e3 * X, np.empty((40, FITTED.n_components_))),
    "learned_kernel": lambda tmp: FITTED.learned_kernel(1e3 * X),
    "separate groups": lambda tmp: SDPEmbedding(kernel="neighbors", random_state=0).fit_transform(np.vstack([X, X + 1e3])),
    "zero columns": lambda tmp: SDPEmbedding(20, bandwidth=2.0, random_state=0).fit_transform(X),
    "RKHSEmbedding": lambda tmp: RKHSEmbedding(max_iter=1, regularization=1e-9).fit_transform(X),
    "DiffusionMap": lambda tmp: DiffusionMap(bandwidth=1e9).fit_transform(X),
    "bandwidth_path": lambda tmp: bandwidth_path(X, [1e-9, 2e-9], random_state=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_to_the_line_of_the_caller(name, tmp_path):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        CALLS[name](tmp_path)
    line = inspect.getsourcelines(CALLS[name])[1]
    ours = [w for w in record if w.category.__name__ in ("UserWarning", "ConvergenceWarning")]
    assert ours
    assert {(w.filename, w.lineno) for w in ours} == {(__file__, line)}


def test_a_warning_without_a_caller():
    """All frames are in the package: the outermost one is named."""
    with pytest.warns(UserWarning, match="text"):
        exec("warn('text')", {"__name__": "elliptope.x", "warn": warn})


NEW = np.vstack([X, 100 * X])
C = Gaussian(0.05)(X)
UNDERFLOWING = {
    **{
        f"SDPEmbedding, {name}": lambda p=p: exercise(SDPEmbedding(random_state=0, **p))
        for name, p in {
            "dense": {"bandwidth": 0.05},
            "tiled": {"bandwidth": 0.05, "operator": "tiled"},
            "laplacian": {"bandwidth": 0.002, "kernel": "laplacian"},
            "matern": {"bandwidth": 0.002, "kernel": "matern"},
            "neighbors": {"kernel": "neighbors", "n_neighbors": 8},
        }.items()
    },
    "RKHSEmbedding": lambda: exercise(RKHSEmbedding(length_scale=0.02, random_state=0)),
    "DiffusionMap": lambda: exercise(DiffusionMap(bandwidth=0.05)),
    "bandwidth_path": lambda: bandwidth_path(X, [0.05, 0.06], random_state=0).aligned,
    "kernels": lambda: [kernel(100 * X) for kernel in (Gaussian(1.0), Laplacian(0.1), Matern(0.1))],
    "kernel_matrix": lambda: kernel_matrix(Gaussian(0.05), X),
    "rules": lambda: [knn_bandwidth(1e-200 * X), median_bandwidth(1e-200 * X)],
    "solve": lambda: [solve(C, rng=0).certificate.relative_gap],
    "certify": lambda: [certify(C, np.eye(40)).relative_gap],
}


def exercise(est):
    """All that an estimator can be asked for."""
    est.fit(X)
    out = [est.embedding_, est.transform(NEW), est.score_samples(NEW), *est.transform_blocks(NEW, 7), *est.score_blocks(NEW)]
    if hasattr(est, "learned_kernel"):
        out += [est.learned_kernel(X), recertify(est).relative_gap]
    return out


@pytest.mark.parametrize("name", UNDERFLOWING)
@pytest.mark.filterwarnings("ignore")
def test_underflow_is_no_error(name):
    expected = UNDERFLOWING[name]()
    with np.errstate(all="raise"):
        found = UNDERFLOWING[name]()
        assert set(np.geterr().values()) == {"raise"}
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_setting_comes_back_after_an_error():
    @underflows_to_zero
    def failing():
        """Text."""
        assert np.geterr()["under"] == "ignore"
        raise RuntimeError

    assert failing.__doc__ == "Text."
    with np.errstate(under="raise"):
        with pytest.raises(RuntimeError):
            failing()
        assert np.geterr()["under"] == "raise"
