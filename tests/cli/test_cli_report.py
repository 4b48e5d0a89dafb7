"""`elliptope report` gives what the same steps give in Python."""

import types

import numpy as np
import pytest

from commandline import CLASSES, RAW, SDP, same, write_csv


@pytest.fixture
def calls(monkeypatch):
    """A page that notes what it is asked for, and is empty."""
    calls = []

    def collect(est, **options):
        calls.append((est, options))
        return types.SimpleNamespace(n_equal=0)

    monkeypatch.setattr("elliptope.cli.commands.report.collect", collect)
    monkeypatch.setattr("elliptope.cli.commands.report.page_bytes", lambda report: b"a page")
    return calls


def test_of_a_table(cli, raw_wine, tmp_path, calls, reference):
    page, coordinates, model = (str(tmp_path / name) for name in ("r.html", "z.csv", "m"))
    argv = ("report", raw_wine, *SDP, "--label", "class", "-o", page, "--title", "Wine")
    outcome = cli(*argv, "--coordinates", coordinates, "--save-model", model, "--json")
    assert outcome.code == 0
    (est, options) = calls[0]
    same(est.embedding_, reference.embedding_)
    assert (tmp_path / "r.html").read_bytes() == b"a page"
    assert options["y"].tolist() == CLASSES
    assert options["title"] == "Wine"
    np.testing.assert_allclose(np.column_stack(list(options["columns"].values())), RAW.data, rtol=1e-9)  # not scaled
    assert options["first_row"] == 1  # as in all that is said about tables
    assert "used standardised columns" in options["preparation"]
    facts = outcome.json
    assert (facts["output"], facts["model"], facts["coordinates"]) == (page, model, coordinates)
    assert cli("report", model, "-o", page).code == 1
    assert cli("report", model, "-o", page, "--force").code == 0
    (est, options) = calls[1]
    same(est.embedding_, reference.embedding_)
    assert options["y"].tolist() == CLASSES
    assert options["title"] == raw_wine.name
    np.testing.assert_allclose(np.column_stack(list(options["columns"].values())), RAW.data, rtol=1e-9)


def test_numbers_colour_as_numbers(cli, tmp_path, calls):
    rows = [["x", "y", "kind", "name"], *([i % 5, i * i % 7, i / 4, f"r{i}"] for i in range(20))]
    argv = ("report", write_csv(tmp_path / "t.csv", rows), *SDP, "--label", "kind", "--id", "name")
    assert cli(*argv, "-o", tmp_path / "r.html").code == 0
    options = calls[0][1]
    assert options["y_name"] == "kind"
    same(options["y"], np.arange(20) / 4)
    assert options["row_names"] == [f"r{i}" for i in range(20)]


@pytest.mark.parametrize("method", ["sdp", "multiscale"])
def test_scale_of_the_columns_is_told(cli, tmp_path, calls, method):
    np.save(tmp_path / "wine.npy", RAW.data)
    assert cli("report", tmp_path / "wine.npy", "--method", method, "-o", tmp_path / "r.html").code == 0
    spread = RAW.data.std(axis=0)
    assert "not standardised" in calls[0][1]["preparation"]
    assert f"differ {spread.max() / spread.min():.0f}-fold in spread" in calls[0][1]["preparation"]


@pytest.mark.parametrize("method", ["multiscale", "sdp", "rkhs"])
def test_real_page(cli, raw_wine, tmp_path, method):
    page = tmp_path / "r.html"
    assert cli("report", raw_wine, "--method", method, "--label", "class", "-o", page).code == 0
    assert "class_0" in page.read_text("utf-8")


def test_few_options(cli):
    """A page of a table needs no more; all else has its place in Python."""
    lines = cli("report", "--help").out.decode().splitlines()
    assert len([line for line in lines if line.startswith("  -")]) <= 18
