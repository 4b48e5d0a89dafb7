"""What in a table may be no data is said: codes for missing values, a row of sums, identifiers, names that repeat."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import elliptope
from commandline import write_csv
from elliptope.cli import load_pipeline

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 9, size=(40, 3)).round(2)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(rows, header=("a", "b", "c")):
        write_csv(tmp_path / "t.csv", [header, *rows])

    return write


class TestMissingCodes:
    @pytest.mark.parametrize("code", ["-999", "-9", "99", "9999.0"])
    def test_far_ones_are_doubted(self, cli, table, code):
        rows = X.tolist()
        rows[3][1] = rows[7][1] = rows[7][2] = code
        table(rows)
        number = f"{float(code):.0f}"
        said = f"{number} in 'b', 'c', far from all other numbers there; if that means a missing value, empty these cells"
        assert f"warning: t.csv: {said}" in cli("embed", "t.csv").err
        cli("report", "t.csv", "-o", "r.html")
        assert said[:40].replace("'", "&#x27;") in Path("r.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize("value", [-998, 20, 99])
    def test_others_are_not(self, cli, table, value):
        rows = (X * 12).tolist()
        rows[3][1] = value
        table(rows)
        assert "far from" not in cli("embed", "t.csv").err


@pytest.mark.parametrize("name", ["Total", "SUMME:", "Grand total"])
def test_a_last_row_of_sums(cli, table, name):
    named = [[f"n{k}", *row] for k, row in enumerate(X.tolist())]
    table([*named, [name, *X.sum(axis=0)]], ("name", "a", "b", "c"))
    for options in ([], ["--id", "name"]):
        assert (
            f"row 41 (line 42), the last, is called {name!r}; if it sums up the others"
            in cli("embed", "t.csv", *options).err
        )
    table([[name, *X.sum(axis=0)], *named], ("name", "a", "b", "c"))
    assert "sums up" not in cli("embed", "t.csv").err


@pytest.mark.parametrize("name", ["ID", "patient_id", "ZIP", "zip_code", "PLZ", "PostalCode"])
def test_identifiers_are_no_measurements(cli, table, name):
    table([[1000 + 7 * (k // 2), *row] for k, row in enumerate(X.tolist())], (name, "a", "b", "c"))
    assert (
        f"warning: t.csv: column 1 ({name!r}) is used as a number; --drop {name} leaves it out" in cli("embed", "t.csv").err
    )
    assert "used as a number" not in cli("embed", "t.csv", "--columns", "1-4").err
    said = cli("report", "t.csv", "-o", "r.html").err
    assert f"{name} (identifiers)" in said
    assert "40 rows, 3 features" in said


@pytest.mark.parametrize("name", ["paid", "zipped", "humid"])
def test_other_names_are(cli, table, name):
    table([[1000 + 7 * (k // 2), *row] for k, row in enumerate(X.tolist())], (name, "a", "b", "c"))
    assert "40 rows, 4 features" in cli("report", "t.csv", "-o", "r.html").err


def test_names_that_repeat(cli, table):
    """Where one of the columns is not used, the page has both, by their places."""
    table([[*row, f"{row[0]} kg", *row[1:2]] for row in X.tolist()], ("a", "b", "w", "w", "v"))
    outcome = cli("report", "t.csv", "-o", "r.html")
    assert outcome.code == 0
    assert "several columns have the name 'w'" in outcome.err
    page = Path("r.html").read_text(encoding="utf-8")
    assert "w (column 3)" in page
    assert "w (column 4)" in page


def test_outlier_scores(cli, table):
    rows = X.copy()
    rows[5] = 100
    rows[8] = rows[9]  # one point
    table(rows.tolist())
    names, cells = cli("embed", "t.csv", "--outlier-score", "--save-model", "m").table
    scores = np.array([float(row[0]) for row in cells])
    assert names[0] == "outlier_score"
    assert scores.argmax() == 5
    assert scores[8] == scores[9]
    placed = np.array([float(row[0]) for row in cli("transform", "m", "t.csv", "--outlier-score").table[1]])
    np.testing.assert_allclose(placed, scores, atol=1e-12)
    assert "npy holds numbers only, without 'outlier_score'" in cli("embed", "t.csv", "--outlier-score", "-o", "z.npy").err


def test_models_say_that_rows_are_prepared(cli, table):
    table(X.tolist())
    cli("report", "t.csv", "-o", "r.html", "--save-model", "m")
    with pytest.warns(UserWarning, match="'m': this is the estimator alone.*`elliptope.cli.load_pipeline`"):
        elliptope.load("m")
    cli("embed", "t.csv", "--save-model", "plain")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        elliptope.load("plain")
        load_pipeline("m").transform(pd.read_csv("t.csv"))
    assert "load_pipeline" not in cli("info", "m").err
