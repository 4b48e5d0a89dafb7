"""Metrics and sparse rows: distances against scikit-learn's and SciPy's, kernels against the formulas written out."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

from common import row_error
from elliptope import DiffusionMap, SDPEmbedding
from elliptope._utils import blocks
from elliptope.kernels import Neighbors, Overlap
from elliptope.kernels.metrics import METRICS, make_metric
from elliptope.kernels.neighborhoods import NeighborKernel
from elliptope.kernels.pairs import distinct_rows, find_rows, reaches
from elliptope.kernels.search import BallSearch, ScanSearch, TreeSearch, make_search
from elliptope.kernels.sparse_search import SparseSearch
from neighborhoods import NaiveNeighbors, NaiveOverlap, block

RNG = np.random.default_rng(0)
W = np.arange(1.0, 5.0)
VI = np.linalg.inv(np.cov(RNG.standard_normal((30, 4)).T))
BINARY = ("dice", "hamming", "jaccard", "rogerstanimoto", "sokalmichener", "sokalsneath")


def slanted(x, y, power=1.0):
    """A metric whose rounding depends on the order of its arguments."""
    return float(((x - y) ** 2).sum() ** 0.5 * (1 + 1e-16 * x[0])) ** power


PARAMETERS = {"seuclidean": {"V": W}, "mahalanobis": {"VI": VI}, "minkowski": {"p": 3, "w": W}}
NAMES = [name for name in METRICS if name != "precomputed"]


def rows(name, n=60, p=4, seed=1):
    rng = np.random.default_rng(seed)
    if name == "haversine":
        return rng.uniform([-1.5, -3], [1.5, 3], (n, 2))
    if name in BINARY:
        p = 30 if p == 4 else p  # many distinct distances, and still ties
        return np.unique(rng.integers(0, 2, (n, p)), axis=0).astype(float)
    X = rng.standard_normal((n, p)) + 0.3
    return np.abs(X) if name == "braycurtis" else X  # of which there are two definitions otherwise


def reference(name, X, Y):
    """By scikit-learn or SciPy."""
    if name == "sokalmichener":  # which SciPy has no more
        return 2 * (d := (X[:, None] != Y).mean(axis=-1)) / (1 + d)
    if name == "jaccard":
        return cdist(X.astype(bool), Y.astype(bool), "jaccard")
    if name in BINARY:
        return cdist(X.astype(bool), Y.astype(bool), name)
    if name == "minkowski":
        return (W * np.abs(X[:, None] - Y) ** 3).sum(axis=-1) ** (1 / 3)
    if name == "infinity":
        return cdist(X, Y, "chebyshev")
    D = pairwise_distances(X, Y, metric=name, **PARAMETERS.get(name, {}))
    return np.where(np.abs(D) < 1e-12, 0, D)


class TestDistances:
    @pytest.mark.parametrize("name", NAMES)
    def test_as_elsewhere(self, name):
        X, Y = rows(name), rows(name, 20, seed=2)
        metric = make_metric(name, PARAMETERS.get(name), X.shape[1])
        P, Q = metric.prepare(X), metric.prepare(Y)
        i, j = np.divmod(np.arange(len(X) * len(Y)), len(Y))
        c = metric.between(P, Q, i, j)
        np.testing.assert_allclose(metric.value(c).reshape(len(X), len(Y)), reference(name, X, Y), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(metric.radius(metric.value(c)), c, rtol=1e-12, atol=1e-15)
        # One way to form a distance: in any order, in any company, and of rows that were prepared alone.
        np.testing.assert_array_equal(metric.between(Q, P, j, i), c)
        np.testing.assert_array_equal(metric.between(P, Q, i[::-1], j[::-1])[::-1], c)
        first = np.zeros(1, dtype=int)
        for k in range(0, len(i), 7):
            alone = metric.between(metric.prepare(X[[i[k]]]), metric.prepare(Y[[j[k]]]), first, first)
            np.testing.assert_array_equal(alone, c[k])
        assert not metric.between(P, P, np.arange(len(X)), np.arange(len(X))).any()

    def test_functions(self):
        X = rows("euclidean")
        metric = make_metric(slanted, {"power": 2.0}, 4)
        i, j = RNG.integers(60, size=(2, 50))
        np.testing.assert_allclose(metric.between(X, X, i, j), ((X[i] - X[j]) ** 2).sum(axis=1), rtol=1e-13)
        np.testing.assert_array_equal(metric.between(X, X, j, i), metric.between(X, X, i, j))
        kernel = Overlap(metric=slanted).fit(X, n_neighbors=6)
        assert pickle.loads(pickle.dumps(kernel)).matrix().nnz == kernel.matrix().nnz

    @pytest.mark.parametrize(
        ("metric", "params", "message"),
        [
            ("minkowski", {"p": 0.5}, "`p` must be a number of at least 1"),
            ("minkowski", {"V": 1}, r"`metric_params` may hold 'p', 'w' for metric='minkowski', got 'V'"),
            ("cosine", {"p": 1}, r"may hold nothing for metric='cosine'"),
            ("seuclidean", None, "must hold 'V', the variances"),
            ("seuclidean", {"V": np.ones(3)}, r"`V` must have one entry per row, shape \(4,\)"),
            ("mahalanobis", None, "must hold 'VI', an inverse covariance"),
            ("mahalanobis", {"VI": -np.eye(4)}, "`VI` must be symmetric positive definite"),
            ("mahalanobis", {"VI": np.eye(4) + np.eye(4, k=1)}, "`VI` must be symmetric positive definite"),
            ("russellrao", None, "`metric` must be one of"),
        ],
    )
    def test_what_is_refused(self, metric, params, message):
        with pytest.raises(ValueError, match=message):
            make_metric(metric, params, 4)

    def test_the_kernel_and_the_estimator_may_both_have_one(self):
        X = rows("euclidean")
        assert SDPEmbedding(kernel=Overlap(metric="cosine"), metric="cosine", n_neighbors=8).fit(X).status_
        with pytest.raises(ValueError, match="`metric` must be that of the kernel, 'cosine', or be left out, got 'man"):
            SDPEmbedding(kernel=Overlap(metric="cosine"), metric="manhattan").fit(X)
        with pytest.raises(ValueError, match="`metric_params` must be a dictionary or None, got 3"):
            Neighbors(metric_params=3)


class TestKernels:
    @pytest.mark.parametrize("name", NAMES)
    def test_against_the_formula(self, name):
        X = rows(name)
        Y = np.vstack([rows(name, 25, seed=2), X[::4]])
        metric = make_metric(name, PARAMETERS.get(name), X.shape[1])

        def distances(A, B):  # in the rounding of the package, which decides between ties
            i, j = np.divmod(np.arange(len(A) * len(B)), len(B))
            return metric.value(metric.between(metric.prepare(A), metric.prepare(B), i, j)).reshape(len(A), len(B))

        for rule, naive in ((Neighbors, NaiveNeighbors), (Overlap, NaiveOverlap)):
            kernel = rule(metric=name, metric_params=PARAMETERS.get(name)).fit(X, n_neighbors=7)
            expected = naive(X, 7, metric=distances)
            np.testing.assert_allclose(kernel.matrix().toarray(), expected.K, rtol=1e-10)
            np.testing.assert_array_equal(block(kernel, X), kernel.matrix().toarray())
            np.testing.assert_allclose(block(kernel, Y), expected.kernel(Y), rtol=1e-10)
            np.testing.assert_array_equal(np.vstack([block(kernel, y[None]) for y in Y]), block(kernel, Y))

    @pytest.mark.parametrize(
        ("p", "metric"), [(3, "manhattan"), (20, "manhattan"), (20, "chebyshev"), (20, "cosine"), (3, slanted)]
    )
    def test_many_new_rows_by_trees(self, p, metric):
        """Beyond 64 new rows searches change their ways."""
        X, Y = rows("", 80, p), rows("", 150, p, seed=2)
        for rule in (Neighbors, Overlap):
            kernel = rule(metric=metric).fit(X, n_neighbors=6)
            parts = [block(kernel, Y[50 * part : 50 * (part + 1)]) for part in range(3)]
            np.testing.assert_array_equal(block(kernel, Y), np.vstack(parts))

    def test_embeddings(self):
        X, Y = rows("haversine"), rows("haversine", 15, seed=3)
        for kernel, naive in (("neighbors", NaiveNeighbors), ("overlap", NaiveOverlap)):
            est = SDPEmbedding(kernel=kernel, n_neighbors=9, metric="haversine", random_state=0, tol=1e-8).fit(X)
            np.testing.assert_allclose(row_error(est.transform(X), est.embedding_), 0, atol=1e-9)
            expected = naive(X, 9, metric=lambda A, B: reference("haversine", A, B))
            np.testing.assert_allclose(est.transform(Y), expected.extend(Y, est.embedding_), rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize("kernel", ["neighbors", "overlap"])
    @pytest.mark.parametrize(
        ("place", "got"),
        [((48.1, 11.6), "got 48.1 and 11.6"), ((-1.6, 0.0), "got -1.6 and 0"), ((0.0, 6.3), "got 0 and 6.3")],
    )
    def test_degrees_are_refused(self, kernel, place, got):
        X = rows("haversine")
        est = SDPEmbedding(kernel=kernel, n_neighbors=9, metric="haversine", random_state=0).fit(X)
        X[3] = place
        for take in (est.transform, clone(est).fit):
            with pytest.raises(ValueError, match=rf"-π/2 to π/2 and longitudes from -2π to 2π, .*{got}, in row 3 \("):
                take(X)

    def test_both_conventions_of_longitude(self):
        X = rows("haversine")
        X[:2] = [0.5 * np.pi, -np.pi], np.float32([-0.5 * np.pi, 0.0])
        turned = X + np.outer(X[:, 1] < 0, [0.0, 2 * np.pi])
        one, two = (Neighbors(metric="haversine").fit(places, n_neighbors=9) for places in (X, turned))
        np.testing.assert_allclose(two.matrix().toarray(), one.matrix().toarray(), rtol=1e-9)

    def test_searches(self):
        X = rows("", 40, 20)
        kinds = {
            ("euclidean", 3): TreeSearch,
            ("manhattan", 3): TreeSearch,
            ("cosine", 20): ScanSearch,
            ("manhattan", 20): BallSearch,
            ("canberra", 3): BallSearch,
        }
        for (name, p), kind in kinds.items():
            metric = make_metric(name, None, p)
            assert type(make_search(metric.prepare(X[:, :p]), 5, 1, metric)) is kind

    def test_threads_change_nothing(self):
        X, Y = rows("", 700, 5), rows("", 600, 5, seed=5)
        for metric in ("euclidean", "cosine", "canberra"):
            one, two = (Neighbors(metric=metric).fit(X, n_neighbors=6, n_jobs=jobs) for jobs in (1, 2))
            np.testing.assert_array_equal(block(one, Y), block(two, Y))


def counts(n=70, p=40, seed=0):
    """Counts of words, dense, as documents have them: some proportional to others, some equal, none empty."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.exponential(0.3, (n, p))).astype(float)
    X[:, 0] += X.sum(axis=1) == 0
    X[3], X[7] = 2 * X[2], X[5]
    return X


SPARSE = ("euclidean", "cosine", "manhattan", "sqeuclidean", "l1")


class TestSparseRows:
    @pytest.mark.parametrize("metric", SPARSE)
    def test_as_dense_rows(self, metric):
        X, Y = counts(), counts(30, seed=1)
        if metric == "cosine":  # of counts, many angles tie but for rounding
            X, Y = (A * np.random.default_rng(3).uniform(0.5, 2, A.shape) for A in (X, Y))
        for kernel in ("neighbors", "overlap"):
            for Estimator in (SDPEmbedding, DiffusionMap):
                est, dense = (Estimator(kernel=kernel, metric=metric, n_neighbors=9) for _ in range(2))
                seed = {"random_state": 0, "tol": 1e-8} if Estimator is SDPEmbedding else {}
                w = np.random.default_rng(2).uniform(0.5, 2, len(X))
                est.set_params(**seed).fit(sparse.csr_array(X), sample_weight=w)
                dense.set_params(**seed).fit(X, sample_weight=w)
                np.testing.assert_allclose(est.embedding_, dense.embedding_, rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(row_error(est.transform(sparse.csr_matrix(X)), est.embedding_), 0, atol=1e-8)
                for rows in (sparse.csr_array(Y), sparse.csc_matrix(Y), sparse.coo_array(Y), Y):
                    np.testing.assert_allclose(est.transform(rows), dense.transform(Y), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(dense.transform(sparse.csr_array(Y)), dense.transform(Y), rtol=1e-13)
                np.testing.assert_allclose(est.score_samples(sparse.csr_array(Y)), dense.score_samples(Y), rtol=1e-10)
                blocks_ = list(est.transform_blocks([sparse.csr_array(Y)[:10], sparse.csr_array(Y)[10:]]))
                np.testing.assert_allclose(np.vstack(blocks_), est.transform(Y), rtol=1e-12, atol=1e-14)
                blocks_ = list(est.transform_blocks(sparse.csr_array(Y), block_rows=8))
                np.testing.assert_allclose(np.vstack(blocks_), est.transform(Y), rtol=1e-12, atol=1e-14)

    def test_the_k_nearest_and_all_that_tie(self, monkeypatch):
        X, Y = counts(), counts(30, seed=1)
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 8 * len(X))  # several blocks
        for name in SPARSE:
            metric = make_metric(name, None, X.shape[1])
            P, Q = (metric.prepare(sparse.csr_array(A)) for A in (X, Y))
            D = pairwise_distances(Y, X, metric=name)
            for k in (1, 5, 40, len(X)):
                i, j, d = SparseSearch(P, k, 2, metric).nearest(Q)
                np.testing.assert_allclose(d, D[i, j], rtol=1e-9, atol=1e-12)
                kth = np.sort(D, axis=1)[:, k - 1]
                np.testing.assert_allclose(reaches(i, d, len(Y), k), kth, rtol=1e-9, atol=1e-12)
                found = np.zeros(D.shape, dtype=bool)
                found[i, j] = True
                assert found[(1 - 1e-12) * kth[:, None] >= D].all()
            scales = np.sort(pairwise_distances(X, metric=name), axis=1)[:, 5] + 1e-9
            i, j, d = SparseSearch(P, 5, 1, metric).within(Q, scales, np.zeros(len(Y)))
            found = np.zeros(D.shape, dtype=bool)
            found[i, j] = True
            np.testing.assert_array_equal(found, scales >= D)

    def test_how_it_is_stored_does_not_matter(self):
        """Zeros that are stored, entries in parts and out of order; and the matrix that was given stays as it was."""
        tidy = sparse.csr_array(counts())
        messy = sparse.csr_matrix(
            (np.repeat(tidy.data / 2, 2), np.repeat(tidy.indices, 2), 2 * tidy.indptr), shape=tidy.shape
        )
        messy.indices[:4], messy.data[:4] = messy.indices[[3, 1, 2, 0]], messy.data[[3, 1, 2, 0]]
        messy.data[-2:] = tidy.data[-1], 0.0
        before = messy.copy()
        est = SDPEmbedding(kernel="neighbors", n_neighbors=9, metric="cosine", random_state=0)
        np.testing.assert_array_equal(est.fit(messy).embedding_, est.fit(tidy).embedding_)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(messy, part), getattr(before, part))

    def test_square_matrices_with_entries_on_the_diagonal_are_rows(self):
        X = counts(40, 40)
        np.fill_diagonal(X, 1.0)
        est = SDPEmbedding(kernel="neighbors", n_neighbors=6, random_state=0)
        np.testing.assert_allclose(est.fit(sparse.csr_array(X)).embedding_, est.fit(X).embedding_, atol=1e-6)
        np.fill_diagonal(X, 0.0)  # a graph by its looks, unless the metric says otherwise
        est.set_params(metric="l2")
        np.testing.assert_allclose(est.fit(sparse.csr_array(X)).embedding_, est.fit(X).embedding_, atol=1e-6)

    def test_empty_rows_go_by_their_numbers_in_what_was_given(self):
        X = counts()
        X[[30, 40]] = 0
        est = SDPEmbedding(kernel="overlap", metric="cosine", n_neighbors=9, random_state=0)
        w = np.ones(70)
        w[:3] = w[40] = 0
        for rows in (X, sparse.csr_array(X)):
            with pytest.raises(ValueError, match=r"Leave out rows 30, 40 \(counted from 0\)"):
                est.fit(rows, sample_weight=w)
            est.fit(rows[np.arange(70) % 10 > 0])
            with pytest.raises(ValueError, match=r"Leave out row 30 "):
                list(est.transform_blocks(rows, block_rows=8))
            with pytest.raises(ValueError, match=r"Leave out rows 30, 40 \(counted from 0\)"):
                est.transform(rows)

    @pytest.mark.parametrize("kernel", ["overlap", "neighbors"])
    def test_all_empty_rows_are_named_however_many(self, kernel, monkeypatch):
        monkeypatch.setattr(NeighborKernel, "rows_together", lambda kernel, p: 8)
        X, empty = counts(), np.arange(3, 70, 5)
        est = SDPEmbedding(kernel=kernel, metric="cosine", n_neighbors=9, random_state=0).fit(X)
        X[empty] = 0
        message = r"Leave out rows 3, 8, 13, 18, 23, 28, 33, 38, 43, 48, … \(14 in all, counted from 0\)"
        for rows in (X, sparse.csr_array(X)):
            for method in (est.transform, est.score_samples, est.fit):
                with pytest.raises(ValueError, match=message):
                    method(rows)

    def test_distinct_rows(self):
        X = counts()
        for rows in (X, sparse.csr_array(X)):
            first, inverse = distinct_rows(rows)
            np.testing.assert_array_equal(X[first][inverse], X)
            assert len(first) == len(np.unique(X, axis=0))
            assert (np.diff(first) > 0).all()
            np.testing.assert_array_equal(find_rows(rows, rows[[5, 7, 60]]), [5, 5, 60])
