"""Costs and starts of extreme size, and numbers that are none."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope.operators.matrix import DenseMatrix
from elliptope.sdp import solve
from elliptope.sdp.certificates.certifier import prove
from sdp.costs import indefinite, meter_of

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])


@FORMS
def test_size_changes_nothing(form):
    one = solve(form(indefinite(12)), rng=0)
    for size in (1e-138, 1e138):
        other = solve(form(indefinite(12) * size), rng=0)
        assert other.status == one.status == "optimal"
        assert other.certificate.objective == pytest.approx(size * one.certificate.objective, rel=1e-6)


@FORMS
def test_a_cost_whose_squares_are_no_numbers_is_refused(form):
    for size in (1e-300, 1e-160, 1e-142, 1e142, 1e160, 1e306):
        with pytest.raises(ValueError, match=r"`cost`.* must have .*between 1e-140 and 1e\+140, got .*multiply it"):
            solve(form(indefinite(12) * size), rng=0)


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


class TestNoNumbers:
    def test_a_matrix_with_nan_is_not_optimal(self):
        C = indefinite(12)
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
            solve(Fails(indefinite(12), np.ones(12)), rng=0)

    def test_a_factor_with_nan_proves_nothing(self):
        meter, H = meter_of(indefinite(12)), solve(indefinite(12), rng=0).factor.copy()
        H[3] = np.nan
        iterate = meter.evaluate(H)
        assert not iterate.defect <= 1.0
        with pytest.raises(ValueError, match="NaN"):
            prove(meter, iterate, np.random.default_rng(0), 1e-6)


def test_a_start_has_directions_and_no_size():
    optimum = solve(indefinite(12), rng=0)
    for size in (1e-300, 1e-170, 1e160, 1e300):
        again = solve(indefinite(12), rng=0, start=size * optimum.factor, max_iter=1)
        assert again.status == "optimal"
        np.testing.assert_allclose(again.factor, optimum.factor, atol=1e-12)
