"""The estimator contract of scikit-learn, with no expected failures; also with metadata routing and array API dispatch."""

import copy
import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn import __version__ as sklearn_version
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding
from elliptope._utils import arrays

FOUR = [SDPEmbedding(random_state=0), MultiscaleEmbedding(random_state=0), RKHSEmbedding(random_state=0), DiffusionMap()]
CHECKED = [
    SDPEmbedding(),
    SDPEmbedding(kernel="neighbors"),
    SDPEmbedding(kernel="overlap", n_neighbors=3, metric="manhattan"),
    MultiscaleEmbedding(),
    RKHSEmbedding(),
    DiffusionMap(),
    DiffusionMap(kernel="overlap"),
]
X = scale(load_wine().data)[::3]
W = np.linspace(0.5, 2.0, len(X))

# Checks of array API dispatch ask for SCIPY_ARRAY_API, and have other arguments.
BEFORE_1_9 = tuple(map(int, sklearn_version.split(".")[:2])) < (1, 9)

four = pytest.mark.parametrize("estimator", FOUR, ids=lambda estimator: type(estimator).__name__)


@parametrize_with_checks(CHECKED)
def test_sklearn_contract(estimator, check):
    skip_dispatch_of_old_versions(check)
    check(estimator)


@parametrize_with_checks([CHECKED[0], CHECKED[3], CHECKED[4], CHECKED[5]])
def test_sklearn_contract_with_metadata_routing(estimator, check):
    skip_dispatch_of_old_versions(check)
    with config_context(enable_metadata_routing=True):
        check(estimator)


def skip_dispatch_of_old_versions(check):
    if BEFORE_1_9 and getattr(check, "func", check).__name__ == "check_array_api_input":
        pytest.skip("array API dispatch is checked with scikit-learn 1.9 or later")


# SciPy reads the variable when it is imported: hence another process.
DISPATCH = """
import sys
from sklearn.utils.estimator_checks import check_array_api_input, check_array_api_input_and_values
sys.path.insert(0, sys.argv[1])
from test_sklearn import CHECKED
for estimator in CHECKED:
    name = type(estimator).__name__
    for device, dtype in (("CPU_DEVICE", "float64"), ("device1", "float32")):
        for check in (check_array_api_input, check_array_api_input_and_values):
            check(name, estimator, "array_api_strict", device, dtype, check_sample_weight=True)
print("all checked")
"""


@pytest.mark.skipif(BEFORE_1_9, reason="array API dispatch is checked with scikit-learn 1.9 or later")
def test_array_api_dispatch():
    pytest.importorskip("array_api_strict")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    here = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", DISPATCH, here], capture_output=True, text=True, env=environment)
    assert done.stdout == "all checked\n", done.stderr


@four
@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_single_precision_in_and_out(estimator, library):
    rows = X.astype(np.float32)
    if library != "numpy":
        rows = pytest.importorskip(library).DataFrame({f"c{k}": column for k, column in enumerate(rows.T)})
    in_double, estimator = clone(estimator).fit(X), clone(estimator).fit(rows)
    wanted = {name: getattr(in_double, name)(X) for name in ("fit_transform", "transform", "score_samples")}
    found = {name: getattr(estimator, name)(rows) for name in wanted}
    assert {name: np.asarray(values).dtype for name, values in found.items()} == dict.fromkeys(wanted, np.float32)
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-4, atol=1e-4)
    assert estimator.embedding_.dtype == np.float32
    np.testing.assert_array_equal(estimator.embedding_, found["fit_transform"])


@four
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_that_fit_takes_come_back_without_array_api_compat(estimator, dtype, monkeypatch):
    strict = pytest.importorskip("array_api_strict")
    rows = strict.asarray(X.astype(dtype))
    expected = clone(estimator).fit(X.astype(dtype)).transform(X.astype(dtype))
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setattr(arrays, "_namespaces", {})
    estimator = clone(estimator).fit(rows)
    for found in (estimator.transform(rows), estimator.fit_transform(rows)):
        assert isinstance(found, type(rows))
        assert found.dtype == rows.dtype
    np.testing.assert_array_equal(np.asarray(estimator.transform(rows)), expected)


def test_learned_kernels_keep_single_precision():
    rows = X.astype(np.float32)
    est = SDPEmbedding(random_state=0).fit(rows)
    assert est.learned_kernel(rows).dtype == np.float32
    np.testing.assert_allclose(est.learned_kernel(rows), est.learned_kernel(rows.astype(np.float64)), rtol=1e-5)


def test_rows_beyond_single_precision_keep_their_direction():
    est = SDPEmbedding(bandwidth=1.0, random_state=0).fit(X)
    new = np.vstack([X[:2], X[:1] + 6.0])
    with pytest.warns(UserWarning, match=r"single precision, which ends at 3\.4e\+38, .* row 2"):
        single = est.transform(new.astype(np.float32))
    double = est.transform(new)
    assert np.abs(double[2]).max() > 1e39
    assert np.isfinite(single).all()
    direction = [rows[2] / np.abs(rows[2]).max() for rows in (single.astype(np.float64), double)]
    np.testing.assert_allclose(*direction, rtol=1e-5)
    with pytest.warns(UserWarning, match="single precision"):
        assert np.isfinite(est.learned_kernel(new.astype(np.float32))).all()


@four
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_outputs_are_frames_on_request(estimator, library):
    frames = pytest.importorskip(library)
    estimator = clone(estimator).set_output(transform=library)
    Z, new = estimator.fit_transform(X), estimator.transform(X[:3])
    assert isinstance(Z, frames.DataFrame)
    assert list(Z.columns) == list(new.columns) == list(estimator.get_feature_names_out())
    np.testing.assert_array_equal(Z.to_numpy(), estimator.embedding_)


@four
def test_weights_reach_the_estimator_by_routing(estimator):
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), clone(estimator).set_fit_request(sample_weight=True))
        with pytest.raises(ValueError, match="sample_weight"):
            routed.fit(X, sample_weight=W)
        routed[0].set_fit_request(sample_weight=False)
        Z = routed.fit_transform(X, sample_weight=W)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(Z, clone(estimator).fit_transform(scaled, sample_weight=W))
    assert not np.array_equal(Z, clone(estimator).fit_transform(scaled))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiscaleEmbedding(2, min_dist=0.1), "MultiscaleEmbedding has no `min_dist`: .*EmbeddingDisplay"),
        (
            lambda: MultiscaleEmbedding(spread=1.0, n_epochs=9),
            r"`spread`: use `spreads`.* `n_epochs`: .* are density, device, ",
        ),
        (lambda: DiffusionMap(perplexity=30), "DiffusionMap has no `perplexity`: use `n_neighbors`"),
        (lambda: SDPEmbedding(affinity="rbf", gamma=0.25), "`affinity`: use `kernel`.* `gamma`: use `bandwidth`"),
        (lambda: RKHSEmbedding(diagnal=1.0), r"unexpected keyword argument 'diagnal'"),
    ],
)
def test_parameters_of_other_libraries_are_told_ours(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@four
def test_the_signature_is_that_of_init(estimator):
    assert inspect.signature(type(estimator)).parameters.keys() == estimator.get_params().keys()
    assert (
        copy.deepcopy(estimator).get_params() == pickle.loads(pickle.dumps(estimator)).get_params() == estimator.get_params()
    )


def test_parameters_that_estimators_share_have_one_meaning():
    """Names of scikit-learn where it has one, and the same default wherever a name occurs, with reasons where not."""
    differ = {
        "n_components": "DiffusionMap has no rank to go by",
        "kernel": "MultiscaleEmbedding is for clusters",
        "tol": "MultiscaleEmbedding solves two programs, neither of which is a result by itself",
        "diagonal": "the theory of RKHSEmbedding wants a sum of squares",
    }
    defaults = {}
    for est in FOUR:
        for name, value in type(est)().get_params().items():
            defaults.setdefault(name, {})[type(est).__name__] = value
    found = {name for name, values in defaults.items() if len(set(map(repr, values.values()))) > 1}
    assert found == set(differ)
    assert all(len(defaults[name]) == len(FOUR) for name in ("n_components", "n_jobs", "device"))
