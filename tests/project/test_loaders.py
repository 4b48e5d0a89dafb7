import os
from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from experiments.loaders import load_htru2, load_mnist_digits


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
