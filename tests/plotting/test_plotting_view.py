"""Which view an embedding gets, and where each view puts the rows: against formulas written out."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA, FastICA
from sklearn.manifold import SpectralEmbedding, trustworthiness
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import RANK_4, WINE, WINE_CLASS, fit
from elliptope import DiffusionMap, RKHSEmbedding
from elliptope.plotting import EmbeddingDisplay
from elliptope.plotting._layout import layout, place
from elliptope.plotting.view import Options, choose_view, picture
from pictures import drawn, facecolours

RNG = np.random.default_rng(0)


def gaussian(n, k):
    return np.random.default_rng(n + k).standard_normal((n, k))


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def positions(display):
    return drawn(display.scatters_, display.rows_)


def picture_of(Z, view="auto", **options):
    return picture(Z, Options(len(Z), Z, **options), view)


@pytest.fixture(scope="module")
def far_out():
    """Two columns, in which two rows are far from all others."""
    return np.vstack([gaussian(98, 2), [[300.0, 400.0], [0.0, -50.0]]])


def test_views_by_columns_and_lengths():
    Z = gaussian(50, 5)
    assert [choose_view(Z[:, :k]) for k in range(1, 6)] == ["plane", "plane", "layout", "layout", "layout"]
    assert [choose_view(unit(Z[:, :k])) for k in range(1, 6)] == ["plane", "ring", "layout", "layout", "layout"]
    # Columns that cannot be seen do not count, wherever they are, and a few rows of another length change nothing.
    thin = np.insert(unit(Z[:, :2]), 1, 1e-3 * Z[:, 2], axis=1)
    assert choose_view(thin) == "ring"
    assert picture_of(thin).columns == (0, 2)
    many = unit(gaussian(500, 2))
    many[:3] *= 0.0
    assert choose_view(many) == "ring"
    many[:30] *= 0.5
    assert choose_view(many) == "plane"
    # Data far from the origin are on no sphere, although their rows have about one length.
    assert [choose_view(1000.0 + Z[:, :k]) for k in (2, 3)] == ["plane", "layout"]
    # Numbers close to the ends of double precision, nothing but zeros, too few rows for neighbours.
    assert choose_view(1e300 * unit(Z[:, :2])) == "ring"
    assert choose_view(np.zeros((4, 3))) == choose_view(Z[:5]) == "plane"


def test_views_of_estimators():
    two_blocks = np.hstack([unit(gaussian(30, 3)), unit(gaussian(30, 4))])
    for est, view in [
        (fit(WINE, bandwidth=1.5), "plane"),
        (fit(WINE, bandwidth=1.5, normalize="unit"), "ring"),
        (RKHSEmbedding(random_state=0).fit(WINE), "layout"),
        (DiffusionMap(5, bandwidth=3.0).fit(WINE), "layout"),
    ]:
        display = EmbeddingDisplay.from_estimator(est, WINE, WINE_CLASS)
        assert display.view_ == view
        lengths = np.linalg.norm(positions(display), axis=1)
        assert np.ptp(lengths) > 0.1 * lengths.mean()  # whatever it is, it is no bare circle
    assert choose_view(two_blocks) == "layout"


def test_estimators_that_embed_no_new_rows():
    est = SpectralEmbedding(2, random_state=0).fit(WINE)
    display = EmbeddingDisplay.from_estimator(est, y=WINE_CLASS, view="plane", radius_scale="linear")
    np.testing.assert_array_equal(positions(display), est.embedding_)
    with pytest.raises(ValueError, match="`X` and `new` must be left out: SpectralEmbedding embeds no rows after `fit`"):
        EmbeddingDisplay.from_estimator(est, WINE)


def test_a_ring_keeps_directions_and_spreads_where_many_rows_are():
    angles = np.r_[np.full(200, 1.0) + 1e-3 * RNG.standard_normal(200), np.full(40, 3.0), 5.0]
    Z = 7.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    drawing = picture_of(Z, "ring")
    P = drawing.positions
    np.testing.assert_allclose(np.arctan2(P[:, 1], P[:, 0]) % (2 * np.pi), angles, rtol=1e-12)
    radius = np.linalg.norm(P, axis=1)
    assert radius.min() >= 1 - 1e-12
    assert radius[-1] == pytest.approx(1.0)  # a single row stays on the circle
    widths = [np.ptp(radius[:200]), np.ptp(radius[200:240])]
    assert widths[1] == pytest.approx(widths[0] * 40 / 200, rel=0.1)
    # The spread is even: no two of the 40 rows at one angle are on top of each other.
    assert np.diff(np.sort(radius[200:240])).min() > 0.3 * widths[1] / 40
    assert [circle.radius for circle in drawing.circles] == [1.0]
    alone = unit(gaussian(3, 2))
    np.testing.assert_allclose(picture_of(alone, "ring").positions, alone)


def test_a_logarithmic_radius_where_rows_far_out_flatten_the_rest(far_out):
    drawing = picture_of(far_out)
    lengths = np.linalg.norm(far_out, axis=1)
    inner = np.quantile(lengths, 0.9)
    expected = np.where(lengths > inner, inner * (1 + np.log(lengths / inner) / np.log(500 / inner)), lengths)
    np.testing.assert_allclose(drawing.positions, far_out * (expected / lengths)[:, None], rtol=1e-12)
    assert drawing.positions[98] == pytest.approx(2 * inner * np.array([0.6, 0.8]))
    assert drawing.note == f"radius logarithmic beyond {inner:.3g}"
    for circle in drawing.circles[1:]:
        true = float(circle.label)
        assert circle.radius == pytest.approx(inner * (1 + np.log(true / inner) / np.log(500 / inner)))
    np.testing.assert_array_equal(picture_of(far_out, radius_scale="linear").positions, far_out)
    near = far_out[:98]
    np.testing.assert_array_equal(picture_of(near).positions, near)
    assert picture_of(near, radius_scale="symlog").note is not None


def test_a_logarithmic_radius_is_said_on_the_axes(far_out):
    display = EmbeddingDisplay.from_embedding(far_out, title="mine")
    assert display.ax_.get_xlabel().startswith("component 1\nradius logarithmic beyond 2.")
    assert len(display.ax_.get_xticks()) == 0
    assert {text.get_text() for text in display.ax_.texts} >= {"5", "50", "500"}
    line = EmbeddingDisplay.from_embedding(far_out[:, 1:])
    texts = [text.get_text() for text in line.ax_.get_xticklabels()]
    assert texts == sorted(texts, key=lambda text: float(text.replace("\N{MINUS SIGN}", "-")))
    assert "radius logarithmic" in line.ax_.get_xlabel()
    new = EmbeddingDisplay.from_embedding(far_out, new=[[3e9, 4e9]])
    assert new.legend_.get_texts()[-1].get_text() == "1 beyond\nradius 750"
    inner = np.quantile(np.linalg.norm(far_out, axis=1), 0.9)
    reach = inner * (1 + np.log(750 / inner) / np.log(500 / inner))
    assert np.asarray(new.new_scatters_[0].get_offsets())[0] == pytest.approx(reach * np.array([0.6, 0.8]))


def test_a_layout_keeps_neighbours_that_two_columns_lose():
    centres = 4 * np.eye(6)[np.arange(300) % 6]
    Z = centres + 0.3 * gaussian(300, 6)
    P = layout(Z)
    assert trustworthiness(Z, P) > 0.95 > trustworthiness(Z, Z[:, :2])
    # No group of six is spread over others.
    nearest = NearestNeighbors(n_neighbors=2).fit(P).kneighbors(return_distance=False)[:, 0]
    assert (nearest % 6 == np.arange(300) % 6).mean() > 0.99
    # The same again, on however many threads.
    with threadpool_limits(2):
        np.testing.assert_array_equal(layout(Z), P)
    # Of a sample, with the others next to their neighbours.
    few = layout(Z, most=150)
    nearest = NearestNeighbors(n_neighbors=2).fit(few).kneighbors(return_distance=False)[:, 0]
    assert (nearest % 6 == np.arange(300) % 6).mean() > 0.97
    assert picture_of(Z, laid_out=150).note == "layout (t-SNE) of 6 coordinates, by 150 of 300 rows"


def test_a_layout_begins_at_the_leading_columns():
    """Groups keep the places that the first two columns give them."""
    corners = 20.0 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    which = np.arange(200) % 4
    Z = np.hstack([corners[which], np.zeros((200, 2))]) + gaussian(200, 4)
    P = layout(Z)
    means = np.array([P[which == k].mean(axis=0) for k in range(4)])
    np.testing.assert_array_equal(np.sign(means), np.sign(corners))


def test_a_layout_of_difficult_rows():
    """Equal rows, rows equal in the leading columns, few rows, and a row as far out as numbers go."""
    equal = np.repeat(gaussian(5, 4), 40, axis=0)
    assert np.isfinite(layout(equal)).all()
    hidden = np.hstack([np.zeros((60, 2)), 5.0 * np.eye(3)[np.arange(60) % 3] + 0.1 * gaussian(60, 3)])
    P = layout(hidden)
    assert trustworthiness(hidden, P) > 0.9
    assert np.isfinite(layout(gaussian(10, 4))).all()
    Z = gaussian(40, 4)
    display = EmbeddingDisplay(np.vstack([Z, 1e300 * Z[:1]]), reference=Z).plot()
    assert display.view_ == "layout"
    assert np.isfinite(positions(display)).all()


def test_new_rows_are_placed_by_their_neighbours():
    Z, P = np.array([[0.0], [1.0], [3.0], [50.0]]), np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 40.0], [9.0, 9.0]])
    np.testing.assert_allclose(place(Z[1:2], Z, P), P[1:2])
    weights = np.array([1 / 0.5, 1 / 0.5, 1 / 2.5])
    np.testing.assert_allclose(place(np.array([[0.5]]), Z, P), weights[None] @ P[:3] / weights.sum())
    X = gaussian(60, 4)
    display = EmbeddingDisplay.from_embedding(X, new=X[7:9])
    np.testing.assert_allclose(drawn(display.new_scatters_, display.new_rows_), positions(display)[7:9], atol=1e-9)


def test_a_layout_is_always_called_one():
    display = EmbeddingDisplay.from_embedding(gaussian(30, 4), title="mine", name="ours")
    assert display.ax_.get_xlabel() == "layout (t-SNE) of 4 coordinates"
    assert len(display.ax_.get_xticks()) == len(display.ax_.get_yticks()) == 0
    display.plot(view="plane")
    assert display.ax_.get_xlabel() == "component 1"
    np.testing.assert_array_equal(positions(display), gaussian(30, 4)[:, :2])
    display.plot(view="layout", components=(0, 3))
    assert display.ax_.get_xlabel() == "layout (t-SNE) of 2 coordinates"


def test_colour_by_density_and_by_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(WINE, columns=[f"c{j}" for j in range(13)])
    est = fit(frame, bandwidth=1.5)
    pipeline = make_pipeline(StandardScaler(), fit(WINE, bandwidth=1.5)).fit(frame)
    for model, X, y, values, title in [
        (est, frame, "density", est.score_samples(frame), "log density"),
        (est, None, "density", est.score_samples(frame), "log density"),
        (pipeline, frame, "density", pipeline[-1].score_samples(pipeline[0].transform(frame)), "log density"),
        (est, frame, "c3", WINE[:, 3], "c3"),
        (pipeline, frame, 3, WINE[:, 3], "column 3"),
    ]:
        display = EmbeddingDisplay.from_estimator(model, X, y, categorical=False)
        expected = plt.get_cmap("viridis")((values - values.min()) / np.ptp(values))
        np.testing.assert_allclose(facecolours(display), expected, atol=1e-6)
        assert display.colorbar_.ax.get_ylabel() == title
    display = EmbeddingDisplay.from_estimator(est, frame, "c3", new=frame[:5], y_name="own")
    np.testing.assert_array_equal(display.new_y, WINE[:5, 3])
    assert display.colorbar_.ax.get_ylabel() == "own"
    display = EmbeddingDisplay.from_embedding(WINE[:, :2], WINE_CLASS, y_name="cultivar")
    assert display.legend_.get_title().get_text() == "cultivar"


class TestBadInput:
    def test_views_and_scales(self):
        with pytest.raises(ValueError, match="`view` must be one of 'auto', 'plane', 'ring', 'layout', got 'disc'"):
            EmbeddingDisplay.from_embedding(WINE, view="disc")
        with pytest.raises(ValueError, match="`radius_scale` must be one of 'auto', 'linear', 'symlog', got 'log'"):
            EmbeddingDisplay.from_embedding(WINE, radius_scale="log")
        with pytest.raises(ValueError, match="`view`='ring' needs an embedding of at least 2 columns, got 1"):
            EmbeddingDisplay.from_embedding(WINE[:, :1], view="ring")
        with pytest.raises(ValueError, match="`components` must be 2 columns for `view`='ring', got 1"):
            EmbeddingDisplay.from_embedding(WINE, view="ring", components=[0])
        with pytest.raises(ValueError, match="`components` must be 1 to 3 columns for `view`='auto', got 4"):
            EmbeddingDisplay.from_embedding(RANK_4, components=range(4))

    def test_colours(self):
        est = fit(WINE, bandwidth=1.5)
        with pytest.raises(ValueError, match="`X` must be given for `y`=3, a column of it"):
            EmbeddingDisplay.from_estimator(est, y=3)
        for y in (13, "ash"):
            with pytest.raises(ValueError, match=f"`y` must be an array, 'density', or a column of `X`, got {y!r}"):
                EmbeddingDisplay.from_estimator(est, WINE, y)
        with pytest.raises(ValueError, match=r"`y`='density' needs an estimator with `score_samples`, got FastICA"):
            EmbeddingDisplay.from_estimator(FastICA(2, random_state=0).fit(WINE), WINE, "density")
        double = fit(np.vstack([WINE, WINE[:5]]), kernel="neighbors")
        with pytest.raises(ValueError, match="`X` must be given for `y`='density': there are equal rows"):
            EmbeddingDisplay.from_estimator(double, y="density")
        assert EmbeddingDisplay.from_estimator(PCA(2).fit(WINE), WINE, "density").colorbar_ is not None
