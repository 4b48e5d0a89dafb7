"""The figure of plotly shows what the display of matplotlib does."""

import subprocess
import sys

import numpy as np
import pytest

from common import WINE, WINE_CLASS, fit
from elliptope import DiffusionMap, MultiscaleEmbedding
from elliptope.plotting import EmbeddingDisplay, interactive
from pictures import drawn

pytest.importorskip("plotly")
pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame(WINE, columns=[f"f{k}" for k in range(WINE.shape[1])], index=[f"wine {k}" for k in range(len(WINE))])


@pytest.fixture(scope="module")
def wine():
    return fit(TABLE, bandwidth=1.5)


def positions(figure, names="xy"):
    """Of all points, in the order of the rows."""
    rows = np.concatenate([trace.customdata for trace in figure.data])
    P = np.concatenate([np.column_stack([trace[name] for name in names]) for trace in figure.data])
    assert sorted(rows) == list(range(len(rows)))
    return P[np.argsort(rows)]


@pytest.mark.parametrize("view", ["plane", "ring", "layout"])
def test_the_same_picture_as_by_matplotlib(wine, view):
    figure = interactive(wine, TABLE, WINE_CLASS, view=view)
    display = EmbeddingDisplay.from_estimator(wine, TABLE, WINE_CLASS, view=view)
    np.testing.assert_allclose(positions(figure), drawn(display.scatters_, display.rows_))
    assert figure.layout.title.text == display.ax_.get_title().replace("\n", "<br>")
    assert [trace.name for trace in figure.data] == ["0", "1", "2"]
    assert len({(trace.marker.color, trace.marker.symbol) for trace in figure.data}) == 3
    assert figure.layout.yaxis.scaleanchor == "x"


def test_hover_shows_row_colour_and_chosen_columns(wine):
    table = TABLE.assign(kind=["<b>", *["plain"] * (len(WINE) - 1)])
    figure = interactive(wine, table, "kind", hover=["f0", "f2"])
    text = figure.data[0].text[0]
    assert text == f"row wine 0<br>kind: &lt;b&gt;<br>f0: {WINE[0, 0]:.4g}<br>f2: {WINE[0, 2]:.4g}"
    assert figure.layout.legend.title.text == "kind"
    with pytest.raises(ValueError, match=r"`hover` must name columns of a data frame `X`.*got 'colour'"):
        interactive(wine, table, hover=["colour"])


def test_values_have_a_colour_bar(wine):
    figure = interactive(wine, TABLE, "f3")
    np.testing.assert_array_equal(figure.data[0].marker.color, TABLE.f3)
    assert figure.data[0].marker.colorbar.title.text == "f3"


def test_one_and_three_components(wine):
    figure = interactive(wine, TABLE, WINE_CLASS, components=[1])
    np.testing.assert_allclose(positions(figure)[:, 0], wine.transform(TABLE)[:, 1])
    assert "χ<sub>2</sub>" in figure.layout.xaxis.title.text
    three = DiffusionMap(3, bandwidth=3.0).fit(TABLE)
    figure = interactive(three, TABLE, WINE_CLASS, components=[0, 1, 2])
    np.testing.assert_allclose(positions(figure, "xyz"), three.transform(TABLE))
    assert figure.layout.scene.zaxis.title.text.startswith("ψ<sub>3</sub>")


def test_rows_without_label_are_shown(wine):
    y = np.where(WINE_CLASS == 2, None, WINE_CLASS)
    figure = interactive(wine, y=y)
    assert [trace.name for trace in figure.data] == ["0", "1", "no label"]


def test_many_points_are_drawn_by_the_graphics_card():
    X = np.random.default_rng(0).random((2100, 2))
    figure = interactive(DiffusionMap(2, bandwidth=0.3).fit(X))
    assert figure.data[0].type == "scattergl"


def test_a_page_without_matplotlib(tmp_path):
    """Two scales, in a process in which matplotlib cannot be imported."""
    MultiscaleEmbedding(random_state=0).fit(WINE).save(tmp_path / "model")
    code = (
        "import sys; sys.modules['matplotlib'] = None; import elliptope; from elliptope.plotting import interactive; "
        "interactive(elliptope.load('model'), y=[1, 2] * 89).write_html('page.html', include_plotlyjs=False)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert "layout (t-SNE)" in (tmp_path / "page.html").read_text("utf-8")


def test_without_plotly(wine, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"extra `notebook`: pip install 'elliptope\[notebook\]'"):
        interactive(wine)
