"""Proofs by moments: never more than is true, and cheap where a kernel has few large eigenvalues."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope._utils.rounding import UNIT
from elliptope.operators import as_operator
from elliptope.operators.metric import DiagonalMetric
from elliptope.sdp import solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.deflation import AlmostNull, almost_null
from elliptope.sdp.certificates.moments import _Rest, prove_by_moments
from elliptope.sdp.certificates.uniqueness import null_space_among
from elliptope.sdp.problem import OutOfProducts
from elliptope.sdp.tuning import TUNING
from sdp.costs import core, count_calls, meter_of, moons, near_optimum


def prove(meter, iterate, seed=0):
    return prove_by_moments(meter, iterate, dual_metrics(iterate)["slack"], np.random.default_rng(seed))


def eigenvalues(meter, iterate):
    """Of I - B: L, whitened by its slack."""
    c = 1 / np.sqrt(iterate.slack)
    return np.linalg.eigvalsh(np.eye(len(c)) - c[:, None] * meter.problem.core_matrix * c)


def few_large(eigenvalues, size, n=60, seed=0):
    """A hollow matrix with about these eigenvalues, of which the largest is ``size``."""
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, len(eigenvalues))))[0]
    B = U * np.array(eigenvalues) @ U.T
    B -= np.diag(B.diagonal())
    return B * (size / np.linalg.eigvalsh(B)[-1])


def rest_of(B, rounding=1e-14):
    """B where nothing is known of it."""
    meter, one = meter_of(B), np.ones(len(B))
    nothing = AlmostNull(np.empty((len(B), 0)), 0.0, 0.0)
    return _Rest(meter, DiagonalMetric(one), nothing, meter.problem.operator.core_square(one), rounding)


class TestCoreSquare:
    def test_entries_that_are_small_or_large_by_themselves(self):
        """What counts is their size beside v."""
        C = np.random.default_rng(0).standard_normal((30, 30))
        C += C.T
        v = np.linspace(1.0, 2.0, 30)
        expected = as_operator(C).core_square(v)
        for scale in (1e-170, 1e150):
            assert as_operator(scale * C).core_square(scale * v) == pytest.approx(expected, rel=1e-12)

    def test_nobody_knows_the_entries_of_a_linear_operator(self):
        C = np.ones((10, 10))
        assert as_operator(aslinearoperator(C)).core_square(np.ones(10)) == math.inf


@pytest.mark.parametrize("size", [0.3, 0.7, 0.95, 1.0, 1.02, 1.5])
def test_the_margin_is_below_the_largest_eigenvalue(size):
    """1 - margin ≥ λmax(B) for matrices B with a few large eigenvalues of either sign."""
    for seed in range(6):
        B = few_large([1.0, 0.9, 0.5, 0.2, -0.1, -0.3, -1.5, 0.1], size, seed=seed)
        for blocks in (0, 1, 2, 4):
            rest, rng = rest_of(B), np.random.default_rng(seed)
            for _ in range(blocks):
                assert rest.extend(4, rng)
            margin, lowest = rest.margin() or (None, None)
            assert margin is None or margin <= 1 - size + 1e-12
            assert margin is None or size < 1
            if size < 1 and blocks == 4:
                assert margin is not None
                assert 1 - size - 1e-12 <= lowest <= 1 - size + 0.01


def test_two_moments_of_what_is_left():
    """Where the range of H is known, the mean and the sum of squares of the other eigenvalues bound the largest of them."""
    meter, iterate = near_optimum(moons(2.0, 40), 0.0)
    metric = dual_metrics(iterate)["slack"]
    squares, known = meter.problem.operator.core_square(metric.v), almost_null(iterate, metric, TUNING.known, 1e-14)
    others = 1 - eigenvalues(meter, iterate)[known.basis.shape[1] :]
    assert known.basis.shape[1] > 0
    tail = _Rest(meter, metric, known, squares, 1e-14)._tail(np.empty((0, 0)), 0.0, 0.0)
    assert tail == pytest.approx(others.mean() + math.sqrt(len(others)) * others.std(), abs=1e-3)
    assert tail >= others.max()


def test_a_skew_basis_and_wrong_products_do_not_make_the_margin_wrong():
    for seed in range(4):
        for skew in (0.0, 1e-9, 1e-6, 1e-3):
            rng = np.random.default_rng(seed)
            rest = rest_of(few_large([1.0, 0.9, 0.3, -0.5], 0.8, seed=seed), skew)
            for _ in range(3):
                rest.extend(4, rng)
            rest._Q = rest._Q + skew * rng.standard_normal(rest._Q.shape) / math.sqrt(60)
            rest._G = rest._G + skew * rng.standard_normal(rest._G.shape) / math.sqrt(60)
            margin = (rest.margin() or [None])[0]
            assert margin is None or margin <= 0.2 + 1e-12


def test_a_space_that_is_exhausted_is_not_extended():
    B = np.zeros((30, 30))
    B[0, 1] = B[1, 0] = 0.5
    rest, rng = rest_of(B), np.random.default_rng(0)
    while rest.extend(4, rng):
        assert rest.columns <= 30
    assert rest.margin()[0] == pytest.approx(0.25, abs=0.25)


@pytest.mark.parametrize("bandwidth", [0.7, 1.0, 2.0])
def test_what_is_proved_is_true(bandwidth):
    for seed in range(3):
        for error in (0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3, 0.1):
            meter, iterate = near_optimum(moons(bandwidth, 400, seed), error, seed)
            proof, values = prove(meter, iterate, seed), eigenvalues(meter, iterate)
            if proof is not None:
                assert proof.shift >= -values[0] - 400 * UNIT
                assert proof.known.basis.shape[1] == (values < 1e-3).sum()
                assert proof.margin <= values[proof.known.basis.shape[1]] + 1e-9
                assert proof.shift <= 2 * max(-values[0], 0.0) + 1e-10 + 1000 * error**2
            if error <= 1e-6:
                assert proof is not None
                assert values[iterate.H.shape[1]] * 0.5 <= proof.lowest


def test_saddle_points_are_not_proved():
    """Critical points of too small a rank: LH = 0, and L is not psd."""
    tried = 0
    for seed in range(10):
        C = moons(1.0, 300, seed).matmat(np.eye(300))  # psd, so that the steps below ascend, and end
        h = np.sign(np.random.default_rng(seed).standard_normal(300))
        while not np.array_equal(h, new := np.sign(C @ h)):
            h = new
        meter = meter_of(C)
        iterate = meter.evaluate(h[:, None])
        assert iterate.stationarity == 0
        if "slack" in dual_metrics(iterate) and iterate.gain < solve(C, rng=0).certificate.gain * (1 - 1e-3):
            tried += 1
            assert prove(meter, iterate) is None
    assert tried > 3


def test_solves_are_proved_without_a_factorisation():
    C = core(moons(1.0, 400))
    for polish in (False, True):
        operator = as_operator(C)
        factorizations = count_calls(operator, "factorization")
        found = solve(operator, rng=0, polish=polish)
        assert not factorizations
        assert (found.status, found.certificate.grade, found.certificate.failure_probability) == ("optimal", "proved", 0)
        factorised = solve(operator, rng=0, polish=polish, tuning=replace(TUNING, most_columns=-1))
        assert factorizations
        assert found.certificate.gain == pytest.approx(factorised.certificate.gain, rel=1e-9)
        null, other = found.certificate.null_space, factorised.certificate.null_space
        assert (null.nullity, null.rank, null.unique) == (other.nullity, other.rank, other.unique)


def test_many_large_eigenvalues_cost_no_product():
    meter, iterate = near_optimum(moons(0.15, 400), 0.0)
    spent = meter.count
    assert prove(meter, iterate) is None
    assert meter.count == spent


def test_no_product_is_made_that_is_not_allowed():
    meter, iterate = near_optimum(moons(0.7, 400), 0.0)
    assert prove(meter, iterate) is not None
    needed = meter.count - 1
    meter.limit = meter.count + needed - 1
    with pytest.raises(OutOfProducts):
        prove(meter, iterate)
    assert meter.count == meter.limit


def test_rows_of_very_different_weight():
    """Slacks over seven decades, as outliers make them: whitening takes them out."""
    n, rng = 300, np.random.default_rng(0)
    c = 10 ** rng.uniform(-6, 0, n)
    C = c[:, None] * core(moons(2.0, n)) * c
    meter = meter_of(C)
    iterate = meter.evaluate(solve(C, rng=0).factor)
    assert iterate.slack.max() / iterate.slack.min() > 1e7
    proof = prove(meter, iterate)
    assert proof is not None
    assert proof.shift >= -eigenvalues(meter, iterate)[0] - n * UNIT


def test_small_eigenvalues_beside_the_null_space_count_as_they_do_elsewhere():
    """A direction of H with an eigenvalue of L between what counts as zero and what is taken out."""
    _, iterate = near_optimum(moons(1.0, 400), 0.0)
    metric = dual_metrics(iterate)["slack"]
    basis = np.linalg.qr(metric.whiten(iterate.H))[0][:, :2]
    for value, nullity, gap in ((1e-7, 2, 0.1), (5e-5, 1, 5e-5)):
        null = null_space_among(basis, np.array([0.0, value]), 0.1, iterate, metric)
        assert (null.nullity, null.spectral_gap) == (nullity, gap)
