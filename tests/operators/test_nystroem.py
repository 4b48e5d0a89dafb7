"""The low-rank surrogate, against plain matrices: contract, bounds for the exact problem, proofs in the factor's space."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigh
from test_landmarks import POLYNOMIAL, points

from elliptope.kernels import Gaussian, Laplacian, Matern, Precomputed
from elliptope.operators import DenseOperator, NystroemOperator, kernel_matrix
from elliptope.operators.metric import DiagonalMetric
from elliptope.operators.nystroem import operator as nystroem
from elliptope.operators.nystroem import tall
from elliptope.operators.nystroem.operator import exact_degrees
from elliptope.operators.nystroem.tall import TallFactor
from elliptope.sdp import certify, solve
from elliptope.sdp.problem import Meter, Problem

UNIT = np.finfo(float).eps / 2
N = 61


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several chunks and blocks, the last ones not full."""
    monkeypatch.setattr(tall, "_CHUNK", 24)
    monkeypatch.setattr(tall, "_ROWS", 7)
    monkeypatch.setattr(tall, "_GRAM_ROWS", 10)
    monkeypatch.setattr(nystroem, "_TILE", 16)


class Case:
    """An operator, the exact kernel matrix, and J = Diag(t) (K̂/√(m mᵀ) - √(m mᵀ)/M) Diag(t) in extended precision."""

    def __init__(self, kernel, n_landmarks, *, X=None, weights=False, seed=0, scale=True, **options):
        rng = np.random.default_rng(seed)
        self.X = points(N) if X is None else X
        n = len(self.X)
        self.K = kernel_matrix(kernel, self.X)
        self.w = rng.uniform(0.1, 3, n) if weights else np.ones(n)
        self.operator = NystroemOperator(kernel, self.X, n_landmarks, self.w if weights else None, rng=rng, **options)
        self.dense = DenseOperator(self.K.copy(), self.w)
        self.t = rng.uniform(0.2, 2, n) if scale else self.w * np.sqrt(self.dense.abar_diagonal())
        self.operator.set_row_scale(self.t)
        self.dense.set_row_scale(self.t)
        F = self.operator._factor.F.astype(np.longdouble)
        K_hat = F @ F.T
        np.fill_diagonal(K_hat, self.K.diagonal())
        m = self.K.astype(np.longdouble) @ self.w
        root = np.sqrt(np.outer(m, m))
        tt = np.outer(self.t, self.t)
        self.plain = tt * (K_hat / root - root / (m @ self.w))
        self.exact = tt * (self.K / root - root / (m @ self.w))
        # Sizes of the terms that are summed in a product without the diagonal of J.
        self.size = tt * (abs(F) @ abs(F).T / root + root / (m @ self.w))

    def certificate_matrix(self, slack):
        """Diag(slack) - J, without the diagonal of J."""
        J = self.plain.astype(float)
        return np.diag(slack + J.diagonal()) - J

    def depth(self, slack, v):
        """-λmin of that matrix in the metric Diag(v)."""
        return -eigh(self.certificate_matrix(slack), np.diag(v), eigvals_only=True)[0]


CASES = {
    "gaussian": lambda **o: Case(Gaussian(1.0), 20, **o),
    "gaussian-weights": lambda **o: Case(Gaussian(1.0), 20, weights=True, **o),
    "gaussian-narrow": lambda **o: Case(Gaussian(0.1), 9, weights=True, **o),
    "laplacian-uniform": lambda **o: Case(Laplacian(0.7), 30, landmarks="uniform", **o),
    "matern-all": lambda **o: Case(Matern(2.0, 2.5), N, weights=True, **o),
    "polynomial": lambda **o: Case(POLYNOMIAL, 6, X=np.abs(points(N)), **o),
    "single": lambda **o: Case(Gaussian(1.0), 20, weights=True, dtype="float32", **o),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


class TestContract:
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("r", [1, 4])
    def test_products(self, case, r, order):
        V = np.asarray(np.random.default_rng(4).standard_normal((N, r)), order=order)
        before = V.copy()
        bound = 4 * N * UNIT * (case.size @ abs(V))
        hollow = case.plain - np.diag(case.plain.diagonal())
        assert (abs(case.operator.core_matmat(V) - hollow @ V) <= bound).all()
        assert (abs(case.operator @ V - case.plain @ V) <= bound + 4 * UNIT * abs(case.operator.offset())[:, None]).all()
        np.testing.assert_array_equal(V, before)

    def test_the_diagonal_and_the_degrees_are_those_of_the_exact_kernel(self, case):
        operator, dense = case.operator, case.dense
        np.testing.assert_allclose(operator.m, case.K @ case.w, rtol=1e-13)
        np.testing.assert_array_equal(operator.kernel_diagonal(), case.K.diagonal())
        np.testing.assert_allclose(operator.offset(), case.exact.diagonal().astype(float), rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(operator.abar_diagonal(), dense.abar_diagonal(), rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(operator.contrast(), dense.contrast(), rtol=1e-11, atol=1e-15)

    def test_what_it_can_do(self, case):
        assert case.operator.can_factor
        assert not case.operator.has_entries
        with pytest.raises(TypeError, match="NystroemOperator has no entries"), case.operator.triangle(np.ones(N)):
            pass

    def test_degrees_may_be_known(self):
        m = np.random.default_rng(0).uniform(1, 2, N)
        np.testing.assert_array_equal(NystroemOperator(Gaussian(1.0), points(N), 5, degrees=m).m, m)

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_threads_change_nothing(self, dtype):
        found = []
        for n_jobs in (1, 3):
            case = CASES["gaussian-weights"](n_jobs=n_jobs, dtype=dtype)
            J, v = case.operator, np.ones(N)
            with J.factorization(np.full(N, 100.0), DiagonalMetric(v), 0.0) as factor:
                found.append([J.m, J @ np.eye(N), J._factor.gram(v, v[:, None]), factor.solve(np.eye(N)), factor.extra])
        for one, three in zip(*found, strict=True):
            np.testing.assert_array_equal(one, three)

    def test_memory(self, monkeypatch):
        """One n × k array and no second, from construction to proof."""
        monkeypatch.undo()
        n, k = 20_000, 100
        X, V = points(n), np.ones((n, 2))
        tracemalloc.start()
        try:
            J = NystroemOperator(Gaussian(1.0), X, k, degrees=np.ones(n), rng=0)
            J @ V
            with J.factorization(np.full(n, 1e5), DiagonalMetric(np.ones(n)), 0.0) as factor:
                assert factor is not None
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert 8 * n * k <= held < 1.15 * 8 * n * k
        assert peak < 1.4 * 8 * n * k


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_landmarks": 0}, "`n_landmarks` must be an integer of at least 1, got 0"),
            ({"n_landmarks": 2.5}, "`n_landmarks` must be an integer of at least 1, got 2.5"),
            ({"landmarks": "best"}, "`landmarks` must be one of 'pivoted', 'uniform', got 'best'"),
            ({"dtype": "float16"}, "`dtype` must be one of None, 'float64', 'float32', got 'float16'"),
            ({"n_jobs": 0}, "`n_jobs` must be an integer of at least 1, got 0"),
            ({"degrees": np.ones(3)}, r"`degrees` must have one entry per row, shape \(61,\), got shape \(3,\)"),
            ({"degrees": np.zeros(N)}, "`degrees` must be positive and finite, got 0.0 at row 0"),
            ({"kernel": Precomputed()}, "`kernel` must be a function of two points, got 'precomputed'"),
        ],
    )
    def test_bad_arguments(self, options, message):
        with pytest.raises(ValueError, match=message):
            NystroemOperator(**{"kernel": Gaussian(1.0), "X": points(N), "n_landmarks": 5, **options})


class TestTallFactor:
    def test_gram_and_its_rounding(self):
        """Beside extended precision; an entry errs by γ_N times the lengths of its two columns."""
        rng = np.random.default_rng(0)
        F, Q, c = rng.standard_normal((N, 9)), rng.standard_normal((N, 2)), rng.uniform(0.1, 10, N)
        W = np.hstack([c[:, None] * F.astype(np.longdouble), Q])
        lengths = np.linalg.norm(W.astype(float), axis=0)
        factor = TallFactor(F)
        assert factor.gram_additions == 10 + 3 + 3
        error = abs(np.triu(factor.gram(c, Q) - W.T @ W))
        assert (error <= (factor.gram_additions + 10) * UNIT * np.outer(lengths, lengths)).all()

    def test_float32_is_computed_in_float64(self):
        rng = np.random.default_rng(0)
        F, V = rng.standard_normal((N, 9)).astype(np.float32), rng.standard_normal((N, 3))
        factor, double = TallFactor(F), F.astype(float)
        np.testing.assert_allclose(factor.transposed_product(V), double.T @ V, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(factor.product(V[:9]), double @ V[:9], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(factor.squares, (double**2).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), POLYNOMIAL], ids=["gaussian", "polynomial"])
def test_exact_degrees(kernel, n_jobs):
    X, w = np.abs(points(N)), np.random.default_rng(0).uniform(0, 2, N)
    np.testing.assert_allclose(exact_degrees(kernel, X, w, n_jobs), kernel_matrix(kernel, X) @ w, rtol=1e-13)


class TestErrorBounds:
    def test_hold_for_the_worst_matrices_of_the_elliptope(self, case):
        """Both ends of Tr((J_exact - J) Z), by the solver."""
        below, above = case.operator.error_bounds
        difference = (case.exact - case.plain).astype(float)
        for sign, bound in ((1, above), (-1, below)):
            found = solve(sign * difference, rng=0, tol=1e-4).certificate
            assert found.objective <= bound
            assert bound > 0

    def test_hold_for_single_precision_by_itself(self):
        """All landmarks: nothing is left but the rounding of the factor."""
        single, double = (Case(Laplacian(1.0), N, dtype=dtype) for dtype in ("float32", "float64"))
        difference = (single.exact - single.plain).astype(float)
        assert np.abs(difference).sum() > 10 * double.operator.error_bounds[1]
        for sign, bound in zip((1, -1), single.operator.error_bounds[::-1], strict=True):
            assert solve(sign * difference, rng=0, tol=1e-4).certificate.objective <= bound
        # Not more than what rounding could do at worst: 2u (Σ s)², for K_ii = 1.
        assert single.operator.error_bounds[1] < 1.1 * 2**-23 * single.operator._s.sum() ** 2 + 2e-8

    def test_the_upper_one_is_attained_where_the_residual_has_rank_one(self):
        """K = 1 + x xᵀ with one landmark leaves a residual of rank one, whose rows can all be aligned."""
        kernel = POLYNOMIAL.__class__(lambda X, Y: 1 + X @ Y.T)
        case = Case(kernel, 1, X=np.random.default_rng(0).uniform(0, 1, (30, 1)))
        found = solve((case.exact - case.plain).astype(float), rng=0).certificate
        assert found.objective == pytest.approx(case.operator.error_bounds[1], rel=1e-5)

    def test_follow_the_row_scale(self):
        case = CASES["gaussian"]()
        before = case.operator.error_bounds
        case.operator.set_row_scale(3 * case.t)
        np.testing.assert_allclose(case.operator.error_bounds, 9 * np.array(before), rtol=1e-12)


class TestFactorization:
    @pytest.mark.parametrize("metric", ["ones", "spread"])
    def test_agrees_with_the_eigenvalues_of_the_large_matrix(self, case, metric):
        rng = np.random.default_rng(1)
        slack = rng.uniform(0.5, 1, N) * 0.3 * np.abs(case.plain).sum(axis=1).astype(float)
        v = np.ones(N) if metric == "ones" else np.geomspace(1e-3, 1e3, N)
        depth = case.depth(slack, v)
        for shift in (depth + 1e-7 * abs(depth), 2 * abs(depth)):
            if shift < 0:
                continue
            with case.operator.factorization(slack, DiagonalMetric(v), shift) as factor:
                assert factor is not None
                assert factor.shift == factor.added == shift
                assert 0 < factor.extra < 1e-9 * (slack.sum() + shift * v.sum() + np.abs(case.plain).sum())
        for shift in (depth - 1e-6 * abs(depth), 0.5 * depth):
            if shift < 0:
                continue
            with case.operator.factorization(slack, DiagonalMetric(v), shift) as factor:
                assert factor is None

    def test_whatever_is_proved_is_true(self, case):
        """At shifts within rounding of the border: L + sM + N is psd, and N no larger than is said."""
        rng = np.random.default_rng(2)
        slack = rng.uniform(0.5, 1, N) * 0.3 * np.abs(case.plain).sum(axis=1).astype(float)
        v = np.ones(N)
        depth = max(case.depth(slack, v), 0.0)
        L = case.certificate_matrix(slack)
        for error in np.geomspace(1e-16, 1e-9, 30):
            with case.operator.factorization(slack, DiagonalMetric(v), depth * (1 - error)) as factor:
                if factor is not None:
                    least = np.linalg.eigvalsh(L + factor.shift * np.diag(v))[0]
                    assert least >= -factor.extra - 10 * UNIT * np.abs(L).max()

    def test_solve_is_the_inverse_in_whitened_coordinates(self, case):
        v = np.geomspace(0.1, 10, N)
        slack = np.abs(case.plain).sum(axis=1).astype(float)
        depth = max(case.depth(slack, v), 0.0)
        with case.operator.factorization(slack, DiagonalMetric(v), 1.5 * depth + 0.1) as factor:
            whitened = (case.certificate_matrix(slack) + factor.added * np.diag(v)) / np.sqrt(np.outer(v, v))
            np.testing.assert_allclose(factor.solve(whitened), np.eye(N), atol=1e-8)

    def test_a_slightly_wrong_slack_is_not_proved(self):
        case = CASES["gaussian"](scale=False)
        solution = solve(case.operator, rng=0, tol=1e-9)
        iterate = Meter(Problem(case.operator)).evaluate(solution.factor)
        for wrong in (1.0, 1 - 1e-5):
            slack = iterate.slack.copy()
            slack[17] *= wrong
            with case.operator.factorization(slack, DiagonalMetric(iterate.slack), 1e-8) as factor:
                assert (factor is not None) is (wrong == 1.0)

    def test_one_row_may_be_negative(self):
        """Diag(z) + QQᵀ is definite with one z below zero: as happens where few landmarks leave rows unexplained."""
        case = Case(Laplacian(0.5), 3, X=points(40, 2, seed=15), seed=15, scale=False)
        solution = solve(case.operator, rng=0)
        assert solution.status == "optimal"
        assert solution.certificate.grade == "proved"
        J, iterate = case.operator, Meter(Problem(case.operator)).evaluate(solution.factor)
        z = iterate.slack + J._s**2 * J._factor.squares - J._Q[:, 0] ** 2
        assert (z < 0).sum() == 1
        assert z.min() < -1e-5 * iterate.gain  # by more than the shift
        slack, v = iterate.slack.copy(), np.ones(40)
        slack[np.argmin(iterate.slack)] = -1.0
        with J.factorization(slack, DiagonalMetric(v), 0.0) as factor:
            assert factor is None

    def test_rounding_is_part_of_the_certificate(self):
        case = CASES["gaussian"](scale=False)
        iterate = Meter(Problem(case.operator)).evaluate(solve(case.operator, rng=0, tol=1e-10).factor)
        certificate = certify(case.operator, iterate.H, rng=0)
        metric = DiagonalMetric(iterate.slack)
        with case.operator.factorization(iterate.slack, metric, 1e-7) as factor:
            assert certificate.gap >= 1e-7 * iterate.slack.sum() + factor.extra
            assert certificate.min_eigenvalue == pytest.approx(-1e-7 * iterate.slack.max() - factor.extra, rel=1e-9)
