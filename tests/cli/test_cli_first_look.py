"""`elliptope report` of a table as it comes: a page from one command, and nothing done to the table without a word."""

import numpy as np
import pandas
import pytest

from elliptope.cli import load_pipeline
from html_page import Page, decode

RNG = np.random.default_rng(0)
N = 40
CLEAN = pandas.DataFrame({"mass": RNG.normal(4000, 500, N).round(), "bill": RNG.standard_normal(N).round(3)})
MESSY = pandas.DataFrame(
    {
        "PassengerId": RNG.permutation(np.arange(500, 500 + N)),
        "mass": CLEAN["mass"].mask(np.arange(N) < 3),
        "bill": CLEAN["bill"],
        "kind": ["u", "v", "w", "v"] * (N // 4),
        "day": pandas.date_range("2020-01-01", periods=N, freq="36h").strftime("%Y-%m-%d"),
        "speed": np.where(np.arange(N) < 30, np.nan, 1.5 * np.arange(N)),
        "note": ["n.d.", *map(str, range(3, N + 2))],
        "number": np.arange(1, N + 1),
    }
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MESSY.to_csv("t.csv", index=False)
    CLEAN.to_csv("clean.csv", index=False)
    return tmp_path


def report(cli, *options, table="t.csv"):
    """What was said, and the page."""
    outcome = cli("report", table, *options, "-o", "p.html", "--force")
    assert outcome.code == 0, outcome.err
    with open("p.html", encoding="utf-8") as file:
        return outcome.err, file.read()


def test_one_command_makes_a_page_and_says_what_was_done(cli, folder):
    said, text = report(cli, "--save-model", "m")
    done = (
        "6 columns left out: PassengerId (names of the rows), kind (text, 3 values), day (dates), "
        "speed (30 of 40 cells missing), "
        "note (1 cell of text among 39 numbers, the first 'n.d.' in row 1 (line 2)), number (counts the rows). "
        f"Missing values filled in by the median: mass (3 by {MESSY['mass'].median():.6g}). "
        "Rows that were filled in alike may form a group for that reason alone."
    )
    assert f"t.csv: {done}" in said
    for cure in ("pandas.get_dummies", "pandas.to_datetime", "--columns", "--label"):
        assert cure in said
    assert done.replace("'", "&#x27;") in text
    est = load_pipeline("m")
    filled = MESSY["mass"].fillna(MESSY["mass"].median())
    Z = np.column_stack([filled, MESSY["bill"]])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0, ddof=1)
    np.testing.assert_allclose(est[-1].training_.points, Z, rtol=1e-9)
    np.testing.assert_allclose(est.transform(MESSY), est[-1].embedding_, atol=1e-4)  # the same is done to other tables


def test_the_page_colours_by_all_columns_as_they_are_in_the_file(cli, folder):
    data = Page(report(cli)[1]).data()
    fields = {field["name"]: field for field in data["fields"]}
    assert list(fields) == ["mass", "bill", "kind", "day", "speed", "note", "number"]
    np.testing.assert_allclose(decode(fields["mass"]["values"], "<f4"), MESSY["mass"])  # neither filled in nor scaled
    assert fields["kind"]["names"] == ["u", "v", "w"]
    days = pandas.to_datetime(MESSY["day"]) - pandas.Timestamp("1970-01-01")
    np.testing.assert_array_equal(decode(fields["day"]["values"], "<f4"), days.dt.days)
    assert [name for name, field in fields.items() if field.get("dates")] == ["day"]
    assert data["names"] == MESSY["PassengerId"].astype(str).tolist()


def test_filled_in_values_are_not_shown(cli, folder):
    gaps = CLEAN.assign(mass=MESSY["mass"])
    gaps.to_csv("clean.csv", index=False)
    data = Page(report(cli, table="clean.csv")[1]).data()
    np.testing.assert_allclose(decode(data["fields"][0]["values"], "<f4"), gaps["mass"])


def test_chosen_columns_are_used(cli, folder):
    assert "40 rows, 2 features" in report(cli, "--columns", "number,bill")[0]
    outcome = cli("report", "t.csv", "--columns", "bill,note", "-o", "q.html")
    assert "column 7 ('note'): 1 cell of text" in outcome.err  # not left out, for it was asked for


def test_the_page_says_how_a_doubtful_first_line_was_read(cli, folder):
    CLEAN.rename(columns={"mass": "2000", "bill": "2001"}).to_csv("years.csv", index_label="place")
    table = pandas.read_csv("years.csv")
    table.assign(place=[f"place {k}" for k in range(N)]).to_csv("years.csv", index=False)
    said, text = report(cli, table="years.csv")
    assert "40 rows, 2 features" in said
    assert (
        "Line 1 has text and numbers, and was read as the names of the columns; if it is data, write names above it." in text
    )


def test_only_named_columns_are_standardised(cli, folder):
    assert "columns standardised, since named columns may have different units" in report(cli, table="clean.csv")[0]
    np.save("a.npy", CLEAN.to_numpy())
    said, _ = report(cli, table="a.npy")
    assert "columns standardised" not in said
    assert "and the widest ones decide; (X - X.mean(0)) / X.std(0) puts them on one scale" in said


def test_other_commands_take_the_table_as_it_is(cli, folder):
    assert "standardised" not in cli("embed", "clean.csv").err
    outcome = cli("embed", "t.csv")
    assert outcome.code == 1
    assert "column 2 ('mass'): 3 missing values" in outcome.err


def test_a_decimal_comma_is_an_error_and_no_text(cli, folder):
    CLEAN.to_csv("t.csv", index=False, sep=";", decimal=",")
    outcome = cli("report", "t.csv", "-o", "q.html")
    assert outcome.code == 1
    assert "decimal=','" in outcome.err


def test_rows_that_are_equal_are_all_on_the_page(cli, folder):
    CLEAN.assign(place=[f"place {k}" for k in range(N)]).iloc[[*range(N), 3, 3]].assign(
        place=[f"place {k}" for k in range(N + 2)]
    ).to_csv("t.csv", index=False)
    said, text = report(cli, "--save-model", "m")
    sentence = "2 rows at the place of an earlier one, equal in all embedded columns."
    assert f"t.csv: {sentence}" in said
    for page in (text, report(cli, table="m")[1]):
        assert sentence in page
        data = Page(page).data()
        assert data["names"][-1] == f"place {N + 1}"
        assert decode(data["fields"][0]["values"], "<f4")[-1] == CLEAN["mass"][3]


def test_a_column_that_counts_the_rows_gives_way_to_one_with_names(cli, folder):
    CLEAN.assign(car=[f"car {k}" for k in range(N)]).to_csv("t.csv")  # with the index of pandas, 0, 1, 2, ...
    said, text = report(cli)
    assert "2 columns left out: column 1 (counts the rows), car (names of the rows)." in said
    assert "has the names of the rows, as with --id" not in said
    assert Page(text).data()["names"] == [f"car {k}" for k in range(N)]
    CLEAN.to_csv("t.csv")
    said, text = report(cli)
    assert "column 1 has the names of the rows, as with --id 1" in said
    CLEAN.assign(car=[f"car {k}" for k in range(N)]).rename(index=lambda k: f"r{k}").to_csv("t.csv")
    assert Page(report(cli)[1]).data()["names"][0] == "r0"


def test_dates_that_begin_with_the_day_are_told_how_to_be_written(cli, folder):
    days = pandas.to_datetime(MESSY["day"]).dt.strftime("%d/%m/%Y")
    CLEAN.assign(day=days).to_csv("t.csv", index=False)
    assert f"day (text, {days.nunique()} values; dates are read as YYYY-MM-DD)" in report(cli)[0]


def test_the_use_of_a_label_is_that_of_the_command(cli, folder):
    assert "--label COLUMN colours by one" in report(cli)[0]
    said = cli("embed", "t.csv", "--drop", "mass,speed,note").err
    assert "--label COLUMN copies one to the output" in said
    assert "colours" not in said
