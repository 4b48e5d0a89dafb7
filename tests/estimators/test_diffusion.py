"""DiffusionMap against the plain eigenvalue problem of Abar on L²(w)."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from elliptope import DiffusionMap
from elliptope.datasets import clusters_with_outliers, two_moons
from elliptope.kernels import Matern
from elliptope.operators import sparse

WINE = load_wine().data
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0, ddof=1)
MOONS = two_moons(60, random_state=0)[0]
# The three curves of Figure 5, bottom right, at σ = 1.5.
WINE_SPECTRUM = [0.998426114836858, 0.997307016602247, 0.996007084097397]


def gaussian(X, Y, sigma):
    return np.exp(-((X[:, None, :] - Y) ** 2).sum(axis=-1) / sigma**2)


def spectrum(K, w=None):
    """All eigenpairs of Abar on L²(w), largest first; eigenvectors with unit norm there."""
    w = np.ones(len(K)) if w is None else w
    m = K @ w
    Abar = K / np.sqrt(m[:, None] * m) - np.sqrt(m[:, None] * m) / (w @ m)
    values, U = np.linalg.eigh(np.sqrt(w[:, None] * w) * Abar)
    return values[::-1], (U / np.sqrt(w)[:, None])[:, ::-1]


def up_to_sign(Z, reference):
    return Z * np.sign(np.einsum("ij,ij->j", Z, reference))


def random_weights(n):
    return np.random.default_rng(2).uniform(0.2, 3.0, n)


class TestSpectrum:
    @pytest.mark.parametrize("w", [None, random_weights(178)], ids=["uniform", "weighted"])
    @pytest.mark.parametrize("t", [0, 1, 2, 0.5])
    def test_coordinates_are_scaled_eigenvectors(self, w, t):
        values, psi = spectrum(gaussian(WINE, WINE, 3.0), w)
        est = DiffusionMap(4, bandwidth=3.0, diffusion_time=t).fit(WINE, sample_weight=w)
        np.testing.assert_allclose(est.eigenvalues_, values[:4], rtol=1e-10)
        expected = psi[:, :4] * values[:4] ** t
        np.testing.assert_allclose(up_to_sign(est.embedding_, expected), expected, atol=1e-10)
        assert est.n_components_ == 4
        assert est.bandwidth_ == 3.0

    def test_eigenvectors_are_orthonormal_on_weighted_l2(self):
        w = random_weights(178)
        psi = DiffusionMap(5, bandwidth=3.0, diffusion_time=0).fit(WINE, sample_weight=w).embedding_
        np.testing.assert_allclose((psi * w[:, None]).T @ psi, np.eye(5), atol=1e-12)

    def test_published_spectrum_of_wine(self):
        """Six digits of the paper's numbers, on the copy of the data that scikit-learn ships."""
        est = DiffusionMap(3, bandwidth=1.5).fit(WINE)
        np.testing.assert_allclose(est.eigenvalues_, WINE_SPECTRUM, rtol=0, atol=5e-6)

    @pytest.mark.parametrize(
        ("kernel", "profile"),
        [
            ("laplacian", lambda r: np.exp(-r)),
            ("matern", lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)),
            (Matern(1.0, nu=2.5), lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)),
        ],
        ids=["laplacian", "matern 3/2", "matern 5/2"],
    )
    def test_other_kernels(self, kernel, profile):
        est = DiffusionMap(3, kernel=kernel, bandwidth=1.0).fit(MOONS)
        K = profile(np.sqrt(((MOONS[:, None] - MOONS) ** 2).sum(axis=-1)))
        np.testing.assert_allclose(est.eigenvalues_, spectrum(K)[0][:3], rtol=1e-9)

    def test_all_components(self):
        X = MOONS[::4]
        est = DiffusionMap(len(X) - 1, bandwidth=0.3).fit(X)
        np.testing.assert_allclose(est.eigenvalues_, spectrum(gaussian(X, X, 0.3))[0][:-1], atol=1e-12)


class TestLargeSamples:
    """Beyond 1000 points the eigenvectors come from Lanczos."""

    @pytest.mark.parametrize("w", [None, random_weights(1050)], ids=["uniform", "weighted"])
    def test_equals_the_dense_solver(self, w):
        X = two_moons(525, random_state=1)[0]
        values, psi = spectrum(gaussian(X, X, 0.7), w)
        est = DiffusionMap(3, bandwidth=0.7, diffusion_time=0).fit(X, sample_weight=w)
        np.testing.assert_allclose(est.eigenvalues_, values[:3], rtol=1e-10)
        np.testing.assert_allclose(up_to_sign(est.embedding_, psi[:, :3]), psi[:, :3], atol=1e-8)

    @pytest.mark.parametrize("bandwidth", [0.2, 0.3])
    def test_repeated_eigenvalues_are_all_found(self, bandwidth):
        """Every outlier adds an eigenvalue that is 1 to rounding; one Krylov space holds only one copy of each."""
        X, _ = clusters_with_outliers(345, 20, random_state=0)
        values, _ = spectrum(gaussian(X, X, bandwidth))
        est = DiffusionMap(10, bandwidth=bandwidth).fit(X)
        assert len(X) > 1000
        np.testing.assert_allclose(est.eigenvalues_, values[:10], rtol=0, atol=1e-12)

    def test_same_data_give_the_same_bits(self):
        X = two_moons(525, random_state=1)[0]
        first, second = (DiffusionMap(bandwidth=0.7, n_jobs=jobs).fit_transform(X) for jobs in (1, 2))
        np.testing.assert_array_equal(first, second)


class TestRepeatedEigenvalue:
    @pytest.mark.parametrize("bandwidth", [0.02, 0.1, 0.3])
    def test_outliers_at_a_small_bandwidth(self, bandwidth):
        """The authors' eigenvalue decomposition "sometimes fails to converge when σ is small"; ours must not."""
        X, _ = clusters_with_outliers(60, 10, random_state=0)
        est = DiffusionMap(5, bandwidth=bandwidth, diffusion_time=0).fit(X)
        np.testing.assert_allclose(est.eigenvalues_, spectrum(gaussian(X, X, bandwidth))[0][:5], atol=1e-12)
        # Which vectors span a repeated eigenspace is free; that they are eigenvectors is not.
        np.testing.assert_allclose(est.embedding_.T @ est.embedding_, np.eye(5), atol=1e-10)
        np.testing.assert_allclose(est.transform(X), est.embedding_, atol=1e-9)


class TestTransform:
    @pytest.mark.parametrize("t", [0, 1, 2])
    @pytest.mark.parametrize("w", [None, random_weights(120)], ids=["uniform", "weighted"])
    def test_returns_the_embedding_on_the_sample(self, t, w):
        est = DiffusionMap(3, bandwidth=0.5, diffusion_time=t).fit(MOONS, sample_weight=w)
        np.testing.assert_allclose(est.transform(MOONS), est.embedding_, atol=1e-10)

    @pytest.mark.parametrize("t", [0, 1, 2])
    def test_new_points_follow_the_nystroem_formula(self, t):
        w, Y = random_weights(120), MOONS[::5] + 0.3
        K = gaussian(MOONS, MOONS, 0.5)
        m = K @ w
        k = gaussian(Y, MOONS, 0.5)
        m_e = k @ w
        abar = k / np.sqrt(m_e[:, None] * m) - np.sqrt(m_e[:, None] * m) / (w @ m)
        values, psi = spectrum(K, w)
        expected = (abar * w) @ psi[:, :3] * values[:3] ** (t - 1.0)
        est = DiffusionMap(3, bandwidth=0.5, diffusion_time=t).fit(MOONS, sample_weight=w)
        np.testing.assert_allclose(up_to_sign(est.transform(Y), expected), expected, atol=1e-10)

    def test_single_rows_equal_batches(self):
        est = DiffusionMap(3, bandwidth=0.5).fit(MOONS)
        Y = MOONS + 0.2
        single = np.vstack([est.transform(y[None]) for y in Y])
        np.testing.assert_allclose(single, est.transform(Y), atol=1e-14)

    def test_far_points_go_to_the_origin(self):
        """The Nyström extension decays with the kernel: where SDP goes out to infinity, it goes to zero."""
        est = DiffusionMap(bandwidth=0.5).fit(MOONS)
        np.testing.assert_array_equal(est.transform([[500.0, 0.0], [-1e4, 1e4]]), np.zeros((2, 2)))

    def test_unit_rows(self):
        plain, unit = (DiffusionMap(2, bandwidth=0.5, normalize=z).fit(MOONS) for z in (None, "unit"))
        Z = plain.transform(MOONS + 0.1)
        np.testing.assert_allclose(unit.transform(MOONS + 0.1), Z / np.linalg.norm(Z, axis=1, keepdims=True), rtol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(unit.embedding_, axis=1), 1, rtol=1e-12)

    @pytest.mark.parametrize("t", [0, 1, 60])
    @pytest.mark.parametrize("weight", [1.0, 1e-200])
    def test_unit_rows_at_the_origin_are_zero(self, t, weight):
        """The middle of a grid has no direction; a row far from all others has that of the row nearest to it."""
        grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
        w = np.full(25, weight)
        plain, unit = (DiffusionMap(diffusion_time=t, normalize=z).fit(grid, sample_weight=w) for z in (None, "unit"))
        Z = np.delete(plain.embedding_, 12, axis=0)
        Z = np.insert(Z / np.linalg.norm(Z, axis=1, keepdims=True), 12, 0.0, axis=0)
        np.testing.assert_allclose(unit.embedding_, Z, atol=1e-9)
        np.testing.assert_allclose(unit.transform(grid), Z, atol=1e-9)
        far = unit.transform(grid[[0]] - 1e3)  # where the kernel is zero in double precision
        np.testing.assert_allclose(far, Z[[0]], atol=1e-9)

    def test_score_samples(self):
        w, Y = random_weights(120), MOONS + 0.2
        est = DiffusionMap(bandwidth=0.5).fit(MOONS, sample_weight=w)
        np.testing.assert_allclose(est.score_samples(Y), np.log(gaussian(Y, MOONS, 0.5) @ w), rtol=1e-10)


class TestWeights:
    @settings(max_examples=30, deadline=None)
    @given(
        seed=st.integers(0, 2**20),
        multiplicity=st.lists(st.integers(0, 3), min_size=12, max_size=20).filter(lambda m: np.count_nonzero(m) > 5),
    )
    def test_weights_are_multiplicities(self, seed, multiplicity):
        X = np.random.default_rng(seed).standard_normal((len(multiplicity), 2))
        w = np.array(multiplicity, dtype=float)
        copies = np.repeat(np.arange(len(X)), multiplicity)
        weighted = DiffusionMap(2, bandwidth=1.0).fit(X, sample_weight=w)
        repeated = DiffusionMap(2, bandwidth=1.0).fit(X[copies])
        np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-10)
        # Close eigenvalues mix; the kernel Σ_l λ_l² ψ_l(i) ψ_l(j) of two of them does not, unless the third is close too.
        values, _ = spectrum(gaussian(X[copies], X[copies], 1.0))
        if values[1] - values[2] > 1e-3:
            Z = weighted.embedding_[copies]
            np.testing.assert_allclose(Z @ Z.T, repeated.embedding_ @ repeated.embedding_.T, atol=1e-9)

    def test_zero_weight_equals_removal(self):
        w = random_weights(120)
        w[::7] = 0
        weighted = DiffusionMap(bandwidth=0.5).fit(MOONS, sample_weight=w)
        removed = DiffusionMap(bandwidth=0.5).fit(MOONS[w > 0], sample_weight=w[w > 0])
        np.testing.assert_allclose(weighted.embedding_[w > 0], removed.embedding_, atol=1e-12)
        np.testing.assert_allclose(weighted.embedding_[w == 0], removed.transform(MOONS[w == 0]), atol=1e-12)

    @pytest.mark.parametrize("zeros", [False, True])
    def test_precomputed_equals_the_gaussian_route(self, zeros):
        w, Y = random_weights(120), MOONS[::9] + 0.2
        w[:: 11 if zeros else 121] = 0
        direct = DiffusionMap(bandwidth=0.5).fit(MOONS, sample_weight=w)
        given_kernel = DiffusionMap(kernel="precomputed").fit(gaussian(MOONS, MOONS, 0.5), sample_weight=w)
        block = gaussian(Y, MOONS, 0.5)
        np.testing.assert_allclose(given_kernel.embedding_, direct.embedding_, atol=1e-10)
        np.testing.assert_allclose(given_kernel.transform(block), direct.transform(Y), atol=1e-10)
        np.testing.assert_allclose(given_kernel.score_samples(block), direct.score_samples(Y), rtol=1e-10)


class TestEdges:
    def test_more_components_than_eigenvectors(self):
        with pytest.raises(ValueError, match=r"`n_components` must be at most n - 1 = 4 for 5 samples .*got 5"):
            DiffusionMap(5, bandwidth=1.0).fit(MOONS[:5])
        with pytest.raises(ValueError, match=r"`n_components` must be at most n - 1 = 2 for 3 samples .*got 3"):
            DiffusionMap(3, bandwidth=1.0).fit(MOONS[:5], sample_weight=[1, 0, 1, 0, 1])

    @pytest.mark.parametrize("t", [0, 1])
    def test_constant_kernel(self, t):
        est = DiffusionMap(bandwidth=1e12, diffusion_time=t)
        with pytest.warns(ConvergenceWarning, match="0 non-zero eigenvalues.*decrease `bandwidth`"):
            est.fit(MOONS)
        np.testing.assert_array_equal(est.embedding_, np.zeros((120, 2)))
        np.testing.assert_array_equal(est.transform(MOONS + 1.0), np.zeros((120, 2)))
        assert np.isfinite(est.score_samples(MOONS)).all()

    @pytest.mark.parametrize("t", [0, 1])
    def test_identity_kernel(self, t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            est = DiffusionMap(bandwidth=1e-12, diffusion_time=t).fit(MOONS)
        np.testing.assert_allclose(est.eigenvalues_, 1, rtol=1e-12)
        assert np.isfinite(est.embedding_).all()
        np.testing.assert_allclose(est.transform(MOONS), est.embedding_, atol=1e-10)
        assert np.isfinite(est.transform(MOONS + 1.0)).all()

    def test_fewer_eigenvalues_than_components(self):
        """Three distinct points, each many times: Abar has rank 2, the third column is zero."""
        X = np.repeat([[0.0], [1.0], [3.0]], 5, axis=0)
        est = DiffusionMap(3, bandwidth=1.0)
        with pytest.warns(ConvergenceWarning, match="only 2 non-zero eigenvalues among the first 3"):
            est.fit(X)
        assert (np.abs(est.embedding_[:, :2]).max(axis=0) > 0.01).all()
        np.testing.assert_array_equal(est.embedding_[:, 2], 0)
        np.testing.assert_allclose(est.transform(X), est.embedding_, atol=1e-12)

    def test_feature_names_and_frames(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(MOONS, columns=["a", "b"])
        est = DiffusionMap(3).set_output(transform="pandas")
        out = est.fit_transform(frame)
        assert list(out.columns) == list(est.get_feature_names_out()) == ["diffusionmap0", "diffusionmap1", "diffusionmap2"]
        assert list(est.feature_names_in_) == ["a", "b"]


class TestNeighbors:
    """On sparse kernels, which are not psd and may have an eigenvalue 1 more than once."""

    @pytest.mark.parametrize("kernel", ["neighbors", "overlap"])
    def test_against_the_eigenvectors_of_the_matrix(self, kernel):
        w = random_weights(178)
        est = DiffusionMap(4, kernel=kernel, n_neighbors=20, diffusion_time=2).fit(WINE, sample_weight=w)
        values, psi = spectrum(est.training_.extension.kernel.matrix().toarray(), w)
        np.testing.assert_allclose(est.eigenvalues_, values[:4], rtol=1e-10)
        expected = psi[:, :4] * values[:4] ** 2
        np.testing.assert_allclose(up_to_sign(est.embedding_, expected), expected, atol=1e-9)
        np.testing.assert_allclose(est.transform(WINE), est.embedding_, atol=1e-9)

    def test_many_rows_of_a_graph_in_parts(self, monkeypatch):
        """Without a dense solver, eigenvalues that repeat are found one after the other."""
        rng = np.random.default_rng(0)
        X = np.vstack([rng.standard_normal((300, 2)) + 100 * part for part in range(5)])
        reference = DiffusionMap(6, kernel="overlap").fit(X)
        monkeypatch.setattr(sparse, "_LARGEST_DENSE", 100)
        est = DiffusionMap(6, kernel="overlap").fit(X)
        np.testing.assert_allclose(est.eigenvalues_, reference.eigenvalues_, atol=1e-9)
        assert (est.eigenvalues_[:4] > 1 - 1e-9).all()
        Z = est.embedding_
        np.testing.assert_allclose(Z.T @ Z, np.diag(est.eigenvalues_**2), atol=1e-8)
        np.testing.assert_allclose(est.transform(X), Z, atol=1e-8)
