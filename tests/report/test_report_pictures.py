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
    """A report for every view, three of them with a slider; "none" opens with the coordinates."""
    return {
        "none": collect(fit(WINE, bandwidth=2.0), y=WINE_CLASS, bandwidths=None),
        "plane": collect(fit(far_out(), bandwidth=5.0), bandwidths=[6.0]),
        "ring": collect(fit(WINE, bandwidth=2.0, normalize="unit"), y=WINE_CLASS, bandwidths=[3.0]),
        "sphere": collect(RKHSEmbedding(random_state=0).fit(WINE), y=WINE_CLASS, bandwidths=None),
        "layout": collect(fit(RANK_4, bandwidth=2.0), bandwidths=[2.5]),
    }


def test_the_page_has_the_picture_of_the_displays(reports):
    for view, report in reports.items():
        data = Page(render(report)).data()["picture"]
        if view == "none":
            assert data is None
            continue
        Z = report.fits[report.chosen].embedding
        expected = picture(Z, Options(len(Z), Z))
        assert (data["view"], data["note"], tuple(data["columns"])) == (view, expected.note, expected.columns)
        if view == "sphere":
            assert data["frames"] is None  # the page turns the coordinates
            continue
        frames = decode(data["frames"], "<f4").reshape(-1, 2, len(Z)).transpose(0, 2, 1)
        assert len(frames) == len(report.fits)
        np.testing.assert_allclose(frames[report.chosen], expected.positions, rtol=1e-5, atol=PIXEL)
        assert [circle["label"] for circle in data["circles"]] == [circle.label for circle in expected.circles]


def test_all_bandwidths_have_one_scale_of_the_radius(reports):
    report = reports["plane"]
    inner = report.picture.circles[0].radius
    largest = np.linalg.norm(report.fits[report.chosen].embedding, axis=1).max()
    other = report.frames[1 - report.chosen]
    lengths = np.linalg.norm(other, axis=1)
    expected = np.where(lengths > inner, inner * (1 + np.log(lengths / inner) / np.log(largest / inner)), lengths)
    np.testing.assert_allclose(np.linalg.norm(report.picture.frames[1 - report.chosen], axis=1), expected, rtol=1e-9)


def test_a_ring_is_a_ring_at_every_bandwidth(reports):
    report = reports["ring"]
    for frame, drawn in zip(report.frames, report.picture.frames, strict=True):
        np.testing.assert_allclose(np.arctan2(*drawn.T), np.arctan2(*frame.T), atol=1e-9)
        lengths = np.linalg.norm(drawn, axis=1)
        assert lengths.min() >= 1 - 1e-9
        assert lengths.max() > 1.3  # and no bare circle
    # Nor are the coordinates behind it: up is the outlier score.
    assert Page(render(report)).data()["up"] == 2
    assert "Up is the outlier score, because two components would make a circle." in render(report)


def test_words_and_buttons(reports):
    names = {"plane": "Logarithmic radius", "ring": "Ring", "sphere": "Sphere", "layout": "Layout"}
    for view, report in reports.items():
        page = Page(render(report))
        parts = {a["id"]: a for _, a in page.attributes if a.get("id", "").startswith("reading")}
        assert ("hidden" in parts["reading"]) == (view != "none")
        assert ("hidden" in parts["reading-picture"]) == (view == "none")
        assert (names.get(view) in page.texts["button"]) == (view != "none")
        says_layout = any("This is a layout, made by t-SNE from 4 coordinates" in text for text in page.texts["p"])
        assert says_layout == (view == "layout")
        beside_certificate = any("The map is a layout by t-SNE of the coordinates" in text for text in page.texts["p"])
        assert beside_certificate == (view == "layout")


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
    report = collect(fit(WINE, bandwidth=2.0), columns=table, bandwidths=None)
    proline, grape, old = Page(render(report)).data()["fields"]
    np.testing.assert_allclose(decode(proline["values"], "<f4"), table["proline"], rtol=1e-6)
    assert (grape["names"], old["names"]) == (["a", "b"], ["False", "True"])
    np.testing.assert_array_equal(decode(grape["codes"], "<i4"), np.where(WINE_CLASS == 2, -1, WINE_CLASS))
    with pytest.raises(ValueError, match=r"`columns\['x'\]` must have one entry per row"):
        collect(fit(WINE), columns={"x": [1.0]}, bandwidths=None)
    with pytest.raises(TypeError, match="`columns` must be a data frame or a mapping"):
        collect(fit(WINE), columns=[1.0], bandwidths=None)


# In a browser


def press(browser, view):
    browser.find(f"[data-view={view}]").click()
    browser.settle()
    assert browser.run("return view.picture") == (view == "picture")


def test_pictures_and_the_coordinates_behind_them(open_report, reports):
    for view in ("plane", "ring", "layout"):
        report = reports[view]
        browser = open_report(report)
        at = report.chosen
        np.testing.assert_allclose(browser.plotted(), report.picture.frames[at], rtol=1e-5, atol=PIXEL)
        assert not browser.find("#axis-x").is_displayed()
        title = browser.run("return scatter.querySelector('.across').textContent")
        assert report.picture.note in title
        press(browser, "coordinates")
        up = report.scores[at] if view == "ring" else report.frames[report.chosen][:, 1]
        expected = np.column_stack([report.frames[report.chosen][:, 0], up])
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
        np.testing.assert_allclose(browser.plotted(), report.picture.frames[at], rtol=1e-5, atol=PIXEL)
        assert browser.errors() == []


def test_the_slider_moves_pictures(open_report, reports):
    for view in ("ring", "layout"):
        report = reports[view]
        browser = open_report(report)
        other = 1 - report.chosen
        browser.run("go(arguments[0])", other)
        browser.wait_for_frame(other)
        np.testing.assert_allclose(browser.plotted(), report.picture.frames[other], rtol=1e-5, atol=PIXEL)
        assert browser.errors() == []


def test_the_slider_leaves_a_layout_of_one_fit(open_report, reports):
    layout = reports["layout"]
    drawn = dataclasses.replace(layout.picture, frames=layout.picture.frames[[layout.chosen]])
    browser = open_report(dataclasses.replace(layout, picture=drawn))
    other = 1 - layout.chosen
    browser.run("go(arguments[0])", other)
    browser.wait_for_frame(other)
    assert not browser.run("return view.picture")
    np.testing.assert_allclose(browser.plotted(), layout.frames[other][:, :2], rtol=1e-5, atol=PIXEL)
    press(browser, "picture")  # which is that of the chosen fit
    browser.wait_for_frame(layout.chosen)
    np.testing.assert_allclose(browser.plotted(), drawn.frames[0], rtol=1e-5, atol=PIXEL)
    assert browser.errors() == []


def test_a_sphere_is_turned_by_pointer_and_keys(open_report, reports):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    report = reports["sphere"]
    Z = report.frames[0][:, report.picture.columns]
    browser = open_report(report)
    np.testing.assert_allclose(browser.plotted(), Z[:, 1:], rtol=1e-5, atol=PIXEL)
    assert browser.find("[data-mode=turn]").get_attribute("aria-pressed") == "true"
    centre, edge = browser.pixels([[0.0, 0.0], [0.5, 0.0]])
    browser.drag([centre, (centre + edge) / 2, edge])
    browser.settle()
    turn = np.array(browser.run("return view.turn"))  # right, up, towards the eye
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(browser.plotted(), Z @ turn[:2].T, rtol=1e-5, atol=PIXEL)
    # What was in the middle has gone to the right by half a radian.
    np.testing.assert_allclose(turn[:, 0], [np.sin(0.5), 0.0, np.cos(0.5)], atol=0.01)
    faint = browser.run("return layers(visibleRows()).filter(({ opacity }) => opacity < 0.5).flatMap(({ rows }) => rows)")
    assert faint == np.flatnonzero(Z @ turn[2] < 0).tolist()
    browser.run("scatter.focus()")
    browser.press(keys.ARROW_LEFT)
    browser.settle()
    after = np.array(browser.run("return view.turn"))
    assert after[0, 0] < turn[0, 0]
    press(browser, "coordinates")
    assert not browser.find("[data-mode=turn]").is_displayed()
    np.testing.assert_allclose(browser.plotted(), report.frames[0][:, :2], rtol=1e-5, atol=PIXEL)
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
    for title, values in (("Outlier score", report.scores[0]), ("column 5", WINE[:, 5])):
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
    report = collect(fit(X / 16, kernel="neighbors"), y=y, y_name="digit", title="1797 handwritten digits", neighbors=None)
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
