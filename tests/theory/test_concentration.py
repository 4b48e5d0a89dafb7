"""Statements of probability against draws from an interval whose spectrum is known, and against a solved problem."""

import math
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq

from elliptope.kernels import Matern
from elliptope.theory import deviation, top_eigenvalue, trace_deviation, trace_floor

DRAWS = 500
# The whole norm, over its part on the modes below.
MISSED = 1.1
NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)
WEIGHTS = WEIGHTS / 2  # of the uniform probability on (-1, 1)


class Exponential:
    """Mercer expansion of exp(-|x-y|/ℓ) for the uniform probability on (-1, 1), in closed form.

    With a = 1/ℓ the eigenvalues are a/(ω² + a²), where a = ω tan ω for the even eigenfunctions cos(ωx) and tan ω = -ω/a for
    the odd ones sin(ωx). An element of the RKHS is its vector of coordinates in the orthonormal basis √μ_j ψ_j.
    """

    def __init__(self, scale, modes=64):
        a = 1 / scale
        even = [
            brentq(lambda w: a * math.cos(w) - w * math.sin(w), k * math.pi, (k + 0.5) * math.pi) for k in range(modes // 2)
        ]
        odd = [
            brentq(lambda w: w * math.cos(w) + a * math.sin(w), (k + 0.5) * math.pi, (k + 1) * math.pi)
            for k in range(modes // 2)
        ]
        self.kernel = Matern(scale, nu=0.5)
        self.omega = np.column_stack([even, odd]).ravel()
        self.mu = a / (self.omega**2 + a**2)
        self.parity = np.tile([1, -1], modes // 2)
        self.norm = np.sqrt((1 + self.parity * np.sin(2 * self.omega) / (2 * self.omega)) / 2)

    def features(self, x):
        """φ(x) in coordinates, one row per point."""
        angle = x[:, None] * self.omega
        return np.sqrt(self.mu) / self.norm * np.where(self.parity > 0, np.cos(angle), np.sin(angle))

    def deviation(self, x):
        """‖S*S - S_n*S_n‖ on the span of the modes: never above the true norm."""
        F = self.features(x)
        return np.abs(np.linalg.eigvalsh(F.T @ F / len(x) - np.diag(self.mu))).max()

    def deviation_by_quadrature(self, x):
        """The same norm on all of the RKHS: Σ c_i φ(z_i) ⊗ φ(z_i) has the non-zero eigenvalues of LᵀDiag(c)L, G = LLᵀ."""
        c = np.concatenate([WEIGHTS, np.full(len(x), -1 / len(x))])
        L = np.linalg.cholesky(self.kernel(np.concatenate([NODES, x])[:, None]))
        return np.abs(np.linalg.eigvalsh(L.T @ (c[:, None] * L))).max()


@cache
def spectrum(scale):
    return Exponential(scale)


@cache
def draws(scale, n):
    """Samples of n points, and the deviation of each."""
    x = np.random.default_rng(n).uniform(-1, 1, (DRAWS, n))
    return x, np.array([spectrum(scale).deviation(row) for row in x])


def assert_frequency(events, probability):
    """At least the stated probability. No allowance for chance is made: the bounds are loose enough to need none."""
    assert len(events) >= DRAWS
    assert np.mean(events) >= probability


class TestSpectrum:
    """The reference itself, before anything is compared with it."""

    @pytest.mark.parametrize("scale", [1.0, 0.2])
    def test_closed_form_is_that_of_the_quadrature(self, scale):
        root = np.sqrt(WEIGHTS)
        values = np.linalg.eigvalsh(root[:, None] * Matern(scale, nu=0.5)(NODES[:, None]) * root)[::-1]
        # The kink of the kernel on the diagonal limits the quadrature to an error of second order in the spacing.
        np.testing.assert_allclose(spectrum(scale).mu[:6], values[:6], atol=4e-5)

    @pytest.mark.parametrize("scale", [1.0, 0.2])
    def test_eigenfunctions_are_orthonormal(self, scale):
        psi = spectrum(scale).features(NODES) / np.sqrt(spectrum(scale).mu)
        np.testing.assert_allclose(psi.T @ (WEIGHTS[:, None] * psi), np.eye(64), atol=1e-10)

    @pytest.mark.parametrize("scale", [1.0, 0.2])
    @pytest.mark.parametrize("n", [5, 20, 100, 400])
    def test_modes_carry_the_deviation(self, scale, n):
        x, norms = draws(scale, n)
        whole = np.array([spectrum(scale).deviation_by_quadrature(row) for row in x[:5]])
        assert (norms[:5] <= whole * (1 + 1e-3)).all()  # the quadrature has an error of its own
        assert (whole <= MISSED * norms[:5]).all()


class TestDeviation:
    @pytest.mark.parametrize("scale", [1.0, 0.2])
    @pytest.mark.parametrize("n", [5, 20, 100, 400])
    @pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
    def test_proposition_2(self, scale, n, delta):
        norms = draws(scale, n)[1]
        assert_frequency(MISSED * norms <= deviation(n, delta, spectrum(scale).mu[0]), 1 - 2 * delta)

    @pytest.mark.parametrize("scale", [1.0, 0.2])
    def test_needs_the_square_root(self, scale):
        n, delta = 400, 0.1
        mu = spectrum(scale).mu[0]
        linear = 4 * math.log(2 / (mu * delta)) / (3 * n)
        assert np.mean(draws(scale, n)[1] <= linear) < 1 - 2 * delta

    def test_needs_the_linear_term(self):
        """A kernel so narrow that λmax ≈ ℓ: every sample has ‖D‖ ≥ |⟨φ, Dφ⟩| ≥ 1/n - ℓ/2 for φ = φ(x_1)."""
        n, delta, scale = 10, 0.1, 1e-3
        mu = Exponential(scale, modes=2).mu[0]
        root = math.sqrt(2 * mu * math.log(2 / (mu * delta)) / n)
        assert root < 1 / n - scale / 2 < deviation(n, delta, mu)


class TestTraceDeviation:
    """|f(B) - f_n(B)| ≤ C Tr(B) for A = I - u ⊗ u, f from the spectrum and f_n from the sample."""

    @staticmethod
    @cache
    def worst(n, mode=True):
        """Largest |f(B) - f_n(B)|/Tr(B) over all B on the span of the modes, chosen anew for every sample; for two u."""
        s = spectrum(1.0)
        u = np.eye(64)[1] if mode else np.random.default_rng(7).standard_normal(64)
        A = np.eye(64) - np.outer(u, u) / (u @ u)
        operators = [F.T @ F / n for F in map(s.features, draws(1.0, n)[0])]
        return np.array([np.abs(np.linalg.eigvalsh(s.mu[:, None] * A * s.mu - T @ A @ T)).max() for T in operators])

    @pytest.mark.parametrize("n", [5, 20, 100, 400])
    @pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
    @pytest.mark.parametrize("mode", [True, False])
    def test_proposition_2_for_the_worst_operator(self, n, delta, mode):
        assert_frequency(MISSED * self.worst(n, mode) <= trace_deviation(n, delta, spectrum(1.0).mu[0]), 1 - 2 * delta)

    def test_needs_more_than_the_square(self):
        n, delta = 400, 0.4
        c = deviation(n, delta, spectrum(1.0).mu[0])
        assert np.mean(self.worst(n) <= c**2) < 1 - 2 * delta


class TestTopEigenvalue:
    def test_errs_upwards_on_average_and_within_the_deviation(self):
        n = 50
        x, norms = draws(1.0, n)
        mu = spectrum(1.0).mu[0]
        estimates = np.array([top_eigenvalue(row[:, None], spectrum(1.0).kernel) for row in x])
        assert estimates.mean() - mu > 3 * estimates.std() / math.sqrt(DRAWS)
        assert (np.abs(estimates - mu) <= MISSED * norms).all()


class TestSolvedProblem:
    """What is said of B⋆, against a solution by another solver on a small sample of the interval."""

    N = 12

    @pytest.fixture
    def instance(self):
        s, rng = spectrum(1.0), np.random.default_rng(3)
        x = rng.uniform(-1, 1, self.N)
        G = rng.standard_normal((64, 2)) * np.exp(-0.5 * np.arange(64))[:, None]  # d is a sum of two squares
        u = np.eye(64)[0]  # positive: the top eigenfunction
        return s, x, G, u

    def solve(self, instance, lam):
        """Optimum q of the regularised problem on the sample, and C with B⋆ = Σ C_ij φ(x_i) ⊗ φ(x_j)."""
        s, x, G, u = instance
        F, K = s.features(x), s.kernel(x[:, None])
        R = np.linalg.cholesky(K).T
        Kbar = K - np.outer(F @ u, F @ u)
        B = cp.Variable((self.N, self.N), PSD=True)
        cost = R @ Kbar @ R.T / self.N**2 - lam * np.eye(self.N)
        diagonal = ((F @ G) ** 2).sum(axis=1)
        problem = cp.Problem(cp.Maximize(cp.trace(cost @ B)), [cp.diag(R.T @ B @ R) == diagonal])
        q = problem.solve(solver=cp.CLARABEL)
        R_inverse = np.linalg.inv(R)
        return q, R_inverse @ B.value @ R_inverse.T, np.trace(B.value)

    @pytest.mark.parametrize("lam", [0.03, 0.3, 3.0, 1e3])
    def test_trace_floor_is_below_every_feasible_trace(self, instance, lam):
        q, _, trace = self.solve(instance, lam)
        G = instance[2]
        assert trace_floor(q, lam) <= (G**2).sum()
        assert trace_floor(q, lam) <= trace * (1 + 1e-6)  # B⋆ is feasible on the sample too
        if lam == 1e3:  # nothing but the trace counts
            assert trace_floor(q, lam) == pytest.approx(trace, rel=1e-3)

    @pytest.mark.parametrize("factor", [1, 2, 10])
    def test_shortfall(self, instance, factor):
        """f(B) - f(B⋆) ≤ (λ + C) Tr(B) with the deviation of this very sample in the place of its bound c."""
        s, x, G, u = instance
        c = s.deviation_by_quadrature(x)
        C = 2 * c + c**2
        lam = factor * C
        K_x = s.kernel(NODES[:, None], x[:, None])
        k = s.kernel(NODES[:, None]) - np.outer(s.features(NODES) @ u, s.features(NODES) @ u)
        k *= WEIGHTS[:, None] * WEIGHTS

        def f(b):
            return (k * b).sum()

        values = s.features(NODES) @ G
        assert f(values @ values.T) - f(K_x @ self.solve(instance, lam)[1] @ K_x.T) <= (lam + C) * (G**2).sum()
