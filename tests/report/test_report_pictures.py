"""The picture that a report page opens with, by its data and, where there is a browser, on the screen; and its colours."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits, load_wine
from sklearn.neighbors import NearestNeighbors

from common import RANK_4, WINE, WINE_CLASS, fit
from elliptope import RKHSEmbedding
from elliptope.plotting.view import Options, picture
from elliptope.report.content import collect
from elliptope.report.fields import embedded_fields
from elliptope.report.numbers import number_text
from elliptope.report.render import render
from html_page import Page, decode

# What is drawn is known to a part of a pixel.
PIXEL = 1e-3


def far_out():
    """Three groups, and rows that resemble no other and each other."""
    rng = np.random.default_rng(0)
    groups = [rng.standard_normal((300, 2)) + centre for centre in ([0, 0], [6, 0], [0, 6])]
    return np.vstack([*groups, 40 * rng.standard_normal((5, 2))])


@pytest.fixture(scope="module")
def reports():
    """A report for every view, and for rows on a sphere; "none" opens with the coordinates."""
    return {
        "none": collect(fit(WINE, bandwidth=2.0), y=WINE_CLASS),
        "plane": collect(fit(far_out(), bandwidth=5.0)),
        "ring": collect(fit(WINE, bandwidth=2.0, normalize="unit"), y=WINE_CLASS),
        "sphere": collect(RKHSEmbedding(random_state=0).fit(WINE), y=WINE_CLASS),
        "layout": collect(fit(RANK_4, bandwidth=2.0)),
    }


def test_the_page_has_the_picture_of_the_displays(reports):
    for view, report in reports.items():
        data = Page(render(report)).data()["picture"]
        if view == "none":
            assert data is None
            continue
        Z = report.coordinates
        expected = picture(Z, Options(len(Z), Z), "layout" if view == "sphere" else "auto")  # as it cannot be turned
        assert (data["view"], data["note"], tuple(data["columns"])) == (expected.view, expected.note, expected.columns)
        positions = decode(data["positions"], "<f4").reshape(2, len(Z)).T
        np.testing.assert_allclose(positions, expected.positions, rtol=1e-5, atol=PIXEL)
        assert [circle["label"] for circle in data["circles"]] == [circle.label for circle in expected.circles]


def test_a_ring_is_no_bare_circle(reports):
    report = reports["ring"]
    drawn = report.picture.positions
    np.testing.assert_allclose(np.arctan2(*drawn.T), np.arctan2(*report.coordinates.T), atol=1e-9)
    lengths = np.linalg.norm(drawn, axis=1)
    assert lengths.min() >= 1 - 1e-9
    assert lengths.max() > 1.3
    # Nor are the coordinates behind it: up is the outlier score.
    assert Page(render(report)).data()["up"] == 2
    assert "Up is the outlier score, because two components would make a circle." in render(report)


def test_words_and_buttons(reports):
    names = {"plane": "Logarithmic radius", "ring": "Ring", "sphere": "Layout", "layout": "Layout"}
    for view, report in reports.items():
        page = Page(render(report))
        parts = {a["id"]: a for _, a in page.attributes if a.get("id", "").startswith("reading")}
        assert ("hidden" in parts["reading"]) == (view != "none")
        assert ("hidden" in parts["reading-picture"]) == (view == "none")
        assert (names.get(view) in page.texts["button"]) == (view != "none")
        says_layout = any("This is a layout, made by t-SNE from" in text for text in page.texts["p"])
        assert says_layout == (names.get(view) == "Layout")
        beside_certificate = any("The map is a layout by t-SNE of the coordinates" in text for text in page.texts["p"])
        assert beside_certificate == (names.get(view) == "Layout")


def test_columns_of_the_page(reports):
    data = Page(render(reports["none"])).data()
    label, *columns = data["fields"]
    assert (data["target"], label["name"]) == (0, "Label")
    np.testing.assert_array_equal(decode(label["codes"], "<i4"), WINE_CLASS)
    assert [column["name"] for column in columns] == [f"column {j}" for j in range(13)]
    for j, column in enumerate(columns):
        np.testing.assert_allclose(decode(column["values"], "<f4"), WINE[:, j], rtol=1e-6)
    kernel = np.exp(-((WINE[:, None] - WINE) ** 2).sum(axis=2) / 9)
    assert Page(render(collect(fit(kernel, kernel="precomputed")))).data()["fields"] == []


def test_as_many_columns_as_a_page_can_hold():
    assert len(embedded_fields(np.ones((40_000, 300)), [str(j) for j in range(300)])) == 100  # sixteen megabytes
    assert len(embedded_fields(np.ones((10, 300)), [str(j) for j in range(300)])) == 200


def test_columns_that_were_not_embedded():
    grape = np.array(["a", "b", ""])[WINE_CLASS]
    table = pd.DataFrame({"proline": load_wine().data[:, 12], "grape": grape, "old": WINE_CLASS > 1})
    table.loc[3, "proline"] = np.nan
    report = collect(fit(WINE, bandwidth=2.0), columns=table)
    proline, grape, old = Page(render(report)).data()["fields"]
    np.testing.assert_allclose(decode(proline["values"], "<f4"), table["proline"], rtol=1e-6)
    assert (grape["names"], old["names"]) == (["a", "b"], ["False", "True"])
    np.testing.assert_array_equal(decode(grape["codes"], "<i4"), np.where(WINE_CLASS == 2, -1, WINE_CLASS))
    with pytest.raises(ValueError, match=r"`columns\['x'\]` must have one entry per row"):
        collect(fit(WINE), columns={"x": [1.0]})
    with pytest.raises(TypeError, match="`columns` must be a data frame or a mapping"):
        collect(fit(WINE), columns=[1.0])


# In a browser


def press(browser, view):
    browser.find(f"[data-view={view}]").click()
    browser.settle()
    assert browser.run("return view.picture") == (view == "picture")


def test_pictures_and_the_coordinates_behind_them(open_report, reports):
    for view in ("plane", "ring", "layout"):
        report = reports[view]
        browser = open_report(report)
        np.testing.assert_allclose(browser.plotted(), report.picture.positions, rtol=1e-5, atol=PIXEL)
        assert not browser.find("#axis-x").is_displayed()
        title = browser.run("return scatter.querySelector('.across').textContent")
        assert report.picture.note in title
        press(browser, "coordinates")
        up = report.scores if view == "ring" else report.coordinates[:, 1]
        expected = np.column_stack([report.coordinates[:, 0], up])
        if view == "plane":  # rows that would squash the others are drawn at the edge
            assert browser.find("#drawn").text == "5 rows farther out are drawn at the edge."
            edges = np.array(browser.run("return [view.range.x, view.range.y]")).T
            assert (np.clip(expected, *edges) != expected).any(axis=1).sum() == 5
            expected = np.clip(expected, *edges)
        np.testing.assert_allclose(browser.plotted(), expected, rtol=1e-5, atol=PIXEL)
        assert browser.find("#axis-x").is_displayed()
        assert browser.find("#reading").is_displayed()
        assert not browser.find("#reading-picture").is_displayed()
        press(browser, "picture")
        np.testing.assert_allclose(browser.plotted(), report.picture.positions, rtol=1e-5, atol=PIXEL)
        assert browser.errors() == []


def colours(browser):
    """The colour of every row, as it is drawn."""
    return np.array(browser.run("return Array.from(paint().of, (k) => paint().styles[k].colour)"))


def test_points_are_coloured_by_whatever_is_chosen(open_report, reports):
    """Colours follow the values, and the legend has the title and both ends of them."""
    report = reports["none"]
    browser = open_report(report)
    by_class = colours(browser)
    assert [len(set(by_class[k == WINE_CLASS])) for k in range(3)] == [1, 1, 1]
    assert len(set(by_class)) == 3
    assert browser.find(".legend-title").text == "Label"
    for title, values in (("Outlier score", report.scores), ("column 5", WINE[:, 5])):
        browser.choose("#colour", title)
        shades = browser.run("return Array.from({ length: STEPS }, (_, k) => paint().styles[k].colour)")
        steps = np.array([shades.index(colour) for colour in colours(browser)])
        low, high = np.quantile(values, [0.01, 0.99], method="nearest")
        np.testing.assert_allclose(steps, 63 * np.clip((values - low) / (high - low), 0, 1), atol=0.51)
        assert browser.find("#legend").text.split("\n") == [title, number_text(low), number_text(high)]
    browser.choose("#colour", "Label")
    assert (colours(browser) == by_class).all()
    assert browser.errors() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_fit_their_window(open_report, reports, width):
    for report in reports.values():
        browser = open_report(report, width=width, height=844, touch=width < 600)
        assert browser.overflow() == []


def test_long_notes_stay_within_the_map(open_report, reports):
    note = "layout (t-SNE) of 67 coordinates, by 10000 of 20461 rows"
    layout = next(report for report in reports.values() if report.picture and report.picture.view == "layout")
    long = dataclasses.replace(layout, picture=dataclasses.replace(layout.picture, note=note))
    browser = open_report(long, width=390, height=844, touch=True)
    left, right = browser.run(
        "const box = document.querySelector('.across').getBoundingClientRect(); return [box.left, box.right]"
    )
    edges = browser.run("const box = scatter.getBoundingClientRect(); return [box.left, box.right]")
    assert edges[0] <= left < right <= edges[1]


def test_a_layout_looks_right(open_report, pictures):
    """Every digit has an area of the plane in which its colour prevails."""
    X, y = load_digits(return_X_y=True)
    report = collect(fit(X / 16, kernel="neighbors"), y=y, y_name="digit", title="1797 handwritten digits")
    browser = open_report(report, width=1280, height=1000)
    nearest = NearestNeighbors(n_neighbors=10).fit(browser.plotted()).kneighbors(return_distance=False)
    assert (y[nearest] == y[:, None]).mean() > 0.8
    browser.screenshot(pictures / "report_layout.png")
    seen = np.asarray(Image.open(pictures / "report_layout.png").convert("RGB")).reshape(-1, 3)
    drawn = set(colours(browser))
    for colour in (tuple(bytes.fromhex(colour[1:])) for colour in drawn):
        assert (np.abs(seen.astype(int) - colour).max(axis=1) < 40).sum() > 200
    assert len(drawn) == 10
    assert browser.errors() == []
