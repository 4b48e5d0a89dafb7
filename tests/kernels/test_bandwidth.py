"""Bandwidth rules against brute force over the distinct points."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from elliptope.kernels import bandwidth as rules
from elliptope.kernels.bandwidth import RULES, knn_bandwidth, median_bandwidth, resolve_bandwidth


def brute_knn(X, k=10):
    """Sort all distances of every point; the zeroth is the point itself."""
    D = np.sort(squareform(pdist(np.unique(X, axis=0))), axis=1)
    return float(np.median(D[:, min(k, len(D) - 1)]))


def brute_median(X):
    return float(np.median(pdist(np.unique(X, axis=0))))


BRUTE = {"knn": brute_knn, "median": brute_median}


def cloud(n=61, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * rng.uniform(0.5, 3, p)


@pytest.mark.parametrize("rule", BRUTE)
@pytest.mark.parametrize(("n", "p"), [(61, 1), (61, 3), (202, 8), (61, 30), (62, 100)])
def test_agrees_with_brute_force(rule, n, p):
    X = cloud(n, p)
    # The mean of the two middle distances of an even number of pairs is only second-order sensitive: 1e-6 is exact here.
    assert RULES[rule](X) == pytest.approx(BRUTE[rule](X), rel=1e-6)


def test_by_hand():
    """Distances 1, 2, 3, 4, 6, 7 between four points; with fewer than eleven points the farthest counts in "knn"."""
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    assert median_bandwidth(X) == pytest.approx(3.5, rel=1e-14)
    assert knn_bandwidth(X) == pytest.approx(np.median([7, 6, 4, 7]), rel=1e-14)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 11, 12])
def test_fewer_points_than_neighbours(n):
    X = cloud(n, 2)
    assert knn_bandwidth(X) == pytest.approx(brute_knn(X), rel=1e-12)


@pytest.mark.parametrize("rule", BRUTE)
@settings(max_examples=20, deadline=None)
@given(copies=st.lists(st.integers(1, 30), min_size=23, max_size=23), seed=st.integers(0, 10**6))
def test_duplicates_and_order_change_nothing(rule, copies, seed):
    X = cloud(23, 2, seed)
    repeated = np.random.default_rng(seed).permutation(np.repeat(X, copies, axis=0))
    assert RULES[rule](repeated) == pytest.approx(BRUTE[rule](X), rel=1e-3 if rule == "median" else 1e-12)
    assert RULES[rule](repeated) == RULES[rule](X)


@pytest.mark.parametrize("zeros", [0, 1000])
def test_mostly_duplicates_do_not_give_zero(zeros):
    X = np.vstack([np.zeros((zeros, 2)), [[0.0, -0.0], [3.0, 4.0]]])
    for rule in (knn_bandwidth, median_bandwidth):
        assert rule(X) == pytest.approx(5.0, rel=1e-14)


@pytest.mark.parametrize("rule", BRUTE)
@pytest.mark.parametrize("p", [2, 20, 50])
def test_translation_by_1e8(rule, p):
    """Coordinates on a grid of 2⁻⁴ stay exact at the offset, so the distances do not change."""
    X = np.round(16 * cloud(60, p)) / 16
    assert RULES[rule](X + 1e8) == pytest.approx(RULES[rule](X), rel=1e-12)


@pytest.mark.parametrize("rule", BRUTE)
@pytest.mark.parametrize("p", [2, 50])
@settings(max_examples=15, deadline=None)
@given(exponent=st.integers(-300, 300), seed=st.integers(0, 10**6))
def test_scale_equivariance(rule, p, exponent, seed):
    """Powers of two scale without rounding."""
    X = cloud(25, p, seed)
    assert RULES[rule](math.ldexp(1.0, exponent) * X) == pytest.approx(math.ldexp(RULES[rule](X), exponent), rel=1e-12)


@pytest.mark.parametrize("rule", BRUTE)
@pytest.mark.parametrize("p", [2, 20, 50])
@pytest.mark.parametrize("distance", [1e4, 1e8])
def test_one_outlier_does_not_blur_the_others(rule, p, distance):
    X = cloud(61, p)
    X[5] += distance
    assert RULES[rule](X) == pytest.approx(BRUTE[rule](X), rel=1e-3 if rule == "median" else 1e-6)


@pytest.mark.parametrize("p", [2, 50])
def test_median_of_a_tight_cluster_with_an_outlier(p):
    """The scale of the data is not 1: here distances are 1e-8, but for those of one point."""
    X = 1e-8 * cloud(23, p)
    X[0] += 1.0
    assert median_bandwidth(X) == pytest.approx(brute_median(X), rel=1e-6)


def test_median_of_many_points_uses_a_fixed_sample(monkeypatch):
    X = cloud(400, 2)
    monkeypatch.setattr(rules, "_MEDIAN_SAMPLE", 100)
    assert median_bandwidth(X) == median_bandwidth(X)
    assert median_bandwidth(X) != brute_median(X)
    assert median_bandwidth(X) == pytest.approx(brute_median(X), rel=0.2)


@pytest.mark.parametrize("value", [*RULES, 1.0, 1e200])
@pytest.mark.parametrize("scale", [1e155, 1e200, 1e307])
def test_distances_that_overflow(value, scale):
    """Their kernel would be the identity, whatever the bandwidth, and the search for neighbours fails obscurely."""
    X = scale * cloud()
    with pytest.raises(ValueError, match=r"`X` must have distances between rows below 1e154.* got .*e\+\d+; rescale"):
        resolve_bandwidth(value, X)
    assert resolve_bandwidth("auto", 1e150 * cloud()) == pytest.approx(1e150 * brute_knn(cloud()))


@pytest.mark.parametrize("rule", BRUTE)
def test_errors_go_by_the_name_that_the_caller_uses(rule):
    spread = np.vstack([1e-200 * cloud(), np.ones((1, cloud().shape[1]))])  # squares of most distances underflow
    for X in (np.ones((3, 1)), spread):
        with pytest.raises(ValueError, match="`length_scale` "):
            resolve_bandwidth(rule, X, "length_scale")


@pytest.mark.parametrize("rule", BRUTE)
@pytest.mark.parametrize("exponent", [-500, -535, -1000])
def test_data_whose_squares_underflow(rule, exponent):
    assert RULES[rule](np.ldexp(cloud(), exponent)) == math.ldexp(RULES[rule](cloud()), exponent)


@pytest.mark.parametrize("rule", RULES)
def test_resolve_applies_the_rule(rule):
    X = cloud()
    assert RULES["auto"] is knn_bandwidth
    assert resolve_bandwidth(rule, X) == RULES[rule](X)


@pytest.mark.parametrize("value", [0.5, 3, np.float32(0.25), np.int64(2)])
def test_numbers_pass_through(value):
    found = resolve_bandwidth(value, np.zeros((3, 1)))
    assert type(found) is float
    assert found == float(value)
