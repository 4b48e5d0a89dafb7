"""Bounds on the optimum, against an independent solver and against points where the answer is known."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope.operators.matrix import DenseMatrix
from elliptope.sdp import certify, solve
from elliptope.sdp.certificates.certificate import bound, dual_metrics
from elliptope.sdp.certificates.certifier import prove
from sdp.costs import cycle, indefinite, kernel_cost, meter_of, unit_rows
from sdp.reference import FAMILIES, ROUNDING, power_steps, random_cost, random_factor, random_psd, reference

TOL = 1e-6
SIZES = [2, 3, 5, 8, 12, 16, 20, 25]
INSTANCES = 60  # of each family


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_hold_and_meet(family):
    """upper_bound is never below the optimum, wherever it is taken from; at convergence both ends meet it."""
    rng = np.random.default_rng([0, *family.encode()])
    for instance in range(INSTANCES):
        n = SIZES[instance % len(SIZES)]
        cost, J = random_cost(family, n, rng)
        optimum = reference(J)
        gain = optimum.lower - np.trace(J)
        assert optimum.upper - optimum.lower < 1e-7 * gain

        H = random_factor(n, rng, rank=int(rng.integers(1, 5)))
        for steps in (0, 2, 20):
            point = power_steps(J, H, steps)
            certificate = certify(cost, point, rng=0)
            assert certificate.objective == pytest.approx(np.vdot(point, J @ point), abs=ROUNDING * abs(J).sum())
            assert certificate.upper_bound == pytest.approx(certificate.objective + certificate.gap, rel=1e-10)
            assert certificate.gain == pytest.approx(certificate.objective - np.trace(J), abs=ROUNDING * abs(J).sum())
            assert certificate.relative_gap == (certificate.gap / certificate.gain if certificate.gain > 0 else math.inf)
            assert certificate.grade == "proved"
            assert certificate.upper_bound >= optimum.lower
            assert certificate.objective <= optimum.upper

        solution = solve(cost, rng=instance)
        certificate = solution.certificate
        assert solution.status in ("optimal", "degenerate")
        assert certificate.grade == "proved"
        assert optimum.lower <= certificate.upper_bound <= optimum.lower + (TOL + 1e-7) * gain
        assert optimum.upper - (TOL + 1e-7) * gain <= certificate.objective <= optimum.upper


def test_min_eigenvalue_is_a_lower_bound():
    rng = np.random.default_rng(1)
    for _ in range(20):
        J = random_psd(15, rng)
        H = power_steps(J, random_factor(15, rng), int(rng.integers(0, 30)))
        y = np.einsum("ij,ij->i", H, J @ H)
        lowest = np.linalg.eigvalsh(np.diag(y) - J)[0]
        assert certify(J, H, rng=0).min_eigenvalue <= lowest + ROUNDING * abs(J).sum()


def ring(n=12):
    """Gaussian J of points on a circle: the constant vector is in its null space, so that all rows equal is the minimum."""
    angle = 2 * np.pi * np.arange(n) / n
    return kernel_cost(np.c_[np.cos(angle), np.sin(angle)], 1.0) @ np.eye(n)


STATIONARY = {
    "equal rows, repelling pair": (np.array([[0.0, -1.0], [-1.0, 0.0]]), np.ones((2, 1)), 2.0),
    "equal rows, complete graph": (np.eye(7) - 1, np.ones((7, 2)) / math.sqrt(2), 7.0),
    "best cut of a five-cycle": (-cycle(5), np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]]), 10 * math.cos(math.pi / 5)),
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
    assert smallest < -0.1 * abs(J).max()  # and not optimal

    certificate = certify(J, H, rng=0)
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
    certificate = certify(np.diag(y) - L, H, rng=0)
    assert certificate.objective == pytest.approx(y.sum(), rel=1e-12)
    assert certificate.stationarity < 1e-9
    assert certificate.min_eigenvalue <= -1e-4 * (1 - 1e-9)
    assert certificate.upper_bound >= reference(np.diag(y) - L).lower
    assert certificate.relative_gap > TOL


@pytest.mark.parametrize("family", FAMILIES)
def test_relative_gap_does_not_see_the_diagonal(family):
    rng = np.random.default_rng(4)
    n = 15
    _, J = random_cost(family, n, rng)
    H = solve(J, rng=0, tol=1e-9).factor
    optimal = certify(J, H, rng=0)
    assert optimal.relative_gap <= TOL
    for shift in (-1e3, 7.0, 1e4, 1e10):
        shifted = J + np.diag(shift * rng.uniform(0.5, 1, n))
        moved = certify(shifted, H, rng=0)
        assert moved.relative_gap == pytest.approx(optimal.relative_gap, abs=0.01 * TOL)
        assert moved.gain == pytest.approx(optimal.gain, rel=1e-9)
        # An error in the embedding that is a small part of the shifted objective shows in full.
        wrong = unit_rows(H + 0.1 * rng.standard_normal(H.shape))
        assert certify(shifted, wrong, rng=0).relative_gap > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_errors_of_the_factor_or_the_dual_vector_are_noticed(family):
    rng = np.random.default_rng(5)
    n = 18
    cost, J = random_cost(family, n, rng)
    optimum, H = reference(J), solve(cost, rng=0).factor
    assert certify(cost, H, rng=0).relative_gap <= TOL
    certificate = certify(cost, unit_rows(H + 1e-3 * rng.standard_normal(H.shape)), rng=0)
    assert certificate.relative_gap > 10 * TOL
    assert certificate.upper_bound >= optimum.lower
    # y of a cost that differs by 1e-3: the bound must be paid for by the factorisation of the true one.
    for _ in range(10):
        E = 1e-3 * abs(J).max() * rng.standard_normal((n, n))
        E = E + E.T
        np.fill_diagonal(E, 0.0)
        certificate = prove(meter_of(cost), meter_of(J + E).evaluate(H), rng, TOL)
        assert certificate.grade == "proved"
        assert certificate.upper_bound >= optimum.lower
        assert certificate.upper_bound - optimum.upper > TOL * certificate.gain


class OffBy(DenseMatrix):
    """An operator that stands for another."""

    error_bounds = 0.5, 0.25


def test_what_a_bound_is_made_of():
    """p⋆ ≤ Σy + sm, and λmin(L) ≥ -s max(v)."""
    iterate = meter_of(indefinite(12)).evaluate(random_factor(12, np.random.default_rng(0)))
    metric = dual_metrics(iterate)["additive"]
    operator = OffBy(indefinite(12), np.ones(12))
    for s in (0.1, 0.0):
        certificate = bound(iterate, "additive", metric, s, "proved", 0.0, operator)
        assert certificate.gap == pytest.approx(s * metric.v.sum(), rel=1e-9, abs=1e-12)
        assert certificate.min_eigenvalue == pytest.approx(-s * metric.v.max(), rel=1e-12)
        assert certificate.exact_interval == (certificate.objective - 0.5, certificate.upper_bound + 0.25)


def test_the_bound_covers_the_rounding_of_a_diagonal():
    """One point: the optimum is c d, and three roundings are made on the way."""
    rng = np.random.default_rng(0)
    for c, d in [(-0.23206948541804123, 0.06593515941311441), *zip(rng.standard_normal(300), rng.random(300), strict=True)]:
        bound = solve(np.array([[c]]), np.array([d]), rng=0).certificate.upper_bound
        assert Fraction(bound) >= Fraction(float(c)) * Fraction(float(d))


def test_gaps_cover_the_rounding_of_a_diagonal_in_products():
    """Of linear operators with little beside their diagonal; optima and gains in extended precision, without it."""
    rng, statuses = np.random.default_rng(0), {}
    for instance, size in product(range(6), range(2, 19)):
        n = int(rng.integers(3, 8))
        core = 10.0**-size * (lambda R: R + R.T)(rng.standard_normal((n, n)))
        np.fill_diagonal(core, 0.0)
        C = core + np.diag(rng.standard_normal(n))
        solution = solve(aslinearoperator(C), rng=instance, polish=bool(instance % 2))
        statuses.setdefault(size, set()).add(solution.status)

        def gain(H, core=core):
            H = H.astype(np.longdouble) / np.sqrt((H.astype(np.longdouble) ** 2).sum(axis=1))[:, None]
            return float((core * (H @ H.T)).sum())

        best = gain(solve(core, rng=0, tol=1e-10, polish=True).factor)
        certificate, missing = solution.certificate, best - gain(solution.factor)
        assert missing <= certificate.gap + 1e-13 * best
        if solution.status == "optimal":
            assert missing <= TOL * best
    assert statuses[2] == statuses[5] == {"optimal"}
    assert statuses[12] == statuses[18] == {"max_iter"}


def test_gaps_that_are_no_numbers_are_not_closed():
    certificate = replace(solve(indefinite(12), rng=0).certificate, gain=np.nan, gap=np.nan)
    assert certificate.relative_gap == np.inf


def test_repr_says_what_is_claimed():
    rng = np.random.default_rng(0)
    J, H = random_psd(10, rng), random_factor(10, rng)
    proved, probable = certify(J, H, rng=0), certify(aslinearoperator(J), H, rng=0)
    assert repr(proved).startswith("Certificate(proved: ")
    assert "probabilistic (wrong with probability ≤" in repr(probable)
    shown = float(re.search(r"relative_gap=(\S+),", repr(proved))[1])
    assert proved.relative_gap <= shown <= 1.01 * proved.relative_gap  # never less than what was proved
    assert f"{proved.objective:.10g} ≤ optimum ≤ {proved.upper_bound:.10g}" in repr(proved)
