"""The overlap kernel against sets of neighbours, pair by pair: on the sample, beyond it, and as the embedding sees it."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from common import fit, gram, row_error
from elliptope import SDPEmbedding
from elliptope.kernels import Overlap, overlap
from neighborhoods import POINTS, NaiveOverlap, block, distances

BLOBS = np.vstack([np.random.default_rng(7).standard_normal((25, 3)) + shift for shift in (0.0, 3.0)])
NEW = np.random.default_rng(8).standard_normal((12, 3)) + 1.5


def solve(X, sample_weight=None, k=6, **parameters):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The graph of neighbours has")
        return fit(X, sample_weight, **{"kernel": "overlap", "n_neighbors": k, "tol": 1e-8, **parameters})


class TestKernel:
    @pytest.mark.parametrize("name", POINTS)
    def test_matrix_and_rows_in_any_company(self, name):
        X = POINTS[name]
        order = np.random.default_rng(0).permutation(len(X))
        for k in (2, 5, len(X) // 2, len(X)):
            expected, kernel = NaiveOverlap(X, k).K, Overlap().fit(X, n_neighbors=k)
            K = kernel.matrix().toarray()
            np.testing.assert_allclose(K, expected, rtol=1e-14)
            np.testing.assert_array_equal(K, K.T)
            np.testing.assert_array_equal(kernel.without_matrix().matrix().toarray(), K)
            np.testing.assert_array_equal(block(kernel, X), K)
            np.testing.assert_array_equal(block(kernel, X[order]), K[order])
            np.testing.assert_array_equal(np.vstack([block(kernel, row[None]) for row in X[:5]]), K[:5])

    @pytest.mark.parametrize("name", POINTS)
    def test_new_rows(self, name):
        X = POINTS[name]
        i, j = np.random.default_rng(1).integers(len(X), size=(2, 100))
        Y = 0.75 * X[i] + 0.25 * X[j]
        for k in (2, 5, len(X)):
            found, expected = block(Overlap().fit(X, n_neighbors=k), Y), NaiveOverlap(X, k).kernel(Y)
            np.testing.assert_allclose(found, expected, rtol=1e-13)

    @settings(max_examples=40, deadline=None)
    @given(n=st.integers(4, 40), p=st.integers(1, 20), k=st.integers(2, 40), whole=st.booleans(), seed=st.integers(0, 2**20))
    def test_any_points(self, n, p, k, whole, seed):
        rng = np.random.default_rng(seed)
        X = np.unique(rng.integers(-2, 3, (n, p)).astype(float) if whole else rng.standard_normal((n, p)), axis=0)
        assume(len(X) >= k)
        kernel = Overlap().fit(X, n_neighbors=k)
        np.testing.assert_allclose(kernel.matrix().toarray(), NaiveOverlap(X, k).K, rtol=1e-14)
        np.testing.assert_array_equal(block(kernel, X), kernel.matrix().toarray())

    def test_exponent(self):
        one, three = (Overlap(exponent=e).fit(BLOBS, n_neighbors=6) for e in (1, 3.0))
        np.testing.assert_allclose(one.matrix().toarray() ** 3, three.matrix().toarray(), rtol=1e-13)
        np.testing.assert_allclose(block(one, NEW) ** 3, block(three, NEW), rtol=1e-13)
        for bad in (0, -1.0, np.inf, "2"):
            with pytest.raises(ValueError, match="`exponent` must be positive and finite"):
                Overlap(exponent=bad)

    def test_far_points_see_their_nearest(self):
        kernel = Overlap().fit(BLOBS, n_neighbors=6)
        for distance in (1e3, 1e10, 1e100):
            rows = kernel.log_rows(np.full((1, 3), distance))
            assert rows.nnz >= 6
            assert np.isfinite(rows.data).all()

    def test_points_that_many_see(self, monkeypatch):
        """Rows are made in parts where they have many candidates; here every part has one row."""
        X = np.vstack([np.zeros(20), np.eye(20), -np.eye(20)])
        kernel = Overlap().fit(X, n_neighbors=3)
        whole = block(kernel, X)
        monkeypatch.setattr(overlap, "BLOCK_ENTRIES", 10)
        np.testing.assert_array_equal(block(kernel, X), whole)
        np.testing.assert_allclose(whole, NaiveOverlap(X, 3).K, rtol=1e-14)


class TestExtension:
    @pytest.mark.parametrize("name", ["2 columns", "15 columns", "31 columns", "plane lattice", "outliers", "close pairs"])
    def test_training_rows_are_where_they_were(self, name):
        X = POINTS[name]
        for k in (4, 10):
            est = solve(X, k=k)
            assert est.certificate_.relative_gap <= 1e-6
            np.testing.assert_allclose(row_error(est.transform(X), est.embedding_), 0, atol=1e-9)
            blocks = np.vstack(list(est.transform_blocks(X, block_rows=7)))
            np.testing.assert_allclose(blocks, est.transform(X), rtol=1e-13, atol=1e-15)

    def test_new_rows_by_the_formula(self):
        rng = np.random.default_rng(2)
        for name, k in (("3 columns", 8), ("31 columns", 6), ("plane lattice", 5)):
            X = POINTS[name]
            w = rng.uniform(0.5, 2.0, len(X))
            Y = X[:20] + 0.1 * rng.standard_normal((20, X.shape[1]))
            est, naive = solve(X, w, k=k), NaiveOverlap(X, k, w)
            np.testing.assert_allclose(est.transform(Y), naive.extend(Y, est.embedding_), rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(est.score_samples(Y), np.log(naive.kernel(Y) @ w), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(gram(est).diagonal(), naive.d, rtol=1e-9)

    def test_a_weight_of_two_is_a_point_given_twice(self):
        rng = np.random.default_rng(3)
        copies = rng.integers(1, 4, len(BLOBS))
        est, other = solve(BLOBS, copies), solve(np.repeat(BLOBS, copies, axis=0))
        np.testing.assert_array_equal(other.embedding_, np.repeat(est.embedding_, copies, axis=0))
        np.testing.assert_array_equal(other.transform(NEW), est.transform(NEW))
        # The weight is one of the program, and not of the kernel.
        K = est.training_.extension.kernel.matrix().toarray()
        np.testing.assert_array_equal(K, solve(BLOBS).training_.extension.kernel.matrix().toarray())


def scanpy_distances(X, n_neighbors):
    """As scanpy makes them: ``n_neighbors`` counts the point itself, which is not stored."""
    graph = kneighbors_graph(X, n_neighbors - 1, mode="distance")
    graph.eliminate_zeros()
    return graph


@pytest.mark.parametrize("kernel", ["neighbors", "overlap"])
def test_a_coordinate_may_change_in_its_last_bits(kernel):
    """The k-th neighbour of a point stays within its reach: rows as another program rounds them are where they were."""
    for name in ("3 columns", "31 columns", "plane lattice"):
        X = POINTS[name]
        est = solve(X, k=8, kernel=kernel)
        rounded = X * (1 + 1e-14 * np.random.default_rng(0).standard_normal(X.shape))
        np.testing.assert_allclose(row_error(est.transform(rounded), est.embedding_), 0, atol=1e-8)


class TestGraphs:
    def test_as_from_rows(self):
        raw = solve(BLOBS)
        B = gram(raw)
        dense = distances(BLOBS, BLOBS)
        cases = [KNeighborsTransformer(n_neighbors=k, mode="distance").fit_transform(BLOBS) for k in (5, 6, 15)]
        cases += [scanpy_distances(BLOBS, k) for k in (6, 20)]
        cases += [kneighbors_graph(BLOBS, 9, mode="distance", include_self=True), sparse.csr_array(dense)]
        rounded = dense + 1e-8 * dense.max() * np.eye(len(BLOBS))  # roots of differences of squares leave that of zeros
        cases.append(sparse.csr_array(rounded))
        for graph in cases:
            for parameters in ({}, {"metric": "precomputed"}):
                est = solve(graph, **parameters)
                np.testing.assert_allclose(gram(est), B, atol=1e-9 * B.max())
        est = solve(dense, metric="precomputed")
        np.testing.assert_allclose(gram(est), B, atol=1e-9 * B.max())
        np.testing.assert_allclose(row_error(est.transform(dense), est.embedding_), 0, atol=1e-9)

    def test_new_rows_that_name_all_points(self):
        raw, rows = solve(BLOBS), distances(NEW, BLOBS)
        for X, parameters in (
            (kneighbors_graph(BLOBS, 10, mode="distance"), {}),
            (distances(BLOBS, BLOBS), {"metric": "precomputed"}),
        ):
            est = solve(X, **parameters)
            turn = np.linalg.lstsq(est.embedding_, raw.embedding_, rcond=None)[0]
            Z = est.transform(sparse.csr_array(rows) if sparse.issparse(X) else rows)
            np.testing.assert_allclose(Z @ turn, raw.transform(NEW), rtol=1e-6, atol=1e-8)

    def test_graphs_made_with_fewer_neighbours(self):
        """The scale is then the last distance of a row: as if so many had been asked for."""
        with pytest.warns(UserWarning, match="`n_neighbors` = 15 has no effect: .* more than 6 points, itself") as seen:
            est = solve(scanpy_distances(BLOBS, 6), k=15)
        assert seen[0].filename.endswith("common.py")  # which calls `fit`
        np.testing.assert_allclose(gram(est), gram(solve(BLOBS, k=6)), atol=1e-9)

    def test_rows_of_different_lengths(self):
        """Some rows name fewer points: their scale is the last distance, that of the others the n_neighbors-th."""
        D = distances(BLOBS, BLOBS)
        order = np.argsort(D, axis=1)
        counts = np.random.default_rng(0).integers(3, 12, len(BLOBS))
        i = np.repeat(np.arange(len(BLOBS)), counts - 1)
        j = np.concatenate([order[row, 1:count] for row, count in enumerate(counts)])
        graph = sparse.csr_array((D[i, j], (i, j)), shape=D.shape)
        est = solve(graph, k=8)
        s = np.array([D[row, order[row, min(count, 8) - 1]] for row, count in enumerate(counts)])
        np.testing.assert_allclose(est.training_.extension.kernel.scales, s, rtol=1e-14)
        N = s[:, None] >= D
        common = N.astype(int) @ N.T.astype(int)
        K = np.where(np.maximum(s, s[:, None]) >= D, (common / (N.sum(1)[:, None] + N.sum(1) - common)) ** 2, 0)
        np.testing.assert_allclose(est.training_.extension.kernel.matrix().toarray(), K, rtol=1e-14)
        rows = sparse.csr_array((np.r_[graph.data, np.zeros(50)], (np.r_[i, np.arange(50)], np.r_[j, np.arange(50)])))
        np.testing.assert_allclose(row_error(est.transform(rows), est.embedding_), 0, atol=1e-9)

    def test_what_is_refused(self):
        graph = kneighbors_graph(BLOBS, 10, mode="distance")
        with pytest.raises(ValueError, match="must be square when it holds distances"):
            solve(graph[:20], metric="precomputed")
        with pytest.raises(ValueError, match="`X` must hold distances from 0"):
            solve(-graph, metric="precomputed")


@pytest.mark.slow
def test_digits():
    """Better clusters than by the neighbour kernel, which has 0.77 to 0.80."""
    X, y = load_digits(return_X_y=True)
    Z = SDPEmbedding(kernel="overlap", normalize="unit", random_state=0).fit(X).embedding_
    found = KMeans(10, n_init=20, random_state=0).fit_predict(Z)
    assert normalized_mutual_info_score(y, found) >= 0.8
