"""The report as a file: complete, always the same, never half-written; and what is refused."""

import dataclasses

import numpy as np
import pytest

from common import WINE, WINE_CLASS, fit
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from elliptope.plotting.targets import Classes
from elliptope.report import write_report
from elliptope.report.content import collect
from elliptope.report.render import render
from html_page import Page


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=2.0)


def test_a_table_becomes_one_file_that_loads_nothing(tmp_path):
    path = write_report(WINE, tmp_path / "page.html", y=WINE_CLASS)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    text = path.read_text(encoding="utf-8")
    assert len(text) < 1.5e6
    page = Page(text)
    for _, attributes in page.attributes:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
    policy = next(a["content"] for tag, a in page.attributes if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    assert "://" not in "".join(page.texts["style"])


def test_the_same_input_gives_the_same_file(tmp_path):
    one, two = (write_report(WINE, tmp_path / name).read_bytes() for name in ("1.html", "2.html"))
    assert one == two


def test_ten_thousand_rows_make_a_small_file(wine):
    report = collect(wine)
    n = 10_000
    rng = np.random.default_rng(0)
    large = dataclasses.replace(
        report,
        rows=np.arange(n),
        coordinates=rng.standard_normal((n, 6)),
        target=Classes(("a", "b"), rng.integers(0, 2, n)),
        scores=rng.standard_normal(n),
        fields=(),
    )
    # 9 numbers of 4 bytes per row, a third more in base64.
    assert len(render(large)) < 0.6e6


def test_existing_files_are_kept(tmp_path, wine):
    path = tmp_path / "page.html"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="exists; pass overwrite=True"):
        write_report(wine, path)
    assert path.read_text() == "precious"
    write_report(wine, path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_failure_leaves_nothing_behind(tmp_path, wine, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(wine, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"y": [1, 2]}, ValueError, r"`y` .* \(178,\), got shape \(2,\)"),
        ({"labels": ["a"]}, ValueError, r"`labels` .* got shape \(1,\)"),
        ({"labels": {0: "a"}}, ValueError, "`labels` must hold a label for every row when `y` is not given"),
        ({"row_names": ["a"] * 177}, ValueError, r"`row_names` .* got shape \(177,\)"),
        ({"feature_names": ["a"]}, ValueError, "`feature_names` must name 13 columns, got 1"),
        ({"title": 5}, TypeError, "`title` must be a string, got 5"),
        ({"output": 5}, TypeError, "`output` must be a path, got 5"),
        ({"output": "nowhere/page.html"}, FileNotFoundError, "no such folder"),
        ({"output": "."}, IsADirectoryError, "folder"),
    ],
)
def test_bad_arguments_are_named(tmp_path, monkeypatch, wine, options, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        write_report(wine, **{"output": "page.html", **options})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (DiffusionMap().fit(WINE), TypeError, "`X_or_estimator` must be a table, a fitted MultiscaleEmbedding, SDPE"),
        (SDPEmbedding(), ValueError, "not fitted yet"),
        (RKHSEmbedding(random_state=0).fit(np.r_[WINE, WINE]), ValueError, "must have kept all rows, got 178 points"),
    ],
)
def test_estimators_that_cannot_be_shown(tmp_path, estimator, error, message):
    with pytest.raises(error, match=message):
        write_report(estimator, tmp_path / "page.html")
