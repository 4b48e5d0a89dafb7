"""The neighbour and overlap kernels against their formulas: on the sample, beyond it, and as the embedding sees them."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from common import fit, gram, row_error
from elliptope import SDPEmbedding, operators
from elliptope.kernels import Gaussian, Overlap, overlap
from elliptope.kernels.neighbors import Neighbors
from neighborhoods import BLOBS, NEW, POINTS, NaiveNeighbors, NaiveOverlap, block, lattice, solve

# The kernel, the same written out, and how well values of the two agree on the sample and beyond it.
RULES = {"neighbors": (Neighbors, NaiveNeighbors, 1e-12, 1e-9), "overlap": (Overlap, NaiveOverlap, 1e-14, 1e-13)}
BOTH = pytest.mark.parametrize("rule", RULES)
CASES = pytest.mark.parametrize("name", POINTS)


def sizes(n):
    return sorted({2, 3, 5, n // 2, n - 1, n})


@BOTH
class TestKernel:
    @CASES
    def test_matrix_and_rows_in_any_company(self, rule, name):
        make, naive, accuracy, _ = RULES[rule]
        X = POINTS[name]
        order = np.random.default_rng(0).permutation(len(X))
        for k in sizes(len(X)):
            expected, kernel = naive(X, k), make().fit(X, n_neighbors=k)
            K = kernel.matrix().toarray()
            np.testing.assert_allclose(kernel.scales, expected.s, rtol=1e-14)
            np.testing.assert_array_equal(K > 0, expected.K > 0)
            np.testing.assert_allclose(K, expected.K, rtol=accuracy)
            np.testing.assert_array_equal(K, K.T)
            np.testing.assert_array_equal(K.diagonal(), 1)
            np.testing.assert_array_equal(kernel.without_matrix().matrix().toarray(), K)
            np.testing.assert_array_equal(block(kernel, X), K)
            np.testing.assert_array_equal(block(kernel, X[order]), K[order])
            np.testing.assert_array_equal(block(kernel, X[::7]), K[::7])
            np.testing.assert_array_equal(np.vstack([block(kernel, row[None]) for row in X[:10]]), K[:10])

    @CASES
    def test_new_rows(self, rule, name):
        make, naive, _, accuracy = RULES[rule]
        X = POINTS[name]
        # Three quarters on the way from one point to another: exact on lattices.
        i, j = np.random.default_rng(1).integers(len(X), size=(2, 100))
        Y = 0.75 * X[i] + 0.25 * X[j]
        for k in (2, 5, len(X)):
            found, expected = block(make().fit(X, n_neighbors=k), Y), naive(X, k).kernel(Y)
            np.testing.assert_array_equal(found > 0, expected > 0)
            np.testing.assert_allclose(found, expected, rtol=accuracy)

    def test_far_points_keep_their_logarithms(self, rule):
        kernel = RULES[rule][0]().fit(BLOBS, n_neighbors=6)
        for distance in (1e3, 1e10, 1e100):
            rows = kernel.log_rows(np.full((1, 3), distance))
            assert np.isfinite(rows.data).all()
            assert rows.nnz >= 6

    @settings(max_examples=50, deadline=None)
    @given(n=st.integers(4, 40), p=st.integers(1, 20), k=st.integers(2, 40), whole=st.booleans(), seed=st.integers(0, 2**20))
    def test_any_points(self, rule, n, p, k, whole, seed):
        make, naive, accuracy, _ = RULES[rule]
        rng = np.random.default_rng(seed)
        X = np.unique(rng.integers(-2, 3, (n, p)).astype(float) if whole else rng.standard_normal((n, p)), axis=0)
        assume(len(X) >= k)
        kernel, expected = make().fit(X, n_neighbors=k), naive(X, k).K
        K = kernel.matrix().toarray()
        np.testing.assert_array_equal(K > 0, expected > 0)
        np.testing.assert_allclose(K, expected, rtol=accuracy)
        np.testing.assert_array_equal(block(kernel, X), K)


class TestOverlap:
    def test_exponent(self):
        one, three = (Overlap(exponent=e).fit(BLOBS, n_neighbors=6) for e in (1, 3.0))
        np.testing.assert_allclose(one.matrix().toarray() ** 3, three.matrix().toarray(), rtol=1e-13)
        np.testing.assert_allclose(block(one, NEW) ** 3, block(three, NEW), rtol=1e-13)
        for bad in (0, -1.0, np.inf, "2"):
            with pytest.raises(ValueError, match="`exponent` must be positive and finite"):
                Overlap(exponent=bad)

    def test_points_that_many_see(self, monkeypatch):
        """Rows are made in parts where they have many candidates; here every part has one row."""
        X = np.vstack([np.zeros(20), np.eye(20), -np.eye(20)])
        kernel = Overlap().fit(X, n_neighbors=3)
        whole = block(kernel, X)
        monkeypatch.setattr(overlap, "BLOCK_ENTRIES", 10)
        np.testing.assert_array_equal(block(kernel, X), whole)
        np.testing.assert_allclose(whole, NaiveOverlap(X, 3).K, rtol=1e-14)


class TestExtension:
    @BOTH
    @CASES
    def test_training_rows_are_where_they_were(self, rule, name):
        X = POINTS[name]
        order = np.random.default_rng(0).permutation(len(X))
        for k in (3, 6, len(X) - 1) if rule == "neighbors" else (4, 10):
            est = solve(X, k=k, kernel=rule)
            Z = est.transform(X)
            np.testing.assert_allclose(Z, est.embedding_, atol=1e-9)
            np.testing.assert_allclose(est.transform(X[order]), Z[order], rtol=1e-13, atol=1e-15)
            blocks = np.vstack(list(est.transform_blocks(X, block_rows=7)))
            np.testing.assert_allclose(blocks, Z, rtol=1e-13, atol=1e-15)

    @BOTH
    @pytest.mark.parametrize("name", ["1 columns", "3 columns", "31 columns", "plane lattice", "far from the origin"])
    @pytest.mark.parametrize("k", [4, 8, 30])
    def test_new_rows_by_the_formula(self, rule, name, k):
        X = POINTS[name]
        rng = np.random.default_rng(2)
        w = rng.uniform(0.5, 2.0, len(X))
        Y = X[:20] + 0.1 * rng.standard_normal((20, X.shape[1]))
        est, naive = solve(X, w, k=k, kernel=rule), RULES[rule][1](X, k, w)
        np.testing.assert_allclose(est.transform(Y), naive.extend(Y, est.embedding_), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(est.score_samples(Y), np.log(naive.kernel(Y) @ w), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gram(est).diagonal(), naive.d, rtol=1e-9)

    @BOTH
    @pytest.mark.parametrize("name", ["3 columns", "31 columns", "plane lattice"])
    def test_a_coordinate_may_change_in_its_last_bits(self, rule, name):
        """The k-th neighbour of a point stays within its reach: rows as another program rounds them are where they were."""
        X = POINTS[name]
        est = solve(X, k=8, kernel=rule)
        rounded = X * (1 + 1e-14 * np.random.default_rng(0).standard_normal(X.shape))
        np.testing.assert_allclose(row_error(est.transform(rounded), est.embedding_), 0, atol=1e-8)

    @pytest.mark.filterwarnings("ignore:`X` has rows so far")
    def test_far_rows_have_a_direction(self):
        Z = solve(BLOBS).transform(10.0 ** np.arange(2, 140, 10)[:, None] * np.ones(3))
        assert np.isfinite(Z).all()
        assert (np.linalg.norm(Z, axis=1) > 0).all()


class TestInvariance:
    few = settings(max_examples=25, deadline=None)
    seeds = given(seed=st.integers(0, 2**20), n=st.integers(15, 40), p=st.integers(2, 20), k=st.integers(5, 10))

    @staticmethod
    def assert_same_gram(est, other, order=slice(None)):
        assume(est.status_ == other.status_ == "optimal")
        B = gram(est)
        np.testing.assert_allclose(gram(other), B[order][:, order], rtol=0, atol=1e-6 * B.max())

    @few
    @seeds
    def test_permutation(self, seed, n, p, k):
        rng = np.random.default_rng(seed)
        X, order = rng.standard_normal((n, p)), rng.permutation(n)
        self.assert_same_gram(solve(X, k=k), solve(X[order], k=k), order)

    @few
    @seeds
    def test_rotation_translation_and_scale(self, seed, n, p, k):
        rng = np.random.default_rng(seed)
        X, Q = rng.standard_normal((n, p)), np.linalg.qr(rng.standard_normal((p, p)))[0]
        self.assert_same_gram(solve(X, k=k), solve(1e3 * X @ Q + 100 * rng.standard_normal(p), k=k))

    @BOTH
    @few
    @seeds
    def test_a_weight_of_two_is_a_point_given_twice(self, rule, seed, n, p, k):
        """To the last bit: rows that are equal are one point, so that both are the same program."""
        rng = np.random.default_rng(seed)
        X, copies = rng.standard_normal((n, p)), rng.integers(1, 4, n)
        est, other = solve(X, copies, k=k, kernel=rule), solve(np.repeat(X, copies, axis=0), k=k, kernel=rule)
        np.testing.assert_array_equal(other.embedding_, np.repeat(est.embedding_, copies, axis=0))
        assert other.certificate_ == est.certificate_
        np.testing.assert_array_equal(other.transform(X), est.transform(X))
        # The weight is one of the program, and not of the kernel.
        K = RULES[rule][0]().fit(X, n_neighbors=k).matrix().toarray()
        np.testing.assert_array_equal(est.training_.extension.kernel.matrix().toarray(), K)

    def test_copies_in_any_order_with_weights_of_their_own(self):
        copies = np.vstack([BLOBS, BLOBS[::3], BLOBS[:5]])
        w = np.random.default_rng(0).uniform(0.5, 2, len(copies))
        order = np.random.default_rng(1).permutation(len(copies))
        total = np.array([w[(copies == row).all(axis=1)].sum() for row in BLOBS])
        est, other = solve(BLOBS, total), solve(copies[order], w[order])
        B = gram(est)
        index = np.array([np.flatnonzero((row == BLOBS).all(axis=1))[0] for row in copies[order]])
        np.testing.assert_allclose(gram(other), B[np.ix_(index, index)], atol=1e-7 * B.max())

    @BOTH
    def test_points_without_weight_have_no_influence_and_are_extended(self, rule):
        w = np.ones(len(BLOBS) + len(NEW))
        w[::4] = 0
        X = np.vstack([NEW, BLOBS])
        est, rest = solve(X, w, kernel=rule), solve(X[w > 0], kernel=rule)
        np.testing.assert_array_equal(est.embedding_[w > 0], rest.embedding_)
        np.testing.assert_allclose(est.embedding_[w == 0], rest.transform(X[w == 0]), rtol=1e-12)

    def test_threads_change_nothing(self):
        one, two = (solve(POINTS["31 columns"], n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one.embedding_, two.embedding_)


def clarabel(naive):
    """The optimum by an interior-point method, from the plain matrix."""
    t = naive.w * np.sqrt(naive.d)
    J = t[:, None] * naive.Abar * t
    Z = cp.Variable(J.shape, PSD=True)
    problem = cp.Problem(cp.Maximize(cp.trace(J / np.abs(J).max() @ Z)), [cp.diag(Z) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value * np.abs(J).max(), np.trace(J)


class TestDisconnected:
    """The eigenvalue 1 of A repeats: all but one of its eigenvectors stay in Abar."""

    @pytest.mark.parametrize("parts", [2, 5])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_optimum(self, parts, weighted):
        rng = np.random.default_rng(parts)
        X = np.vstack([rng.standard_normal((50 // parts, 2)) + 1e3 * part for part in range(parts)])
        w = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
        with pytest.warns(UserWarning, match=f"form {parts} separate groups; .* larger `n_neighbors` connects"):
            est = fit(X, w, kernel="neighbors", n_neighbors=5)
        naive = NaiveNeighbors(X, 5, w)
        values = np.linalg.eigvalsh(naive.Abar * np.sqrt(w[:, None] * w))
        assert (values > 1 - 1e-9).sum() == parts - 1
        optimum, trace = clarabel(naive)
        certificate = est.certificate_
        assert certificate.objective <= optimum + 1e-7 * (optimum - trace)
        assert certificate.upper_bound >= optimum - 1e-7 * (optimum - trace)
        assert certificate.relative_gap <= 1e-6
        assert est.status_ in ("optimal", "degenerate")

    def test_connected_graphs_are_not_warned_about(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit(BLOBS, kernel="neighbors", n_neighbors=12)

    def test_pairs(self):
        """As many parts as there can be."""
        X = np.repeat(10.0 * np.arange(15), 2)[:, None] + np.tile([0.0, 1.0], 15)[:, None]
        with pytest.warns(UserWarning, match="form 15 separate groups"):
            est = fit(X, kernel="neighbors", n_neighbors=2)
        assert np.isfinite(est.embedding_).all()
        optimum, trace = clarabel(NaiveNeighbors(X, 2))
        assert est.certificate_.objective == pytest.approx(optimum, abs=1e-6 * (optimum - trace))
        # Points of a pair, which have the same row of K, are one.
        np.testing.assert_allclose(est.embedding_[::2], est.embedding_[1::2], atol=1e-8)


class TestBeyondFactorisation:
    """Graphs of more points than a proof takes: a test with random vectors bounds the optimum, but for a stated risk."""

    @pytest.mark.parametrize("name", ["3 columns", "plane lattice"])
    def test_bounds(self, name, monkeypatch):
        X = POINTS[name]
        proved = solve(X, tol=1e-6)
        monkeypatch.setattr(operators.sparse, "_LARGEST_DENSE", 10)
        est = solve(X, tol=1e-6)
        certificate = est.certificate_
        assert certificate.grade == "probabilistic"
        assert 0 < certificate.failure_probability <= 1e-6
        assert est.status_ == "optimal"
        assert certificate.relative_gap <= 1e-6
        optimum, trace = clarabel(NaiveNeighbors(X, 6))
        assert certificate.objective <= optimum + 1e-7 * (optimum - trace)
        assert certificate.upper_bound >= optimum - 1e-7 * (optimum - trace)
        assert certificate.objective == pytest.approx(proved.certificate_.objective, rel=1e-6)


class TestHubs:
    """A point that so many see that m² > M: the paper's d is negative there, which a psd kernel rules out."""

    X = np.vstack([np.zeros(20), np.eye(20), -np.eye(20)])

    def test_they_are_at_the_origin(self):
        with pytest.warns(ConvergenceWarning, match=r"'degenerate'.*row 0 .* neighbours that d\(x\) is not positive"):
            est = SDPEmbedding(kernel="neighbors", n_neighbors=2, random_state=0).fit(self.X)
        naive = NaiveNeighbors(self.X, 2)
        assert naive.d[0] < 0 < naive.d[1:].min()
        assert not est.embedding_[0].any()
        assert not est.transform(self.X)[0].any()
        np.testing.assert_allclose(est.transform(self.X), est.embedding_, atol=1e-7)
        # The optimum over B with B_00 = 0.
        naive.d[0] = 0
        optimum, trace = clarabel(naive)
        assert est.certificate_.objective == pytest.approx(optimum, abs=1e-6 * (optimum - trace))
        assert est.certificate_.upper_bound >= optimum - 1e-7 * (optimum - trace)

    def test_beside_them_nothing_is_nan(self):
        est = solve(self.X, k=2)
        for size in (1e-9, 1e-3, 0.5):
            assert np.isfinite(est.transform(self.X[:3] + size)).all()

    def test_with_unit_length_they_are_placed_as_new_rows_are(self):
        est = solve(self.X, k=2, normalize="unit")
        assert est.n_outside_ == 1
        assert np.linalg.norm(est.embedding_[0]) == pytest.approx(1)

    def test_another_diagonal_may_turn_them_around(self):
        """What `transform` gives there is no optimum, and its certificate says so."""
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            est = SDPEmbedding(kernel="neighbors", n_neighbors=2, diagonal="constant", random_state=0).fit(self.X)
        np.testing.assert_allclose(est.transform(self.X), est.embedding_, atol=1e-9)
        assert est.certificate_.relative_gap > 0.5


@pytest.mark.parametrize(
    ("kernel", "digits", "least"),
    [
        ("neighbors", 4, 0.97),
        pytest.param("neighbors", 10, 0.78, marks=pytest.mark.slow),
        pytest.param("overlap", 10, 0.8, marks=pytest.mark.slow),
    ],
)
def test_clusters_of_digits(kernel, digits, least):
    X, y = load_digits(n_class=digits, return_X_y=True)
    Z = solve(X, k=15, kernel=kernel, normalize="unit", tol=1e-6).embedding_
    found = KMeans(digits, n_init=20, random_state=0).fit_predict(Z)
    assert normalized_mutual_info_score(y, found) >= least


class TestArguments:
    def test_more_neighbours_than_distinct_points(self):
        with pytest.raises(
            ValueError, match=r"between 2 and the number of distinct points, 5, got 6: .*\. Lower `n_neighbors`\.$"
        ):
            Neighbors().fit(BLOBS[:5], n_neighbors=6)

    def test_negative_zero_is_zero(self):
        X = np.vstack([lattice(5, 2), -lattice(5, 2)[:1]])
        assert solve(X).embedding_.shape[0] == 26
        np.testing.assert_array_equal(solve(X).embedding_[0], solve(X).embedding_[-1])


def test_scales_of_points_and_of_new_rows():
    """The distance to the k-th nearest point, known by points, sparse points or distances; a Gaussian has none."""
    points, new = np.random.default_rng(0).random((2, 30, 3))
    expected = [np.log(np.sort(cdist(rows, points), axis=1)[:, 6]) for rows in (points, new)]
    kernels = {
        "dense": (Neighbors().fit(points, n_neighbors=7), new),
        "sparse": (Neighbors().fit(sparse.csr_array(points), n_neighbors=7), sparse.csr_array(new)),
        "distances": (Neighbors(metric="precomputed").fit(cdist(points, points), n_neighbors=7), cdist(new, points)),
    }
    for kernel, rows in kernels.values():
        np.testing.assert_allclose(kernel.log_scales(), expected[0])
        np.testing.assert_allclose(kernel.log_scales(rows), expected[1])
    assert Gaussian(1.0).fit(points).log_scales(new) == 0
