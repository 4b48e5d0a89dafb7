import os
from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy.spatial.distance import cdist

from elliptope.datasets import clusters_with_outliers, interval_grid, load_htru2, load_mnist_digits, two_moons
from experiments.common import published


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("ELLIPTOPE_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch, no_folder):
    """Replaces `fetch_openml`: call it with what the service shall answer; returns the list of queries."""

    def answer(X=None, y=None, error=None):
        queries = []

        def fetch(**query):
            queries.append(query)
            if error is not None:
                raise error
            return X, y

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        return queries

    return answer


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


def save_mnist(folder):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (7, 784)).astype(np.uint8)
    pixels[0, :2] = 0, 255
    labels = np.array([4, 1, 1, 4, 1, 4, 4], dtype=np.uint8)
    np.savez(folder / "mnist_train_1_4.npz", X=pixels, y=labels)
    return pixels, labels


class TestLocalFiles:
    @pytest.mark.parametrize("through", ["argument", "environment"])
    def test_htru2(self, tmp_path, monkeypatch, through):
        X_saved = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
        y_saved = np.array([0, 1, 0, 0, 1, 0], dtype=np.uint8)
        np.savez(tmp_path / "htru2.npz", X=X_saved, y=y_saved)
        if through == "argument":  # which goes before the environment
            monkeypatch.setenv("ELLIPTOPE_DATA", str(tmp_path / "not here"))
            X, y = load_htru2(tmp_path)
        else:
            monkeypatch.setenv("ELLIPTOPE_DATA", str(tmp_path))
            X, y = load_htru2()
        assert X.dtype == np.float64
        assert y.dtype == np.int64
        np.testing.assert_array_equal(X, X_saved)
        np.testing.assert_array_equal(y, y_saved)

    def test_mnist_is_scaled_and_keeps_the_order_of_rows(self, tmp_path):
        pixels, labels = save_mnist(tmp_path)
        X, y = load_mnist_digits(data_home=tmp_path)
        assert X.dtype == np.float64
        assert X[0, :2].tolist() == [0.0, 1.0]
        np.testing.assert_allclose(X * 255, pixels, atol=1e-12)
        np.testing.assert_array_equal(y, labels)
        only_ones, ones = load_mnist_digits((1,), tmp_path)
        np.testing.assert_array_equal(only_ones, X[[1, 2, 4]])
        assert ones.tolist() == [1, 1, 1]

    def test_digit_that_the_file_lacks(self, tmp_path):
        save_mnist(tmp_path)
        with pytest.raises(ValueError, match=r"asks for \[3, 7\].*mnist_train_1_4\.npz holds only \[1, 4\]"):
            load_mnist_digits((1, 7, 3), tmp_path)

    @pytest.mark.parametrize("digits", [(), (1, 10), (-1,), (1.5,), "14", 4])
    def test_digits_out_of_range(self, digits):
        with pytest.raises(ValueError, match=r"`digits` must be a non-empty sequence of integers from 0"):
            load_mnist_digits(digits)

    @pytest.mark.parametrize(("load", "name"), [(load_htru2, "htru2.npz"), (load_mnist_digits, "mnist_train_1_4.npz")])
    def test_missing_file_names_folder_and_file(self, tmp_path, monkeypatch, load, name):
        monkeypatch.delenv("ELLIPTOPE_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match=rf"'{name}' in the folder '.*here', which `data_home`"):
            load(data_home=tmp_path / "here")
        monkeypatch.setenv("ELLIPTOPE_DATA", str(tmp_path / "there"))
        with pytest.raises(FileNotFoundError, match=rf"'{name}' in the folder '.*there', .* ELLIPTOPE_DATA"):
            load()

    def test_malformed_files(self, tmp_path):
        path = tmp_path / "htru2.npz"
        np.savez(path, X=np.zeros((3, 8)))
        with pytest.raises(ValueError, match=r"htru2\.npz' must hold arrays 'X' and 'y'; \['y'\] not found"):
            load_htru2(tmp_path)
        np.savez(path, X=np.zeros((3, 8)), y=np.zeros(4))
        with pytest.raises(ValueError, match=r"got shapes \(3, 8\) and \(4,\)"):
            load_htru2(tmp_path)

    def test_pickled_objects_are_refused(self, tmp_path):
        np.savez(tmp_path / "htru2.npz", X=np.array([[{}]], dtype=object), y=np.zeros(1))
        with pytest.raises(ValueError, match="allow_pickle=False"):
            load_htru2(tmp_path)


class TestOpenML:
    def test_htru2(self, openml):
        features = np.arange(24.0).reshape(3, 8)
        queries = openml(features, np.array(["0", "1", "0"], dtype=object))
        X, y = load_htru2()
        np.testing.assert_array_equal(X, features)
        assert y.dtype == np.int64
        assert y.tolist() == [0, 1, 0]
        assert [query["data_id"] for query in queries] == [45558]

    def test_mnist_takes_the_training_split_only(self, openml):
        labels = np.resize(np.array(list("0123456789"), dtype=object), 70_000)
        pixels = np.arange(70_000.0)[:, np.newaxis]
        queries = openml(pixels, labels)
        X, y = load_mnist_digits((4, 1))
        assert [query["name"] for query in queries] == ["mnist_784"]
        assert y[:4].tolist() == [1, 4, 1, 4]
        assert X.shape == (12_000, 1)
        np.testing.assert_allclose(X[[0, 1, -1], 0] * 255, [1, 4, 59_994], rtol=1e-14)

    def test_empty_variable_counts_as_unset(self, openml, monkeypatch):
        openml(np.zeros((1, 8)), np.array(["1"], dtype=object))
        monkeypatch.setenv("ELLIPTOPE_DATA", "")
        _, y = load_htru2()
        assert y.tolist() == [1]

    @pytest.mark.parametrize("load", [load_htru2, load_mnist_digits])
    @pytest.mark.parametrize("error", [URLError("no route to host"), IncompleteRead(b"")])
    def test_without_network_says_what_to_do(self, openml, load, error):
        openml(error=error)
        with pytest.raises(OSError, match=r"could not be fetched from OpenML.*ELLIPTOPE_DATA.*`data_home`"):
            load()

    def test_fetch_accepts_our_arguments(self):
        """The stand-in above takes anything; the real function must know the names we pass."""
        from inspect import signature

        signature(sklearn.datasets.fetch_openml).bind(data_id=1, as_frame=False, parser="liac-arff", return_X_y=True)


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("ELLIPTOPE_DATA"), reason="ELLIPTOPE_DATA names no folder")
class TestRealData:
    def test_htru2(self):
        X, y = load_htru2()
        assert X.shape == (17_898, 8)
        assert np.bincount(y).tolist() == [16_259, 1_639]  # as the paper counts them
        assert np.isfinite(X).all()

    def test_mnist_digits_1_and_4(self):
        X, y = load_mnist_digits()
        assert X.shape == (12_584, 784)
        assert np.unique(y).tolist() == [1, 4]
        assert X.min() == 0.0
        assert X.max() == 1.0
