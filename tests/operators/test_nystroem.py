"""The low-rank surrogate, against plain matrices: its factor, bounds for the exact problem, proofs in the factor's space."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigh

from elliptope._utils.rounding import UNIT
from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern, Precomputed
from elliptope.operators import NystroemOperator, kernel_matrix
from elliptope.operators.metric import DiagonalMetric
from elliptope.operators.nystroem.tall import TallFactor
from elliptope.sdp import certify, solve
from elliptope.sdp.problem import Meter, Problem
from operator_cases import POLYNOMIAL, cost_terms, long, off_diagonal, points

N = 61


class Case:
    """An operator, scaled at random or as the estimator does, and its J in extended precision."""

    def __init__(self, kernel, n_landmarks, *, X=None, weights=False, seed=0, scale=True):
        rng = np.random.default_rng(seed)
        X = points(N) if X is None else X
        n, K = len(X), long(kernel_matrix(kernel, X))
        w = rng.uniform(0.1, 3, n) if weights else np.ones(n)
        m = K @ w
        self.operator = NystroemOperator(kernel, X, n_landmarks, w, degrees=m.astype(float), rng=rng)
        self.t = rng.uniform(0.2, 2, n) if scale else w * np.sqrt(self.operator.abar_diagonal())
        self.operator.set_row_scale(self.t)
        F = long(self.operator._factor.F)
        A, top = cost_terms(off_diagonal(F @ F.T) + np.diag(K.diagonal()), m, m @ w, self.t)
        self.plain, self.exact = A - top, cost_terms(K, m, m @ w, self.t)[0] - top

    def certificate_matrix(self, slack):
        """Diag(slack) - J, without the diagonal of J."""
        return np.diag(slack) - off_diagonal(self.plain).astype(float)

    def depth(self, slack, v):
        """-λmin of that matrix in the metric Diag(v)."""
        return -eigh(self.certificate_matrix(slack), np.diag(v), eigvals_only=True)[0]


CASES = {
    "gaussian": lambda **o: Case(Gaussian(1.0), 20, **o),
    "gaussian-weights": lambda **o: Case(Gaussian(1.0), 20, weights=True, **o),
    "gaussian-narrow": lambda **o: Case(Gaussian(0.1), 9, weights=True, **o),
    "matern-all": lambda **o: Case(Matern(2.0, 2.5), N, weights=True, **o),
    "polynomial": lambda **o: Case(POLYNOMIAL, 6, X=np.abs(points(N)), **o),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def test_several_blocks_of_rows():
    """Products and a proof, on one thread and on three, to the last bit; and beside the plain matrix."""
    n, found = 2100, []
    X, V = points(n), np.random.default_rng(1).standard_normal((n, 3))
    for n_jobs in (1, 3):
        J = NystroemOperator(Gaussian(1.0), X, 20, degrees=np.ones(n), rng=0, n_jobs=n_jobs)
        with J.factorization(np.full(n, 1e4), DiagonalMetric(np.ones(n)), 0.0) as factor:
            found.append([J @ V, factor.solve(V), factor.extra])
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)
    F = J._factor.F
    core = off_diagonal(F @ F.T - J._Q @ J._Q.T)
    np.testing.assert_allclose(found[0][0], core @ V + J.offset()[:, None] * V, atol=1e-10)
    np.testing.assert_allclose(1e4 * found[0][1] - core @ found[0][1], V, atol=1e-9)


def test_memory():
    """One n × k array and no second, from construction to proof."""
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_landmarks": 0}, "`n_landmarks` must be an integer of at least 1, got 0"),
        ({"n_landmarks": 2.5}, "`n_landmarks` must be an integer of at least 1, got 2.5"),
        ({"n_jobs": 0}, "`n_jobs` must be an integer of at least 1, got 0"),
        ({"kernel": Precomputed()}, "`kernel` must be a function of two points, got 'precomputed'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        NystroemOperator(**{"kernel": Gaussian(1.0), "X": points(N), "n_landmarks": 5, "degrees": np.ones(N), **options})


def test_gram_and_its_rounding():
    """Beside extended precision; an entry errs by γ_N times the lengths of its two columns. The blocks are several."""
    rng, n = np.random.default_rng(0), 2100
    F, Q, c = rng.standard_normal((n, 9)), rng.standard_normal((n, 2)), rng.uniform(0.1, 10, n)
    W = np.hstack([c[:, None] * long(F), Q])
    lengths = np.linalg.norm(W.astype(float), axis=0)
    factor = TallFactor(F)
    error = abs(np.tril(factor.gram(c, Q) - W.T @ W))
    assert (error <= factor.gram_additions * UNIT * np.outer(lengths, lengths)).all()
    np.testing.assert_allclose(factor.squares, (F**2).sum(axis=1), rtol=1e-14)


def test_the_upper_error_bound_is_attained_where_the_residual_has_rank_one():
    """K = 1 + x xᵀ with one landmark leaves a residual of rank one, whose rows can all be aligned."""
    kernel = CallableKernel(lambda X, Y: 1 + X @ Y.T)
    case = Case(kernel, 1, X=np.random.default_rng(0).uniform(0, 1, (30, 1)))
    found = solve((case.exact - case.plain).astype(float), rng=0).certificate
    assert found.objective == pytest.approx(case.operator.error_bounds[1], rel=1e-5)


class TestFactorization:
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
