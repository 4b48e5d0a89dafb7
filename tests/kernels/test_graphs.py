"""Points known by a sparse graph of distances: one embedding with that of their rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph, radius_neighbors_graph

from common import gram, row_error
from elliptope import SDPEmbedding
from neighborhoods import BLOBS, NEW, NaiveNeighbors, distances, solve

BOTH = pytest.mark.parametrize("rule", ["neighbors", "overlap"])
GRAPH = kneighbors_graph(BLOBS, 10, mode="distance")
D = distances(BLOBS, BLOBS)


def with_diagonal(graph):
    """The graph with the zeros on its diagonal stored."""
    i, j = graph.nonzero()
    n = graph.shape[0]
    rows, columns = np.r_[i, np.arange(n)], np.r_[j, np.arange(n)]
    return sparse.csr_array((np.r_[np.asarray(graph[i, j]).ravel(), np.zeros(n)], (rows, columns)), shape=(n, n))


def scanpy_distances(X, n_neighbors):
    """As scanpy makes them: ``n_neighbors`` counts the point itself, which is not stored."""
    graph = kneighbors_graph(X, n_neighbors - 1, mode="distance")
    graph.eliminate_zeros()
    return graph


def graphs():
    """Of BLOBS, as several programs make and store them."""
    radius = radius_neighbors_graph(BLOBS, 100.0, mode="distance")
    rounded = D + 1e-8 * D.max() * np.eye(len(BLOBS))  # roots of differences of squares leave that of zeros
    return [
        # scikit-learn's transformer stores one neighbour more than it is asked for, the point itself.
        *(KNeighborsTransformer(n_neighbors=k, mode="distance").fit_transform(BLOBS) for k in (5, 6, 15)),
        *(scanpy_distances(BLOBS, k) for k in (6, 20)),
        kneighbors_graph(BLOBS, 9, mode="distance", include_self=True),
        *(sparse.csr_array(dense) for dense in (D, rounded)),
        *(radius, radius.tocsc(), radius.tocoo(), sparse.coo_array(radius)),
    ]


@BOTH
class TestAsFromRows:
    def test_training_points(self, rule):
        B = gram(solve(BLOBS, kernel=rule))
        for graph in graphs():
            est = solve(graph, kernel=rule)
            np.testing.assert_allclose(gram(est), B, atol=1e-9 * B.max())
            np.testing.assert_array_equal(solve(graph, kernel=rule, metric="precomputed").embedding_, est.embedding_)
        transformer = KNeighborsTransformer(n_neighbors=15, mode="distance").fit(BLOBS)
        est = solve(transformer.transform(BLOBS), kernel=rule)
        np.testing.assert_allclose(row_error(est.transform(transformer.transform(BLOBS)), est.embedding_), 0, atol=1e-9)

    def test_dense_distances(self, rule):
        B, est = gram(solve(BLOBS, kernel=rule)), solve(D, kernel=rule, metric="precomputed")
        np.testing.assert_allclose(gram(est), B, atol=1e-9 * B.max())
        np.testing.assert_allclose(row_error(est.transform(D), est.embedding_), 0, atol=1e-9)

    @pytest.mark.parametrize("given", ["graph", "dense"])
    def test_new_rows_that_name_all_points_within_reach(self, rule, given):
        """Exact, as from rows: whom a new point sees, and who sees it, both stand in its row."""
        raw, rows = solve(BLOBS, kernel=rule), distances(NEW, BLOBS)
        if given == "graph":
            est, rows = solve(GRAPH, kernel=rule), sparse.csr_array(rows)
        else:
            est = solve(D, kernel=rule, metric="precomputed")
        turn = np.linalg.lstsq(est.embedding_, raw.embedding_, rcond=None)[0]
        np.testing.assert_allclose(est.transform(rows) @ turn, raw.transform(NEW), rtol=1e-6, atol=1e-8)

    def test_points_without_weight(self, rule):
        w = np.ones(len(BLOBS))
        w[::4] = 0
        graph = radius_neighbors_graph(BLOBS, 100.0, mode="distance", include_self=True)
        est, raw = solve(graph, w, kernel=rule), solve(BLOBS, w, kernel=rule)
        np.testing.assert_allclose(gram(est), gram(raw), atol=1e-7 * gram(raw).max())
        np.testing.assert_allclose(row_error(est.transform(graph), est.embedding_), 0, atol=1e-9)


class TestWhatGraphsNeed:
    def test_new_rows_that_name_their_nearest_points_alone(self):
        """Those that only they see: near the exact answer, not equal to it."""
        transformer = KNeighborsTransformer(n_neighbors=10, mode="distance").fit(BLOBS)
        naive = NaiveNeighbors(BLOBS, 6)
        est = solve(transformer.transform(BLOBS))
        rows = transformer.transform(NEW)
        listed = rows.toarray() > 0
        k = np.where(listed, naive.kernel(NEW), 0.0)
        np.testing.assert_allclose(est.score_samples(rows), np.log(k.sum(axis=1)), rtol=1e-10)

    def test_the_diagonal_may_be_left_out(self):
        with_it = kneighbors_graph(BLOBS, 11, mode="distance", include_self=True)
        assert with_it.nnz > GRAPH.nnz
        np.testing.assert_array_equal(solve(with_it).embedding_, solve(GRAPH).embedding_)

    def test_symmetry_is_not_asked_for(self):
        np.testing.assert_array_equal(solve(GRAPH).embedding_, solve(GRAPH.maximum(GRAPH.T)).embedding_)

    def test_distances_back_may_differ_by_rounding(self):
        reference = solve(GRAPH)
        rough = GRAPH.astype(np.float32).astype(np.float64)
        rough.data *= 1 + 1e-7 * np.random.default_rng(0).standard_normal(rough.nnz)
        est = solve(rough)
        K = est.training_.extension.kernel.matrix().toarray()
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(gram(est), gram(reference), atol=1e-4 * gram(reference).max())
        np.testing.assert_allclose(est.transform(with_diagonal(rough)), est.embedding_, atol=1e-7)

    def test_a_distance_of_zero_is_enough(self):
        est = solve(GRAPH)
        n = len(BLOBS)
        rows = sparse.csr_array((np.zeros(n), np.arange(n)[::-1], np.arange(n + 1)), shape=(n, n))
        np.testing.assert_allclose(row_error(est.transform(rows), est.embedding_[::-1]), 0, atol=1e-9)

    def test_points_that_coincide_are_refused(self):
        with pytest.raises(ValueError, match="coincide once, with a larger"):
            solve(kneighbors_graph(np.repeat(BLOBS[:5], 10, axis=0), 9, mode="distance"))

    @BOTH
    def test_similarities_are_refused(self, rule):
        est = SDPEmbedding(kernel=rule, metric="precomputed", n_neighbors=6, random_state=0)
        with pytest.raises(
            ValueError, match=r"`X` must be zero on the diagonal .* distances, got 1 in rows 0, 1, .* in all"
        ):
            est.fit(np.exp(-D))
        distances = D.copy()
        distances[4, 4] = 0.01
        with pytest.raises(ValueError, match=r"got 0\.01 in row 4 \(counted from 0\)"):
            est.fit(distances, sample_weight=np.arange(len(BLOBS)) > 1)
        distances[4, 4] = 1e-9  # rounding
        est.fit(distances)

    def test_rows_that_are_refused(self):
        est = solve(GRAPH)
        with pytest.raises(ValueError, match="must be square when it holds distances, got shape"):
            solve(GRAPH[:20], metric="precomputed")
        with pytest.raises(ValueError, match="distances from 0"):
            est.transform(-GRAPH)
        empty = GRAPH.copy()
        empty.data[empty.indptr[3] : empty.indptr[4]] = 0
        empty.eliminate_zeros()
        with pytest.raises(ValueError, match=r"vanishes for every training point.*row 3"):
            est.transform(empty)

    def test_a_callable_diagonal_sees_sparse_rows(self):
        est = solve(GRAPH, diagonal=lambda rows: np.full(rows.shape[0], 2.0))
        np.testing.assert_allclose(gram(est).diagonal(), 2)
        np.testing.assert_allclose(np.linalg.norm(est.transform(GRAPH), axis=1), np.sqrt(2))


class TestScalesOfGraphs:
    """The overlap kernel sees from the rows themselves how many neighbours they have."""

    def test_graphs_made_with_fewer_neighbours(self):
        """The scale is then the last distance of a row: as if so many had been asked for."""
        with pytest.warns(UserWarning, match="`n_neighbors` = 15 has no effect: .* more than 6 points, itself") as seen:
            est = solve(scanpy_distances(BLOBS, 6), k=15, kernel="overlap")
        assert seen[0].filename.endswith("common.py")  # which calls `fit`
        np.testing.assert_allclose(gram(est), gram(solve(BLOBS, k=6, kernel="overlap")), atol=1e-9)

    def test_rows_of_different_lengths(self):
        """Some rows name fewer points: their scale is the last distance, that of the others the n_neighbors-th."""
        order = np.argsort(D, axis=1)
        counts = np.random.default_rng(0).integers(3, 12, len(BLOBS))
        i = np.repeat(np.arange(len(BLOBS)), counts - 1)
        j = np.concatenate([order[row, 1:count] for row, count in enumerate(counts)])
        graph = sparse.csr_array((D[i, j], (i, j)), shape=D.shape)
        est = solve(graph, k=8, kernel="overlap")
        s = np.array([D[row, order[row, min(count, 8) - 1]] for row, count in enumerate(counts)])
        np.testing.assert_allclose(est.training_.extension.kernel.scales, s, rtol=1e-14)
        N = s[:, None] >= D
        common = N.astype(int) @ N.T.astype(int)
        K = np.where(np.maximum(s, s[:, None]) >= D, (common / (N.sum(1)[:, None] + N.sum(1) - common)) ** 2, 0)
        np.testing.assert_allclose(est.training_.extension.kernel.matrix().toarray(), K, rtol=1e-14)
        rows = sparse.csr_array((np.r_[graph.data, np.zeros(50)], (np.r_[i, np.arange(50)], np.r_[j, np.arange(50)])))
        np.testing.assert_allclose(row_error(est.transform(rows), est.embedding_), 0, atol=1e-9)
