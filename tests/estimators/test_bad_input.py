"""Bad input: every case raises or warns with a message that names the parameter and says what to change."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from elliptope import DiffusionMap, SDPEmbedding
from elliptope._utils import blocks
from elliptope._utils.checks import check_bool, check_callable, check_entries, check_factor, check_rng, check_vector

X = np.random.default_rng(0).standard_normal((30, 3))
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))

both = pytest.mark.parametrize("Estimator", [SDPEmbedding, DiffusionMap])


def changed(array, *indices, value):
    array = array.copy()
    for index in indices:
        array[index] = value
    return array


DATA = {
    "NaN": (changed(X, (3, 1), value=np.nan), ValueError, "Input X contains NaN"),
    "inf": (changed(X, (3, 1), value=np.inf), ValueError, "Input X contains infinity"),
    "1-D": (X[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
    "3-D": (X[None], ValueError, "Found array with dim 3"),
    "empty": (X[:0], ValueError, r"Found array with 0 sample\(s\)"),
    "zero features": (X[:, :0], ValueError, r"Found array with 0 feature\(s\)"),
    "strings": (np.array([["a", "b", "c"], ["d", "e", "f"]]), ValueError, "could not convert string to float"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "sparse": (sparse.csr_array(X), TypeError, "Sparse data was passed for X, but dense data is required"),
}
METHODS = [
    (SDPEmbedding, "transform"),
    (SDPEmbedding, "learned_kernel"),
    (SDPEmbedding, "score_samples"),
    (DiffusionMap, "transform"),
    (DiffusionMap, "score_samples"),
]


class TestData:
    @both
    @pytest.mark.parametrize("case", DATA)
    def test_fit(self, Estimator, case):
        bad, error, message = DATA[case]
        with pytest.raises(error, match=message):
            Estimator().fit(bad)
        with pytest.raises(error, match=message):
            Estimator().fit_transform(bad)

    @both
    def test_one_sample(self, Estimator):
        with pytest.raises(
            ValueError, match=r"Found array with 1 sample\(s\).*minimum of 2 is required by " + Estimator.__name__
        ):
            Estimator().fit(X[:1])

    @pytest.mark.parametrize(("Estimator", "method"), METHODS)
    @pytest.mark.parametrize("case", DATA)
    def test_after_fit(self, Estimator, method, case):
        bad, error, message = DATA[case]
        with pytest.raises(error, match=message):
            getattr(Estimator(bandwidth=1.0).fit(X), method)(bad)

    @pytest.mark.parametrize(("Estimator", "method"), METHODS)
    def test_wrong_number_of_features(self, Estimator, method):
        est = Estimator(bandwidth=1.0).fit(X)
        with pytest.raises(ValueError, match=f"X has 2 features, but {Estimator.__name__} is expecting 3 features"):
            getattr(est, method)(X[:, :2])

    def test_wrong_number_of_features_in_the_second_argument(self):
        with pytest.raises(ValueError, match="X has 2 features, but SDPEmbedding is expecting 3 features"):
            SDPEmbedding(bandwidth=1.0).fit(X).learned_kernel(X, X[:, :2])

    @pytest.mark.parametrize(("Estimator", "method"), [*METHODS, (SDPEmbedding, "get_feature_names_out")])
    def test_not_fitted(self, Estimator, method):
        with pytest.raises(NotFittedError, match=f"This {Estimator.__name__} instance is not fitted yet"):
            getattr(Estimator(), method)(X)


class TestParameters:
    @both
    @pytest.mark.parametrize("value", [0, 0.0, -1.0, np.nan, np.inf, True, None, [1.0]])
    def test_bandwidth(self, Estimator, value):
        with pytest.raises(
            ValueError, match="`bandwidth` must be positive and finite, got " + repr(value).replace("[", r"\[")
        ):
            Estimator(bandwidth=value).fit(X)

    @both
    def test_bandwidth_rule(self, Estimator):
        with pytest.raises(
            ValueError, match="`bandwidth` must be a positive number or one of 'auto', 'knn', 'median', got 'scott'"
        ):
            Estimator(bandwidth="scott").fit(X)

    @both
    @pytest.mark.parametrize("value", [0, -1, 1.5, "2", True])
    def test_n_components(self, Estimator, value):
        with pytest.raises(ValueError, match=f"`n_components` must be .*an integer of at least 1.*got {value!r}"):
            Estimator(n_components=value).fit(X)

    @both
    @pytest.mark.parametrize("value", ["rbf", None, 3])
    def test_kernel(self, Estimator, value):
        with pytest.raises(ValueError, match=f"`kernel` must be one of 'gaussian', .* or a callable.*, got {value!r}"):
            Estimator(kernel=value).fit(X)

    @both
    def test_normalize(self, Estimator):
        with pytest.raises(ValueError, match="`normalize` must be one of None, 'unit', got 'l2'"):
            Estimator(normalize="l2").fit(X)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("operator", "csr", "one of 'auto', 'dense'"),
            ("solver", "newton", "one of 'auto', 'power'"),
            ("tol", 0, "positive and finite"),
            ("tol", -1e-6, "positive and finite"),
            ("tol", np.nan, "positive and finite"),
            ("max_iter", 0, "an integer of at least 1"),
            ("max_iter", 2.5, "an integer of at least 1"),
            ("rank", 0, "an integer of at least 1"),
            ("rank", "full", "an integer of at least 1"),
            ("n_neighbors", 0, "an integer of at least 1"),
        ],
    )
    def test_solver_settings(self, name, value, message):
        with pytest.raises(ValueError, match=f"`{name}` must be .*{message}.*got {value!r}"):
            SDPEmbedding(**{name: value}).fit(X)

    @pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1"])
    def test_diffusion_time(self, value):
        with pytest.raises(ValueError, match=f"`diffusion_time` must be non-negative and finite, got {value!r}"):
            DiffusionMap(diffusion_time=value).fit(X)


class TestSampleWeight:
    @both
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (changed(np.ones(30), 4, value=-2.0), r"non-negative and finite, got .*-2\.0.* at row 4"),
            (changed(np.ones(30), 4, value=np.nan), "non-negative and finite, got .*nan.* at row 4"),
            (changed(np.ones(30), 4, value=np.inf), "non-negative and finite, got .*inf.* at row 4"),
            (np.zeros(30), "positive for at least 2 samples: the weight is zero for 30 of 30"),
            (changed(np.zeros(30), 4, value=1.0), "positive for at least 2 samples: the weight is zero for 29 of 30"),
            (np.ones(29), r"have one entry per row, shape \(30,\), got shape \(29,\)"),
            (np.ones((30, 1)), r"have one entry per row, shape \(30,\), got shape \(30, 1\)"),
        ],
        ids=["negative", "NaN", "inf", "all zero", "all but one zero", "too short", "2-D"],
    )
    def test_refused(self, Estimator, bad, message):
        with pytest.raises(ValueError, match="`sample_weight` must (be )?" + message):
            Estimator(bandwidth=1.0).fit(X, sample_weight=bad)


class TestDiagonal:
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (changed(np.ones(30), 7, value=0.0), r"positive and finite, got .*0\.0.* at row 7"),
            (changed(np.ones(30), 7, value=-1.0), r"positive and finite, got .*-1\.0.* at row 7"),
            (changed(np.ones(30), 7, value=np.nan), "positive and finite, got .*nan.* at row 7"),
            (np.ones(29), r"one entry per row, shape \(30,\), got shape \(29,\)"),
            (np.ones((30, 1)), r"one entry per row, shape \(30,\), got shape \(30, 1\)"),
            (None, "one entry per row"),
            ("unit", "'kernel', 'constant', an array or a callable, got 'unit'"),
            (lambda rows: np.ones((len(rows), 2)), r"one entry per row, shape \(30,\), got shape \(30, 2\)"),
            (lambda rows: 1.0, r"one entry per row, shape \(30,\), got shape \(\)"),
            (lambda rows: -np.ones(len(rows)), "positive and finite"),
        ],
        ids=["zero", "negative", "NaN", "too short", "2-D", "None", "name", "wrong shape", "scalar", "negative callable"],
    )
    def test_refused(self, bad, message):
        with pytest.raises(ValueError, match="`diagonal` must (be |have )" + message):
            SDPEmbedding(bandwidth=1.0, diagonal=bad).fit(X)

    def test_callable_is_checked_for_new_points_too(self):
        est = SDPEmbedding(bandwidth=1.0, diagonal=lambda rows: 10.0 - rows[:, 0]).fit(X)
        with pytest.raises(ValueError, match=r"`diagonal` must be positive and finite, got .*-10"):
            est.transform([[20.0, 0.0, 0.0]])


class TestArrays:
    """What is no array of real numbers is refused by the name of the parameter, and nothing of it is dropped."""

    @pytest.mark.parametrize("check", [check_vector, check_factor])
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ("a", "real, got dtype <U1"),
            (["a", "b"], "real, got dtype <U1"),
            (["1", "2"], "real, got dtype <U1"),
            ([1.0, [2.0]], "an array of real numbers, got type list: .*inhomogeneous"),
            ([1, 10**400], "an array of real numbers, got type list: .*too large"),
            (np.zeros(2, "M8[s]"), r"real, got dtype datetime64\[s\]"),
            (np.array([1.0, 2.0 + 0j]), "real, got dtype complex128"),
            (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "an array without a mask, got type MaskedArray"),
        ],
        ids=["str", "strings", "digits", "ragged", "huge", "dates", "complex", "masked"],
    )
    def test_refused(self, check, bad, message):
        with pytest.raises(ValueError, match=f"`name` must be {message}"):
            check("name", bad, 2)

    def test_the_first_that_is_not_finite_is_named(self):
        with pytest.raises(ValueError, match=r"`X` must be finite, got inf at row 3, column 1\."):
            check_factor("X", changed(X, (3, 1), (7, 0), value=np.inf), 30)

    def test_sums_that_overflow(self):
        check_entries("name", np.full((2, 2), 1.5e308))
        with pytest.raises(ValueError, match=r"`name` must be finite, got nan at row 1, column 1\."):
            check_entries("name", np.array([[1.5e308, 1.5e308], [0.0, np.nan]]))


class TestSettings:
    @pytest.mark.parametrize("value", ["a", -1, 1.5, [0.5], object])
    def test_rng(self, value):
        with pytest.raises(ValueError, match="`rng` must be a Generator, a non-negative integer or None, got ") as caught:
            check_rng(value)
        assert repr(value) in str(caught.value)

    @pytest.mark.parametrize("make", [int, np.int64, np.random.SeedSequence, np.random.PCG64, np.random.default_rng])
    def test_rng_of_every_kind(self, make):
        assert check_rng(make(7)).random() == np.random.default_rng(7).random()

    def test_rng_is_not_copied(self):
        rng = np.random.default_rng(0)
        assert check_rng(rng) is rng
        assert isinstance(check_rng(None), np.random.Generator)

    @pytest.mark.parametrize("value", [3, "print", False])
    def test_callable(self, value):
        with pytest.raises(ValueError, match=f"`callback` must be a callable or None, got {value!r}"):
            check_callable("callback", value)
        check_callable("callback", print)
        check_callable("callback", None)

    @pytest.mark.parametrize("value", ["a", 1, 0.0, None])
    def test_bool(self, value):
        with pytest.raises(ValueError, match=f"`polish` must be True or False, got {value!r}"):
            check_bool("polish", value)
        assert check_bool("polish", np.True_) is True
        assert check_bool("polish", False) is False


class TestPrecomputed:
    @both
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (K[:20], r"must be a square kernel matrix for kernel='precomputed', got shape \(20, 30\)"),
            (changed(K, (0, 1), value=0.9), r"must be symmetric for kernel='precomputed', got max\|K - K.T\| = 0\."),
            (changed(K, (0, 1), (1, 0), value=3.0), "must be positive semi-definite .*smallest eigenvalue of -2"),
            (changed(K, (0, 1), (1, 0), value=-0.1), r"must be non-negative .*minimum of -0\.1"),
            (changed(K, (2, 2), value=0.0), "must be positive on the diagonal .*minimum of 0"),
            (changed(K, (0, 1), (1, 0), value=np.nan), "contains NaN"),
        ],
        ids=["not square", "not symmetric", "not psd", "negative entry", "zero diagonal", "NaN"],
    )
    def test_kernel_matrix(self, Estimator, bad, message):
        with pytest.raises(ValueError, match=message):
            Estimator(kernel="precomputed").fit(bad)

    @both
    def test_rounding_is_forgiven(self, Estimator):
        rounding = 1e-12 * np.random.default_rng(1).standard_normal(K.shape)
        Estimator(kernel="precomputed").fit(K + np.abs(rounding))

    @both
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (K[:, :20], "X has 20 features, but .* is expecting 30 features"),
            (-K[:2], "`kernel` must be non-negative"),
            (changed(K, (0, 1), value=np.nan), "contains NaN"),
            (changed(K, slice(2, 4), value=0.0), "kernel vanishes for every training point.*rows 2, 3"),
        ],
        ids=["columns", "negative", "NaN", "zero rows"],
    )
    def test_cross_kernel_block(self, Estimator, bad, message):
        est = Estimator(kernel="precomputed").fit(K)
        with pytest.raises(ValueError, match=message):
            est.transform(bad)

    @both
    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_vanishing_rows_are_named_whatever_the_block(self, Estimator, n_jobs, monkeypatch):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 1)
        with pytest.raises(ValueError, match=r"kernel vanishes for every training point.*row 7 "):
            Estimator(kernel="precomputed", n_jobs=n_jobs).fit(K).transform(changed(K, 7, value=0.0))

    def test_unknown_self_similarity(self):
        scale = np.linspace(1, 2, 30)
        est = SDPEmbedding(kernel="precomputed").fit(scale[:, None] * K * scale)
        with pytest.raises(ValueError, match=r"k\(x, x\) differs between training points.*diagonal='constant'"):
            est.transform(K)


class TestCallableKernel:
    """What is refused of a precomputed matrix is refused of a function that gives the same matrix."""

    @both
    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (lambda A, B: A, r"`kernel` must return an array of shape \(30, 30\).*got shape \(30, 3\)"),
            (lambda A, B: np.full((len(A), len(B)), np.nan), "`kernel` must give finite values"),
            (lambda A, B: -np.ones((len(A), len(B))), "`kernel` must .*minimum of -"),
            # Positive row sums, so that only a look at the entries finds the negative ones.
            (lambda A, B: (A @ B.T + 2) ** 3, "`kernel` must be non-negative"),
            (lambda A, B: np.exp(-np.abs(A[:, :1] - 1.1 * B[:, 0])), "`kernel` must be symmetric"),
        ],
        ids=["shape", "NaN", "negative", "some negative", "asymmetric"],
    )
    def test_refused_in_fit(self, Estimator, kernel, message):
        with pytest.raises(ValueError, match=message):
            Estimator(kernel=kernel).fit(X)


def outputs(est):
    """Everything that an estimator says about training points, new points and points far away."""
    for Y in (X, X + 0.5, 1e3 * X):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`X` has rows so far")
            yield from (getattr(est, name)(Y) for E, name in METHODS if isinstance(est, E))
    yield est.embedding_
    yield est.eigenvalues_


class TestDegenerate:
    IDENTICAL = np.full((30, 3), 2.5)

    @both
    @pytest.mark.parametrize("rule", ["auto", "knn", "median"])
    def test_identical_points_with_a_rule(self, Estimator, rule):
        with pytest.raises(ValueError, match="`bandwidth` cannot be chosen by a rule when all points are identical"):
            Estimator(bandwidth=rule).fit(self.IDENTICAL)

    @pytest.mark.parametrize(
        ("data", "bandwidth"), [(IDENTICAL, 1.0), (X, 1e9), (X, 1e300)], ids=["identical points", "σ = 1e9", "σ = 1e300"]
    )
    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
    def test_constant_kernel(self, data, bandwidth, kernel):
        if kernel != "gaussian" and bandwidth == 1e9:
            bandwidth = 1e18  # not squared, so that it takes more to lose the distances
        est = SDPEmbedding(kernel=kernel, bandwidth=bandwidth)
        with pytest.warns(ConvergenceWarning, match="status 'degenerate'.*decrease `bandwidth`") as record:
            est.fit(data)
        assert "rank" not in str(record[0].message)  # B is zero
        assert est.status_ == "degenerate"
        np.testing.assert_array_equal(est.embedding_, 0)
        np.testing.assert_array_equal(est.transform(data), 0)
        assert all(np.isfinite(out).all() for out in outputs(est))
        assert np.isfinite(est.certificate_.relative_gap)
        assert repr(est.certificate_)

    @pytest.mark.parametrize("operator", ["tiled", "nystroem", "sparse"])
    def test_constant_kernel_whatever_the_operator(self, operator):
        with pytest.warns(ConvergenceWarning, match="status 'degenerate'.*decrease `bandwidth`"):
            est = SDPEmbedding(bandwidth=1e9, operator=operator, n_landmarks=5).fit(X)
        np.testing.assert_array_equal(est.embedding_, 0)
        assert np.isfinite(est.certificate_.relative_gap)

    @pytest.mark.parametrize("bandwidth", [1e-3, 1e-12, 1e-200, 5e-324])
    @pytest.mark.parametrize("normalize", [None, "unit"])
    def test_identity_kernel(self, bandwidth, normalize):
        est = SDPEmbedding(bandwidth=bandwidth, normalize=normalize, random_state=0)
        with pytest.warns(ConvergenceWarning, match="status 'degenerate'.*increase `bandwidth`"):
            est.fit(X)
        assert est.status_ == "degenerate"
        # B has the diagonal 1 - 1/n and rows that sum to zero; which of these B it is, nothing decides.
        B = est.learned_kernel(X)
        np.testing.assert_allclose(B.diagonal(), 1 - 1 / 30, rtol=1e-10)
        np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-6)
        assert np.isfinite(est.embedding_).all()

    def test_identity_kernel_gives_no_nan_for_new_points(self):
        with pytest.warns(ConvergenceWarning):
            est = SDPEmbedding(bandwidth=1e-3, random_state=0).fit(X)
        assert all(np.isfinite(out).all() for out in outputs(est))

    @both
    def test_weights_do_not_hide_it(self, Estimator):
        w = np.linspace(0.1, 3, 30)
        with pytest.warns(ConvergenceWarning, match="decrease `bandwidth`"):
            est = Estimator(bandwidth=1e9).fit(X, sample_weight=w)
        assert all(np.isfinite(out).all() for out in outputs(est))

    @pytest.mark.parametrize("est", [SDPEmbedding(), DiffusionMap(bandwidth=1e200)])
    def test_distances_that_overflow(self, est):
        with pytest.raises(ValueError, match="`X` must have distances between rows below 1e154"):
            est.fit(1e200 * X)

    @pytest.mark.parametrize("bandwidth", [1e-12, 1e-3, 1e9, 1e300])
    def test_diffusion_map_gives_no_nan(self, bandwidth):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            est = DiffusionMap(bandwidth=bandwidth).fit(X)
        assert all(np.isfinite(out).all() for out in outputs(est))

    def test_diffusion_map_of_a_constant_kernel_warns(self):
        with pytest.warns(ConvergenceWarning, match="decrease `bandwidth`"):
            DiffusionMap(bandwidth=1.0).fit(self.IDENTICAL)

    @pytest.mark.parametrize("bandwidth", [1e5, 1e6, 3e6, 1e7, 1e8])
    def test_on_the_way_to_a_constant_kernel(self, bandwidth):
        """Some entries of d may be lost to rounding before others: whatever the status, no NaN and no bad advice."""
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always", ConvergenceWarning)
            est = SDPEmbedding(bandwidth=bandwidth, random_state=0).fit(X)
        assert all(np.isfinite(out).all() for out in outputs(est))
        assert len(record) == (est.status_ != "optimal")
        assert all("increase `bandwidth`" not in str(w.message) for w in record)

    def test_one_point_outweighs_all_others(self):
        """d vanishes to rounding at the heavy point alone: the kernel is far from constant, and no advice may say it is."""
        w = changed(np.ones(30), 0, value=1e15)
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always", ConvergenceWarning)
            est = SDPEmbedding(bandwidth=1.0, random_state=0).fit(X, sample_weight=w)
        assert all(np.isfinite(out).all() for out in outputs(est))
        assert all("constant" not in str(w.message) for w in record)
