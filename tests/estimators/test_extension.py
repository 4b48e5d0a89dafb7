"""New points: the extension, the learned kernel and the scores."""

import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from common import CLUSTER, CLUSTERS, MOONS, RANK_4, WINE, WINE_CLASS, Naive, fit, gram, row_error, weights
from elliptope._utils import blocks
from elliptope.estimators.extension import Extension
from elliptope.kernels import CallableKernel, FittedFormula, Matern, base

SAMPLE = {
    "wine 0.7": (WINE, {"bandwidth": 0.7}, None),
    "wine 1": (WINE, {"bandwidth": 1.0}, None),
    "wine 3": (WINE, {"bandwidth": 3.0}, None),
    "wine 10": (WINE, {"bandwidth": 10.0}, None),
    "wine auto": (WINE, {}, None),
    "wine median": (WINE, {"bandwidth": "median"}, None),
    "moons 0.3": (MOONS, {"bandwidth": 0.3}, None),
    "moons 1": (MOONS, {"bandwidth": 1.0}, None),
    "outliers 0.6": (CLUSTERS, {"bandwidth": 0.6}, None),
    "outliers 1.2": (CLUSTERS, {"bandwidth": 1.2}, None),
    "rank 4": (RANK_4, {"bandwidth": 2.0}, None),
    "laplacian": (WINE, {"kernel": "laplacian", "bandwidth": 2.0}, None),
    "matern": (WINE, {"kernel": "matern", "bandwidth": 2.0}, None),
    "matern 5/2": (WINE, {"kernel": Matern(bandwidth=2.0, nu=2.5)}, None),
    "matern 0.8": (WINE, {"kernel": Matern(bandwidth=2.0, nu=0.8)}, None),
    "callable kernel": (MOONS, {"kernel": lambda X, Y: np.exp(-((X[:, None] - Y) ** 2).sum(axis=-1))}, None),
    "unequal k(x, x)": (WINE, {"kernel": lambda X, Y: (20 + X @ Y.T) ** 2}, None),
    "constant": (WINE, {"bandwidth": 2.0, "diagonal": "constant"}, None),
    "array": (WINE, {"bandwidth": 2.0, "diagonal": np.linspace(1, 4, 178)}, None),
    "callable": (WINE, {"bandwidth": 2.0, "diagonal": lambda X: 1 + X[:, 0] ** 2}, None),
    "unit": (WINE, {"bandwidth": 2.0, "normalize": "unit"}, None),
    "weights": (WINE, {"bandwidth": 2.0}, weights(178)),
    "zero weights": (WINE, {"bandwidth": 2.0}, weights(178, zeros=9)),
    "zero weights, array": (WINE, {"bandwidth": 2.0, "diagonal": np.linspace(1, 4, 178)}, weights(178, zeros=9)),
    "many features": (load_digits().data[:200], {"bandwidth": 20.0}, None),
    "offset": (WINE[:, :3] + 1e7, {"bandwidth": 2.0}, None),
}


class TestExtensionOnTheSample:
    """Theorem 2 of the paper: on training points the extension returns the embedding."""

    @pytest.mark.parametrize("name", SAMPLE)
    def test_transform_returns_the_embedding(self, name):
        X, parameters, w = SAMPLE[name]
        est = fit(X, w, **parameters)
        assert est.status_ == "optimal"
        assert row_error(est.transform(X), est.embedding_) < 1e-6

    @pytest.mark.parametrize("bandwidth", [1e2, 1e3, 1e4])
    def test_transform_returns_the_embedding_at_large_bandwidths(self, bandwidth):
        """K is close to constant, so that rounding is large beside what is left of it; "optimal" must still mean it."""
        for seed in range(8):
            est = fit(WINE, bandwidth=bandwidth, random_state=seed)
            if est.status_ == "optimal":
                assert row_error(est.transform(WINE), est.embedding_) < 1e-6, f"random_state={seed}"

    def test_array_diagonal_with_unequal_self_similarity(self):
        """The point most similar to x_i is x_i, even where k(x_i, x_j) > k(x_i, x_i) as psd kernels allow."""
        X = np.random.default_rng(0).uniform(size=(40, 2))
        est = fit(X, kernel=polynomial_kernel, diagonal=np.linspace(1, 2, 40))
        assert est.status_ == "optimal"
        assert row_error(est.transform(X), est.embedding_) < 1e-6

    def test_precomputed_kernel_with_callable_diagonal_and_zero_weights(self):
        """The function sees the same rows in `fit` and in `transform`."""
        K = Naive(RANK_4, 2.0).K
        est = fit(K, weights(40, zeros=4), kernel="precomputed", diagonal=lambda rows: 1 + rows.sum(axis=1))
        assert est.status_ == "optimal"
        assert row_error(est.transform(K), est.embedding_) < 1e-6


class TestExtension:
    @pytest.mark.parametrize("w", [None, weights(len(MOONS))], ids=["uniform", "weighted"])
    def test_new_points_follow_the_formula(self, w):
        Y = MOONS[::3] + np.random.default_rng(1).normal(scale=0.3, size=MOONS[::3].shape)
        naive, est = Naive(MOONS, 0.6, w), fit(MOONS, w, bandwidth=0.6)
        np.testing.assert_allclose(est.transform(Y), naive.extend(Y, est.embedding_), rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("X", [CLUSTERS, load_digits().data[:150]], ids=["2 features", "64 features"])
    def test_single_rows_equal_batches(self, X):
        est = fit(X, bandwidth=np.ptp(X) / 4)
        # One far row, because the batch must not change how the others are computed.
        Y = np.vstack([X[::5] + 0.3, 1e3 * X[:1]])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`X` has rows so far")
            batch = est.transform(Y)
            single = np.vstack([est.transform(y[None]) for y in Y])
        assert row_error(single, batch) < 1e-12

    @pytest.mark.parametrize("k", [1, 2, 3, 4])
    def test_truncation_keeps_the_first_columns(self, k):
        full, cut = fit(RANK_4, bandwidth=2.0), fit(RANK_4, bandwidth=2.0, n_components=k)
        assert full.n_components_ == len(full.eigenvalues_) == len(cut.eigenvalues_) == 4
        Y = RANK_4 + 0.2
        np.testing.assert_allclose(cut.embedding_, full.embedding_[:, :k], rtol=1e-12)
        np.testing.assert_allclose(cut.transform(Y), full.transform(Y)[:, :k], rtol=1e-12)
        np.testing.assert_allclose(cut.learned_kernel(Y), full.learned_kernel(Y), rtol=1e-12)

    def test_components_beyond_the_rank_are_zero(self):
        est, full = fit(RANK_4, bandwidth=2.0, n_components=7), fit(RANK_4, bandwidth=2.0)
        for Z, reference in [(est.embedding_, full.embedding_), (est.transform(RANK_4 + 1), full.transform(RANK_4 + 1))]:
            np.testing.assert_array_equal(Z, np.hstack([reference, np.zeros((len(Z), 3))]))
        assert len(est.get_feature_names_out()) == est.n_components_ == 7

    def test_unit_rows(self):
        plain, unit = (fit(RANK_4, bandwidth=2.0, n_components=2, normalize=z) for z in (None, "unit"))
        for Z, reference in [(unit.embedding_, plain.embedding_), (unit.transform(RANK_4 + 1), plain.transform(RANK_4 + 1))]:
            np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, rtol=1e-12)
            assert row_error(Z, reference / np.linalg.norm(reference, axis=1, keepdims=True)) < 1e-12

    @pytest.mark.parametrize("entries", [1, 310, 311, 5000, 2**30])
    def test_result_does_not_depend_on_the_block_size(self, entries, monkeypatch):
        est = fit(CLUSTERS, bandwidth=1.2)
        Y = CLUSTERS + 0.5
        reference = est.transform(Y), est.score_samples(Y), est.learned_kernel(Y[:5], Y)
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        assert row_error(est.transform(Y), reference[0]) < 1e-12
        np.testing.assert_allclose(est.score_samples(Y), reference[1], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(est.learned_kernel(Y[:5], Y), reference[2], rtol=1e-11, atol=1e-14)

    @pytest.mark.filterwarnings("ignore:`X` has rows so far")
    @pytest.mark.parametrize("columns", [1, 7, 100])
    @pytest.mark.parametrize("options", [{}, {"bandwidth": 0.5}, {"diagonal": "array"}, {"weights": True}], ids=str)
    def test_result_does_not_depend_on_the_tiles(self, columns, options, monkeypatch):
        """Training points pass by tiles: the largest weight of a row, and the nearest point, may come in any of them."""
        options, rng = dict(options), np.random.default_rng(0)
        w = rng.uniform(0.1, 3, len(CLUSTERS)) if options.pop("weights", False) else None
        if "diagonal" in options:
            options["diagonal"] = rng.uniform(0.5, 2, len(CLUSTERS))
        est = fit(CLUSTERS, w, **options)
        Y = np.vstack([CLUSTERS + 0.5, CLUSTERS[:5] + 10, CLUSTERS[-5:] - 10])
        reference = est.transform(Y), est.score_samples(Y)
        monkeypatch.setattr(base, "_TILE_COLUMNS", columns)
        assert row_error(est.transform(Y), reference[0]) < 1e-11
        np.testing.assert_allclose(est.score_samples(Y), reference[1], rtol=1e-12, atol=1e-13)

    def test_tiles_in_which_the_kernel_vanishes(self, monkeypatch):
        """The first tile, some, or all of them."""
        K = np.kron(np.eye(4), 0.5 + 0.5 * np.eye(5))
        rows = CallableKernel(lambda X, Y: K[X[:, 0].astype(int)][:, Y[:, 0].astype(int)])
        each, w = np.arange(20.0)[:, None], np.ones(20)
        made = Extension(FittedFormula(rows, each), w, K.sum(axis=1), float(K.sum()), np.ones(20), np.eye(20))
        whole = made.nystroem(each)
        monkeypatch.setattr(base, "_TILE_COLUMNS", 3)
        np.testing.assert_allclose(made.nystroem(each), whole, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(made.log_mass(each), np.log(K.sum(axis=1)), rtol=1e-13)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_threads_change_nothing(self, n_jobs, monkeypatch):
        monkeypatch.setattr(base, "CACHED_ENTRIES", 7 * len(CLUSTERS))
        one, more = (fit(CLUSTERS, bandwidth=1.2, n_jobs=jobs) for jobs in (1, n_jobs))
        Y = CLUSTERS + 0.5
        np.testing.assert_array_equal(one.transform(Y), more.transform(Y))
        np.testing.assert_array_equal(one.score_samples(Y), more.score_samples(Y))

    def test_memory_is_bounded_by_blocks(self, monkeypatch):
        X = np.random.default_rng(0).standard_normal((300, 2))
        Y = np.random.default_rng(1).standard_normal((20_000, 2))
        est = fit(X, bandwidth=1.0)
        tracemalloc.start()
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "BLOCK_ENTRIES", 2**16)
            est.transform(Y)
        small = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        est.transform(np.tile(Y, (4, 1)))
        default = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert small < 3e6, "an (m, n) array would take 48 MB"
        assert default < 100e6, "an (m, n) array would take 192 MB"


class TestFarAway:
    """1000 σ away every kernel value underflows; directions are compared with exact rational arithmetic."""

    @staticmethod
    def exact(est, X, sigma, y):
        """Direction and log m_e(y): log-weights as fractions, so that nothing cancels."""
        naive = Naive(X, sigma)
        squares = [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(y, x, strict=True)) for x in X.tolist()]
        nearest = min(squares)
        p = np.array([np.exp(float((nearest - s) / Fraction(sigma) ** 2)) for s in squares])
        c = np.sqrt(naive.m) @ est.embedding_ / naive.M
        direction = (p / p.sum()) @ (est.embedding_ / np.sqrt(naive.m)[:, None]) - c
        return direction / np.linalg.norm(direction), np.log(p.sum()) - float(nearest / Fraction(sigma) ** 2)

    @pytest.mark.parametrize("distance", [5.0, 20.0, 1e3])
    @pytest.mark.filterwarnings("ignore:`X` has rows so far")
    def test_direction_and_radius(self, distance):
        sigma = 1.2
        est = fit(CLUSTERS, bandwidth=sigma)
        angles = np.linspace(0, 2 * np.pi, 12, endpoint=False) + 0.1
        Y = distance * sigma * np.column_stack([np.cos(angles), np.sin(angles)])
        Z, score = est.transform(Y), est.score_samples(Y)
        radius = np.linalg.norm(Z, axis=1)
        assert np.isfinite(Z).all()
        for i, y in enumerate(Y.tolist()):
            direction, log_mass = self.exact(est, CLUSTERS, sigma, y)
            np.testing.assert_allclose(Z[i] / radius[i], direction, atol=1e-8)
            assert score[i] == pytest.approx(log_mass, rel=1e-12)
            if distance < 1e3:  # d = 1/m - m/M is still finite
                log_d = -log_mass + np.log1p(-np.exp(2 * log_mass) / Naive(CLUSTERS, sigma).M)
                assert np.log(radius[i]) == pytest.approx(log_d / 2, rel=1e-10)
            else:
                assert 1e150 < radius[i] < np.inf

    def test_nearest_points_share_equally(self):
        """Far out on the axis of symmetry the two rightmost points tie, and all others vanish."""
        X = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 2.0], [-1.5, -2.0], [-3.0, 0.5], [-2.0, -0.25]])
        est = fit(X, bandwidth=1.0, diagonal="constant")
        naive = Naive(X, 1.0)
        expected = est.embedding_[:2].T @ (0.5 / np.sqrt(naive.m[:2])) - np.sqrt(naive.m) @ est.embedding_ / naive.M
        np.testing.assert_allclose(est.transform([[1e3, 0.0]])[0], expected / np.linalg.norm(expected), atol=1e-9)

    @pytest.mark.parametrize("entries", [1, 2**22], ids=["row by row", "one block"])
    def test_rows_far_beyond_the_data_are_named(self, entries, monkeypatch):
        """k = exp(-x²/σ²) and m ≈ k/2, so that √d ≈ exp(x²/2σ²), is 1e3 at x = 3.7σ."""
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        est = fit(np.array([[-0.1], [0.1]]), bandwidth=1.0)
        Y = np.array([[0.2], [5.0], [0.0], [3.0], [-6.0]])
        with pytest.warns(UserWarning, match=r"over 1000 times the largest.*: rows 1, 4 \(counted from 0\)\.") as record:
            Z = est.transform(Y)
        assert len(record) == 1
        assert np.abs(Z[[1, 4]]).min() > 1e3 * np.linalg.norm(est.embedding_, axis=1).max() > np.abs(Z[[0, 2, 3]]).max()
        with pytest.warns(UserWarning, match=r"over 1000 times.*: row 4 "):
            np.testing.assert_array_equal(np.vstack(list(est.transform_blocks([Y[2:3], Y[:1], Y[2:]]))), Z[[2, 0, 2, 3, 4]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            est.transform(Y[[0, 2, 3]])
            fit(np.array([[-0.1], [0.1]]), bandwidth=1.0, normalize="unit").transform(Y)
            fit(np.array([[-0.1], [0.1]]), bandwidth=1.0, diagonal="constant").transform(Y)

    @pytest.mark.parametrize("entries", [1, 2**22], ids=["row by row", "one block"])
    def test_rows_are_named_and_everything_stays_finite(self, entries, monkeypatch):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        est = fit(MOONS, bandwidth=0.5)
        Y = MOONS[:5].copy()
        Y[[1, 3]] += 1e3
        with pytest.warns(UserWarning, match=r"overflows: rows 1, 3 \(counted from 0\)\. Their direction is") as record:
            Z = est.transform(Y)
        assert len(record) == 1
        assert row_error(Z[[0, 2, 4]], est.embedding_[[0, 2, 4]]) < 1e-6
        with pytest.warns(UserWarning, match=r"overflows: row 1 \(counted from 0\)\."):
            est.transform(Y[:2])
        with pytest.warns(UserWarning, match="rows 1, 3"):
            assert np.isfinite(est.learned_kernel(Y)).all()
        assert np.isfinite(est.score_samples(Y)).all()


class TestLearnedKernel:
    def test_equals_the_optimum_on_the_sample(self):
        est = fit(RANK_4, bandwidth=2.0, n_components=1, normalize="unit")
        B = gram(fit(RANK_4, bandwidth=2.0))
        np.testing.assert_allclose(est.learned_kernel(RANK_4), B, rtol=0, atol=1e-6 * B.max())

    def test_gram_matrices_are_psd_and_symmetric(self):
        est = fit(CLUSTERS, bandwidth=1.2)
        G = est.learned_kernel(np.vstack([CLUSTERS[::4], CLUSTERS[::4] + 1.0]))
        np.testing.assert_array_equal(G, G.T)
        values = np.linalg.eigvalsh(G)
        assert values[0] > -1e-13 * values[-1]

    def test_cross_block(self):
        est = fit(CLUSTERS, bandwidth=1.2)
        Y = CLUSTERS[::7] + 0.3
        assert est.learned_kernel(CLUSTERS, Y).shape == (len(CLUSTERS), len(Y))
        np.testing.assert_allclose(est.learned_kernel(CLUSTERS, Y), est.transform(CLUSTERS) @ est.transform(Y).T, rtol=1e-9)

    def test_support_vector_machine_in_a_pipeline(self):
        scaler = StandardScaler().fit(WINE)
        est = fit(scaler.transform(WINE)[::2], bandwidth=4.0)
        machine = make_pipeline(scaler, SVC(kernel=est.learned_kernel))
        search = GridSearchCV(machine, {"svc__C": [1e2, 1e4]}, cv=3, error_score="raise").fit(WINE[::2], WINE_CLASS[::2])
        assert search.score(WINE[1::2], WINE_CLASS[1::2]) > 0.9


class TestScores:
    def test_equal_the_log_of_the_weighted_kernel_sum(self):
        w = weights(len(CLUSTERS), zeros=20)
        naive, est = Naive(CLUSTERS, 1.2, w), fit(CLUSTERS, w, bandwidth=1.2)
        Y = CLUSTERS + 0.4
        np.testing.assert_allclose(est.score_samples(Y), np.log(naive.kernel(Y) @ w), rtol=1e-10)

    def test_are_low_for_outliers(self):
        scores = fit(CLUSTERS, bandwidth=1.2).score_samples(CLUSTERS)
        assert scores[CLUSTER == -1].max() < scores[CLUSTER >= 0].min()
