"""EmbeddingDisplay with many points, and where its legend stands."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from common import WINE, WINE_CLASS, fit
from elliptope.plotting import EmbeddingDisplay
from pictures import BLUE, GREEN, ORANGE, drawn, facecolours, hexes, legend

BIG = 100_000


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=1.5)


@pytest.fixture(scope="module")
def crowd():
    """Many points in three overlapping classes, and one far from the others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, BIG)
    Z = rng.standard_normal((BIG, 2)) + y[:, None]
    Z[7] = [30.0, 30.0]
    return Z, y


def test_many_points_are_mixed_and_rasterized(crowd):
    Z, y = crowd
    display = EmbeddingDisplay.from_embedding(Z, y)
    (collection,), (rows,) = display.scatters_, display.rows_
    np.testing.assert_array_equal(np.sort(rows), np.arange(BIG))
    assert collection.get_rasterized()
    # Whatever part of the order is drawn last, it holds every class as often as the data do.
    counts = np.bincount(y[rows[-3000:]])
    np.testing.assert_allclose(counts / 3000, np.bincount(y) / BIG, atol=0.05)
    assert legend(display) == ["0", "1", "2"]
    with io.BytesIO() as vector:
        display.figure_.savefig(vector, format="svg")
        assert vector.tell() < 500_000


def test_many_points_are_small_and_transparent_unless_isolated(crowd):
    display = EmbeddingDisplay.from_embedding(*crowd)
    (collection,), (rows,) = display.scatters_, display.rows_
    alpha, sizes = collection.get_facecolors()[:, 3], collection.get_sizes()
    assert alpha[rows == 7] == 1.0
    assert np.median(alpha) < 0.5
    assert sizes[rows == 7] > 2 * np.median(sizes)
    assert np.median(sizes) < 0.1 * EmbeddingDisplay.from_embedding(crowd[0][:300]).scatters_[0].get_sizes()[0]


def test_positions_of_many_points(crowd):
    Z, y = crowd
    display = EmbeddingDisplay.from_embedding(Z, y, radius_scale="linear")
    np.testing.assert_array_equal(drawn(display.scatters_, display.rows_), Z)
    expected = np.array([BLUE, ORANGE, GREEN])[y[:500]]
    assert hexes(facecolours(display)[:500]) == expected.tolist()


def test_many_points_of_many_classes_have_their_names_on_them(crowd):
    Z, y = crowd[0], np.arange(BIG) % 12
    display = EmbeddingDisplay.from_embedding(Z, y, radius_scale="linear")
    assert [text.get_text() for text in display.texts_] == [str(k) for k in range(12)]
    np.testing.assert_allclose(display.texts_[5].get_position(), np.median(Z[y == 5], axis=0))


def test_legend_does_not_cover_points():
    corners = np.array([[0, 0], [0, 3], [4, 0], [4, 3.0]])  # the shape of the axes
    full = EmbeddingDisplay.from_embedding(corners, [0, 1, 0, 1])
    full.figure_.canvas.draw()
    assert full.legend_.get_window_extent().x0 > full.ax_.get_window_extent().x1
    assert full.legend_.get_window_extent().x1 <= full.figure_.bbox.x1
    free = EmbeddingDisplay.from_embedding(corners[:3], [0, 1, 0])
    free.figure_.canvas.draw()
    box = free.legend_.get_window_extent()
    assert box.x1 < free.ax_.get_window_extent().x1
    assert not any(box.contains(*free.ax_.transData.transform(point)) for point in corners[:3])
    assert EmbeddingDisplay.from_embedding(corners, [0, 1, 0, 1], legend=False).legend_ is None


def test_legend_does_not_cover_the_next_axes():
    full = np.stack(np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1.4, 12)), axis=-1).reshape(-1, 2)
    y = np.arange(144) % 2
    figure, (left, right) = plt.subplots(1, 2)
    crowded = EmbeddingDisplay.from_embedding(full, y, ax=left)
    figure.canvas.draw()
    assert not crowded.legend_.get_window_extent().overlaps(right.get_window_extent())
    assert left.get_window_extent().contains(*crowded.legend_.get_window_extent().min)
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")  # which makes room
    roomy = EmbeddingDisplay.from_embedding(full, y, ax=left)
    figure.canvas.draw()
    assert roomy.legend_.get_window_extent().x0 > left.get_window_extent().x1
    assert not roomy.legend_.get_window_extent().overlaps(right.get_window_extent())


def test_legend_does_not_cover_the_circle(wine):
    new = np.vstack([WINE[:3], np.full((1, 13), 50.0)])
    with pytest.warns(UserWarning, match="overflows"):
        display = EmbeddingDisplay.from_estimator(wine, WINE, WINE_CLASS, new=new)
    display.figure_.canvas.draw()
    circle = next(line for line in display.ax_.lines if "beyond" in line.get_label())
    points = display.ax_.transData.transform(circle.get_xydata())
    box = display.legend_.get_window_extent()
    assert not any(box.contains(x, y) for x, y in points)
