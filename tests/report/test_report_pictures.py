"""The picture that a report page opens with, by its data and, where there is a browser, on the screen; and its colours."""

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from common import RANK_4, WINE, WINE_CLASS, fit
from elliptope import RKHSEmbedding
from elliptope.plotting.view import Options, picture
from elliptope.report.content import collect
from elliptope.report.pictures import shades
from elliptope.report.render import render
from html_page import Page, decode


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
        data = Page(render(report, "")).data()["picture"]
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
        assert len(frames) == (1 if view == "layout" else len(report.fits))
        own = frames[0 if view == "layout" else report.chosen]
        np.testing.assert_allclose(own, expected.positions, rtol=1e-5, atol=1e-6)
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
    # Nor are the coordinates behind it: up is the density.
    assert Page(render(report, "")).data()["up"] == 2
    assert "Up is the density, because two components would make a circle." in render(report, "")


def test_words_and_buttons(reports):
    names = {"plane": "Logarithmic radius", "ring": "Ring", "sphere": "Sphere", "layout": "Layout"}
    for view, report in reports.items():
        page = Page(render(report, ""))
        parts = {a["id"]: a for _, a in page.attributes if a.get("id", "").startswith("reading")}
        assert ("hidden" in parts["reading"]) == (view != "none")
        assert ("hidden" in parts["reading-picture"]) == (view == "none")
        assert (names.get(view) in page.texts["button"]) == (view != "none")
        says_layout = any("This is a layout, made by t-SNE from 4 coordinates" in text for text in page.texts["p"])
        assert says_layout == (view == "layout")


def test_columns_become_256_shades():
    n = 1000
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(n), np.ones(n), (np.arange(n) == 3).astype(float), rng.standard_normal(n) ** 9])
    made = shades(X)
    values = made.low[:, None] + made.steps / 255 * (made.high - made.low)[:, None]
    low, high = np.quantile(X[:, 0], [0.01, 0.99])
    np.testing.assert_allclose(values[0], np.clip(X[:, 0], low, high), atol=0.51 * (high - low) / 255)
    np.testing.assert_array_equal(values[1:3], X.T[1:3])  # one value; one row that differs
    assert np.ptp(values[3]) < 0.1 * np.ptp(X[:, 3])  # a single value does not use up the scale
    assert shades(np.ones((30_000, 300))).steps.shape == (133, 30_000)  # four megabytes
    assert shades(np.ones((10, 300))).steps.shape == (200, 10)


def test_colours_of_the_page(reports):
    data = Page(render(reports["none"], "")).data()
    assert [column["name"] for column in data["columns"]] == [f"column {j}" for j in range(13)]
    for j, column in enumerate(data["columns"]):
        values = column["low"] + decode(column["steps"], "u1") / 255 * (column["high"] - column["low"])
        step = (column["high"] - column["low"]) / 255
        np.testing.assert_allclose(values, np.clip(WINE[:, j], column["low"], column["high"]), atol=0.51 * step)
    kernel = np.exp(-((WINE[:, None] - WINE) ** 2).sum(axis=2) / 9)
    assert Page(render(collect(fit(kernel, kernel="precomputed")), "")).data()["columns"] == []


# In a browser


def press(browser, view):
    browser.find(f"[data-view={view}]").click()
    browser.until("return view.own === 0 && view.picture === arguments[0]", view == "picture")


def test_pictures_and_the_coordinates_behind_them(open_report, reports):
    for view in ("plane", "ring", "layout"):
        report = reports[view]
        browser = open_report(report)
        at = 0 if view == "layout" else report.chosen
        np.testing.assert_allclose(browser.plotted(), report.picture.frames[at], rtol=1e-5, atol=1e-6)
        assert not browser.find("#axis-x").is_displayed()
        title = browser.run("return scatter.querySelector('.xtitle').textContent")
        assert report.picture.note in title
        press(browser, "coordinates")
        up = report.scores if view == "ring" else report.frames[report.chosen][:, 1]
        expected = np.column_stack([report.frames[report.chosen][:, 0], up])
        np.testing.assert_allclose(browser.plotted(), expected, rtol=1e-5, atol=1e-6)
        assert browser.find("#axis-x").is_displayed()
        assert browser.find("#reading").is_displayed()
        assert not browser.find("#reading-picture").is_displayed()
        press(browser, "picture")
        np.testing.assert_allclose(browser.plotted(), report.picture.frames[at], rtol=1e-5, atol=1e-6)
        assert browser.errors() == []


def test_the_slider_moves_a_ring_and_leaves_a_layout(open_report, reports):
    ring = reports["ring"]
    browser = open_report(ring)
    other = 1 - ring.chosen
    browser.run("go(arguments[0])", other)
    browser.wait_for_frame(other)
    np.testing.assert_allclose(browser.plotted(), ring.picture.frames[other], rtol=1e-5, atol=1e-6)
    layout = reports["layout"]
    browser = open_report(layout)
    other = 1 - layout.chosen
    browser.run("go(arguments[0])", other)
    browser.wait_for_frame(other)
    browser.until("return !view.picture && view.own === 0")
    np.testing.assert_allclose(browser.plotted(), layout.frames[other][:, :2], rtol=1e-5, atol=1e-6)
    press(browser, "picture")  # which is that of the chosen fit
    browser.wait_for_frame(layout.chosen)
    np.testing.assert_allclose(browser.plotted(), layout.picture.frames[0], rtol=1e-5, atol=1e-6)
    assert browser.errors() == []


def test_a_sphere_is_turned_by_pointer_and_keys(open_report, reports):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    report = reports["sphere"]
    Z = report.frames[0][:, report.picture.columns]
    browser = open_report(report)
    np.testing.assert_allclose(browser.plotted(), Z[:, 1:], rtol=1e-5, atol=1e-6)
    assert browser.find("[data-mode=turn]").get_attribute("aria-pressed") == "true"
    centre, edge = browser.pixels([[0.0, 0.0], [0.5, 0.0]])
    browser.drag([centre, (centre + edge) / 2, edge])
    browser.until("return !view.turning && view.own === 0")
    turn = np.array(browser.run("return view.turn"))  # right, up, towards the eye
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(browser.plotted(), Z @ turn[:2].T, rtol=1e-5, atol=1e-6)
    # What was in the middle has gone to the right by half a radian.
    np.testing.assert_allclose(turn[:, 0], [np.sin(0.5), 0.0, np.cos(0.5)], atol=0.01)
    opacity = np.concatenate(browser.run("return scatter.data.map((t) => Array.from(t.marker.opacity))"))
    members = np.concatenate(browser.run("return groups.map((g) => g.members)")).astype(int)
    np.testing.assert_array_equal(opacity < 0.5, (Z @ turn[2] < 0)[members])
    browser.run("scatter.focus()")
    browser.press(keys.ARROW_LEFT)
    browser.until("return !view.turning && view.own === 0")
    after = np.array(browser.run("return view.turn"))
    assert after[0, 0] < turn[0, 0]
    press(browser, "coordinates")
    assert not browser.find("[data-mode=turn]").is_displayed()
    np.testing.assert_allclose(browser.plotted(), report.frames[0][:, :2], rtol=1e-5, atol=1e-6)
    assert browser.errors() == []


def test_points_are_coloured_by_whatever_is_chosen(open_report, reports):
    report = reports["none"]
    browser = open_report(report)
    members = np.concatenate(browser.run("return groups.map((g) => g.members)")).astype(int)
    colours = "return scatter.data.map(({ marker: { color } }) => (typeof color === 'string' ? [color] : [...color]))"
    choose = "colourSelect.value = arguments[0]; colourSelect.dispatchEvent(new Event('change'))"
    assert [len(c) for c in browser.run(colours)] == [1, 1, 1]
    low, high = np.quantile(WINE[:, 5], [0.01, 0.99])
    for choice, values, title, error in [
        ("density", report.scores, "Log density", 1e-6),
        ("5", np.clip(WINE[:, 5], low, high), "column 5", 0.51 * (high - low) / 255),
    ]:
        browser.run(choose, choice)
        browser.until("return view.own === 0 && scatter.querySelector('.cbtitle')?.textContent === arguments[0]", title)
        np.testing.assert_allclose(np.concatenate(browser.run(colours)), values[members], atol=error + 1e-6)
    browser.run(choose, "given")
    browser.until("return view.own === 0 && !scatter.querySelector('.cbtitle')")
    assert [len(c) for c in browser.run(colours)] == [1, 1, 1]
    assert browser.errors() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_fit_their_window(open_report, reports, width):
    for report in reports.values():
        browser = open_report(report, width=width, height=844, touch=width < 600)
        assert browser.overflow() == []


def test_a_layout_looks_right(open_report, pictures):
    """Every digit has an area of the plane in which its colour prevails."""
    X, y = load_digits(return_X_y=True)
    report = collect(fit(X / 16, kernel="neighbors"), y=y, y_name="digit", title="1797 handwritten digits", bandwidths=None)
    browser = open_report(report, width=1280, height=1000)
    nearest = NearestNeighbors(n_neighbors=10).fit(browser.plotted()).kneighbors(return_distance=False)
    assert (y[nearest] == y[:, None]).mean() > 0.8
    browser.screenshot(pictures / "report_layout.png")
    seen = np.asarray(Image.open(pictures / "report_layout.png").convert("RGB")).reshape(-1, 3)
    colours = browser.run("return scatter.data.map((t) => t.marker.color)")
    for colour in {tuple(bytes.fromhex(colour[1:])) for colour in colours}:
        assert (np.abs(seen.astype(int) - colour).max(axis=1) < 40).sum() > 200
    assert len(set(colours)) == 10
    assert browser.errors() == []
