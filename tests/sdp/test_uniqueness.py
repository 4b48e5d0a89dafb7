"""Whether an optimum is called the only one, where it is and where it is not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from elliptope.operators import as_operator
from elliptope.sdp import solve
from elliptope.sdp.certificates import uniqueness
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.problem import Problem
from elliptope.sdp.verdict import Ended, verdict


def two_blocks(m, seed):
    """Points of two groups that do not see each other: turning the rows of one changes B, and no value."""
    R = np.random.default_rng(seed).random((m, m))
    return np.kron(np.eye(2), R + R.T)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("m", [10, 40, 110])
def test_groups_that_do_not_see_each_other_are_degenerate(m, polish, form):
    for seed in range(3):
        solution = solve(form(two_blocks(m, seed)), rng=0, polish=polish)
        assert solution.status == "degenerate"
        null = solution.certificate.null_space
        assert (null.nullity, null.rank, null.unique) == (2, 2, False)


@pytest.mark.parametrize("tol", [1e-5, 1e-6])
def test_groups_of_indefinite_costs_are_not_called_unique(tol):
    """Of other sizes and ranks, so that most proofs are by factorisation."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(4, 14, 2)
        C = np.zeros((sizes.sum(), sizes.sum()))
        for rows in (slice(0, sizes[0]), slice(sizes[0], sizes.sum())):
            A = rng.standard_normal(C[rows, rows].shape)
            C[rows, rows] = A + A.T
        null = solve(C, rng=seed, tol=tol).certificate.null_space
        assert null is None or not null.unique


@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_nothing_is_claimed_before_the_factor_has_converged(tol):
    for seed in range(3):
        null = solve(two_blocks(20, seed), rng=0, tol=tol, polish=True).certificate.null_space
        assert null is None or not null.unique


def null_space_of(angle, values, stationarity=0.0, defect=0.0):
    """Of two directions, in the plane, of 60 points: all alike but for ``angle``, which the map squares."""
    n = 60
    C = np.ones((n, n)) - np.eye(n)
    turn = angle * np.random.default_rng(0).standard_normal(n)
    problem = Problem(as_operator(C))
    iterate = problem.evaluate(np.column_stack([np.cos(turn), np.sin(turn)]))
    object.__setattr__(iterate, "defect", defect)
    object.__setattr__(iterate, "stationarity", stationarity)
    (metric, *_) = dual_metrics(iterate).values()
    return uniqueness.null_space_among(metric.whiten(iterate.H), np.array(values), 1.0, iterate, metric)


@pytest.mark.parametrize(("stationarity", "status"), [(1e-8, "optimal"), (1e-5, "degenerate")])
def test_rows_that_do_not_settle_are_not_called_optimal(stationarity, status):
    """Where nothing is known of the null space, their stationarity decides."""
    certificate = replace(solve(two_blocks(10, 0), rng=0).certificate, null_space=None, stationarity=stationarity)
    assert verdict(certificate, Ended(None, "", "", 0), 1e-6, polish=True)[0] == status
    assert verdict(certificate, Ended(None, "", "", 0), 1e-6, polish=False)[0] == "optimal"


class TestAmong:
    def test_one_direction(self):
        null = null_space_of(1.0, [0.0, 0.5])
        assert (null.nullity, null.spectral_gap, null.unique) == (1, 0.5, True)

    def test_two_directions(self):
        null = null_space_of(1.0, [0.0, 0.0])
        assert (null.nullity, null.spectral_gap, null.unique) == (2, 1.0, True)

    def test_directions_that_points_do_not_tell_apart(self):
        assert not null_space_of(1e-4, [0.0, 0.0]).unique

    def test_noise_of_the_basis_shows_nothing(self):
        assert null_space_of(0.03, [0.0, 0.0], stationarity=1e-6).unique
        assert null_space_of(0.03, [0.0, 0.0], stationarity=1e-3) is None

    def test_what_may_be_null_counts_where_uniqueness_is_shown(self):
        assert null_space_of(1.0, [0.0, 5e-6], defect=1e-6).nullity == 2
        assert null_space_of(1.0, [0.0, 5e-6], defect=1e-8).nullity == 1

    def test_nothing_disproves_it_where_nothing_is_null_for_certain(self):
        assert null_space_of(1e-4, [5e-6, 6e-6], defect=1e-6) is None

    def test_what_may_be_null_does_not_count_where_it_is_disproved(self):
        assert null_space_of(1e-4, [0.0, 5e-6], defect=1e-6) is None
        assert null_space_of(1e-4, [0.0, 5e-6], defect=1e-8).unique
