import numpy as np
import pytest
from scipy.spatial.distance import cdist

from elliptope.datasets import clusters_with_outliers, interval_grid, two_moons
from experiments.common import published


class TestTwoMoons:
    def test_without_noise_lies_on_the_two_circles_of_the_paper(self):
        X, y = two_moons(201, noise=0, standardize=False)
        bottom, top = X[y == 0], X[y == 1]
        np.testing.assert_allclose(np.hypot(*(bottom - [1, 0]).T), 1, rtol=1e-14)
        np.testing.assert_allclose(np.hypot(*top.T), 1, rtol=1e-14)
        # The middle angles are -π/2 and π/2, the ends a tenth of π past the horizontal.
        c, s = np.cos(0.1 * np.pi), np.sin(0.1 * np.pi)
        np.testing.assert_allclose(bottom[[0, 100, 200]], [[1 - c, s], [1, -1], [1 + c, s]], atol=1e-14)
        np.testing.assert_allclose(top[[0, 100, 200]], [[-c, -s], [0, 1], [c, -s]], atol=1e-14)

    def test_angles_are_evenly_spaced(self):
        X, y = two_moons(50, noise=0.3, standardize=False, random_state=0)
        bottom = X[y == 0] - [1, 0]
        angles = np.unwrap(np.arctan2(bottom[:, 1], bottom[:, 0]))
        np.testing.assert_allclose(np.diff(angles), 1.2 * np.pi / 49, rtol=1e-10)

    def test_noise_is_shared_by_both_moons_and_has_the_stated_deviation(self):
        X, y = two_moons(20_000, standardize=False, random_state=0)
        noise_bottom = np.hypot(*(X[y == 0] - [1, 0]).T) - 1
        noise_top = np.hypot(*X[y == 1].T) - 1
        np.testing.assert_allclose(noise_bottom, noise_top, atol=1e-13)
        # Standard errors are (1/6)/√n for the mean and (1/6)/√(2n) for the deviation: five of each.
        assert abs(noise_top.mean()) < 5 / 6 / np.sqrt(20_000)
        assert abs(noise_top.std() - 1 / 6) < 5 / 6 / np.sqrt(40_000)

    def test_standardized_with_one_degree_of_freedom_removed(self):
        X, y = two_moons(random_state=0)
        raw, raw_y = two_moons(standardize=False, random_state=0)
        assert X.shape == (400, 2)
        assert np.bincount(y).tolist() == [200, 200]
        np.testing.assert_array_equal(y, raw_y)
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
        np.testing.assert_allclose((X**2).sum(axis=0), 399, rtol=1e-12)
        np.testing.assert_allclose(X * np.sqrt(((raw - raw.mean(0)) ** 2).sum(0) / 399) + raw.mean(0), raw)

    def test_rejects_bad_parameters(self):
        for bad in (0, -3, 2.5, True, "many"):
            with pytest.raises(ValueError, match=rf"`n_per_moon` must be an integer .* got {bad!r}"):
                two_moons(bad)
        for bad in (-0.1, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=rf"`noise` must be non-negative and finite, got {bad!r}"):
                two_moons(noise=bad)


class TestClustersWithOutliers:
    def test_three_clusters_of_100_and_10_outliers(self):
        X, y = clusters_with_outliers(random_state=0)
        labels, counts = np.unique(y, return_counts=True)
        assert X.shape == (310, 2)
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {-1: 10, 0: 100, 1: 100, 2: 100}

    def test_clusters_have_the_stated_centres_and_spread(self):
        X, y = clusters_with_outliers(10_000, 0, random_state=0)
        centres = np.array([[0, 2], [-np.sqrt(3), -1], [np.sqrt(3), -1]])
        for c in range(3):
            np.testing.assert_allclose(X[y == c].mean(axis=0), centres[c], atol=5 * 0.4 / 100)
            covariance = np.cov(X[y == c], rowvar=False)
            np.testing.assert_allclose(covariance, 0.16 * np.eye(2), atol=5 * 0.16 * np.sqrt(2) / 100)

    def test_outliers_have_the_lowest_degrees_at_the_bandwidth_of_the_paper(self):
        for seed in range(10):
            X, y = clusters_with_outliers(random_state=seed)
            m = np.exp(-cdist(X, X, "sqeuclidean") / 1.2**2).sum(axis=1)
            assert m[y == -1].max() < m[y >= 0].min()
            radius = np.hypot(*X[y == -1].T)
            assert radius.min() >= 3.5
            assert radius.max() <= 5.0

    def test_no_outliers(self):
        X, y = clusters_with_outliers(4, 0, random_state=0)
        assert X.shape == (12, 2)
        assert y.tolist() == [0] * 4 + [1] * 4 + [2] * 4

    def test_rejects_bad_parameters(self):
        with pytest.raises(ValueError, match=r"`n_per_cluster` must be an integer of at least 1, got 0"):
            clusters_with_outliers(0)
        with pytest.raises(ValueError, match=r"`n_outliers` must be an integer of at least 0, got -1"):
            clusters_with_outliers(5, -1)


@pytest.mark.parametrize("generate", [two_moons, clusters_with_outliers])
def test_same_seed_same_data(generate):
    X, y = generate(random_state=3)
    again, y_again = generate(random_state=np.random.RandomState(3))
    other, _ = generate(random_state=4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert abs(X - other).max() > 0.1


class TestIntervalGrid:
    @pytest.mark.parametrize(("n", "name"), [(15, "training"), (100, "extension")])
    def test_abscissae_of_figure_3(self, n, name):
        X, w = interval_grid(n)
        assert X.shape == (n, 1)
        np.testing.assert_allclose(X[:, 0], published(f"fig3_{name}")["x"], atol=1e-14)
        np.testing.assert_array_equal(w, np.full(n, 2 / n))

    def test_is_the_midpoint_rule(self):
        X, w = interval_grid(400, low=0.5, high=3.0)
        x = X[:, 0]
        assert w @ (2 * x - 1) == pytest.approx(3.0**2 - 3.0 - 0.5**2 + 0.5, rel=1e-13)  # affine: exact
        # Error of the midpoint rule: at most (b - a)³ max|f''| / (24 n²).
        assert w @ np.exp(x) == pytest.approx(np.exp(3) - np.exp(0.5), abs=2.5**3 * np.exp(3) / (24 * 400**2))

    def test_rejects_bad_parameters(self):
        with pytest.raises(ValueError, match=r"`n` must be an integer of at least 1, got 0"):
            interval_grid(0)
        for low, high in [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf"))]:
            with pytest.raises(ValueError, match=rf"finite with low < high, got {low!r} and {high!r}"):
                interval_grid(low=low, high=high)
