"""Data frames: features beside other columns, colours by the name of a column."""

import matplotlib
import numpy as np
import pytest

from common import WINE, WINE_CLASS, fit
from elliptope.plotting import EmbeddingDisplay, LearnedKernelDisplay
from pictures import drawn, facecolours, legend

pd = pytest.importorskip("pandas")

KINDS = np.array(["Barolo", "Grignolino", "Barbera"])[WINE_CLASS]
FEATURES = pd.DataFrame(WINE, columns=[f"feature {k}" for k in range(WINE.shape[1])])
# In another order than that of the fit, and with columns that are no features.
TABLE = pd.concat([pd.Series(KINDS, name="kind"), FEATURES[FEATURES.columns[::-1]]], axis=1).assign(price=WINE[:, 0] * 3)


@pytest.fixture(scope="module")
def wine():
    return fit(FEATURES, bandwidth=1.5)


def test_other_columns_are_for_colours(wine):
    display = EmbeddingDisplay.from_estimator(wine, TABLE, "kind", view="plane")
    np.testing.assert_allclose(drawn(display.scatters_, display.rows_), wine.embedding_[:, :2], atol=1e-6)
    assert legend(display) == ["Barbera", "Barolo", "Grignolino"]
    assert display.legend_.get_title().get_text() == "kind"
    display = EmbeddingDisplay.from_estimator(wine, TABLE, "price")
    colours = matplotlib.colormaps["viridis"]((TABLE.price - TABLE.price.min()) / np.ptp(TABLE.price))
    np.testing.assert_allclose(facecolours(display), colours)
    assert display.colorbar_.ax.get_ylabel() == "price"


def test_density_and_new_rows_of_such_frames(wine):
    display = EmbeddingDisplay.from_estimator(wine, TABLE, "density", new=TABLE[:20])
    np.testing.assert_allclose(display.y, wine.score_samples(FEATURES))
    np.testing.assert_allclose(display.new, wine.transform(FEATURES[:20]))


def test_polars(wine):
    pl = pytest.importorskip("polars")
    display = EmbeddingDisplay.from_estimator(wine, pl.from_pandas(TABLE), "kind")
    assert legend(display) == ["Barbera", "Barolo", "Grignolino"]


def test_a_feature_that_is_missing_is_named(wine):
    with pytest.raises(ValueError, match="feature 3"):
        EmbeddingDisplay.from_estimator(wine, TABLE.drop(columns="feature 3"), "kind")


def test_a_frame_of_coordinates_and_colours():
    frame = pd.DataFrame({"kind": ["u", "v", "u"], "x": [0.0, 1.0, 2.0], "y": [2.0, 1.0, 1.0]})
    display = EmbeddingDisplay.from_embedding(frame, "kind", view="plane")
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), frame[["x", "y"]])
    assert legend(display) == ["u", "v"]
    assert display.legend_.get_title().get_text() == "kind"
    with pytest.raises(ValueError, match=r"`y` must be .* one of \['kind', 'x', 'y'\], got 'colour'"):
        EmbeddingDisplay.from_embedding(frame, "colour")


def test_a_learned_kernel_is_ordered_by_a_column(wine):
    display = LearnedKernelDisplay.from_estimator(wine, TABLE, "kind")
    assert [name for name, _ in display.groups] == ["Barbera", "Barolo", "Grignolino"]
    assert (KINDS[display.rows] == np.sort(KINDS)).all()
    ordered = LearnedKernelDisplay.from_estimator(wine, TABLE, "price")
    assert (np.diff(TABLE.price.to_numpy()[ordered.rows]) >= 0).all()
