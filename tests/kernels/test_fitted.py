"""The contract of fitted kernels: dense and sparse ones answer as a plain matrix does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import radius_neighbors_graph

from elliptope.kernels import FittedKernel, Gaussian, Neighbors, Precomputed, base, find_kernel
from neighborhoods import NaiveNeighbors

X = np.random.default_rng(0).standard_normal((60, 3))
CHOSEN = np.flatnonzero(np.arange(60) % 4)  # the others have no weight
D2 = ((X[:, None] - X) ** 2).sum(axis=-1)
GRAPH = radius_neighbors_graph(X, 100.0, mode="distance", include_self=True)


def polynomial(A, B):
    return (9 + A @ B.T) ** 2


def neighbors():
    return NaiveNeighbors(X[CHOSEN], 7).kernel(X)


# A fitted kernel, what its `rows` are asked for all 60 points, and their kernel values against the chosen ones.
CASES = {
    "by name": (find_kernel("gaussian").fit(X, CHOSEN, bandwidth=1.3), X, np.exp(-D2 / 1.3**2)[:, CHOSEN]),
    "formula": (Gaussian(1.3).fit(X, CHOSEN), X, np.exp(-D2 / 1.3**2)[:, CHOSEN]),
    "function": (find_kernel(polynomial).fit(X, CHOSEN), X, polynomial(X, X)[:, CHOSEN]),
    "precomputed": (Precomputed().fit(np.exp(-D2), CHOSEN), np.exp(-D2), np.exp(-D2)[:, CHOSEN]),
    "neighbors": (Neighbors().fit(X, CHOSEN, n_neighbors=7), X, neighbors()),
    "graph": (Neighbors().fit(GRAPH, CHOSEN, n_neighbors=7), GRAPH, neighbors()),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(autouse=True, params=[7, 1024], ids=["tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(base, "_TILE_COLUMNS", request.param)


def test_the_points(case):
    kernel, rows, _ = case
    assert isinstance(kernel, FittedKernel)
    assert kernel.n_points == len(CHOSEN)
    if kernel.points is None:
        assert rows.shape == (60, 60)
    else:
        np.testing.assert_array_equal(kernel.points, X[CHOSEN])


def test_the_matrix(case):
    kernel, _, expected = case
    K = kernel.matrix()
    assert sparse.issparse(K) == kernel.is_sparse
    K = K.toarray() if kernel.is_sparse else K
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, expected[CHOSEN], rtol=1e-12)
    if not kernel.matrix_is_given:
        again = kernel.refit(None, 1).matrix()
        np.testing.assert_array_equal(again.toarray() if kernel.is_sparse else again, K)


def test_the_diagonal(case):
    kernel, rows, expected = case
    np.testing.assert_allclose(kernel.diagonal(rows)[CHOSEN], expected[CHOSEN].diagonal(), rtol=1e-12)


def test_rows(case):
    """Largest entries, and sums with the largest weight of each row taken out, of all tiles together."""
    kernel, rows, expected = case
    rng = np.random.default_rng(1)
    n = kernel.n_points
    log_w, log_scale, values = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.standard_normal((n, 2))
    with np.errstate(divide="ignore"):
        L = np.log(expected)
    closest, nearest, top = np.full(60, -np.inf), np.zeros(60, dtype=int), np.full(60, -np.inf)
    shift, sums, total = (L + log_w).max(axis=1), np.zeros((60, 2)), np.zeros(60)
    for tile in kernel.rows(rows):
        similarity, found = tile.nearest(log_scale)
        nearest[similarity > closest] = found[similarity > closest]
        closest = np.maximum(closest, similarity)
        top = np.maximum(top, tile.add(log_w))
        parts = tile.sums(shift, values)
        sums, total = sums + parts[0], total + parts[1]
    np.testing.assert_array_equal(nearest, (L - log_scale).argmax(axis=1))
    np.testing.assert_allclose(closest, (L - log_scale).max(axis=1), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(top, shift, rtol=1e-9, atol=1e-11)
    P = np.exp(L + log_w - shift[:, None])
    np.testing.assert_allclose(sums, P @ values, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(total, P.sum(axis=1), rtol=1e-10)


def test_rows_in_which_the_kernel_vanishes():
    """A graph row that names no training point, between two that do."""
    kernel, _, _ = CASES["graph"]
    new = sparse.csr_array(GRAPH[[1, 0, 2]])
    empty = sparse.csr_array((3, 60))
    mixed = sparse.vstack([new[:1], empty[:1], new[2:]]).tocsr()
    (rows,) = kernel.rows(mixed)
    similarity, _ = rows.nearest(None)
    np.testing.assert_array_equal(np.isneginf(similarity), [False, True, False])
    np.testing.assert_array_equal(np.isneginf(rows.add(np.zeros(45))), [False, True, False])
    sums, total = rows.sums(np.zeros(3), np.ones((45, 1)))
    assert sums[1] == total[1] == 0
    np.testing.assert_allclose(sums[:, 0], total)


def test_blocks_of_rows_fit_into_memory(case):
    kernel, _, _ = case
    for p in (1, 10, 10**9):
        assert kernel.rows_together(p) >= 1
    assert kernel.rows_together(3) * kernel.n_points <= 2**22
