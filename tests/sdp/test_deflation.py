"""What is known of L near a critical point: never more than is true, and worth a great deal at an optimum."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope.operators import as_operator
from elliptope.sdp import solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.deflation import AlmostNull, almost_null
from elliptope.sdp.certificates.probable import certify_by_tests
from elliptope.sdp.problem import Iterate, Problem
from elliptope.sdp.steps import normalize_rows

# Of the eigenvalues of a small matrix of norm 1.
ROUNDING = 1e-13


def kernel(n, seed, bandwidth=2.0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / bandwidth**2)


def near_optimum(n, seed, error):
    """The problem, its optimum, and an iterate that misses the optimal factor by about ``error``."""
    rng = np.random.default_rng(seed)
    C = kernel(n, seed) - 0.4
    optimum = solve(C, tol=1e-9, polish=True, rng=seed)
    problem = Problem(as_operator(aslinearoperator(C)))
    H = normalize_rows(optimum.factor + error * rng.standard_normal(optimum.factor.shape), rng)
    return problem, optimum, problem.evaluate(H)


def whitened(problem, iterate, metric):
    """The whitened L as a matrix."""
    V = metric.unwhiten(np.eye(problem.n))
    N = metric.whiten_gradient(iterate.slack[:, None] * V - problem.operator.core_matmat(V))
    return 0.5 * (N + N.T)


@pytest.mark.parametrize("error", [0.0, 1e-7, 1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_the_whole_is_bounded_by_the_complement(seed, error):
    """λmin(N) ≥ -s with s from the blocks of N, whatever is left out and however far from an optimum."""
    problem, _, iterate = near_optimum(60, seed, error)
    for metric in dual_metrics(iterate).values():
        N = whitened(problem, iterate, metric)
        for allowed in (1e-6, 1e-3, 1.0, np.inf):
            known = almost_null(iterate, metric, allowed, 0.0)
            U = known.basis
            np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-14)
            if U.size:
                lowest = min(np.linalg.eigvalsh(U.T @ N @ U)[0], 0.0)
                assert known.inside == pytest.approx(-lowest, rel=1e-6, abs=ROUNDING)
                assert known.across == pytest.approx(np.linalg.norm(known.project(N @ U), 2), rel=1e-6, abs=ROUNDING)
            assert (np.linalg.norm(N @ U, axis=0) <= allowed * (1 + 1e-9)).all()
            D = known.project(known.project(N).T)
            t = max(0.0, -np.linalg.eigvalsh(D)[0])
            assert known.shift(t, 0.0) >= -np.linalg.eigvalsh(N)[0] - ROUNDING


def test_the_bound_of_two_blocks_is_attained():
    a, c, t = 0.3, 0.2, 0.1
    known = AlmostNull(np.eye(3)[:, :1], a, c)
    assert known.shift(t, 0.0) == pytest.approx(-np.linalg.eigvalsh([[-a, -c], [-c, -t]])[0])
    assert AlmostNull(np.empty((3, 0)), 0.0, 0.0).shift(t, 1e-13) == t


def test_columns_that_depend_on_others_are_no_basis():
    problem, optimum, _ = near_optimum(60, 0, 0.0)
    H = optimum.factor
    twice = problem.evaluate(np.hstack([H, H]) / np.sqrt(2))
    metric = next(iter(dual_metrics(twice).values()))
    assert almost_null(twice, metric, np.inf, 0.0).basis.shape[1] == np.linalg.matrix_rank(H, tol=1e-5)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-5])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_of_short_columns_is_amplified(seed, size):
    """Products that err by as much as was admitted: what follows for short columns of H is covered, or they are left out."""
    problem, optimum, _ = near_optimum(60, seed, 0.0)
    rng, rounding = np.random.default_rng(seed), 1e-9
    H = normalize_rows(np.hstack([optimum.factor, size * rng.standard_normal((60, 1))]), rng)
    exact = problem.evaluate(H)
    metric = next(iter(dual_metrics(exact).values()))
    N = whitened(problem, exact, metric)
    error = rng.standard_normal(H.shape)
    error *= rounding * np.linalg.norm(metric.whiten(H), 2) / np.linalg.norm(metric.whiten_gradient(error), 2)
    wrong = Iterate(H, exact.P + error - (error * H).sum(axis=1, keepdims=True) * H, exact.offset)
    assert wrong.slack == pytest.approx(exact.slack, abs=1e-6)
    known = almost_null(wrong, metric, 10.0, 2 * rounding)
    assert known.basis.shape[1] == H.shape[1]
    U = known.basis
    missed = -np.linalg.eigvalsh(U.T @ N @ U)[0] - known.inside, np.linalg.norm(known.project(N @ U), 2) - known.across
    assert max(missed) <= known.amplification * 4 * rounding
    # Where so much is too much, the short column is not taken to be known.
    few = almost_null(wrong, metric, 0.5 * rounding / size, 2 * rounding)
    assert few.basis.shape[1] < H.shape[1]


@pytest.mark.parametrize("error", [0.0, 1e-8, 1e-5, 1e-2])
@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("seed", range(5))
def test_certified_bounds_hold(seed, tol, error):
    problem, optimum, iterate = near_optimum(60, seed, error)
    certificate, _ = certify_by_tests(problem, iterate, np.random.default_rng(seed), tol, "proof")
    assert certificate.grade == "probabilistic"
    assert certificate.upper_bound >= optimum.certificate.objective
    assert certificate.objective <= optimum.certificate.upper_bound


@pytest.mark.parametrize("seed", range(5))
def test_a_saddle_is_no_optimum(seed):
    """A critical point of too small a rank: what is known of L there is exact, and L is negative elsewhere."""
    C = kernel(80, seed, 1.0) - 0.2
    best = solve(C, tol=1e-8, rng=seed).certificate.objective
    signs = np.sign(np.random.default_rng(seed).standard_normal(80))
    for _ in range(200):  # a fixed point of the signs: critical, of rank one
        signs = np.where((C - np.diag(np.diag(C))) @ signs >= 0, 1.0, -1.0)
    problem = Problem(as_operator(aslinearoperator(C)))
    iterate = problem.evaluate(signs[:, None])
    assert iterate.objective < best * (1 - 1e-3)
    certificate, direction = certify_by_tests(problem, iterate, np.random.default_rng(0), 1e-6, "proof")
    assert certificate.upper_bound >= best
    assert direction is not None


def test_a_tight_bound_costs_no_more_than_a_loose_one():
    """Where the optimum is unique, products do not grow with the accuracy that is asked for."""
    problem, _, iterate = near_optimum(400, 0, 0.0)
    spent = []
    for tol in (1e-4, 1e-9):
        before = problem.n_products
        certificate, _ = certify_by_tests(problem, iterate, np.random.default_rng(0), tol, "proof")
        assert certificate.relative_gap <= tol
        spent.append(problem.n_products - before)
    assert spent[1] <= 1.5 * spent[0]
