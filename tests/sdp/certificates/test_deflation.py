"""What is known of L near a critical point: never more than is true, and worth a great deal at an optimum."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope.sdp import certify, solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.deflation import AlmostNull, almost_null
from elliptope.sdp.certificates.probabilistic import certify_by_tests
from elliptope.sdp.iterate import Iterate
from sdp.costs import core, meter_of, near_optimum, unit_rows

# Of the eigenvalues of a small matrix of norm 1.
ROUNDING = 1e-13


def kernel(n, seed, bandwidth=2.0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / bandwidth**2)


def cost(n=60, seed=0):
    return kernel(n, seed) - 0.4


def whitened(meter, iterate, metric):
    """The whitened L as a matrix."""
    V = metric.unwhiten(np.eye(meter.problem.n))
    N = metric.whiten_gradient(iterate.slack[:, None] * V - core(meter.problem.operator) @ V)
    return 0.5 * (N + N.T)


@pytest.mark.parametrize("error", [0.0, 1e-7, 1e-4, 1e-2, 0.3])
def test_the_whole_is_bounded_by_the_complement(error):
    """λmin(N) ≥ -s with s from the blocks of N, whatever is left out and however far from an optimum."""
    for seed in range(8):
        meter, iterate = near_optimum(cost(seed=seed), error, seed)
        for metric in dual_metrics(iterate).values():
            N = whitened(meter, iterate, metric)
            for allowed in (1e-6, 1e-3, 1.0, np.inf):
                known = almost_null(iterate, metric, allowed, 0.0)
                U = known.basis
                np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-14)
                if U.size:
                    lowest = min(np.linalg.eigvalsh(U.T @ N @ U)[0], 0.0)
                    assert known.inside == pytest.approx(-lowest, rel=1e-6, abs=ROUNDING)
                    across = np.linalg.norm(known.project(N @ U), 2)
                    assert known.across == pytest.approx(across, rel=1e-6, abs=ROUNDING)
                assert (np.linalg.norm(N @ U, axis=0) <= allowed * (1 + 1e-9)).all()
                D = known.project(known.project(N).T)
                t = max(0.0, -np.linalg.eigvalsh(D)[0])
                assert known.shift(t, 0.0) >= -np.linalg.eigvalsh(N)[0] - ROUNDING


def test_the_bound_of_two_blocks_is_attained():
    a, c, t = 0.3, 0.2, 0.1
    for rounding, amplification in ((0.0, 1.0), (1e-3, 1.0), (1e-3, 5.0)):
        known, e = AlmostNull(np.eye(3)[:, :1], a, c, amplification), amplification * rounding
        worst = np.linalg.eigvalsh([[-a - e, -c - e], [-c - e, -t]])[0]
        assert known.shift(t, rounding) == pytest.approx(-worst)
    assert AlmostNull(np.empty((3, 0)), 0.0, 0.0).shift(t, 1e-13) == t


def test_columns_that_depend_on_others_are_no_basis():
    meter, iterate = near_optimum(cost(), 0.0)
    twice = meter.evaluate(np.hstack([iterate.H, iterate.H]) / np.sqrt(2))
    metric = next(iter(dual_metrics(twice).values()))
    assert almost_null(twice, metric, np.inf, 0.0).basis.shape[1] == np.linalg.matrix_rank(iterate.H, tol=1e-5)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-5])
def test_rounding_of_short_columns_is_amplified(size):
    """Products that err by as much as was admitted: what follows for short columns of H is covered, or they are left out."""
    for seed in range(5):
        meter, optimum = near_optimum(cost(seed=seed), 0.0, seed)
        rng, rounding = np.random.default_rng(seed), 1e-9
        H = unit_rows(np.hstack([optimum.H, size * rng.standard_normal((60, 1))]))
        exact = meter.evaluate(H)
        metric = next(iter(dual_metrics(exact).values()))
        N = whitened(meter, exact, metric)
        error = rng.standard_normal(H.shape)
        error *= rounding * np.linalg.norm(metric.whiten(H), 2) / np.linalg.norm(metric.whiten_gradient(error), 2)
        wrong = Iterate(H, exact.P + error - (error * H).sum(axis=1, keepdims=True) * H, exact.offset)
        assert wrong.slack == pytest.approx(exact.slack, abs=1e-6)
        known = almost_null(wrong, metric, 10.0, 2 * rounding)
        assert known.basis.shape[1] == H.shape[1]
        U = known.basis
        inside, across = -np.linalg.eigvalsh(U.T @ N @ U)[0], np.linalg.norm(known.project(N @ U), 2)
        assert max(inside - known.inside, across - known.across) <= known.amplification * 4 * rounding
        # Where so much is too much, the short column is not taken to be known.
        few = almost_null(wrong, metric, 0.5 * rounding / size, 2 * rounding)
        assert few.basis.shape[1] < H.shape[1]


@pytest.mark.parametrize("error", [0.0, 1e-8, 1e-5, 1e-2])
def test_certified_bounds_hold(error):
    for seed in range(3):
        C = cost(seed=seed)
        _, iterate = near_optimum(C, error, seed)
        optimum = solve(C, tol=1e-9, rng=seed).certificate
        for tol in (1e-2, 1e-5, 1e-7):
            certificate = certify(aslinearoperator(C), iterate.H, tol=tol, rng=seed)
            assert certificate.grade == "probabilistic"
            assert certificate.upper_bound >= optimum.objective
            assert certificate.objective <= optimum.upper_bound


def test_a_saddle_is_no_optimum():
    """A critical point of too small a rank: what is known of L there is exact, and L is negative elsewhere."""
    for seed in range(5):
        C = kernel(80, seed, 1.0) - 0.2
        best = solve(C, tol=1e-8, rng=seed).certificate.objective
        signs = np.sign(np.random.default_rng(seed).standard_normal(80))
        for _ in range(200):  # a fixed point of the signs: critical, of rank one
            signs = np.where((C - np.diag(np.diag(C))) @ signs >= 0, 1.0, -1.0)
        meter = meter_of(aslinearoperator(C))
        iterate = meter.evaluate(signs[:, None])
        assert iterate.objective < best * (1 - 1e-3)
        certificate, direction = certify_by_tests(meter, iterate, np.random.default_rng(0), 1e-6, saddle=False)
        assert certificate.upper_bound >= best
        assert direction is not None


def test_a_tight_bound_costs_no_more_than_a_loose_one():
    """Where the optimum is unique, products do not grow with the accuracy that is asked for."""
    _, iterate = near_optimum(cost(400), 0.0)
    spent = []
    for tol in (1e-4, 1e-9):
        meter = meter_of(aslinearoperator(cost(400)))
        certificate, _ = certify_by_tests(meter, iterate, np.random.default_rng(0), tol, saddle=False)
        assert certificate.relative_gap <= tol
        spent.append(meter.count)
    assert spent[1] <= 1.5 * spent[0]
