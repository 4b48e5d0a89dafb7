"""Costs and starts of extreme size, numbers that are none, and solves at the limit of rounding."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from common import WINE
from elliptope import SDPEmbedding
from elliptope.operators import as_operator
from elliptope.operators.matrix import DenseMatrix
from elliptope.sdp import solve
from elliptope.sdp.certificates.certify import certify
from elliptope.sdp.certificates.probable import certify_by_tests
from elliptope.sdp.problem import Problem

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])


def indefinite(n=12, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T


@FORMS
@pytest.mark.parametrize("size", [1e-138, 1e138])
def test_size_changes_nothing(form, size):
    one, other = (solve(form(indefinite() * factor), rng=0) for factor in (1.0, size))
    assert other.status == one.status == "optimal"
    assert other.certificate.objective == pytest.approx(size * one.certificate.objective, rel=1e-6)


@FORMS
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-142, 1e142, 1e160, 1e306])
def test_a_cost_whose_squares_are_no_numbers_is_refused(form, size):
    with pytest.raises(ValueError, match=r"`cost`.* must have .*between 1e-140 and 1e\+140, got .*multiply it"):
        solve(form(indefinite() * size), rng=0)


@pytest.mark.parametrize(
    ("cost", "diagonal"),
    [
        (np.diag([1.2e308, 1.2e308, 1.0]) + np.ones((3, 3)) - np.eye(3), None),
        (np.ones((3, 3)), np.full(3, 1e200)),
        (1e-170 * (np.ones((3, 3)) - np.eye(3)) + np.eye(3), None),
        (sparse.csr_array([[0.0, 1.2e308], [1.2e308, 0.0]]), None),
    ],
)
def test_so_are_diagonals_and_what_is_scaled(cost, diagonal):
    with pytest.raises(ValueError, match="multiply it by a constant"):
        solve(cost, diagonal, rng=0)


def test_what_was_spent_is_what_was_allowed_for():
    message = solve(indefinite(), rng=0, max_products=3).message
    assert message.startswith("3 products were not enough")


@pytest.mark.parametrize("weak", [1e-9, 1e-10, 1e-11])
def test_rows_that_are_held_weakly_are_measured_in_another_metric(weak):
    """In their own scale rounding takes up the tolerance."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 2))
        C = np.exp(-np.square(X[:, None] - X).sum(axis=2))
        C[:3] *= weak
        C[:, :3] *= weak
        assert solve(C, rng=0).certificate.relative_gap <= 1e-6


def test_a_diagonal_cost_has_no_smallest_size():
    assert solve(np.diag([1e-200, 2e-200]), rng=0).certificate.relative_gap <= 1e-12


class TestNoNumbers:
    def test_a_matrix_with_nan_is_not_optimal(self):
        C = indefinite()
        C[0, 0] = np.nan
        with pytest.raises(ValueError, match=r"`cost`.* got nan"):
            solve(DenseMatrix(C, np.ones(len(C))), rng=0)

    def test_products_that_become_nan_are_noticed(self):
        class Fails(DenseMatrix):
            calls = 0

            def core_matmat(self, V):
                self.calls += 1
                return super().core_matmat(V) * (np.nan if self.calls > 5 else 1.0)

        with pytest.raises(ValueError, match=r"`cost`.* got .*nan"):
            solve(Fails(indefinite(), np.ones(12)), rng=0)

    def test_a_factor_with_nan_proves_nothing(self):
        problem = Problem(as_operator(indefinite()))
        H = solve(indefinite(), rng=0).factor.copy()
        H[3] = np.nan
        iterate = problem.evaluate(H)
        assert not iterate.defect <= 1.0
        with pytest.raises(ValueError, match="NaN"):
            certify(problem, iterate, np.random.default_rng(0), 1e-6)


    def test_gaps_that_are_no_numbers_are_not_closed(self):
        certificate = replace(solve(indefinite(), rng=0).certificate, gain=np.nan, gap=np.nan)
        assert certificate.relative_gap == np.inf


def test_a_cost_that_is_small_is_not_diagonal():
    problem = Problem(as_operator(1e-170 * (np.ones((3, 3)) - np.eye(3)) + np.eye(3)))
    assert not problem.evaluate(np.eye(3)).isolated
    assert Problem(as_operator(np.eye(3))).evaluate(np.eye(3)).isolated


def test_the_bound_covers_the_rounding_of_a_diagonal():
    """One point: the optimum is c d, and three roundings are made on the way."""
    rng = np.random.default_rng(0)
    for c, d in [(-0.23206948541804123, 0.06593515941311441), *zip(rng.standard_normal(300), rng.random(300), strict=True)]:
        bound = solve(np.array([[c]]), np.array([d]), rng=0).certificate.upper_bound
        assert Fraction(bound) >= Fraction(float(c)) * Fraction(float(d))


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e300])
def test_a_start_has_directions_and_no_size(size):
    optimum = solve(indefinite(), rng=0)
    again = solve(indefinite(), rng=0, start=size * optimum.factor, max_iter=1)
    assert again.status == "optimal"
    np.testing.assert_allclose(again.factor, optimum.factor, atol=1e-12)


def test_the_iterate_that_is_returned_has_the_least_defect_among_equal_gains():
    """At a tolerance that rounding does not allow for; gains are equal long before."""
    solution = solve(indefinite(6, seed=1), rng=0, tol=1e-14)
    assert solution.status == "max_iter"
    assert solution.certificate.stationarity < 1e-14
    assert solution.certificate.relative_gap < 1e-12


def test_the_gaps_of_the_history_do_not_see_the_diagonal():
    C = indefinite(30)
    plain, shifted = (solve(C + shift * np.eye(30), rng=0) for shift in (0.0, 1e12))
    assert shifted.history[-1].relative_gap == shifted.certificate.relative_gap
    assert shifted.history[-1].relative_gap == pytest.approx(plain.history[-1].relative_gap, rel=1e-2)

    def estimates(shift):
        seen = []
        solve(C + shift * np.eye(30), rng=0, callback=seen.append)
        return [entry.relative_gap for entry in seen if entry.relative_gap < np.inf]

    assert estimates(0.0)
    np.testing.assert_allclose(estimates(1e14), estimates(0.0), rtol=1e-6)


def test_lanczos_in_the_whole_space_needs_no_further_test():
    H = solve(indefinite(10), rng=0, tol=1e-12).factor
    problem = Problem(as_operator(aslinearoperator(indefinite(10))))
    certificate, _ = certify_by_tests(problem, problem.evaluate(H), np.random.default_rng(0), 1e-17, "proof")
    assert 1e-17 < certificate.relative_gap < 1e-12
    assert problem.n_products == 1 + 10


def test_rows_that_crawl_in_their_columns_are_left_to_the_interior_point_method():
    """Almost nothing holds points together, and the optimum has as many columns as there may be."""
    model = SDPEmbedding(bandwidth=0.3, random_state=0)
    with pytest.warns(UserWarning, match="degenerate"):
        model.fit(WINE)
    assert model.certificate_.grade == "proved"
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_products_ < 1000
