"""RKHSEmbedding against independent solvers, closed forms and the formulas of the paper written out."""

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from common import MOONS, WINE, WINE_CLASS
from elliptope import RKHSEmbedding
from elliptope.theory import constants as theory

# (p, ν, λ, seed): dimension, order of the Matérn kernel, regularisation.
INSTANCES = list(itertools.product((1, 2, 3), (0.5, 1.5, 2.2), (1.0, 1e-2, 1e-4), (0, 1)))


class Written:
    """The finite problem of the paper, in plain matrices, with scikit-learn's kernel."""

    def __init__(self, X, nu, length_scale, lam, d=None, w=None, u=None):
        n = len(X)
        self.X, self.lam = X, lam
        self.kernel = Matern(length_scale, nu=nu)
        self.w = np.ones(n) if w is None else w
        self.W = self.w.sum()
        self.d = np.ones(n) if d is None else d
        self.K = self.kernel(X)
        self.R = np.linalg.cholesky(self.K).T
        if u is None:
            u = self.K @ self.w / np.sqrt(self.w @ self.K @ self.w)
        self.Kbar = self.K - np.outer(u, u)
        self.cost = self.w[:, None] * self.Kbar * self.w / self.W**2

    def operator_objective(self, est):
        r"""f_n - λ Tr 𝔹 from 𝔹 = Σ C_ij φ(x_i) ⊗ φ(x_j), C = αα^T: values b(x_i, x_j), and Tr 𝔹 = Tr(C K)."""
        alpha = np.linalg.solve(self.K, est.embedding_)
        b = self.kernel(self.X) @ alpha @ alpha.T @ self.kernel(self.X)
        return np.sum(self.cost * b) - self.lam * np.trace(alpha.T @ self.K @ alpha)

    def feature_objective(self, est):
        """In the variables of the Cholesky features, B = R^-T B' R^-1."""
        G = np.linalg.solve(self.R.T, est.embedding_)
        return np.sum(self.cost * (self.R.T @ G @ G.T @ self.R)) - self.lam * np.sum(G**2)

    def sample_objective(self, est):
        """In B', with the inverse of K that the estimator never forms."""
        B = est.embedding_ @ est.embedding_.T
        return np.sum((self.cost - self.lam * np.linalg.inv(self.K)) * B)

    def clarabel(self):
        """The optimum by an interior-point method, in feature variables; value and B'."""
        n = len(self.K)
        B = cp.Variable((n, n), PSD=True)
        gain = self.R @ self.cost @ self.R.T
        constraints = [cp.sum(cp.multiply(self.R, B @ self.R), axis=0) == self.d]
        problem = cp.Problem(cp.Maximize(cp.trace(gain @ B) - self.lam * cp.trace(B)), constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the tolerances are beyond what Clarabel can always reach
            problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        return problem.value, self.R.T @ B.value @ self.R


def instance(p, nu, lam, seed):
    rng = np.random.default_rng([p, round(10 * nu), seed])
    n = int(rng.integers(12, 25))
    X = rng.uniform(-1, 1, (n, p))
    d = 1 + X[:, 0] ** 2 / 2 if seed % 2 else None  # a sum of squares of smooth functions
    return Written(X, nu, float(rng.uniform(0.4, 1.0)), lam, d)


def estimate(problem, **parameters):
    p = problem.X.shape[1]
    return RKHSEmbedding(
        smoothness=problem.kernel.nu + p / 2,
        length_scale=problem.kernel.length_scale,
        regularization=problem.lam,
        diagonal=problem.d,
        random_state=0,
        **parameters,
    ).fit(problem.X)


class TestAgainstClarabel:
    @pytest.mark.parametrize(("p", "nu", "lam", "seed"), INSTANCES)
    def test_same_optimum(self, p, nu, lam, seed):
        problem = instance(p, nu, lam, seed)
        est = estimate(problem)
        value, B = problem.clarabel()
        assert est.status_ == "optimal"
        assert est.certificate_.grade == "proved"
        n2 = len(problem.X) ** 2
        assert est.certificate_.objective / n2 == pytest.approx(value, rel=1e-6)
        assert est.certificate_.upper_bound / n2 >= value * (1 - np.sign(value) * 1e-8)
        np.testing.assert_allclose(est.embedding_ @ est.embedding_.T, B, atol=1e-4 * problem.d.max())


SMOOTH = instance(2, 1.5, 1e-3, 1)
FITTED = estimate(SMOOTH)


class TestIdentities:
    def test_constraints(self):
        np.testing.assert_allclose(np.sum(FITTED.embedding_**2, axis=1), SMOOTH.d, rtol=1e-8)
        np.testing.assert_allclose(FITTED.learned_kernel(SMOOTH.X).diagonal(), SMOOTH.d, rtol=1e-8)

    def test_constraints_of_an_ill_conditioned_kernel(self):
        """Condition number 6e11: K^-1 has few correct digits, and the embedding all of them."""
        X = np.random.default_rng(0).uniform(-1, 1, (60, 1))
        assert np.linalg.cond(Matern(0.6, nu=2.5)(X)) > 1e11
        est = RKHSEmbedding(smoothness=3.0, length_scale=0.6, regularization=1e-3, random_state=0).fit(X)
        assert est.status_ == "optimal"
        assert est.certificate_.grade == "proved"
        np.testing.assert_allclose(np.sum(est.embedding_**2, axis=1), 1.0, rtol=1e-8)
        # The optimal curve is smooth, so that a finer sample of the same kernel changes its values but little.
        np.testing.assert_allclose(np.sum(est.transform(np.linspace(-0.9, 0.9, 50)[:, None]) ** 2, axis=1), 1.0, atol=1e-2)

    def test_transform_is_the_linear_formula(self):
        Y = np.random.default_rng(1).uniform(-2, 2, (30, 2))
        chi = np.linalg.solve(SMOOTH.K, FITTED.embedding_)
        np.testing.assert_allclose(FITTED.transform(Y), SMOOTH.kernel(Y, SMOOTH.X) @ chi, atol=1e-10)
        np.testing.assert_allclose(FITTED.transform(SMOOTH.X), FITTED.embedding_, atol=1e-8)
        np.testing.assert_array_equal(FITTED.fit_transform(SMOOTH.X), FITTED.embedding_)

    def test_learned_kernel(self):
        Y = np.random.default_rng(2).uniform(-3, 3, (40, 2))
        B = FITTED.learned_kernel(Y)
        assert np.linalg.eigvalsh(B)[0] > -1e-12
        np.testing.assert_allclose(FITTED.learned_kernel(Y, SMOOTH.X), FITTED.transform(Y) @ FITTED.embedding_.T, atol=1e-12)

    def test_far_away_everything_vanishes(self):
        Z = FITTED.transform(np.array([[1e3, 0.0], [1e300, -1e300]]))
        np.testing.assert_array_equal(Z, 0.0)
        assert (FITTED.score_samples(np.array([[1e3, 0.0], [0.0, 0.0]])) < [-1000, 10]).all()

    @pytest.mark.parametrize(("p", "nu", "lam", "seed"), INSTANCES)
    def test_three_expressions_of_the_objective(self, p, nu, lam, seed):
        """To 1e-10, or to what the condition of K leaves of the plain formulas."""
        problem = instance(p, nu, lam, seed)
        est = estimate(problem)
        values = [problem.operator_objective(est), problem.feature_objective(est), problem.sample_objective(est)]
        accuracy = max(1e-10, 0.1 * np.finfo(float).eps * np.linalg.cond(problem.K))
        np.testing.assert_allclose(values, est.certificate_.objective / problem.W**2, rtol=accuracy)

    def test_trace(self):
        G = np.linalg.solve(SMOOTH.R.T, FITTED.embedding_)
        assert FITTED.trace_ == pytest.approx(np.sum(G**2), rel=1e-9)

    def test_spectrum(self):
        np.testing.assert_allclose(FITTED.embedding_.T @ FITTED.embedding_, np.diag(FITTED.eigenvalues_), atol=1e-8)
        assert (np.diff(FITTED.eigenvalues_) < 0).all()

    def test_truncation(self):
        one = estimate(SMOOTH, n_components=1)
        np.testing.assert_allclose(one.embedding_, FITTED.embedding_[:, :1], atol=1e-10)
        assert one.get_feature_names_out().tolist() == ["rkhsembedding0"]
        unit = estimate(SMOOTH, n_components=2, normalize="unit")
        np.testing.assert_allclose(np.linalg.norm(unit.transform(SMOOTH.X), axis=1), 1.0, rtol=1e-12)


class TestSample:
    def test_weights_are_repetitions(self):
        X = MOONS[:40]
        w = np.random.default_rng(0).integers(0, 4, len(X))
        options = {"length_scale": 1.0, "random_state": 0}
        weighted = RKHSEmbedding(**options).fit(X, sample_weight=w)
        repeated = RKHSEmbedding(**options).fit(np.repeat(X, w, axis=0))
        np.testing.assert_allclose(weighted.learned_kernel(X), repeated.learned_kernel(X), atol=1e-7)
        assert weighted.certificate_.objective == pytest.approx(repeated.certificate_.objective, rel=1e-7)
        scaled = RKHSEmbedding(**options).fit(X, sample_weight=2.5 * w)
        np.testing.assert_allclose(weighted.learned_kernel(X), scaled.learned_kernel(X), atol=1e-7)

    def test_weighted_optimum(self):
        rng = np.random.default_rng(3)
        X, w = rng.uniform(-1, 1, (18, 2)), rng.uniform(0.2, 3, 18)
        problem = Written(X, 1.5, 0.8, 1e-3, w=w)
        est = RKHSEmbedding(smoothness=2.5, length_scale=0.8, regularization=1e-3, random_state=0).fit(X, sample_weight=w)
        value, B = problem.clarabel()
        assert est.certificate_.objective / problem.W**2 == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(est.embedding_ @ est.embedding_.T, B, atol=1e-4)

    def test_order_of_rows(self):
        order = np.random.default_rng(0).permutation(len(SMOOTH.X))
        problem = Written(SMOOTH.X[order], 1.5, SMOOTH.kernel.length_scale, SMOOTH.lam, SMOOTH.d[order])
        B = estimate(problem).learned_kernel(SMOOTH.X)
        np.testing.assert_allclose(B, FITTED.learned_kernel(SMOOTH.X), atol=1e-6)

    def test_rows_of_weight_zero_are_extended(self):
        X = MOONS[:30]
        w = np.ones(30)
        w[::3] = 0
        est = RKHSEmbedding(length_scale=1.0, random_state=0).fit(X, sample_weight=w)
        norms = np.sum(est.embedding_**2, axis=1)
        np.testing.assert_allclose(norms[w > 0], 1.0, rtol=1e-8)
        assert (abs(norms[w == 0] - 1) > 1e-6).any()


class TestParameters:
    def test_direction(self):
        """A multiple of the mean element is the mean element; another function gives another optimum."""
        options = {"smoothness": 2.5, "length_scale": SMOOTH.kernel.length_scale, "regularization": 1e-3, "random_state": 0}
        mean = RKHSEmbedding(**options).fit(SMOOTH.X)

        def same(X):
            return 7.0 * SMOOTH.kernel(X, SMOOTH.X).sum(axis=1)

        np.testing.assert_allclose(
            RKHSEmbedding(**options, direction=same).fit(SMOOTH.X).learned_kernel(SMOOTH.X),
            mean.learned_kernel(SMOOTH.X),
            atol=1e-6,
        )

        def other(X):
            return np.exp(X[:, 0])

        u = other(SMOOTH.X)
        u /= np.sqrt(u @ np.linalg.solve(SMOOTH.K, u))
        value, B = Written(SMOOTH.X, 1.5, SMOOTH.kernel.length_scale, 1e-3, u=u).clarabel()
        est = RKHSEmbedding(**options, direction=other).fit(SMOOTH.X)
        assert est.certificate_.objective / SMOOTH.W**2 == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(est.embedding_ @ est.embedding_.T, B, atol=1e-4)
        assert abs(est.learned_kernel(SMOOTH.X) - mean.learned_kernel(SMOOTH.X)).max() > 1e-2

    def test_diagonal_by_a_callable(self):
        def d(X):
            return 1 + X[:, 0] ** 2 / 2

        est = RKHSEmbedding(
            smoothness=2.5, length_scale=SMOOTH.kernel.length_scale, regularization=1e-3, diagonal=d, random_state=0
        ).fit(SMOOTH.X)
        np.testing.assert_allclose(est.embedding_, FITTED.embedding_, atol=1e-10)

    def test_theory(self):
        est = RKHSEmbedding(length_scale=1.0, regularization="theory", delta=0.1, random_state=0).fit(MOONS)
        K = Matern(1.0, nu=1.5)(MOONS)
        top = np.linalg.eigvalsh(K)[-1] / len(K)
        assert est.regularization_ == pytest.approx(theory.least_regularization(len(K), 0.1, top), rel=1e-9)

    def test_defaults(self):
        est = RKHSEmbedding(random_state=0).fit(WINE)
        assert est.smoothness_ == WINE.shape[1] / 2 + 1.5
        assert est.length_scale_ == pytest.approx(np.median(cdist(WINE, WINE)[np.triu_indices(len(WINE), 1)]))
        assert est.status_ == "optimal"
        K = Matern(est.length_scale_, nu=1.5)(WINE)
        u = K.sum(axis=1) / np.sqrt(K.sum())
        gain = np.linalg.eigvalsh(K - np.outer(u, u))[-1] / len(K)
        assert est.regularization_ == pytest.approx(0.1 * gain**2, rel=1e-9)
        assert len(est.eigenvalues_) > 1

    def test_points_that_all_coincide(self):
        est = RKHSEmbedding(length_scale=1.0, random_state=0).fit(np.ones((5, 2)))
        np.testing.assert_allclose(est.embedding_, np.ones((5, 1)), rtol=1e-10)
        assert est.status_ == "optimal"

    def test_jitter(self):
        """Constraints hold up to the order of the jitter, and a singular kernel becomes a regular one."""
        X = np.linspace(-1, 1, 40)[:, None]
        options = {"smoothness": 6.0, "length_scale": 1.0, "random_state": 0}
        with pytest.raises(ValueError, match=r"numerically singular .* `length_scale`=1, `smoothness`=6 and `jitter`=0"):
            RKHSEmbedding(**options).fit(X)
        est = RKHSEmbedding(**options, jitter=1e-8).fit(X)
        assert est.status_ == "optimal"
        np.testing.assert_allclose(np.sum(est.embedding_**2, axis=1), 1.0, atol=1e-4)
        np.testing.assert_array_equal(est.transform(X), est.embedding_)


class TestRegularization:
    def test_trace_falls_as_lambda_grows(self):
        lambdas = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10]
        fits = [RKHSEmbedding(length_scale=1.0, regularization=lam, random_state=0).fit(MOONS) for lam in lambdas]
        traces = np.array([est.trace_ for est in fits])
        values = np.array([est.certificate_.objective for est in fits])
        assert all(est.status_ == "optimal" for est in fits)
        assert (np.diff(traces) <= 1e-6 * traces[:-1]).all()
        assert traces[0] > 10 * traces[-1]
        assert (np.diff(values) < 0).all()
        # In the end all points are in one place, at the least trace that the constraints allow.
        K = Matern(1.0, nu=1.5)(MOONS)
        assert len(fits[-1].eigenvalues_) == 1
        assert traces[-1] == pytest.approx(np.linalg.solve(K, np.ones(len(K))).sum(), rel=1e-6)

    def test_without_regularization_in_the_limit(self):
        """A kernel close to the Gaussian: B' tends to the optimum for K - uu' alone, found by Clarabel."""
        X = np.random.default_rng(4).uniform(-1, 1, (16, 2))
        K = Matern(0.5, nu=4.5)(X)
        u = K.sum(axis=1) / np.sqrt(K.sum())
        B = cp.Variable((16, 16), PSD=True)
        problem = cp.Problem(cp.Maximize(cp.trace((K - np.outer(u, u)) @ B)), [cp.diag(B) == 1])
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        errors = []
        for lam in (1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
            est = RKHSEmbedding(smoothness=5.5, length_scale=0.5, regularization=lam, tol=1e-3, random_state=0).fit(X)
            errors.append(abs(est.embedding_ @ est.embedding_.T - B.value).max())
        assert (np.diff(errors[:-1]) < 0).all()  # the last two differ by the accuracy of Clarabel
        assert errors[0] > 0.1
        assert errors[-1] < 1e-3
        assert est.certificate_.objective == pytest.approx(problem.value, rel=1e-4)


class TestAmongOthers:
    def test_support_vector_machine(self):
        est = RKHSEmbedding(random_state=0).fit(WINE[::2])
        machine = SVC(kernel=est.learned_kernel).fit(WINE[::2], WINE_CLASS[::2])
        assert machine.score(WINE[1::2], WINE_CLASS[1::2]) > 0.9

    def test_grid_search(self):
        pipeline = make_pipeline(RKHSEmbedding(random_state=0), SVC())
        search = GridSearchCV(pipeline, {"rkhsembedding__regularization": [1e-1, 1e-4]}, cv=3).fit(WINE, WINE_CLASS)
        assert search.best_params_ == {"rkhsembedding__regularization": 1e-4}

    def test_progress(self, capsys):
        RKHSEmbedding(random_state=0, verbose=True).fit(MOONS[:30])
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("iteration     1")
        assert lines[-1].startswith("optimal: relative gap")

    def test_too_few_iterations_warn(self):
        with pytest.warns(ConvergenceWarning, match="RKHSEmbedding ended with status 'max_iter'"):
            est = RKHSEmbedding(max_iter=2, random_state=0).fit(WINE)
        assert np.isfinite(est.transform(WINE)).all()
        np.testing.assert_allclose(np.sum(est.embedding_**2, axis=1), 1.0, rtol=1e-8)


def test_equal_rows_have_one_diagonal():
    X = np.vstack([MOONS[:10], MOONS[:2]])
    d = np.ones(12)
    RKHSEmbedding(length_scale=1.0, diagonal=d).fit(X)
    d[11] = 2.0
    with pytest.raises(ValueError, match=r"`diagonal` must be the same for equal rows of X, got 1.0 at row 1 and 2.0 at"):
        RKHSEmbedding(length_scale=1.0, diagonal=d).fit(X)


def test_rows_that_almost_coincide_are_named():
    X = np.vstack([MOONS[:20], MOONS[7] + 1e-14])
    with pytest.raises(ValueError, match=r"numerically singular .*merge points that almost coincide \(rows 7 and 20"):
        RKHSEmbedding(length_scale=1.0).fit(X)
