"""What a reader does with a report page, in a browser: compare, search, look at rows, save files, look at many rows."""

import csv
import dataclasses
import io
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.stats import mannwhitneyu
from sklearn.datasets import load_wine

from common import WINE, WINE_CLASS, fit
from elliptope import MultiscaleEmbedding
from elliptope.plotting.targets import Classes, Values
from elliptope.report.content import collect
from elliptope.report.numbers import count_text, fixed_text, number_text, percent

chromium = pytest.importorskip("browser", reason="selenium is not installed", exc_type=ImportError)
pytestmark = pytest.mark.skipif(
    chromium.find_browser() is None, reason=f"no browser: none of {', '.join(chromium.BROWSERS)} is installed"
)

# The table before it was scaled, with text, and with a value that is missing.
TABLE = load_wine(as_frame=True).data.assign(grape=np.array(["Barolo", "Grignolino", "Barbera"])[WINE_CLASS])
TABLE.loc[0, "alcohol"] = np.nan
NAMES = [f"bottle {i}" for i in range(178)]


@pytest.fixture(scope="module")
def wine():
    return collect(fit(WINE), y=WINE_CLASS, y_name="cultivar", row_names=NAMES, columns=TABLE, title="Wine")


def many_rows(report, n):
    """The report with n rows in two groups."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 2
    coordinates = rng.standard_normal((n, 2)) * 0.1 + group[:, None]
    return dataclasses.replace(
        report,
        **{"rows": np.arange(n), "row_names": None, "coordinates": coordinates, "scores": rng.standard_normal(n)},
        **{"target": Classes(("a", "b"), group), "fields": (("noise", Values(rng.standard_normal(n))),)},
    )


def test_what_distinguishes_a_selection(open_report, wine):
    """Cliff's delta by scipy, medians by pandas; columns in the order of their effect, and a press colours by them."""
    browser = open_report(wine)
    assert not browser.find("#differences").is_displayed()
    browser.find("#query").send_keys("0-40", chromium.ENTER)
    browser.settle()
    rows = browser.run("return Array.from(differences.rows, (row) => Array.from(row.cells, (cell) => cell.textContent))")
    chosen = np.arange(178) <= 40
    expected = []
    fields = {**{name: TABLE[name] for name in TABLE.columns[:-1]}, "Outlier score": pd.Series(wine.scores)}
    for name, column in fields.items():
        one, two = column[chosen].dropna(), column[~chosen].dropna()
        delta = 2 * mannwhitneyu(one, two).statistic / (len(one) * len(two)) - 1
        expected.append((delta, [name, number_text(one.median()), number_text(two.median())]))
    share = (WINE_CLASS[~chosen] == 0).mean()
    for name, level in (("cultivar", "0"), ("grape", "Barolo")):  # all 41 rows are of one class
        expected.append((1 - share, [name, f"{level}: {percent(1)}", percent(share)]))
    expected.sort(key=lambda pair: -abs(pair[0]))
    found = [float(row[3].replace("\N{MINUS SIGN}", "-")) for row in rows]
    np.testing.assert_allclose(found, [delta for delta, _ in expected], atol=6e-4)
    assert sorted(row[:3] for row in rows) == sorted(texts for _, texts in expected)
    assert [row[0] for row in rows[:3]] == [texts[0] for _, texts in expected[:3]]
    button = browser.find("#differences button")
    button.click()
    browser.settle()
    assert browser.find(".legend-title").text == button.text
    browser.find("#clear").click()
    assert not browser.find("#differences").is_displayed()
    assert browser.errors() == []


def test_hover_shows_the_chosen_columns(open_report, wine):
    browser = open_report(wine)
    Z = wine.coordinates
    row = int(np.linalg.norm(Z, axis=1).argmax())
    browser.open_details("Hover shows")
    for box in browser.find_all("#hover-fields label"):
        if box.text in ("proline", "grape"):
            box.click()
    browser.choose("#colour", "hue")
    browser.point_at(browser.pixels(Z[row : row + 1])[0])
    lines = browser.until("return !tip.hidden && tip.innerText").split("\n")
    values = [f"{name} {number_text(TABLE[name][row])}" for name in ("hue", "proline")]
    assert lines == [f"Row {row}", f"bottle {row}", f"cultivar {WINE_CLASS[row]}", *values, f"grape {TABLE['grape'][row]}"]
    assert browser.errors() == []


def test_equal_rows_are_found_and_told(open_report):
    X = np.vstack([WINE, WINE[:1], WINE[:1]])
    report = collect(MultiscaleEmbedding(random_state=0).fit(X), row_names=[*NAMES, "Monaco", "Malta"])
    browser = open_report(report)
    browser.find("#query").send_keys("monaco", chromium.ENTER)
    browser.settle()
    assert browser.run("return view.selected") == [178]
    assert browser.run("return tipLines(178).at(-1)[1]") == "2 more rows at this place"
    assert browser.run("return tipLines(0).length - tipLines(5).length") == 1
    assert browser.errors() == []


def test_a_single_row_has_its_own_value(open_report):
    """In a column of more classes than there are colours."""
    makers = [f"maker {i // 3}" for i in range(178)]
    makers[0] = None
    browser = open_report(collect(fit(WINE), columns={"maker": makers}))
    assert browser.run("return report.fields[0].names.at(-1)") == "41 other classes"
    assert browser.run("return allRows().map((i) => textOf(report.fields[0], i))") == ["", *makers[1:]]
    browser.find("#query").send_keys("177", chromium.ENTER)
    browser.settle()
    row = "[...differences.rows].find((row) => row.innerText.includes('maker'))"
    cells = f"return Array.from({row}.cells, (cell) => cell.textContent)"
    assert browser.run(cells)[1:3] == [f"maker 59: {percent(1)}", percent(0)]  # no other row is of this maker
    browser.find("#query").clear()
    browser.find("#query").send_keys("175", chromium.ENTER)
    browser.settle()
    assert browser.run(cells)[1:3] == [f"maker 58: {percent(1)}", percent(2 / 176)]
    assert browser.errors() == []


def test_scales_fit_a_phone(open_report):
    report = collect(MultiscaleEmbedding(random_state=0).fit(WINE), y=WINE_CLASS, columns=TABLE)
    browser = open_report(report, width=390, height=844, touch=True)
    assert browser.overflow() == []


def test_dates_are_shown_as_dates(open_report):
    days = np.datetime64("2013-01-01") + np.arange(178) * np.timedelta64(44, "h")
    days[3] = np.datetime64("NaT")
    report = collect(fit(WINE), columns={"when": days})
    browser = open_report(report)
    browser.choose("#colour", "when")
    assert [span.text for span in browser.find_all("#legend .bar span")] == [
        str(days[k])[:10] for k in (2, 175)
    ]  # quantiles
    assert browser.run("return [0, 3, 177].map((i) => textOf(report.fields[0], i))") == [
        "2013-01-01",
        "",
        str(days[177])[:10],
    ]
    browser.find("#query").send_keys("177", chromium.ENTER)
    browser.settle()
    assert browser.run("return differences.rows[0].cells[1].textContent") == str(days[177])[:10]
    assert browser.run("return selectionTable()").splitlines()[1] == f"177,{str(days[177])[:10]}"
    assert "2013-01-01" in browser.run("return document.querySelector('[aria-label=\"Table of columns\"]').innerText")
    assert browser.errors() == []


def test_search_and_press(open_report, wine):
    """Rows are found by number or name, and brought into view; a press selects a row, with shift one more."""
    browser = open_report(wine)
    browser.run("setRange({ x: [5, 6], y: [5, 6] })")
    # A whole name is that row alone, a part of names all rows that have it.
    for query, rows in (("bottle 17, 3", [3, 17]), ("bottle 17", [17]), ("ottle 17, 3", [3, 17, *range(170, 178)])):
        browser.find("#query").clear()
        browser.find("#query").send_keys(query, chromium.ENTER)
        browser.settle()
        assert browser.run("return view.selected") == rows
    assert browser.run("return view.selected.every(inBox)")
    Z = wine.coordinates
    order = np.argsort(-np.linalg.norm(Z, axis=1))[:2]
    browser.click(browser.pixels(Z[order[:1]])[0])
    assert browser.run("return view.selected") == [order[0]]
    browser.click(browser.pixels(Z[order[1:]])[0], shift=True)
    assert browser.run("return view.selected") == sorted(order.tolist())
    assert browser.errors() == []


def test_files_to_save(open_report, wine):
    browser = open_report(wine)
    browser.choose("#colour", "proline")
    browser.open_details("Export")
    browser.find("#export-svg").click()
    drawing = ET.fromstring(browser.downloaded("map.svg"))
    paths = [path for path in drawing.iter("{http://www.w3.org/2000/svg}path") if "translate" in path.get("transform", "")]
    places = np.array([path.get("transform")[10:].split(")")[0].split() for path in paths], dtype=float)
    at = np.array(browser.run("return [Array.from(view.at[0]), Array.from(view.at[1])]")).T
    np.testing.assert_allclose(places, at, atol=0.051)
    texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Component 1", "Component 2", "proline"} <= set(texts)
    browser.find("#export-png").click()
    image = Image.open(io.BytesIO(browser.downloaded("map.png")))
    assert image.size == (2 * int(drawing.get("width")), 2 * int(drawing.get("height")))
    assert len(set(image.convert("RGB").getdata())) > 50  # not empty
    browser.find("#export-coordinates").click()
    lines = list(csv.DictReader(io.StringIO(browser.downloaded("coordinates.csv").decode())))
    assert list(lines[0]) == ["row", "name", "label", "Component 1", "Component 2", "Outlier score"]
    assert [line["name"] for line in lines] == NAMES
    coordinates = [[float(line[f"Component {k}"]) for k in (1, 2)] for line in lines]
    np.testing.assert_allclose(coordinates, wine.coordinates, rtol=1e-6, atol=1e-9)
    assert browser.errors() == []


def test_many_rows_are_drawn_as_density(open_report, wine):
    report = many_rows(wine, 30_000)
    browser = open_report(report)
    assert browser.run("return view.dense")
    assert browser.find("#drawn").text.startswith("More than 20\N{NARROW NO-BREAK SPACE}000 points are in view")
    strength = """
    const [x, y] = toPixels(...arguments[0]);
    const { data } = canvas.getContext("2d").getImageData(x - 6, y - 6, 12, 12);
    return data.reduce((sum, value, k) => sum + (k % 4 === 3 ? value : 0), 0);
    """
    # The middle of a group is stronger than its edge, and there is nothing between the groups.
    assert browser.run(strength, [1, 1]) > browser.run(strength, [1.2, 1]) > browser.run(strength, [0.5, 0.5]) == 0
    browser.run("setRange({ x: [-0.5, 0.5], y: [-0.5, 0.5] })")
    browser.settle()
    assert not browser.run("return view.dense")  # 15 000 rows are drawn singly
    assert not browser.find("#drawn").is_displayed()
    browser.find("#reset").click()
    browser.find("#query").send_keys("a", chromium.ENTER)
    browser.settle()
    assert browser.find("#selected").text.startswith(count_text(15_000, "row"))
    assert browser.run(strength, [0, 0]) > 2 * browser.run(strength, [1, 1]) > 0
    browser.open_details("Export")
    browser.find("#export-svg").click()
    assert b'href="data:image/png' in browser.downloaded("map.svg")
    assert browser.errors() == []


def test_numbers_are_written_one_way(open_report, wine):
    values = [0, 1, -1.5, 0.12345, 12.3456, 1999, 12345.6, -9999999, 1e7, 123456789]
    values += [1e-4, 0.00012345, 9.9e-5, -1.23456e-7, 99.996]
    browser = open_report(wine)
    expected = [number_text(value) for value in values]
    assert browser.run("return arguments[0].map(numberText)", values) == expected
    assert expected[4:9] == ["12.35", "1999", "12 346".replace(" ", "\u202f"), "−9\u202f999\u202f999", "1\u00a0×\u00a010⁷"]
    assert browser.run("return [NaN, Infinity].map(numberText)") == ["", ""] == [number_text(np.nan), number_text(np.inf)]
    small = [0.9, -1.25, -0.0001, 0]
    expected = ["0.900", "−1.250", "0.000", "0.000"]
    assert browser.run("return arguments[0].map(fixedText)", small) == expected == [fixed_text(value) for value in small]
    assert browser.run("return [0.1234, 1].map(percent)") == [percent(0.1234), percent(1)]
