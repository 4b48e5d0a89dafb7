"""Kernels cut off where they are negligible: what is dropped is known."""

import numpy as np
import pytest

from elliptope.kernels import Gaussian, Laplacian, Matern
from elliptope.operators import TruncatedOperator, kernel_matrix
from elliptope.operators.truncated import cutoff_for, reach, truncated_matrix

KERNELS = [Gaussian(0.8), Laplacian(0.5), Matern(0.6, 2.5)]
X = np.random.default_rng(0).standard_normal((120, 3))
X[60:] += 3
X[7] = X[8]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("cutoff", [1e-12, 1e-6, 1e-2, 0.9])
class TestMatrix:
    def test_keeps_what_is_above_the_cutoff_and_nothing_else(self, kernel, cutoff):
        K, found = kernel_matrix(kernel, X), truncated_matrix(kernel, X, cutoff).toarray()
        np.testing.assert_allclose(found, np.where(cutoff <= K, K, 0.0), rtol=1e-13)
        np.testing.assert_array_equal(found, found.T)

    def test_an_offset_is_harmless(self, kernel, cutoff):
        """Distances are formed from differences, however far from the origin."""
        near, far = truncated_matrix(kernel, X, cutoff), truncated_matrix(kernel, X + 2.0**20, cutoff)
        np.testing.assert_allclose(far.toarray(), near.toarray(), rtol=1e-8, atol=2 * cutoff)

    def test_reach(self, kernel, cutoff):
        assert kernel.block(np.zeros((1, 1)), [[reach(kernel, cutoff)]])[0, 0] == pytest.approx(cutoff, rel=1e-9)

    def test_dropped_mass(self, kernel, cutoff):
        """Exact but for rounding, which is on the safe side."""
        w = np.random.default_rng(1).uniform(0.1, 3, len(X))
        K = kernel_matrix(kernel, X)
        operator = TruncatedOperator(kernel, X, K @ w, w, cutoff)
        dropped = np.where(cutoff <= K, 0.0, K) @ w
        assert (operator.dropped >= dropped).all()
        np.testing.assert_allclose(operator.dropped, dropped, rtol=1e-9, atol=1e-13 * (K @ w).max())


def test_columns_beyond_the_reach_of_trees():
    """With many columns the search expands squares, which must not show in the entries."""
    Y = np.random.default_rng(2).standard_normal((80, 30)) + 1e6
    K = kernel_matrix(Gaussian(8.0), Y)
    np.testing.assert_allclose(truncated_matrix(Gaussian(8.0), Y, 1e-3).toarray(), np.where(K >= 1e-3, K, 0.0), rtol=1e-9)


def test_errors_of_degrees_are_part_of_the_bound():
    m = kernel_matrix(KERNELS[0], X).sum(axis=1)
    exact, rough = (TruncatedOperator(KERNELS[0], X, m, degree_error=error).error_bounds[0] for error in (0.0, 1e-4))
    # Row scales are 1: twice the error in degrees, and once what they add to the dropped mass.
    assert rough == pytest.approx(exact + 3.1e-4 * len(X), rel=1e-3)


def test_cutoff_for_a_number_of_entries():
    for kernel in KERNELS:
        K = truncated_matrix(kernel, X, 1e-3)
        cutoff, dropped = cutoff_for(kernel, X, K.nnz)
        assert np.log(cutoff) == pytest.approx(np.log(1e-3), rel=0.1)
        assert dropped == pytest.approx(1 - K.sum() / kernel_matrix(kernel, X).sum(), abs=1e-3)


def test_far_outlier():
    """Squares that are expanded would not even find a point within reach of itself."""
    Y = np.vstack([X, np.full((1, X.shape[1]), 1e9), np.full((1, X.shape[1]), 1e9 + 1e-3)])
    K = kernel_matrix(KERNELS[0], Y)
    np.testing.assert_allclose(truncated_matrix(KERNELS[0], Y, 1e-3).toarray(), np.where(K >= 1e-3, K, 0.0), rtol=1e-9)
