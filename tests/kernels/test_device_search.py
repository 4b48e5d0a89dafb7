"""The search on a device beside the one on the CPU."""

import numpy as np
import pytest

from elliptope.kernels.search import EUCLIDEAN, make_search

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")

from elliptope.kernels.device_search import DeviceSearch  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def within(found, n, k):
    """The pairs no farther apart than the k-th nearest of the row, ties with it among them, in order."""
    i, j, d = found
    scales = np.array([np.sort(d[i == row])[k - 1] for row in range(n)])
    kept = np.flatnonzero(d <= scales[i])
    kept = kept[np.lexsort((j[kept], i[kept]))]
    return i[kept], j[kept], d[kept]


def data(name, p):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((300, p))
    if name == "grid":  # many ties
        return np.round(2 * X)
    if name == "far":  # so far out that float32 tells no two points apart
        X[:150] += 1e7
    if name == "outlier":
        X[0] = 1e30
    if name == "small":
        return 1e-200 * X
    if name == "equal":
        X[:] = X[0]
    return X


@pytest.mark.parametrize("name", ["plain", "grid", "far", "outlier", "small", "equal"])
def test_the_same_pairs(name):
    """To the last bit, for training points and new ones, in few columns and in many."""
    for p, k in ((3, 5), (40, 12), (2, 300)):
        X = data(name, p)
        new = X[::7] * 1.01
        ours, theirs = DeviceSearch(X, k, 1, DEVICE), make_search(X, k, 1)
        for rows in (X, new):
            for a, b in zip(*(within(search.nearest(rows), len(rows), k) for search in (ours, theirs)), strict=True):
                np.testing.assert_array_equal(a, b)


def test_many_groups_of_points():
    """More of them than neighbours are asked for; equal distances among them."""
    for X in (np.random.default_rng(0).standard_normal((3001, 2)), np.indices((55, 55)).reshape(2, -1).T.astype(float)):
        ours, theirs = DeviceSearch(X, 3, 1, DEVICE), make_search(X, 3, 1)
        assert len(X) > 256 * 11
        for a, b in zip(*(within(search.nearest(X), len(X), 3) for search in (ours, theirs)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_pairs_within_radii_of_the_training_points():
    X, new = (np.random.default_rng(seed).standard_normal((200, 3)) for seed in (0, 1))
    scales = np.random.default_rng(2).uniform(0.1, 1.5, 200)
    i, j, d = DeviceSearch(X, 5, 1, DEVICE).within(new, scales, np.zeros(200))
    D = np.sqrt(((new[:, None] - X) ** 2).sum(axis=-1))
    found = np.zeros(D.shape, dtype=bool)
    found[i, j] = True
    np.testing.assert_array_equal(found, scales >= D)
    np.testing.assert_allclose(d, D[i, j], rtol=1e-12)


def test_most_rows_need_one_pass():
    X = np.random.default_rng(0).standard_normal((2000, 5))
    search = DeviceSearch(X, 10, 1, DEVICE)
    i = np.repeat(np.arange(2000), 18)
    d = EUCLIDEAN.between(X, X, i, search._candidates(X).ravel())
    assert len(search._doubtful(X, i, d)) < 20
