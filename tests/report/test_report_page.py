"""The report page in a real browser: it answers to pointer and keyboard, exports, and fits its window."""

import csv
import dataclasses
import io

import numpy as np
import pytest
from matplotlib.path import Path as Polygon
from PIL import Image
from sklearn.datasets import load_wine

from common import RANK_4, WINE, WINE_CLASS, fit
from elliptope.plotting.targets import Values
from elliptope.report.content import collect

chromium = pytest.importorskip("browser", reason="selenium is not installed", exc_type=ImportError)
pytestmark = pytest.mark.skipif(
    chromium.find_browser() is None, reason=f"no browser: none of {', '.join(chromium.BROWSERS)} is installed"
)

NAMES = {0: "Barolo", 1: "Grignolino", 2: "Barbera"}
# What is drawn is known to a part of a pixel.
PIXEL = 1e-3
HOSTILE = '</script ><img src=x onerror="window.hurt=1">%{x}<b>'


@pytest.fixture(scope="module")
def wine():
    columns = load_wine().feature_names
    return collect(fit(WINE), y=WINE_CLASS, labels=NAMES, feature_names=columns, title="Wine: 178 bottles, three cultivars")


@pytest.fixture(scope="module")
def hostile():
    labels = [HOSTILE + "abc"[k] for k in WINE_CLASS]
    names = [HOSTILE * 3] * 178
    columns = [HOSTILE.replace(" ", "")] * 13
    return collect(fit(WINE), labels=labels, row_names=names, feature_names=columns, title=HOSTILE)


def test_opens_without_errors_and_without_network(open_report, wine):
    browser = open_report(wine)
    assert browser.errors() == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.driver.title == wine.title
    np.testing.assert_allclose(browser.plotted(), wine.coordinates, rtol=1e-5, atol=PIXEL)
    assert browser.find(".claim").text.startswith("No embedding of these data can have an objective above ")


def test_hover_shows_row_and_label(open_report, wine):
    browser = open_report(wine)
    Z = wine.coordinates
    row = int(np.linalg.norm(Z, axis=1).argmax())  # far from all others
    browser.point_at(browser.pixels(Z[row : row + 1])[0])
    text = browser.until("return !tip.hidden && tip.innerText")
    assert text.split("\n") == [f"Row {row}", f"Label {NAMES[WINE_CLASS[row]]}"]


def test_lasso_exports_the_rows_within(open_report, wine):
    browser = open_report(wine)
    Z = wine.coordinates
    angles = np.linspace(0, 2 * np.pi, 17)
    lasso = Z[WINE_CLASS == 2].mean(axis=0) + 0.2 * np.column_stack([np.cos(angles), np.sin(angles)])
    inside = np.flatnonzero(Polygon(lasso).contains_points(Z))
    assert set(WINE_CLASS[inside]) == {1, 2}
    browser.find("[data-mode=lasso]").click()
    browser.drag(browser.pixels(lasso))
    browser.settle()
    assert browser.find("#selected").text.startswith(f"{len(inside)} rows selected: {inside[0]}, {inside[1]}, ")
    bright = "return layers(visibleRows()).filter(({ opacity }) => opacity === 1).flatMap(({ rows }) => rows)"
    assert browser.run(bright) == inside.tolist()
    browser.open_details("Export")
    browser.find("#export-selection").click()
    lines = list(csv.DictReader(io.StringIO(browser.downloaded("selection.csv").decode())))
    assert list(lines[0]) == ["row", "label", *load_wine().feature_names]
    assert [int(line["row"]) for line in lines] == inside.tolist()
    assert [line["label"] for line in lines] == [NAMES[k] for k in WINE_CLASS[inside]]
    np.testing.assert_allclose([float(line["alcohol"]) for line in lines], WINE[inside, 0], rtol=1e-6)
    browser.find("#clear").click()
    browser.settle()
    assert browser.run(bright) == []
    assert not browser.find("#export-selection").is_enabled()
    assert browser.errors() == []


def test_zoom_can_be_reset(open_report, wine):
    browser = open_report(wine)
    limits = "return view.range.x"
    whole = browser.run(limits)
    browser.drag(browser.pixels([[-0.3, -0.2], [0.0, 0.1], [0.3, 0.2]]))
    browser.until("return view.moved")
    near = browser.run(limits)
    assert whole[0] < near[0] <= -0.29
    assert 0.29 <= near[1] < whole[1]
    browser.find("#reset").click()
    browser.settle()
    assert not browser.run("return view.moved")
    np.testing.assert_allclose(browser.run(limits), whole, rtol=1e-6)


def test_everything_can_be_reached_by_keyboard(open_report, wine):
    browser = open_report(wine)
    reached, outlines = [], []
    for _ in range(70):
        browser.press(chromium.TAB)
        found = browser.run(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "return [e.id || e.dataset.mode || e.dataset.row || e.textContent,"
            "e.labels?.[0]?.textContent || e.ariaLabel || e.textContent, s.outlineStyle !== 'none' && s.outlineWidth]"
        )
        reached.append(found[0])
        assert found[1].strip(), f"{found[0]} has no name"
        outlines.append(found[2])
        if found[0] == str(int(np.argmax(wine.scores))):
            break
    for name in ("axis-x", "axis-y", "zoom", "pan", "lasso", "zoom-in", "reset", "Barolo", "query"):
        assert name in reached
    assert set(outlines) == {"3px"}
    browser.press(chromium.ENTER)  # the button of the most outlying row
    browser.until("return view.selected?.length === 1")
    assert browser.find("#selected").text == f"1 row selected: {reached[-1]}"


def test_rows_are_selected_by_typing(open_report, wine):
    browser = open_report(wine)
    browser.find("#query").send_keys("5, 7-9, barb", chromium.ENTER)
    browser.until("return Boolean(view.selected)")
    expected = [5, 7, 8, 9, *np.flatnonzero(WINE_CLASS == 2)]
    assert browser.run("return view.selected") == expected
    browser.find("#query").clear()
    browser.find("#query").send_keys("nothing like that", chromium.ENTER)
    browser.until("return !view.selected")
    assert browser.find("#selected").text == "No row matches “nothing like that”."


def test_legend_hides_a_class(open_report, wine):
    browser = open_report(wine)
    browser.find("#legend button").click()
    browser.settle()
    assert browser.run("return visibleRows()") == np.flatnonzero(WINE_CLASS > 0).tolist()


def test_axes_can_be_chosen(open_report):
    report = collect(fit(RANK_4, bandwidth=2.0), y=RANK_4[:, 0])
    browser = open_report(report)
    browser.find("[data-view=coordinates]").click()
    offered = [option.text for option in browser.find_all("#axis-x option")]
    assert offered[2:] == ["Component 3", "Component 4", "Outlier score"]
    for axis, choice in (("x", "Component 4"), ("y", "Outlier score")):
        browser.choose(f"#axis-{axis}", choice)
    expected = np.column_stack([report.coordinates[:, 3], report.scores])
    np.testing.assert_allclose(browser.plotted(), expected, rtol=1e-5, atol=PIXEL)
    assert browser.errors() == []


def test_one_component_is_shown_against_the_outlier_score(open_report):
    X = np.r_[np.random.default_rng(0).standard_normal((60, 2)), np.random.default_rng(1).standard_normal((60, 2)) + 9]
    report = collect(fit(X, bandwidth=6.0))
    assert report.coordinates.shape[1] == 1
    browser = open_report(report)
    expected = np.column_stack([report.coordinates, report.scores])
    np.testing.assert_allclose(browser.plotted(), expected, rtol=1e-5, atol=PIXEL)
    assert browser.errors() == []


def test_a_flat_component_gives_way_to_the_outlier_score(open_report, wine):
    report = dataclasses.replace(wine, shares=np.array([0.9995, 0.0005]))
    browser = open_report(report)
    Z, scores = report.coordinates, report.scores
    np.testing.assert_allclose(browser.plotted(), np.column_stack([Z[:, 0], scores]), rtol=1e-5, atol=PIXEL)
    assert browser.run("return document.getElementById('axis-y').selectedOptions[0].text") == "Outlier score"
    browser.choose("#axis-y", "Component 2")
    np.testing.assert_allclose(browser.plotted(), Z, rtol=1e-5, atol=PIXEL)
    assert browser.errors() == []


def test_colours_are_explained(open_report, wine):
    """A colour bar has a title; rows without a label, and classes that share a colour, are grey and say what they are."""
    values = dataclasses.replace(
        wine, target=Values(np.where(np.arange(178) == 3, np.nan, WINE[:, 0])), target_name="<b>acid"
    )
    browser = open_report(values)
    assert browser.find(".legend-title").text == "<b>acid"
    assert [button.text for button in browser.find_all("#legend button")] == ["no value"]
    cut = "(e) => e.scrollWidth > e.clientWidth"
    assert browser.run(f"return Array.from(document.querySelectorAll('#legend .bar span')).some({cut})") is False
    assert "no value" in browser.run("return pictureMarkup()")
    assert browser.run("return labelOf(3)") == ""
    assert browser.errors() == []
    names = [f"c{i % 40}" if i % 10 else "" for i in range(178)]
    browser = open_report(collect(fit(WINE), y=names))
    chips = [
        (button.text, button.find_element("css selector", "path").get_attribute("fill"))
        for button in browser.find_all("#legend button")
    ]
    assert [text for text, _ in chips[-2:]] == ["17 other classes", "no value"]
    assert {colour for _, colour in chips[-2:]} == {browser.run("return css('grey')")}
    assert all(text for text, _ in chips)
    assert browser.errors() == []


def test_hostile_text_is_shown_as_it_is(open_report, hostile):
    browser = open_report(hostile)
    assert browser.run("return window.hurt") is None
    assert browser.find_all("img") == []
    assert browser.driver.title == HOSTILE
    assert browser.find("#legend button").text == HOSTILE + "a"
    Z = hostile.coordinates
    row = int(np.linalg.norm(Z, axis=1).argmax())
    browser.point_at(browser.pixels(Z[row : row + 1])[0])
    number, name, label = browser.until("return !tip.hidden && tip.innerText").split("\n")
    assert number == f"Row {row}"
    assert name == (HOSTILE * 3)[:60] + "…"
    assert label == f"Label {HOSTILE}{'abc'[WINE_CLASS[row]]}"
    assert browser.run("return window.hurt") is None
    assert browser.errors() == []


@pytest.mark.parametrize(("name", "width", "height"), [("wide", 1280, 1250), ("phone", 390, 844)])
def test_looks_right_at_both_widths(open_report, wine, pictures, name, width, height):
    browser = open_report(wine, width=width, height=height, touch=name == "phone")
    assert browser.overflow() == []
    # With a finger, dragging scrolls the page until a tool is chosen.
    assert browser.run("return view.mode") == (None if name == "phone" else "zoom")
    browser.screenshot(pictures / f"report_{name}.png")
    light = np.asarray(Image.open(pictures / f"report_{name}.png").convert("L"))
    assert light.shape == (height, width)
    browser.prefer("dark")
    browser.settle()
    browser.screenshot(pictures / f"report_{name}_dark.png")
    dark = np.asarray(Image.open(pictures / f"report_{name}_dark.png").convert("L"))
    assert np.median(light) > 200
    assert np.median(dark) < 60
    assert browser.errors() == []


def test_long_names_fit_a_phone(open_report, hostile):
    browser = open_report(hostile, width=390, height=844, touch=True)
    assert browser.overflow() == []
    assert browser.run("return document.documentElement.scrollWidth") == 390
