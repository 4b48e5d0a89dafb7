"""Whether an optimum is called the only one, where it is and where it is not."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope.sdp import solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.uniqueness import null_space_among
from sdp.costs import cycle, gram, indefinite, linked_groups, meter_of, two_blocks


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("m", [10, 40, 110])
def test_groups_that_do_not_see_each_other_are_degenerate(m, form):
    for seed in range(3):
        for polish in (False, True):
            solution = solve(form(two_blocks(m, seed)), rng=0, polish=polish)
            assert solution.status == "degenerate"
            null = solution.certificate.null_space
            assert (null.nullity, null.rank, null.unique) == (2, 2, False)


def test_the_null_space_of_a_unique_optimum():
    """Of an odd cycle, and of random costs: nullity and next eigenvalue are those of L, scaled to unit diagonal."""
    for C in (-cycle(7), indefinite(20), indefinite(80)):
        solution = solve(C, rng=0, polish=True)
        null, L = solution.certificate.null_space, np.diag(solution.dual) - C
        root = np.sqrt(np.diag(L))
        values = np.linalg.eigvalsh(L / root[:, None] / root)
        rank = np.linalg.matrix_rank(solution.factor, tol=1e-3)
        assert (null.nullity, null.rank, null.unique, null.strict) == ((values < 1e-6).sum(), rank, True, True)
        assert values[rank] * (1 - 1e-6) <= null.spectral_gap <= 2 * values[rank]  # a Rayleigh quotient


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


@pytest.mark.parametrize("form", [np.asarray, aslinearoperator])
@pytest.mark.parametrize("m", [3, 6])
def test_groups_that_only_weak_rows_link(m, form):
    """Either their position is right, or it is not called optimal: from 1e-4 of the other links on, and below 1e-6."""
    for exponent in range(-12, 0):
        for seed in range(3):
            solution = solve(form(linked_groups(m, 10.0**exponent)), rng=seed, polish=True)
            assert solution.status != "optimal" or abs(gram(solution)[0, m] - 3 / 14) <= 1e-5
            assert solution.status == "optimal" or exponent < -4
            assert solution.status != "optimal" or exponent > -6


def test_groups_that_one_weak_row_holds_together():
    """At the optimum they coincide. Below 1e-6 of the other links that is lost: any angle is as good."""
    for exponent in range(-13, -3):
        C = linked_groups(5, 10.0**exponent)[:-1, :-1]
        for form in (np.asarray, aslinearoperator):
            for seed in range(2):
                solution = solve(form(C), rng=seed, polish=True)
                assert solution.status != "optimal" or abs(gram(solution)[0, 5] - 1) <= 1e-6


def test_nothing_is_claimed_before_the_factor_has_converged():
    for tol in (1e-2, 1e-3):
        for seed in range(3):
            null = solve(two_blocks(20, seed), rng=0, tol=tol, polish=True).certificate.null_space
            assert null is None or not null.unique


def null_space_of(angle, values, stationarity=0.0, defect=0.0, exact=False):
    """Of two directions, in the plane, of 60 points: all alike but for ``angle``, which the map squares."""
    n = 60
    C = np.ones((n, n)) - np.eye(n)
    turn = angle * np.random.default_rng(0).standard_normal(n)
    iterate = meter_of(C).evaluate(np.column_stack([np.cos(turn), np.sin(turn)]))
    iterate.defect, iterate.stationarity = defect, stationarity
    (metric, *_) = dual_metrics(iterate).values()
    return null_space_among(metric.whiten(iterate.H), np.array(values), 1.0, iterate, metric, exact)


class TestAmong:
    @pytest.mark.parametrize(
        ("angle", "values", "more", "expected"),
        [
            (1.0, [0.0, 0.5], {}, (1, 0.5, True)),
            (1.0, [0.0, 0.0], {}, (2, 1.0, True)),
            (1e-4, [0.0, 0.0], {}, (2, 1.0, False)),  # points do not tell the directions apart
            (1.0, [0.0, 5e-6], {"defect": 1e-6}, (2, 1.0, True)),  # what may be null counts where uniqueness is shown
            (1.0, [0.0, 5e-6], {"defect": 1e-8}, (1, 5e-6, True)),
        ],
    )
    def test_what_is_found(self, angle, values, more, expected):
        null = null_space_of(angle, values, **more)
        assert (null.nullity, null.spectral_gap, null.unique) == expected

    def test_noise_of_the_basis_shows_nothing(self):
        assert null_space_of(0.06, [0.0, 0.0], stationarity=1e-6).unique
        assert null_space_of(0.06, [0.0, 0.0], stationarity=1e-3) is None
        assert null_space_of(0.06, [0.0, 0.0], stationarity=1e-3, exact=True).unique

    def test_what_may_be_null_disproves_nothing(self):
        assert null_space_of(1e-4, [5e-6, 6e-6], defect=1e-6) is None
        assert null_space_of(1e-4, [0.0, 5e-6], defect=1e-6) is None
        assert null_space_of(1e-4, [0.0, 5e-6], defect=1e-8).unique
