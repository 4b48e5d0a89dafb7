"""The cost with an inverse kernel matrix in it, against plain matrices and extended precision."""

from itertools import product

import numpy as np
import pytest

from elliptope._utils.rounding import UNIT
from elliptope.kernels import Matern
from elliptope.operators import RegularizedOperator, as_operator, kernel_matrix
from elliptope.operators.factorization import cholesky_rounding
from elliptope.operators.matrix import DenseMatrix
from elliptope.operators.metric import DiagonalMetric
from elliptope.sdp import certify, solve
from elliptope.sdp.certificates.probabilistic import certify_by_tests
from elliptope.sdp.factors import random_start
from elliptope.sdp.problem import Meter, Problem

N = 30


class Case:
    """A random gain, a well or badly conditioned F, and the matrices that the operator stands for."""

    def __init__(self, seed=0, condition=10.0, rho=3.0, n=N):
        rng = np.random.default_rng(seed)
        Z = rng.uniform(0, 1, (n, n))
        K, q = Z @ Z.T / n, rng.uniform(0, 0.2, (n, 1))
        s = rng.uniform(0.5, 1.5, n)
        U, _ = np.linalg.qr(rng.standard_normal((n, n)))
        gram = (U * np.geomspace(1, 1 / condition, n)) @ U.T
        self.F = np.linalg.cholesky(gram).T
        self.rho = rho
        self.gain = s[:, None] * K * s - q @ q.T
        self.ceiling = float(s @ K @ s)
        self.operator = RegularizedOperator(DenseMatrix(K, s, q), self.F, rho, self.ceiling)
        inverse = np.linalg.inv(self.F)
        self.J = self.gain - rho * inverse @ inverse.T
        self.M = rho * inverse @ inverse.T + self.operator.metric().c * np.eye(n)


@pytest.fixture
def case():
    return Case()


def test_offset_makes_the_gain_positive(case):
    """All points in one place gain ρ T0 and what the gain operator gives."""
    one = np.ones((N, 1))
    T0 = np.sum(np.linalg.solve(case.F.T, one) ** 2)
    gain = Meter(Problem(case.operator)).evaluate(one).gain
    assert gain == pytest.approx(case.rho * T0 + case.gain.sum(), rel=1e-10)


def test_metric(case):
    metric = case.operator.metric()
    V = np.random.default_rng(2).standard_normal((N, 3))
    np.testing.assert_allclose(case.M @ metric.solve(V), V, atol=1e-11)
    np.testing.assert_allclose(metric.unwhiten(metric.whiten(V)), V, atol=1e-11)
    # The whitened metric is the identity: ⟨whiten(v), whiten(v)⟩ = vᵀ M v, and gradients are whitened by the adjoint.
    np.testing.assert_allclose(metric.whiten(V).T @ metric.whiten(V), V.T @ case.M @ V, rtol=1e-10)
    np.testing.assert_allclose(metric.whiten_gradient(case.M @ V), metric.whiten(V), atol=1e-10)
    assert metric.largest >= np.linalg.eigvalsh(case.M)[-1]


def test_total_bounds_the_metric_of_what_attains_the_objective():
    for seed in range(5):
        case, rng = Case(seed), np.random.default_rng(seed)
        metric = case.operator.metric()
        for H in (*(random_start(N, rank, rng) for rank in (1, 2, 5)), np.ones((N, 1))):
            objective = np.sum(H * (case.J @ H))
            assert np.sum(H * (case.M @ H)) <= metric.total(objective) * (1 + 1e-12)


class TestFactorization:
    def test_shift_covers_the_rounding_of_the_factorisation(self, case):
        metric, z = case.operator.metric(), np.full(N, 5.0)
        S = case.F @ (np.diag(z) - case.gain) @ case.F.T + case.rho * np.eye(N)
        with case.operator.factorization(z - case.operator.offset(), metric, 0.0) as factor:
            assert factor.shift - factor.added > cholesky_rounding(N, np.trace(S)) / case.rho
        dense = as_operator(case.J)
        slack = 2 * np.abs(case.J).sum(axis=1)
        with dense.factorization(slack, DiagonalMetric(slack), 0.0) as factor:
            assert factor.shift - factor.added > cholesky_rounding(N, N)

    def test_rounding_is_never_below_the_error(self):
        """The congruent matrix, formed as the operator does, against extended precision."""
        for condition, n, seed in product((10.0, 1e8, 1e13), (5, 40), range(5)):
            case = Case(seed, condition, n=n)
            X = np.diag(np.full(n, 2.0)) - case.gain
            F = np.asarray(case.F, dtype=np.longdouble)
            with case.operator.A.triangle(np.ones(n)) as T:
                computed = np.tril(T, -1)
            computed = computed + computed.T + np.diag(X.diagonal())
            exact = F @ np.asarray(X, dtype=np.longdouble) @ F.T
            error = np.abs(np.asarray(exact - case.F @ computed @ case.F.T, dtype=float)).sum(axis=1).max()
            bound = case.operator._rounding(computed)
            assert error <= bound
            assert bound <= 1e6 * n * UNIT * (np.linalg.norm(case.F, 2) ** 2 * np.linalg.norm(X, 2) + case.rho)

    def test_largest_row_sum_is_not_needed(self, case):
        """The bound by the power method is as sharp as the spectral radius."""
        X = np.abs(np.diag(np.full(N, 2.0)) - case.gain)
        F = np.abs(case.F)
        radius = np.linalg.eigvalsh(F @ X @ F.T)[-1]
        gamma = (N + 10) * UNIT
        assert 2 * gamma * radius <= case.operator._rounding(X) <= 6 * gamma * radius + 8 * UNIT * case.rho


class TestCertificate:
    @pytest.fixture
    def solved(self):
        case = Case(4, condition=1e4, rho=0.05)
        return case, solve(case.operator, rng=0, polish=True, tol=1e-8)

    def test_bound_against_the_plain_matrix(self, solved):
        """The same cost as a plain array, solved and proved by other means."""
        case, solution = solved
        plain = solve(case.J, rng=1, tol=1e-9)
        assert solution.status == "optimal"
        assert solution.certificate.grade == "proved"
        assert solution.certificate.objective == pytest.approx(plain.certificate.objective, rel=1e-7)
        assert solution.certificate.upper_bound >= plain.certificate.objective - 1e-9 * abs(plain.certificate.objective)
        B = plain.factor @ plain.factor.T
        np.testing.assert_allclose(solution.factor @ solution.factor.T, B, atol=1e-4)

    @pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4])
    def test_a_perturbed_factor_shows(self, solved, size):
        case, solution = solved
        rng = np.random.default_rng(0)
        H = solution.factor + size * rng.standard_normal(solution.factor.shape)
        H /= np.linalg.norm(H, axis=1, keepdims=True)
        certificate = certify(case.operator, H, rng=0)
        assert certificate.grade == "proved"
        assert certificate.relative_gap > 1e-6
        assert certificate.upper_bound >= solution.certificate.objective

    def test_another_cost_shows(self, solved):
        case, solution = solved
        other = RegularizedOperator(case.operator.A, case.F, 1.01 * case.rho, case.ceiling)
        assert certify(other, solution.factor, rng=0).relative_gap > 1e-6

    def test_a_saddle_is_left(self, solved):
        """A rank-one start is a critical point; the certificate's direction leads away from it."""
        case, solution = solved
        again = solve(case.operator, rng=0, polish=True, tol=1e-8, start=np.ones((N, 1)))
        assert len(solution.factor.T) > 1
        assert again.status == "optimal"
        assert again.certificate.objective == pytest.approx(solution.certificate.objective, rel=1e-7)

    def test_lanczos_sees_the_pencil(self, solved):
        case, _ = solved
        meter, rng = Meter(Problem(case.operator)), np.random.default_rng(0)
        iterate = meter.evaluate(random_start(N, 2, rng))
        certificate, direction = certify_by_tests(meter, iterate, rng, 1e-6, saddle=True)
        root = np.linalg.inv(np.linalg.cholesky(case.M))
        L = np.diag(iterate.y) - case.J
        least = np.linalg.eigvalsh(root @ L @ root.T)[0]
        assert certificate.gap == pytest.approx(-least * case.operator.metric().total(iterate.objective), rel=1e-6)
        assert direction @ L @ direction == pytest.approx(least * (direction @ case.M @ direction), rel=1e-6)

    def test_interruption_gives_a_probable_bound(self, solved):
        case, solution = solved
        stopped = solve(case.operator, rng=0, polish=True, callback=lambda progress: progress.iteration == 20)
        assert stopped.status == "interrupted"
        assert stopped.certificate.grade == "probabilistic"
        assert stopped.certificate.upper_bound >= solution.certificate.objective


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_few_products(nu):
    """In the metric the problem is well conditioned however smooth the kernel; from a smooth start it is also near."""
    n = 150
    for seed in range(3):
        K = kernel_matrix(Matern(0.6, nu), np.random.default_rng(seed).uniform(-1, 1, (n, 2)))
        F = np.linalg.cholesky(K).T
        u = K.sum(axis=1, keepdims=True) / np.sqrt(K.sum())
        operator = RegularizedOperator(DenseMatrix(K.copy(), np.ones(n), u), F, 1e-3 * n**2, float(K.sum()))
        solution = solve(operator, rng=seed, polish=True)
        assert solution.status == "optimal"
        assert solution.n_products < 80
