"""Kernels cut off where they are negligible: what is dropped is known."""

import numpy as np
import pytest

from elliptope.kernels import Gaussian, Laplacian, Matern, search
from elliptope.operators import TruncatedOperator, kernel_matrix
from elliptope.operators.truncated import TooManyEntries, cutoff_for, reach, truncated_matrix

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
    # Row scales are 1: 2.2 times the error in degrees, and once what they add to the dropped mass.
    assert rough == pytest.approx(exact + 3.2e-4 * len(X), rel=1e-3)


class TestCutoff:
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X))

    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
    def test_for_a_number_of_entries(self, kernel):
        K = kernel_matrix(kernel, X) - np.eye(len(X))
        cutoff, dropped = cutoff_for(kernel, X, self.w, np.count_nonzero(K >= 1e-3))
        assert np.log(cutoff) == pytest.approx(np.log(1e-3), rel=0.1)
        # Of what counts: rows and columns by their weights, and not the diagonal.
        assert dropped == pytest.approx(1 - self.w @ np.where(K >= 1e-3, K, 0.0) @ self.w / (self.w @ K @ self.w), abs=1e-3)

    def test_of_equal_distances_all_or_none(self):
        grid = np.stack(np.meshgrid(*2 * [np.arange(12.0)]), axis=-1).reshape(-1, 2)
        cutoff, dropped = cutoff_for(KERNELS[0], grid, np.ones(144), 100)  # the nearest alone are more
        assert cutoff > 1
        assert dropped == 1
        for entries in (600, 1000, 4000):
            cutoff, dropped = cutoff_for(KERNELS[0], grid, np.ones(144), entries)
            K = truncated_matrix(KERNELS[0], grid, cutoff)
            assert K.nnz - 144 <= entries
            assert dropped == pytest.approx(1 - (K.sum() - 144) / (kernel_matrix(KERNELS[0], grid).sum() - 144), abs=1e-5)

    def test_points_that_see_nobody(self):
        cutoff, dropped = cutoff_for(KERNELS[0], 1e6 * X[9:], self.w[9:], 100)
        assert cutoff > 1
        assert dropped == 0

    def test_no_more_entries_than_allowed(self):
        allowed = truncated_matrix(KERNELS[0], X, 1e-3).nnz + len(X)
        assert truncated_matrix(KERNELS[0], X, 1e-3, most_entries=allowed).nnz == allowed - len(X)
        with pytest.raises(TooManyEntries):
            TruncatedOperator(KERNELS[0], X, np.ones(len(X)), cutoff=1e-3, most_entries=allowed - 2)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
def test_blocks_and_ways_to_search(algorithm, monkeypatch):
    whole = truncated_matrix(KERNELS[0], X, 1e-3).toarray()
    monkeypatch.setattr(search, "_RADIUS_ROWS", 7)
    monkeypatch.setattr(search, "_radius_algorithm", lambda *_: algorithm)
    np.testing.assert_array_equal(truncated_matrix(KERNELS[0], X, 1e-3, n_jobs=2).toarray(), whole)


def test_far_outliers():
    """Squares that are expanded would not tell who of them is within reach."""
    Y = np.vstack([X, 1e9 + np.random.default_rng(3).standard_normal((50, 3))])
    K = kernel_matrix(KERNELS[0], Y)
    np.testing.assert_allclose(truncated_matrix(KERNELS[0], Y, 1e-3).toarray(), np.where(K >= 1e-3, K, 0.0), rtol=1e-9)
