"""Weights and data of any size: powers of ten, in which squares overflow or vanish, change nothing but units."""

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import RANK_4, weights
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, load, recertify
from elliptope.operators import weight_unit

X = RANK_4
W = weights(len(X))
D = np.linspace(1, 2, len(X))
NEW = X[:7] + 0.1


def positive(rows):
    return 1 + rows[:, 0] ** 2


# name: (estimator, exponent a such that c times the weights make the embedding c^a times as long)
ESTIMATORS = {
    "dense": (SDPEmbedding(random_state=0), -0.5),
    "tiled": (SDPEmbedding(operator="tiled", random_state=0), -0.5),
    "neighbors": (SDPEmbedding(kernel="neighbors", n_neighbors=12, random_state=0), -0.5),
    "constant diagonal": (SDPEmbedding(diagonal="constant", random_state=0), 0),
    "given diagonal": (SDPEmbedding(diagonal=D, random_state=0), 0),
    "function as diagonal": (SDPEmbedding(diagonal=positive, random_state=0), 0),
    "RKHSEmbedding": (RKHSEmbedding(random_state=0), 0),
    "DiffusionMap": (DiffusionMap(), -0.5),
    "DiffusionMap, time 0": (DiffusionMap(diffusion_time=0), -0.5),
}


def fresh(name):
    est = ESTIMATORS[name][0]
    return est.__class__(**est.get_params())


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("c", [2.0**120, 1e160, 3e299, 1e-160, 1e-299])
def test_weights_times_a_constant(name, c, tmp_path):
    length = c ** ESTIMATORS[name][1]
    one, est = fresh(name).fit(X, sample_weight=W), fresh(name).fit(X, sample_weight=c * W)
    tol = {"rtol": 0, "atol": 1e-7 * np.abs(one.embedding_).max()}
    np.testing.assert_allclose(est.embedding_ / length, one.embedding_, **tol)
    np.testing.assert_allclose(est.transform(NEW) / length, one.transform(NEW), **tol)
    np.testing.assert_allclose(est.transform(X), est.embedding_, rtol=0, atol=1e-6 * np.abs(est.embedding_).max())
    np.testing.assert_allclose(est.score_samples(NEW), one.score_samples(NEW) + math.log(c), rtol=1e-12)
    np.testing.assert_allclose(est.training_.log_density, one.training_.log_density + math.log(c), rtol=1e-12)
    np.testing.assert_array_equal(est.training_.weights, c * W[W > 0])
    # Eigenvalues are those of B, which has the squares of lengths, on L²(w); of DiffusionMap, those of Abar.
    power = 0 if isinstance(est, DiffusionMap) else 1
    np.testing.assert_allclose(est.eigenvalues_ / (c * length**2) ** power, one.eigenvalues_, rtol=1e-7)
    if not isinstance(est, DiffusionMap):
        assert est.status_ == one.status_
        np.testing.assert_allclose(est.learned_kernel(NEW) / length**2, one.learned_kernel(NEW), rtol=0, atol=1e-6)
        assert recertify(est).relative_gap == pytest.approx(recertify(one).relative_gap, abs=1e-8)
    if not callable(getattr(est, "diagonal", None)):
        est.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").transform(NEW), est.transform(NEW))


@pytest.mark.parametrize("name", ["dense", "constant diagonal", "RKHSEmbedding"])
def test_the_certificate_within_the_ordinary_range(name):
    """Documented: c times the weights make the cost c times as large, or c² times; with diagonal="kernel" not at all."""
    c = 2.0**80
    power = {"dense": 0, "constant diagonal": 1, "RKHSEmbedding": 2}[name]
    one, est = fresh(name).fit(X, sample_weight=W), fresh(name).fit(X, sample_weight=c * W)
    assert est.certificate_.objective == pytest.approx(c**power * one.certificate_.objective, rel=1e-6)


def test_the_unit_of_weights():
    """Ordinary weights are used as they are; others in units of a power of four, whose root is exact."""
    for ordinary in (1e-30, 1.0, 7.5, 1e30):
        assert weight_unit(np.array([1e-300, ordinary])) == 1
    for exponent in (-996, -201, -110, 110, 201, 996):
        unit = weight_unit(np.array([1e-9, 1.0]) * 2.0**exponent)
        assert math.frexp(math.sqrt(unit))[0] == 0.5
        assert 0.5 <= 2.0**exponent / unit <= 2


@pytest.mark.parametrize("ratio", [1e-9, 1e-12, 1e-30, 1e-60, 1e-99, 1e-101, 1e-200, 1e-300])
@pytest.mark.parametrize("Estimator", [SDPEmbedding, DiffusionMap])
def test_points_of_hardly_any_weight(Estimator, ratio):
    """They are where points of weight zero are; and `transform` puts them there, too."""
    est, limit = Estimator(bandwidth=3.0), Estimator(bandwidth=3.0)
    if Estimator is SDPEmbedding:
        est.set_params(random_state=0)
        limit.set_params(random_state=0)
    light = np.arange(len(X)) % 8 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that rows are held weakly
        est.fit(X, sample_weight=np.where(light, ratio, 1.0))
        limit.fit(X, sample_weight=np.where(light, 0.0, 1.0))
    close = {"rtol": 0, "atol": max(1e-6, 100 * ratio) * np.abs(limit.embedding_).max()}
    np.testing.assert_allclose(est.embedding_, limit.embedding_, **close)
    np.testing.assert_allclose(est.transform(X), est.embedding_, **close)


def test_diffusion_map_of_an_outlier_of_hardly_any_weight():
    """Its eigenvector has unit norm on L²(w), and so is large there by definition: 1/√w."""
    far = np.vstack([X, X[:1] + 1e4])
    est = DiffusionMap(bandwidth=3.0).fit(far, sample_weight=np.r_[np.ones(len(X)), 1e-30])
    assert est.eigenvalues_[0] == pytest.approx(1)
    assert np.abs(est.embedding_[-1]).max() == pytest.approx(1e15, rel=1e-6)
    np.testing.assert_allclose(est.transform(far), est.embedding_, rtol=1e-6, atol=1e-10)


def test_all_weight_on_one_point():
    with pytest.raises(ValueError, match="the weight is zero for 39 of 40, or less than 1e-100 of the largest"):
        SDPEmbedding().fit(X, sample_weight=np.r_[1.0, np.full(39, 1e-150)])


DATA = [name for name in ESTIMATORS if name not in ("neighbors", "function as diagonal")]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("exponent", [-440, -530, -1000])
def test_data_at_a_tiny_scale(name, exponent):
    """Multiplied by a power of two, which rounds nothing, data give the same embedding."""
    one, est = fresh(name).fit(X), fresh(name).fit(np.ldexp(X, exponent))
    tol = {"rtol": 0, "atol": 1e-9 * np.abs(one.embedding_).max()}
    np.testing.assert_allclose(est.embedding_, one.embedding_, **tol)
    np.testing.assert_allclose(est.transform(np.ldexp(NEW, exponent)), one.transform(NEW), **tol)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
@pytest.mark.parametrize("operator", ["dense", "tiled"])
def test_a_given_bandwidth_at_a_tiny_scale(kernel, operator):
    parameters = {"kernel": kernel, "operator": operator, "random_state": 0}
    one = SDPEmbedding(bandwidth=3.0, **parameters).fit(X)
    est = SDPEmbedding(bandwidth=math.ldexp(3.0, -530), **parameters).fit(np.ldexp(X, -530))
    assert est.status_ == one.status_ == "optimal"
    np.testing.assert_allclose(est.embedding_, one.embedding_, rtol=0, atol=1e-9)
    # A row far away does not change what is said of the others.
    far = np.vstack([NEW, np.full((1, X.shape[1]), 1e20)])
    np.testing.assert_allclose(est.transform(np.ldexp(far, -530))[:-1], est.transform(np.ldexp(NEW, -530)), atol=1e-12)


def test_the_neighbour_kernel_refuses_a_tiny_scale():
    with pytest.raises(ValueError, match=r"`X` must have distances of at least 1e-150.*Scale it up"):
        fresh("neighbors").fit(1e-160 * X)
