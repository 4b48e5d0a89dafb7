"""The displays of spectra, solves and kernels; and what all displays have in common."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from common import CLUSTER, CLUSTERS, RANK_4, WINE, WINE_CLASS, fit
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from elliptope.plotting import ConvergenceDisplay, EmbeddingDisplay, LearnedKernelDisplay, SpectrumDisplay
from elliptope.sdp import solve


@pytest.fixture(scope="module")
def clusters():
    return fit(CLUSTERS, bandwidth=1.2)


@pytest.fixture(scope="module")
def solution():
    A = np.random.default_rng(0).standard_normal((40, 40))
    return solve(A + A.T, rng=0, callback=lambda progress: None)


class TestSpectrum:
    @pytest.mark.parametrize("n_components", [None, 2])
    def test_shares(self, n_components):
        est = fit(RANK_4, bandwidth=2.0, n_components=n_components)
        display = SpectrumDisplay.from_estimator(make_pipeline(StandardScaler(), est) if n_components is None else est)
        heights = [bar.get_height() for bar in display.bars_]
        np.testing.assert_allclose(heights, est.eigenvalues_ / est.eigenvalues_.sum())
        filled = [bar.get_facecolor()[3] > 0 for bar in display.bars_]
        assert filled == [True, True, *[n_components is None] * 2]
        assert [t.get_text() for t in display.ax_.texts] == [f"{100 * height:.1f}%" for height in heights]
        assert "gap" in display.ax_.get_title()

    def test_eigenvalues_of_a_diffusion_map_have_no_shares(self):
        est = DiffusionMap(30, bandwidth=3.0).fit(WINE)
        display = SpectrumDisplay.from_estimator(est)
        np.testing.assert_array_equal([bar.get_height() for bar in display.bars_], est.eigenvalues_)
        assert display.ax_.get_ylabel() == "eigenvalue"

    def test_bad_input(self):
        with pytest.raises(TypeError, match="`estimator` must have `eigenvalues_`, got PCA"):
            SpectrumDisplay.from_estimator(PCA(2).fit(WINE))
        for values in ([], [-1.0, 2.0], [np.nan], [[1.0]]):
            with pytest.raises(ValueError, match="`eigenvalues` must be a vector of non-negative"):
                SpectrumDisplay(values).plot()


class TestConvergence:
    def test_history(self, solution):
        display = ConvergenceDisplay.from_solution(solution, tol=1e-6)
        products = [entry.n_products for entry in solution.history]
        np.testing.assert_array_equal(display.defect_.get_xdata(), products)
        np.testing.assert_array_equal(display.defect_.get_ydata(), [entry.defect for entry in solution.history])
        assert display.gap_.get_ydata()[-1] == pytest.approx(solution.certificate.relative_gap)
        assert len(display.gap_.get_xdata()) == sum(entry.certified for entry in solution.history)
        # An estimate of zero has no place on a logarithmic axis.
        estimates = [e.relative_gap for e in solution.history if not e.certified and 0 < e.relative_gap < np.inf]
        assert estimates
        shown = display.estimate_.get_ydata()
        np.testing.assert_array_equal(shown[np.isfinite(shown)], estimates)
        assert display.tol_.get_ydata()[0] == 1e-6
        assert display.ax_.get_title().startswith(solution.status)

    def test_entries_without_estimates(self, solution):
        history = [entry for entry in solution.history if not np.isfinite(entry.relative_gap)]
        display = ConvergenceDisplay.from_solution(history)
        assert [text.get_text() for text in display.legend_.get_texts()] == ["defect of LH = 0"]
        assert display.ax_.get_title() == ""

    @pytest.mark.parametrize("value", [[], [1.0], 3])
    def test_bad_input(self, value):
        with pytest.raises(ValueError, match="`history` must be a Solution or a non-empty list of Progress"):
            ConvergenceDisplay.from_solution(value)


class TestLearnedKernel:
    def test_entries_and_classes(self, clusters):
        display = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER, labels={-1: "outliers"})
        image = display.image_.get_array()
        np.testing.assert_allclose(image, clusters.learned_kernel(CLUSTERS)[np.ix_(display.rows, display.rows)])
        assert display.groups == [("outliers", 10), ("0", 100), ("1", 100), ("2", 100)]
        np.testing.assert_array_equal(CLUSTER[display.rows], np.repeat([-1, 0, 1, 2], [10, 100, 100, 100]))
        assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["outliers", "0", "1", "2"]
        np.testing.assert_allclose(display.ax_.get_yticks(), [4.5, 59.5, 159.5, 259.5])

    def test_colours_are_not_used_up_by_outliers(self, clusters):
        display = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER)
        low, high = display.image_.get_clim()
        assert low == -high
        assert high < 0.1 * np.abs(display.kernel).max()
        assert display.colorbar_.extend == "both"

    def test_cosines(self, clusters):
        display = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER, normalize="unit")
        Xi = clusters.transform(CLUSTERS)[display.rows]
        Xi /= np.linalg.norm(Xi, axis=1, keepdims=True)
        np.testing.assert_allclose(display.image_.get_array(), Xi @ Xi.T, atol=1e-12)
        assert display.image_.get_clim() == (-1.0, 1.0)

    def test_without_labels_clusters_are_contiguous(self, clusters):
        rows = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS).rows
        inner = CLUSTER[rows]
        inner = inner[inner >= 0]
        assert np.count_nonzero(np.diff(inner)) == 2

    def test_order_is_cut_where_there_are_no_points(self):
        degrees = np.array([170, -60, 175, 30, -175, -50, 40, -170])  # three directions, one of them around 180
        radians = np.deg2rad(degrees)
        identity = FunctionTransformer().fit(np.ones((1, 2)))
        rows = LearnedKernelDisplay.from_estimator(identity, np.column_stack([np.cos(radians), np.sin(radians)])).rows
        np.testing.assert_array_equal(degrees[rows], [170, 175, -175, -170, -60, -50, 30, 40])

    def test_all_components_count(self):
        est = fit(RANK_4, bandwidth=2.0, n_components=1)
        display = LearnedKernelDisplay.from_estimator(est, RANK_4)
        np.testing.assert_array_equal(display.rows, np.argsort(est.embedding_[:, 0], kind="stable"))
        full = fit(RANK_4, bandwidth=2.0).transform(RANK_4)[display.rows]
        np.testing.assert_allclose(display.kernel, full @ full.T, atol=1e-6)

    def test_many_rows_are_thinned(self, clusters):
        display = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER, max_rows=31)
        assert display.kernel.shape == (31, 31)
        assert "31 of 310 rows" in display.ax_.get_title()
        assert [count for _, count in display.groups] == pytest.approx([1, 10, 10, 10], abs=1)
        again = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER, max_rows=31)
        np.testing.assert_array_equal(display.rows, again.rows)

    def test_values_order_rows(self, clusters):
        display = LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTERS[:, 0])
        np.testing.assert_array_equal(display.rows, np.argsort(CLUSTERS[:, 0]))

    @pytest.mark.parametrize(
        "estimator",
        [
            DiffusionMap(3, bandwidth=3.0),
            RKHSEmbedding(regularization=1e-3, random_state=0),
            make_pipeline(StandardScaler(), PCA(4), SDPEmbedding(bandwidth=1.5, random_state=0)),
        ],
        ids=lambda e: type(e).__name__,
    )
    def test_other_estimators(self, estimator):
        Z = estimator.fit(WINE).transform(WINE)
        display = LearnedKernelDisplay.from_estimator(estimator, WINE, WINE_CLASS)
        np.testing.assert_allclose(display.kernel, (Z @ Z.T)[np.ix_(display.rows, display.rows)], atol=1e-9)

    def test_data_frames_and_precomputed_kernels(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(WINE, columns=[f"f{k}" for k in range(13)], index=np.arange(178)[::-1])
        est = fit(frame, bandwidth=1.5)
        K = np.exp(-((WINE[:, None] - WINE) ** 2).sum(axis=-1) / 1.5**2)
        same = fit(K, kernel="precomputed")
        first = LearnedKernelDisplay.from_estimator(est, frame, max_rows=50)
        second = LearnedKernelDisplay.from_estimator(same, K, WINE_CLASS, max_rows=50)
        np.testing.assert_allclose(first.kernel, est.learned_kernel(frame.iloc[first.rows]))
        np.testing.assert_allclose(second.kernel, same.learned_kernel(K)[np.ix_(second.rows, second.rows)])

    @pytest.mark.parametrize("graph", [False, True], ids=["rows", "graph"])
    def test_neighbors(self, graph):
        transformer = KNeighborsTransformer(n_neighbors=25, mode="distance").fit(CLUSTERS)
        X = transformer.transform(CLUSTERS) if graph else CLUSTERS
        est = fit(X, kernel="neighbors", n_neighbors=20)
        display = LearnedKernelDisplay.from_estimator(est, X, CLUSTER)
        np.testing.assert_allclose(display.kernel, est.learned_kernel(X)[np.ix_(display.rows, display.rows)], atol=1e-12)
        assert "SDPEmbedding, 20 neighbours" in display.ax_.get_title()
        thin = LearnedKernelDisplay.from_estimator(est, X, max_rows=20)
        assert thin.kernel.shape == (20, 20)

    def test_bad_input(self, clusters):
        with pytest.raises(ValueError, match=r"`y` must have one entry per row, shape \(310,\)"):
            LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, CLUSTER[:5])
        with pytest.raises(ValueError, match="`max_rows` must be an integer of at least 2, got 1"):
            LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, max_rows=1)
        with pytest.raises(ValueError, match="`normalize` must be one of None, 'unit', got 'cosine'"):
            LearnedKernelDisplay.from_estimator(clusters, CLUSTERS, normalize="cosine")
        with pytest.raises(ValueError, match=r"`kernel` must be a square matrix, got shape \(2, 3\)"):
            LearnedKernelDisplay(np.ones((2, 3))).plot()


DISPLAYS = {
    "embedding": lambda est, solution, **kw: EmbeddingDisplay.from_estimator(est, CLUSTERS, CLUSTER, **kw),
    "spectrum": lambda est, solution, **kw: SpectrumDisplay.from_estimator(est, **kw),
    "convergence": lambda est, solution, **kw: ConvergenceDisplay.from_solution(solution, **kw),
    "kernel": lambda est, solution, **kw: LearnedKernelDisplay.from_estimator(est, CLUSTERS, CLUSTER, **kw),
}


@pytest.mark.parametrize("name", DISPLAYS)
class TestEveryDisplay:
    @pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
    def test_files(self, name, suffix, start, clusters, solution, tmp_path):
        file = tmp_path / f"picture.{suffix}"
        DISPLAYS[name](clusters, solution).figure_.savefig(file)
        assert file.read_bytes().startswith(start)
        assert 5_000 < file.stat().st_size < 400_000

    def test_given_axes(self, name, clusters, solution):
        figure, (left, right) = plt.subplots(1, 2, layout="constrained")
        display = DISPLAYS[name](clusters, solution, ax=left, title="mine")
        assert display.ax_ is left
        assert display.figure_ is figure
        assert left.get_title() == "mine"
        assert not right.has_data()
        assert plt.gca() is right
        assert plt.get_fignums() == [figure.number]
        # Drawn once more, elsewhere.
        assert display.plot(right) is display
        assert display.ax_ is right

    def test_matplotlib_is_named_where_it_is_missing(self, name, clusters, solution, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        message = r"Display\.from_\w+ needs matplotlib, .*: pip install 'elliptope\[plot\]' \(in a clone: "
        with pytest.raises(ImportError, match=message):
            DISPLAYS[name](clusters, solution)


def test_matplotlib_is_imported_when_needed():
    code = "import elliptope.plotting, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_constructors_name_matplotlib_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"SpectrumDisplay\.plot needs matplotlib"):
        SpectrumDisplay([1.0]).plot()
