"""Proofs by moments: never more than is true, and cheap where a kernel has few large eigenvalues."""

import math

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope._utils.rounding import UNIT
from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, as_operator, dense, kernel_matrix
from elliptope.operators.metric import DiagonalMetric
from elliptope.sdp import solve
from elliptope.sdp.certificates import certify
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.deflation import AlmostNull
from elliptope.sdp.certificates.moments import _Rest, prove_by_moments
from elliptope.sdp.certificates.uniqueness import null_space_among
from elliptope.sdp.problem import Problem
from elliptope.sdp.steps import normalize_rows


def kernel_operator(n=80, bandwidth=1.0, seed=0):
    X, _ = two_moons(n // 2, random_state=seed)
    return DenseOperator(kernel_matrix(Gaussian(bandwidth), X))


def core(operator):
    return operator.core_matmat(np.eye(operator.n))


def whitened(problem, iterate, v):
    """I - B: L, whitened by v, which is the slack."""
    c = 1 / np.sqrt(v)
    return np.diag(iterate.slack / v) - c[:, None] * core(problem.operator) * c


def moons(bandwidth, n=150, seed=0):
    return kernel_operator(n, bandwidth, seed)


class TestCoreSquare:
    @pytest.mark.parametrize("n", [50, 700, 1100])
    def test_is_the_sum_of_squares(self, n):
        rng = np.random.default_rng(n)
        v = rng.uniform(0.1, 2.0, n)
        scaled = kernel_operator(n)
        scaled.set_row_scale(rng.uniform(0.5, 2.0, n))
        C = rng.standard_normal((n, n))
        for operator in (scaled, as_operator(C + C.T), as_operator(C + C.T, rng.uniform(0.5, 2.0, n))):
            J = core(operator)
            np.fill_diagonal(J, 0.0)
            exact = math.fsum((J**2 / v[:, None] / v).ravel())
            found = operator.core_square(v)
            assert exact * (1 - 1e-13) <= found <= exact * (1 + 1e-9)

    @pytest.mark.parametrize("scale", [1e-170, 1e150])
    def test_entries_that_are_small_or_large_by_themselves(self, scale):
        """What counts is their size beside v."""
        C = np.random.default_rng(0).standard_normal((30, 30))
        C += C.T
        v = np.linspace(1.0, 2.0, 30)
        expected = as_operator(C).core_square(v)
        assert as_operator(scale * C).core_square(scale * v) == pytest.approx(expected, rel=1e-12)

    def test_nobody_knows_the_entries_of_a_linear_operator(self):
        C = np.ones((10, 10))
        assert as_operator(aslinearoperator(C)).core_square(np.ones(10)) == math.inf


@pytest.mark.parametrize("blocks", [0, 1, 2, 4])
@pytest.mark.parametrize("size", [0.3, 0.7, 0.95, 1.0, 1.02, 1.5])
@pytest.mark.parametrize("seed", range(6))
def test_the_margin_is_below_the_largest_eigenvalue(seed, size, blocks):
    """1 - margin ≥ λmax(B) for matrices B with a few large eigenvalues of either sign."""
    rng, n = np.random.default_rng(seed), 60
    U = np.linalg.qr(rng.standard_normal((n, 8)))[0]
    B = U * np.array([1.0, 0.9, 0.5, 0.2, -0.1, -0.3, -1.5, 0.1]) @ U.T
    B -= np.diag(B.diagonal())
    B *= size / np.linalg.eigvalsh(B)[-1]
    problem = Problem(as_operator(B))
    nothing = AlmostNull(np.empty((n, 0)), 0.0, 0.0)
    rest = _Rest(problem, DiagonalMetric(np.ones(n)), nothing, problem.operator.core_square(np.ones(n)), 1e-14)
    for _ in range(blocks):
        assert rest.extend(4, rng)
    margin = rest.margin()
    if margin is not None:
        assert margin <= 1 - size + 1e-12
    if size >= 1:
        assert margin is None
    elif blocks == 4:
        assert margin is not None
        assert 1 - size - 1e-12 <= rest.lowest <= 1 - size + 0.01


def test_a_space_that_is_exhausted_is_not_extended():
    B = np.zeros((30, 30))
    B[0, 1] = B[1, 0] = 0.5
    problem = Problem(as_operator(B))
    nothing = AlmostNull(np.empty((30, 0)), 0.0, 0.0)
    rest, rng = _Rest(problem, DiagonalMetric(np.ones(30)), nothing, 0.5, 1e-14), np.random.default_rng(0)
    assert rest.extend(4, rng)
    for _ in range(40):
        if not rest.extend(4, rng):
            break
    assert rest.columns <= 30
    assert rest.margin() == pytest.approx(0.25, abs=0.25)


@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("bandwidth", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_proved_is_true(seed, bandwidth, error):
    rng = np.random.default_rng(seed)
    operator = moons(bandwidth, 400, seed)
    H = solve(operator, tol=1e-9, polish=True, rng=seed).factor
    problem = Problem(operator)
    iterate = problem.evaluate(normalize_rows(H + error * rng.standard_normal(H.shape), rng))
    v = dual_metrics(iterate)["slack"].v
    proof = prove_by_moments(problem, iterate, DiagonalMetric(v), rng)
    values = np.linalg.eigvalsh(whitened(problem, iterate, v))
    if proof is not None:
        assert proof.shift >= -values[0] - 400 * UNIT
        assert proof.known.basis.shape[1] == (values < 1e-3).sum()
        assert proof.margin <= values[proof.known.basis.shape[1]] + 1e-9
        assert proof.shift <= 2 * max(-values[0], 0.0) + 1e-10 + 1000 * error**2
    if error <= 1e-6:
        assert proof is not None
        assert values[H.shape[1]] * 0.5 <= proof.lowest


@pytest.mark.parametrize("seed", range(10))
def test_saddle_points_are_not_proved(seed):
    """Critical points of too small a rank: LH = 0, and L is not psd."""
    C = moons(1.0, 300, seed).matmat(np.eye(300))  # psd, so that the steps below ascend, and end
    h = np.sign(np.random.default_rng(seed).standard_normal(300))
    while not np.array_equal(h, new := np.sign(C @ h)):
        h = new
    problem = Problem(as_operator(C))
    iterate = problem.evaluate(h[:, None])
    assert iterate.stationarity == 0
    metrics = dual_metrics(iterate)
    optimum = solve(C, rng=0)
    if "slack" in metrics and iterate.gain < optimum.certificate.gain * (1 - 1e-3):
        assert prove_by_moments(problem, iterate, metrics["slack"], np.random.default_rng(0)) is None


@pytest.mark.parametrize("polish", [False, True])
def test_solves_are_proved_without_a_factorisation(monkeypatch, polish):
    C = core(moons(1.0, 400))
    expected = solve(C, rng=0, polish=polish)
    monkeypatch.setattr(certify, "_prove_by_moments", lambda *_: None)
    factorised = solve(C, rng=0, polish=polish)
    monkeypatch.undo()
    monkeypatch.setattr(dense.DenseStorage, "factorization", None)
    found = solve(C, rng=0, polish=polish)
    assert found.status == "optimal"
    assert found.certificate.grade == "proved"
    assert found.certificate.failure_probability == 0
    assert found.certificate == expected.certificate
    assert found.certificate.gain == pytest.approx(factorised.certificate.gain, rel=1e-9)
    null, other = found.certificate.null_space, factorised.certificate.null_space
    assert (null.nullity, null.rank, null.unique) == (other.nullity, other.rank, other.unique)


def test_many_large_eigenvalues_cost_no_product():
    problem = Problem(moons(0.15, 400))
    iterate = problem.evaluate(solve(problem.operator, rng=0).factor)
    spent = problem.n_products
    assert prove_by_moments(problem, iterate, dual_metrics(iterate)["slack"], np.random.default_rng(0)) is None
    assert problem.n_products == spent


def test_no_product_is_made_that_is_not_allowed():
    problem = Problem(moons(0.7, 400))
    iterate = problem.evaluate(solve(problem.operator, rng=0).factor)
    metric = dual_metrics(iterate)["slack"]
    assert prove_by_moments(problem, iterate, metric, np.random.default_rng(0)) is not None
    problem.max_products = problem.n_products + 1
    assert prove_by_moments(problem, iterate, metric, np.random.default_rng(0)) is None
    assert problem.n_products == problem.max_products


def test_an_attempt_that_misses_by_the_residual_of_the_factor_is_not_repeated(monkeypatch):
    rng = np.random.default_rng(0)
    problem = Problem(moons(1.0, 400))
    H = solve(problem.operator, tol=1e-9, polish=True, rng=0).factor
    iterate = problem.evaluate(normalize_rows(H + 1e-6 * rng.standard_normal(H.shape), rng))
    assert iterate.least_gap > 1e-9
    monkeypatch.setattr(dense.DenseStorage, "factorization", None)
    certificate, _ = certify.certify(problem, iterate, rng, 1e-9, "attempt")
    assert certificate.grade == "proved"
    assert iterate.least_gap <= certificate.relative_gap * (1 + 1e-6)
    assert certificate.relative_gap <= 2 * iterate.least_gap + 1e-9


def test_rows_of_very_different_weight():
    """Slacks over seven decades, as outliers make them: whitening takes them out."""
    n, rng = 300, np.random.default_rng(0)
    c = 10 ** rng.uniform(-6, 0, n)
    C = c[:, None] * core(moons(2.0, n)) * c
    solution = solve(C, rng=0)
    problem = Problem(as_operator(C))
    iterate = problem.evaluate(solution.factor)
    assert iterate.slack.max() / iterate.slack.min() > 1e7
    proof = prove_by_moments(problem, iterate, dual_metrics(iterate)["slack"], rng)
    assert proof is not None
    values = np.linalg.eigvalsh(whitened(problem, iterate, iterate.slack))
    assert proof.shift >= -values[0] - n * UNIT


@pytest.mark.parametrize("skew", [0.0, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_a_skew_basis_and_wrong_products_do_not_make_the_margin_wrong(seed, skew):
    rng, n = np.random.default_rng(seed), 60
    U = np.linalg.qr(rng.standard_normal((n, 4)))[0]
    B = U * np.array([1.0, 0.9, 0.3, -0.5]) @ U.T
    B -= np.diag(B.diagonal())
    B *= 0.8 / np.linalg.eigvalsh(B)[-1]
    problem = Problem(as_operator(B))
    nothing = AlmostNull(np.empty((n, 0)), 0.0, 0.0)
    rest = _Rest(problem, DiagonalMetric(np.ones(n)), nothing, problem.operator.core_square(np.ones(n)), skew)
    for _ in range(3):
        rest.extend(4, rng)
    rest._Q = rest._Q + skew * rng.standard_normal(rest._Q.shape) / math.sqrt(n)
    rest._G = rest._G + skew * rng.standard_normal(rest._G.shape) / math.sqrt(n)
    margin = rest.margin()
    assert margin is None or margin <= 0.2 + 1e-12


def test_small_eigenvalues_beside_the_null_space_count_as_they_do_elsewhere():
    """A direction of H with an eigenvalue of L between what counts as zero and what is taken out."""
    problem = Problem(moons(1.0, 400))
    iterate = problem.evaluate(solve(problem.operator, tol=1e-9, polish=True, rng=0).factor)
    metric = dual_metrics(iterate)["slack"]
    basis = np.linalg.qr(metric.whiten(iterate.H))[0][:, :2]
    for value, nullity, gap in ((1e-7, 2, 0.1), (5e-5, 1, 5e-5)):
        null = null_space_among(basis, np.array([0.0, value]), 0.1, iterate, metric)
        assert (null.nullity, null.spectral_gap) == (nullity, gap)
