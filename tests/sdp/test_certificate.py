"""Bounds on the optimum, against an independent solver and against points where the answer is known."""

import math
import re
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, as_operator, kernel_matrix
from elliptope.sdp import solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.certify import certify
from elliptope.sdp.problem import Problem

# What rounding in the tests' own sums may take, relative to the sums of absolute values.
ROUNDING = 1e-13
TOL = 1e-6


def unit_rows(V):
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def random_factor(n, rng, rank=3):
    return unit_rows(rng.standard_normal((n, rank)))


def power_steps(J, H, steps):
    """Any feasible point will do; for psd J these come ever closer to the optimum."""
    for _ in range(steps):
        H = unit_rows(J @ H + 1e-12 * H)
    return H


def certificate_at(cost, H, tol=TOL, **options):
    problem = Problem(as_operator(cost))
    return certify(problem, problem.evaluate(H), np.random.default_rng(0), tol, **options)[0]


# --- the independent solver ------------------------------------------------------------------------------------------


@cache
def conic_program(n):
    C = cp.Parameter((n, n), symmetric=True)
    Z = cp.Variable((n, n), PSD=True)
    unit_diagonal = cp.diag(Z) == 1
    return cp.Problem(cp.Maximize(cp.trace(C @ Z)), [unit_diagonal]), C, Z, unit_diagonal


@dataclass(frozen=True)
class Optimum:
    """An interval that holds p⋆ whatever the accuracy of the solver, up to rounding."""

    lower: float
    upper: float


def reference(J):
    """Clarabel's primal point made feasible (psd part, unit diagonal) and its dual vector made feasible (shifted)."""
    size = abs(J).max()
    program, C, Z, unit_diagonal = conic_program(len(J))
    C.value = J / size
    program.solve(solver="CLARABEL", warm_start=False, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    values, vectors = np.linalg.eigh(Z.value)
    F = unit_rows(vectors * np.sqrt(np.maximum(values, 0)))
    z = unit_diagonal.dual_value
    shift = max(0.0, -np.linalg.eigvalsh(np.diag(z) - C.value)[0])
    rounding = ROUNDING * abs(J).sum()
    return Optimum(float(np.vdot(F, J @ F)) - rounding, size * float(z.sum() + len(J) * shift) + rounding)


# --- random instances ------------------------------------------------------------------------------------------------


def random_psd(n, rng):
    W = rng.standard_normal((n, rng.integers(1, n + 1)))
    return W @ W.T


def random_indefinite(n, rng):
    W = rng.standard_normal((n, n))
    return W + W.T + np.diag(rng.standard_normal(n) * 10 ** rng.uniform(-1, 2))


def gaussian_operator(n, rng):
    X, w = rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)
    operator = DenseOperator(kernel_matrix(Gaussian(10 ** rng.uniform(-0.6, 0.6)), X), w)
    operator.set_row_scale(w * np.sqrt(operator.abar_diagonal()))
    return operator


def random_graph(n, rng):
    """Max-cut; at least one edge, isolated vertices allowed."""
    A = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1).astype(float)
    A[0, 1] = 1.0
    return -(A + A.T)


FAMILIES = {"psd": random_psd, "gaussian": gaussian_operator, "indefinite": random_indefinite, "graph": random_graph}
SIZES = [2, 3, 5, 8, 12, 16, 20, 25]
BATCHES, PER_BATCH = 4, 15  # with four families: 240 instances


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_hold_and_meet(family, batch):
    """upper_bound is never below the optimum, wherever it is taken from; at convergence both ends meet it."""
    rng = np.random.default_rng([batch, *family.encode()])
    for instance in range(PER_BATCH):
        n = SIZES[(PER_BATCH * batch + instance) % len(SIZES)]
        cost = FAMILIES[family](n, rng)
        J = cost @ np.eye(n)
        J = 0.5 * (J + J.T)
        optimum = reference(J)
        gain = optimum.lower - np.trace(J)
        assert optimum.upper - optimum.lower < 1e-7 * gain

        H = random_factor(n, rng, rank=int(rng.integers(1, 5)))
        points = [H, power_steps(J, H, 2), power_steps(J, H, 20)]
        for certificate in [certificate_at(cost, H) for H in points]:
            assert certificate.grade == "proved"
            assert certificate.upper_bound >= optimum.lower
            assert certificate.objective <= optimum.upper

        solution = solve(cost, rng=instance)
        certificate = solution.certificate
        assert solution.status in ("optimal", "degenerate")
        assert certificate.grade == "proved"
        assert certificate.upper_bound >= optimum.lower
        assert certificate.objective <= optimum.upper
        assert certificate.upper_bound - optimum.lower <= (TOL + 1e-7) * gain
        assert optimum.upper - certificate.objective <= (TOL + 1e-7) * gain


def test_objective_is_that_of_the_point():
    rng = np.random.default_rng(0)
    J, H = random_indefinite(12, rng), random_factor(12, rng)
    certificate = certificate_at(J, H)
    value = sum(J[i, j] * (H[i] @ H[j]) for i in range(12) for j in range(12))
    assert certificate.objective == pytest.approx(value, abs=ROUNDING * abs(J).sum())
    assert certificate.gain == pytest.approx(value - np.trace(J), abs=ROUNDING * abs(J).sum())
    assert certificate.upper_bound - certificate.objective == pytest.approx(certificate.gap, rel=1e-10)
    assert certificate.relative_gap == certificate.gap / certificate.gain or certificate.gain <= 0


def test_min_eigenvalue_is_a_lower_bound():
    rng = np.random.default_rng(1)
    for _ in range(20):
        J = random_psd(15, rng)
        H = power_steps(J, random_factor(15, rng), int(rng.integers(0, 30)))
        y = np.einsum("ij,ij->i", H, J @ H)
        assert certificate_at(J, H).min_eigenvalue <= np.linalg.eigvalsh(np.diag(y) - J)[0] + ROUNDING * abs(J).sum()


# --- stationary points that are not optimal --------------------------------------------------------------------------


def ring(n=12):
    """Gaussian J of points on a circle: the constant vector is in its null space, so that all rows equal is the minimum."""
    angle = 2 * np.pi * np.arange(n) / n
    operator = DenseOperator(kernel_matrix(Gaussian(1.0), np.c_[np.cos(angle), np.sin(angle)]))
    return operator @ np.eye(n)


def five_cycle():
    A = np.roll(np.eye(5), 1, axis=0)
    return -(A + A.T)


STATIONARY = {
    "equal rows, repelling pair": (np.array([[0.0, -1.0], [-1.0, 0.0]]), np.ones((2, 1)), 2.0),
    "equal rows, complete graph": (np.eye(7) - 1, np.ones((7, 2)) / math.sqrt(2), 7.0),
    "best cut of a five-cycle": (five_cycle(), np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]]), 10 * math.cos(math.pi / 5)),
    "equal rows, points on a ring": (ring(), np.ones((12, 3)) / math.sqrt(3), None),
    "clusters merged": (np.kron(np.eye(2), np.ones((4, 4))) - 0.5, np.ones((8, 1)), 32.0),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_stationary_but_not_optimal_is_detected_and_left(name):
    J, H, optimum = STATIONARY[name]
    if optimum is None:
        optimum = reference(J).lower
    y = np.einsum("ij,ij->i", H, J @ H)
    np.testing.assert_allclose(y[:, None] * H, J @ H, atol=1e-12)  # it is stationary
    smallest = np.linalg.eigvalsh(np.diag(y) - J)[0]
    assert smallest < -0.1  # and not optimal

    certificate = certificate_at(J, H)
    assert certificate.stationarity < 1e-9
    assert certificate.min_eigenvalue <= smallest + 1e-12
    assert certificate.upper_bound >= optimum - 1e-7
    assert certificate.relative_gap > 0.1

    solution = solve(J, start=H, rng=0)
    assert solution.status in ("optimal", "degenerate")
    assert solution.certificate.objective == pytest.approx(optimum, rel=1e-6)


def test_eigenvalues_of_smallest_magnitude_are_not_enough():
    """L with eight zero eigenvalues and one of -1e-4: the authors' check of the six smallest by magnitude sees nothing."""
    rng = np.random.default_rng(2)
    n, r = 20, 8
    H = random_factor(n, rng, rank=r)
    N = np.linalg.svd(H)[0][:, r:]  # (n, n - r), orthogonal to H
    L = N @ np.diag([-1e-4, *rng.uniform(0.5, 1.5, n - r - 1)]) @ N.T
    y = rng.uniform(2, 3, n)
    certificate = certificate_at(np.diag(y) - L, H)
    assert certificate.objective == pytest.approx(y.sum(), rel=1e-12)
    assert certificate.stationarity < 1e-9
    assert certificate.min_eigenvalue <= -1e-4 * (1 - 1e-9)
    assert certificate.upper_bound >= reference(np.diag(y) - L).lower
    assert certificate.relative_gap > TOL


# --- parts of the certificate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_weight_gives_a_bound(family):
    """p⋆ ≤ Σy + sΣv with s = max(0, -λmin) of the scaled L, computed densely."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(6):
        cost = FAMILIES[family](10, rng)
        J = cost @ np.eye(10)
        J = 0.5 * (J + J.T)
        optimum = reference(J)
        problem = Problem(as_operator(cost))
        for steps in (0, 3, 50):
            H = power_steps(J + (2 * abs(J).sum(axis=1).max() if steps else 0) * np.eye(10), random_factor(10, rng), steps)
            iterate = problem.evaluate(H)
            y = np.einsum("ij,ij->i", H, J @ H)
            for name, metric in dual_metrics(iterate).items():
                v = metric.v
                assert v.min() > 0
                root = 1 / np.sqrt(v)
                s = max(0.0, -np.linalg.eigvalsh(root[:, None] * (np.diag(y) - J) * root)[0])
                assert y.sum() + s * v.sum() >= optimum.lower
                seen.add(name)
    assert "additive" in seen
    assert "multiplicative" in seen or family in ("indefinite", "graph")
    assert "slack" in seen


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shift", [-1e3, 7.0, 1e4, 1e10])
def test_relative_gap_does_not_see_the_diagonal(family, shift):
    rng = np.random.default_rng(4)
    n = 15
    J = FAMILIES[family](n, rng) @ np.eye(n)
    J = 0.5 * (J + J.T)
    shifted = J + np.diag(shift * rng.uniform(0.5, 1, n))
    H = solve(J, rng=0, tol=1e-9).factor
    optimal, moved = certificate_at(J, H), certificate_at(shifted, H)
    assert optimal.relative_gap <= TOL
    assert moved.relative_gap == pytest.approx(optimal.relative_gap, abs=0.01 * TOL)
    assert moved.gain == pytest.approx(optimal.gain, rel=1e-9)
    # An error in the embedding that is a small part of the shifted objective shows in full.
    wrong = unit_rows(H + 0.1 * rng.standard_normal(H.shape))
    assert certificate_at(shifted, wrong).relative_gap > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_perturbed_optimum_is_noticed(family):
    rng = np.random.default_rng(5)
    n = 18
    cost = FAMILIES[family](n, rng)
    J = cost @ np.eye(n)
    J = 0.5 * (J + J.T)
    optimum = reference(J)
    H = solve(cost, rng=0).factor
    assert certificate_at(cost, H).relative_gap <= TOL
    certificate = certificate_at(cost, unit_rows(H + 1e-3 * rng.standard_normal(H.shape)))
    assert certificate.relative_gap > 10 * TOL
    assert certificate.upper_bound >= optimum.lower


@pytest.mark.parametrize("family", ["psd", "gaussian", "indefinite"])
def test_a_dual_vector_from_another_cost_proves_nothing_wrong(family):
    """y of a cost that differs by 1e-3: the bound must be paid for by the factorisation of the true one."""
    rng = np.random.default_rng(6)
    n = 18
    cost = FAMILIES[family](n, rng)
    J = cost @ np.eye(n)
    J = 0.5 * (J + J.T)
    optimum = reference(J)
    H = solve(cost, rng=0).factor
    problem = Problem(as_operator(cost))
    for _ in range(10):
        E = 1e-3 * abs(J).max() * rng.standard_normal((n, n))
        E = E + E.T
        np.fill_diagonal(E, 0.0)
        iterate = Problem(as_operator(J + E)).evaluate(H)
        certificate, _ = certify(problem, iterate, rng, TOL)
        assert certificate.grade == "proved"
        assert certificate.upper_bound >= optimum.lower
        assert certificate.upper_bound - optimum.upper > TOL * certificate.gain


class TestGrades:
    def test_proved_has_no_failure_probability(self):
        rng = np.random.default_rng(0)
        assert certificate_at(random_psd(10, rng), random_factor(10, rng)).failure_probability == 0.0

    def test_estimate_is_what_the_caller_asks_for_and_is_not_a_proof(self):
        """Far from the optimum, without `thorough`, a Ritz value alone answers; it is labelled so."""
        rng = np.random.default_rng(0)
        certificate = certificate_at(random_psd(10, rng), random_factor(10, rng), effort="estimate")
        assert certificate.grade == "estimate"
        assert math.isnan(certificate.failure_probability)

    @pytest.mark.parametrize("family", ["psd", "indefinite", "graph"])
    def test_probabilistic_on_small_problems(self, family):
        rng = np.random.default_rng(7)
        for _ in range(5):
            J = FAMILIES[family](12, rng)
            optimum = reference(J)
            for H in (random_factor(12, rng), power_steps(J, random_factor(12, rng), 5), solve(J, rng=0).factor):
                certificate = certificate_at(aslinearoperator(J), H)
                assert certificate.grade == "probabilistic"
                assert 0 <= certificate.failure_probability < 1e-3
                assert certificate.upper_bound >= optimum.lower
                assert certificate.objective <= optimum.upper

    def test_probabilistic_where_lanczos_does_not_see_everything(self):
        """More points than Lanczos steps; a lower bound on p⋆ is the value of the feasible point of a dense solve."""
        rng = np.random.default_rng(8)
        W = rng.standard_normal((300, 300))
        J = W + W.T
        F = solve(J, rng=0).factor
        np.testing.assert_allclose(np.linalg.norm(F, axis=1), 1, rtol=1e-12)
        attained = float(np.vdot(F, J @ F))
        for H in (random_factor(300, rng), power_steps(J + 60 * np.eye(300), random_factor(300, rng), 30), F):
            certificate = certificate_at(aslinearoperator(J), H)
            assert certificate.grade == "probabilistic"
            assert 0 < certificate.failure_probability < 1e-3
            assert certificate.upper_bound >= attained * (1 - ROUNDING)
            assert math.isfinite(certificate.upper_bound)

    def test_a_linear_operator_is_never_proved(self):
        J = random_psd(20, np.random.default_rng(9))
        solution = solve(aslinearoperator(J), rng=0)
        assert solution.certificate.grade == "probabilistic"
        assert solution.certificate.objective == pytest.approx(reference(J).lower, rel=1e-6)


def test_repr_says_what_is_claimed():
    rng = np.random.default_rng(0)
    J, H = random_psd(10, rng), random_factor(10, rng)
    proved, probable = certificate_at(J, H), certificate_at(aslinearoperator(J), H)
    assert repr(proved).startswith("Certificate(proved: ")
    assert "probabilistic (wrong with probability ≤" in repr(probable)
    shown = float(re.search(r"relative_gap=(\S+),", repr(proved))[1])
    assert proved.relative_gap <= shown <= 1.01 * proved.relative_gap  # never less than what was proved
    assert f"{proved.objective:.10g} ≤ optimum ≤ {proved.upper_bound:.10g}" in repr(proved)
