"""EmbeddingDisplay: what is drawn is what the estimator says."""

import re
import warnings
from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import CLUSTER, CLUSTERS, WINE, WINE_CLASS, fit
from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding
from elliptope.plotting import EmbeddingDisplay
from elliptope.sdp.verdict import one_line
from pictures import BLUE, GREEN, ORANGE, drawn, facecolours, hexes, legend

ESTIMATORS = [
    SDPEmbedding(bandwidth=1.5, random_state=0),
    SDPEmbedding(2, bandwidth=1.5, normalize="unit", random_state=0),
    RKHSEmbedding(regularization=1e-3, random_state=0),
    DiffusionMap(3, bandwidth=3.0),
    make_pipeline(StandardScaler(), DiffusionMap(2, bandwidth=3.0)),
    make_pipeline(StandardScaler(), make_pipeline(PCA(5), SDPEmbedding(bandwidth=1.5, random_state=0))),
]


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=1.5)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_points_are_where_transform_puts_them(estimator):
    estimator.fit(WINE)
    display = EmbeddingDisplay.from_estimator(estimator, WINE, WINE_CLASS, view="plane")
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), estimator.transform(WINE)[:, :2])
    assert display.ax_.figure is display.figure_
    while hasattr(estimator, "steps"):
        estimator = estimator[-1]
    assert display.ax_.get_title().startswith(type(estimator).__name__)


def test_without_X_the_training_embedding_is_drawn(wine):
    display = EmbeddingDisplay.from_estimator(wine)
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), wine.embedding_)
    with pytest.raises(ValueError, match="`X` must be given: PCA"):
        EmbeddingDisplay.from_estimator(PCA().fit(WINE))


def test_other_transformers_can_be_compared():
    display = EmbeddingDisplay.from_estimator(PCA(3).fit(WINE), WINE, view="plane")
    np.testing.assert_allclose(drawn(display.scatters_, display.rows_), PCA(3).fit_transform(WINE)[:, :2])
    assert display.ax_.get_xlabel() == "component 1"


def test_classes_have_colours_markers_and_a_legend(wine):
    display = EmbeddingDisplay.from_estimator(wine, WINE, WINE_CLASS)
    assert [set(WINE_CLASS[rows]) for rows in display.rows_] == [{0}, {1}, {2}]
    np.testing.assert_array_equal(hexes(facecolours(display)), np.array([BLUE, ORANGE, GREEN])[WINE_CLASS])
    assert legend(display) == ["0", "1", "2"]
    shapes = {collection.get_paths()[0].vertices.tobytes() for collection in display.scatters_}
    assert len(shapes) == 3
    assert hexes(h.get_markerfacecolor() for h in display.legend_.legend_handles) == [BLUE, ORANGE, GREEN]


def test_labels_name_and_order_classes():
    est = fit(CLUSTERS, bandwidth=1.2)
    labels = {2: "third", 0: "first", -1: "outliers"}
    display = EmbeddingDisplay.from_estimator(est, CLUSTERS, CLUSTER, labels=labels)
    assert legend(display) == ["third", "first", "outliers", "1"]
    assert [CLUSTER[rows[0]] for rows in display.rows_] == [2, 0, -1, 1]
    # Ten outliers would vanish under clusters of a hundred.
    order = np.argsort([collection.get_zorder() for collection in display.scatters_])
    assert order[-1] == 2


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (np.array(["b", "a"] * 3), ["a", "b"]),
        (np.array([True, False] * 3), ["False", "True"]),
        (np.array([2.0, 1.0, np.nan] * 2), ["1", "2", "no label"]),
        (np.array(["x", None, 3] * 2, dtype=object), ["3", "x", "no label"]),
    ],
)
def test_what_counts_as_classes(y, names):
    display = EmbeddingDisplay.from_embedding(np.random.default_rng(0).random((6, 2)), y)
    assert legend(display) == names
    assert display.colorbar_ is None


def test_data_frame_columns():
    pd = pytest.importorskip("pandas")
    Z = np.random.default_rng(0).random((30, 2))
    display = EmbeddingDisplay.from_embedding(Z, pd.Series(["u", "v", pd.NA] * 10, name="kind"))
    assert display.legend_.get_title().get_text() == "kind"
    assert legend(display) == ["u", "v", "no label"]
    values = pd.Series([*np.linspace(0, 1, 29), pd.NA], name="height", dtype="Float64")
    display = EmbeddingDisplay.from_embedding(Z, values)
    assert display.colorbar_.ax.get_ylabel() == "height"


@pytest.mark.parametrize("shift", [0.0, np.nan])
def test_values_have_a_colour_bar(wine, shift):
    values = WINE[:, 0].copy()
    values[3] += shift
    display = EmbeddingDisplay.from_estimator(wine, WINE, values, cmap="magma")
    scaled = (values - np.nanmin(values)) / (np.nanmax(values) - np.nanmin(values))
    expected = matplotlib.colormaps["magma"](scaled)
    known = np.isfinite(values)
    np.testing.assert_allclose(facecolours(display)[known], expected[known])
    np.testing.assert_allclose(facecolours(display)[~known, 0], 0.6)  # grey, and not left out
    assert display.colorbar_.norm.vmin == np.nanmin(values)
    assert display.legend_ is None


def test_whole_numbers_may_be_values_or_classes():
    Z, y = np.random.default_rng(0).random((40, 2)), np.arange(40)
    assert EmbeddingDisplay.from_embedding(Z, y).colorbar_ is not None
    assert len(EmbeddingDisplay.from_embedding(Z, y, categorical=True).scatters_) == 40
    assert EmbeddingDisplay.from_embedding(Z, y % 3, categorical=False).colorbar_ is not None
    norm = matplotlib.colors.LogNorm(1, 100)
    assert EmbeddingDisplay.from_embedding(Z, y + 1, norm=norm).colorbar_.norm is norm


def test_many_classes():
    Z, y = np.random.default_rng(0).random((300, 2)), np.arange(300) % 100
    display = EmbeddingDisplay.from_embedding(Z, y, categorical=True)
    looks = {(c.get_facecolors().tobytes(), c.get_paths()[0].vertices.tobytes()) for c in display.scatters_}
    assert len(looks) == 100
    assert len(legend(display)) == 36
    assert legend(display)[-1] == "… and 65 more"


def test_title_and_axes_say_what_is_proved(wine):
    ax = EmbeddingDisplay.from_estimator(wine, WINE).ax_
    name, verdict = ax.get_title().split("\n")
    assert name == "SDPEmbedding, σ = 1.5"
    status, number = re.fullmatch(r"(\w+), proved gap ≤ (\S+)", verdict).groups()
    assert status == wine.status_
    assert wine.certificate_.relative_gap <= float(number) <= 1.11 * wine.certificate_.relative_gap
    share = wine.eigenvalues_[1] / wine.eigenvalues_.sum()
    assert ax.get_ylabel() == rf"$\chi_{{2}}$ ({100 * share:.1f}%)"


def test_title_of_a_diffusion_map():
    est = DiffusionMap(2, bandwidth=3.0).fit(WINE)
    ax = EmbeddingDisplay.from_estimator(est, WINE, name="Baseline").ax_
    assert ax.get_title() == "Baseline"
    assert ax.get_xlabel() == rf"$\psi_{{1}}$ (λ = {est.eigenvalues_[0]:.3g})"
    assert EmbeddingDisplay.from_estimator(est, WINE, title="mine").ax_.get_title() == "mine"


def test_title_without_a_bound():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = SDPEmbedding(bandwidth=0.7, solver="power", max_iter=3, random_state=0).fit(WINE)
    title = EmbeddingDisplay.from_estimator(est, WINE).ax_.get_title()
    assert "max_iter" in title
    assert "optimal" not in title


def test_one_dimension():
    est = fit(WINE, bandwidth=6.0, n_components=1)
    display = EmbeddingDisplay.from_estimator(est, WINE, WINE_CLASS)
    positions = drawn(display.scatters_, display.rows_)
    np.testing.assert_array_equal(positions[:, 0], est.transform(WINE)[:, 0])
    # A band per class, whose name stands beside it.
    ticks = dict(zip([t.get_text() for t in display.ax_.get_yticklabels()], display.ax_.get_yticks(), strict=True))
    centres = np.array([ticks[str(c)] for c in WINE_CLASS])
    assert (np.abs(positions[:, 1] - centres) < 0.5).all()
    again = EmbeddingDisplay.from_estimator(est, WINE, WINE_CLASS)
    np.testing.assert_array_equal(positions, drawn(again.scatters_, again.rows_))


def test_new_points_are_hollow_and_over_the_others(wine):
    X, y, inner = WINE[::2], WINE_CLASS[::2], WINE[1::2] * 0.9
    est = fit(X, bandwidth=3.0)
    display = EmbeddingDisplay.from_estimator(est, X, y, new=inner, new_y=WINE_CLASS[1::2], max_radius=None)
    positions = drawn(display.new_scatters_, display.new_rows_)
    np.testing.assert_array_equal(positions, est.transform(inner)[:, :2])
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), est.transform(X)[:, :2])
    assert min(c.get_zorder() for c in display.new_scatters_) > max(c.get_zorder() for c in display.scatters_)
    assert all((c.get_facecolors()[:, :3] == 1).all() for c in display.new_scatters_)
    assert [hexes(c.get_edgecolors())[0] for c in display.new_scatters_] == [BLUE, ORANGE, GREEN]
    assert legend(display) == ["0", "1", "2", "new"]


def test_new_points_of_a_neighbour_kernel():
    new = WINE[:5] + 0.05
    est = fit(WINE, kernel="neighbors")
    display = EmbeddingDisplay.from_estimator(est, WINE, new=new, max_radius=None)
    np.testing.assert_allclose(display.new, est.transform(new))
    np.testing.assert_allclose(display.embedding, est.embedding_, atol=1e-6)
    assert display.ax_.get_title().startswith("SDPEmbedding, 15 neighbours")
    graph = KNeighborsTransformer(n_neighbors=20, mode="distance").fit(WINE)
    of_graph = fit(graph.transform(WINE), kernel="neighbors")
    display = EmbeddingDisplay.from_estimator(of_graph, graph.transform(WINE), new=graph.transform(new))
    assert display.new.shape == (5, of_graph.n_components_)


@pytest.mark.parametrize("known", ["y", "new_y"])
def test_labels_of_one_kind_of_points_only(known):
    Z = np.random.default_rng(0).random((20, 2))
    display = EmbeddingDisplay.from_embedding(Z, new=Z, **{known: np.arange(20) % 2})
    expected = ["0", "1", "new"] if known == "y" else ["0", "1", "no label", "new"]
    assert legend(display) == expected


@pytest.mark.filterwarnings("ignore:.*radius")
def test_far_points_keep_their_direction():
    est = fit(WINE, bandwidth=3.0)
    far = np.vstack([WINE[:4] * 3, WINE[:1] * 1e3])
    display = EmbeddingDisplay.from_estimator(est, WINE, new=far)
    true, shown = est.transform(far)[:, :2], drawn(display.new_scatters_, display.new_rows_)
    limit = 1.5 * np.linalg.norm(est.embedding_[:, :2], axis=1).max()
    assert np.abs(true[4]).max() > 1e100
    for t, s in zip(true, shown, strict=True):
        t = t / np.abs(t).max()
        np.testing.assert_allclose(s / np.linalg.norm(s), t / np.linalg.norm(t), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(shown[4]), limit)
    n_beyond = int((np.linalg.norm(true / 1e10, axis=1) > limit / 1e10).sum())
    assert legend(display)[-1] == f"{n_beyond} beyond\nradius {limit:.3g}"
    # The same rows as data, and not as new points, do not take over the picture either.
    display = EmbeddingDisplay.from_estimator(est, np.vstack([WINE, far]))
    assert np.abs(drawn(display.scatters_, display.rows_)).max() <= limit * (1 + 1e-12)


def test_radius_by_hand():
    Z = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    display = EmbeddingDisplay.from_embedding(Z, max_radius=1)
    np.testing.assert_allclose(drawn(display.scatters_, display.rows_), [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    huge = EmbeddingDisplay.from_embedding(1e300 * Z[:1], max_radius=1)  # whose square is no number
    np.testing.assert_allclose(huge.scatters_[0].get_offsets(), [[0.6, 0.8]])
    display = EmbeddingDisplay.from_embedding(1e6 * Z)
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), 1e6 * Z)


def test_given_axes_and_no_traces_in_pyplot(wine):
    figure, (left, _) = plt.subplots(1, 2, sharex=True, sharey=True)
    current, numbers = plt.gca(), plt.get_fignums()
    display = EmbeddingDisplay.from_estimator(wine, WINE, WINE[:, 0], ax=left)
    assert display.ax_ is left
    assert plt.gca() is current
    assert plt.get_fignums() == numbers
    figure.canvas.draw()  # equal units, on axes that share both limits


def test_options_reach_scatter(wine):
    display = EmbeddingDisplay.from_estimator(wine, WINE, s=7, edgecolors="red")
    assert display.scatters_[0].get_sizes() == [7]
    assert hexes(display.scatters_[0].get_edgecolors()) == ["#ff0000"]
    display.plot(components=[1])
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_)[:, 0], wine.transform(WINE)[:, 1])


class TestBadInput:
    @pytest.mark.parametrize("components", [(0, 2), (-1, 0), (0, 0), (), (0, 1, 2, 3), (0.5, 1), "01", 2, (True, 0)])
    def test_components(self, wine, components):
        with pytest.raises(ValueError, match=r"`components` must be distinct integers between 0 and 1.* 2 columns"):
            EmbeddingDisplay.from_estimator(wine, WINE, components=components)

    def test_lengths(self, wine):
        with pytest.raises(ValueError, match=r"`y` must have one entry per row, shape \(178,\), got shape \(177,\)"):
            EmbeddingDisplay.from_estimator(wine, WINE, WINE_CLASS[1:])
        with pytest.raises(ValueError, match=r"`new_y` .* \(5,\), got shape \(178,\)"):
            EmbeddingDisplay.from_estimator(wine, WINE, new=WINE[:5], new_y=WINE_CLASS)
        with pytest.raises(ValueError, match=r"`new_y` .* \(0,\), got"):
            EmbeddingDisplay.from_estimator(wine, WINE, new_y=WINE_CLASS)
        with pytest.raises(ValueError, match="`new` must have 2 columns, as the embedding has, got 3"):
            EmbeddingDisplay.from_embedding(WINE[:, :2], new=WINE[:, :3])

    def test_estimator(self):
        for estimator in (SDPEmbedding(), make_pipeline(StandardScaler(), SDPEmbedding())):
            with pytest.raises(NotFittedError):
                EmbeddingDisplay.from_estimator(estimator, WINE)
        with pytest.raises(TypeError, match="`estimator` must be an embedding, or a Pipeline that ends in one, got 'PCA'"):
            EmbeddingDisplay.from_estimator("PCA", WINE)

    @pytest.mark.parametrize("value", [0, -1.0, np.inf, "far"])
    def test_radius(self, value):
        with pytest.raises(ValueError, match="`max_radius` must be positive"):
            EmbeddingDisplay.from_embedding(WINE, max_radius=value)

    def test_axes(self):
        _, deep = plt.subplots(subplot_kw={"projection": "3d"})
        with pytest.raises(ValueError, match="`components` must be 1 to 2 columns for `view`='auto', got 3"):
            EmbeddingDisplay.from_embedding(WINE, components=(0, 1, 2))
        with pytest.raises(ValueError, match="`ax` must be 2-D axes"):
            EmbeddingDisplay.from_embedding(WINE, ax=deep)

    def test_values(self):
        with pytest.raises(ValueError, match="embedding contains NaN"):
            EmbeddingDisplay.from_embedding(np.array([[0.0, np.nan]]))
        with pytest.raises(ValueError, match="`y` must be numeric for `categorical`=False, got entries such as 'a'"):
            EmbeddingDisplay.from_embedding(WINE[:2], ["a", "b"], categorical=False)

    def test_nothing_is_left_open(self, wine):
        before = plt.get_fignums()
        with pytest.raises(ValueError, match="components"):
            EmbeddingDisplay.from_estimator(wine, WINE, components=(9,))
        assert plt.get_fignums() == before


def test_two_scales_have_one_picture_and_a_certificate_each():
    est = MultiscaleEmbedding(random_state=0).fit(WINE)
    display = EmbeddingDisplay.from_estimator(est, WINE, WINE_CLASS)
    assert display.view_ == "layout"
    assert "layout" in display.ax_.get_xlabel()
    name, line = display.ax_.get_title().splitlines()
    assert name == "MultiscaleEmbedding, 15 neighbours"
    gaps = re.fullmatch(r"optimal, proved gaps ≤ (\S+), (\S+)", line).groups()
    for gap, certificate in zip(gaps, est.certificates_, strict=True):
        assert certificate.relative_gap <= float(gap) <= 1.11 * certificate.relative_gap
    plane = EmbeddingDisplay.from_estimator(est, WINE, WINE_CLASS, view="plane").ax_
    for k, label in enumerate((plane.get_xlabel(), plane.get_ylabel())):
        assert label == f"$\\chi_{{{k + 1}}}$ ({est.eigenvalues_[k] / est.eigenvalues_.sum():.1%})"


def test_grades_that_differ_are_told_apart():
    proved = fit(WINE, bandwidth=2.0).certificate_
    probable = replace(proved, grade="probabilistic")
    unknown = replace(proved, upper_bound=np.inf, gap=np.inf)
    gap = one_line("optimal", proved).split("≤ ")[1]
    assert one_line("optimal", proved, probable) == f"optimal, proved gap ≤ {gap}, probabilistic gap ≤ {gap}"
    assert one_line("max_iter", proved, unknown) == f"max_iter, proved gap ≤ {gap}, no bound on the gap"
