"""Mistakes that people make with tables: they are told what to do about it, and what was understood."""

import io
import re

import numpy as np
import pandas
import pytest

from commandline import write_csv
from elliptope import SDPEmbedding
from elliptope.persistence import save

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3)).round(3)
ROWS = X.tolist()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(rows, delimiter=","):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


GOOD = lines([["a", "b", "c"], *ROWS])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (GOOD + '"1,000",2,3\n', "", "'1,000' in row 31 (line 32) (if the comma separates thousands: in Python, pandas"),
        (GOOD + '"1,234,567.5",2,3\n', "", "in row 31 (line 32) (if the comma separates thousands: in Python"),
        (GOOD.replace(",", ";") + "1,000;2;3\n", "", "converts it; if it is a decimal comma, with decimal=',')"),
        (GOOD + '"1,5",2,3\n', "", "'1,5' in row 31 (line 32) (if that is a decimal comma: in Python, pandas.read_csv("),
        (GOOD + '"1;5",2,3\n', "", "'1;5' in row 31 (line 32) (if ';' is the delimiter: in Python, pandas.read_csv("),
        ("# made by hand\n" + GOOD, "", "t.csv: line 1: a comment, which tables do not have here: remove it"),
        (
            "30,x,y\n1,2,3,4\n5,6,7,8\n",
            "",
            "row 1 (line 2): 4 cells where the header has 3 (a cell with a comma, decimal or other, needs",
        ),
        ("30,x,y\n1,2,3,4\n5,6,7,8\n", "", "; if line 1 is no header, remove it)"),
        ("a,b,c\n1,2,3,\n", "", "4 cells where the header has 3 (the line ends with ',': remove that,"),
        ("a,b,\n1,2,x\n3,4,5\n", "", "t.csv: column 3 has no name (do lines end with a delimiter?); use --id 3 or --drop 3"),
        (
            GOOD + "1,,3\n",
            "",
            "column 2 ('b'): 1 missing value, the first in row 31 (line 32); leave out 1 row of 31 or fill in the cells",
        ),
        (GOOD + "1,nan,3\n", "", "as table.dropna() and table.fillna(...) do in pandas; --drop b leaves out the column\n"),
        (GOOD.replace("b", "weight", 1), "--drop wieght", "there is no column 'wieght'; is it 'weight'? its columns are"),
        (
            "a,b\nu,v\nw,x\n",
            "",
            "t.csv: no column of numbers ('a: text, 2 values', 'b: text, 2 values'); pandas.get_dummies",
        ),
        ("a,b,c\nu,v,1\nw,x,2\n", "--columns b,c", "text, 2 values, the first 'v' in row 1 (line 2); pandas.get_dummies"),
        (GOOD, "--label a --id a", "t.csv: --label and --id both take column 1 ('a')"),
        (GOOD, "--label a --label b", "argument --label: takes one column, and was given twice"),
    ],
)
def test_what_to_do(cli, folder, content, options, message):
    (folder / "t.csv").write_text(content)
    outcome = cli("embed", "t.csv", *options.split())
    assert outcome.code in (1, 2)
    assert message in outcome.err


def local(values, separator, decimal, delimiter):
    """A table of numbers as they are written in some countries."""
    to_local = str.maketrans(",.", separator + decimal)
    return lines([["a", "b", "c"], *([f"{value:,.1f}".translate(to_local) for value in row] for row in values)], delimiter)


LARGE = np.round(X * 1e4, 1)
CONVERSIONS = {
    "decimal comma": (local(X.round(1), "_", ",", ";").encode(), X.round(1)),
    "commas of thousands": (local(LARGE, ",", ".", ";").encode(), LARGE),
    "points of thousands": (local(LARGE, ".", ",", ";").encode(), LARGE),
    "utf-16": (GOOD.encode("utf-16"), X),
    "latin-1": (GOOD.replace("b", "é", 1).encode("latin-1"), X),
    "blanks": (GOOD.replace(",", " ").encode(), X),
}


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_the_line_of_python_that_is_named_converts_the_table(cli, folder, kind):
    content, values = CONVERSIONS[kind]
    (folder / "t.csv").write_bytes(content)
    outcome = cli("report", "t.csv", "-o", "r.html")
    assert outcome.code == 1
    found = re.search(
        r"in Python, (pandas\.read_csv\('t.csv', .*?\)\.to_csv\('new.csv', index=False\)) converts it", outcome.err
    )
    eval(found[1], {"pandas": pandas})
    write_csv(folder / "expected.csv", [["a", "b", "c"], *values.tolist()])
    np.testing.assert_array_equal(cli("embed", "new.csv").numbers, cli("embed", "expected.csv").numbers)


@pytest.mark.parametrize("first", ["sep=;\n", "SEP=;\r\n", '"sep=;"\n'])
def test_the_line_for_spreadsheets(cli, folder, first):
    (folder / "t.csv").write_text(GOOD)
    (folder / "s.csv").write_text(first + GOOD.replace(",", ";"), newline="")
    expected = cli("embed", "t.csv")
    outcome = cli("embed", "s.csv")
    assert outcome.code == 0
    assert outcome.out == expected.out
    (folder / "s.csv").write_text(first + GOOD.replace(",", ";") + "1;x;3\n", newline="")
    assert "column 2 ('b'): 1 cell of text among 30 numbers, the first 'x' in row 31 (line 33)" in cli("embed", "s.csv").err


def test_truth_values_are_numbers(cli, folder):
    flags = [bool(i % 3) for i in range(30)]
    write_csv(folder / "n.csv", [["a", "b", "flag"], *([a, b, int(f)] for (a, b, _), f in zip(ROWS, flags, strict=True))])
    write_csv(folder / "t.csv", [["a", "b", "flag"], *([a, b, f] for (a, b, _), f in zip(ROWS, flags, strict=True))])
    expected, outcome = cli("embed", "n.csv"), cli("embed", "t.csv")
    assert outcome.code == 0
    np.testing.assert_array_equal(outcome.numbers, expected.numbers)
    # As a label they stay what they were.
    assert [row[0] for row in cli("embed", "t.csv", "--label", "flag").table[1]] == [str(flag) for flag in flags]


def test_lines_without_a_header_are_noted(cli, folder):
    (folder / "t.csv").write_text(lines([[7, 11, 2], *ROWS]))
    outcome = cli("embed", "t.csv")
    assert "t.csv: 31 rows, 3 features; line 1 is data, for its cells are numbers" in outcome.err
    (folder / "t.csv").write_text(GOOD)
    assert "line 1" not in cli("embed", "t.csv").err


def test_a_first_line_of_text_and_numbers_is_a_doubt(cli, folder):
    rows = [[f"c{k}", *row[:2]] for k, row in enumerate(ROWS)]
    (folder / "t.csv").write_text(lines([["country", 2000, 2001], *rows]))
    said = cli("embed", "t.csv").err
    assert "t.csv: 30 rows, 2 features" in said
    assert "warning: t.csv: line 1 has text and numbers, and was read as the names of the columns; if it is data" in said
    (folder / "t.csv").write_text(lines([["country", 2000, 2001, 2002], *([*row, 1.5] for row in rows)]))
    assert "warning" not in cli("embed", "t.csv").err  # three years are clear
    (folder / "t.csv").write_text(lines(rows))
    said = cli("embed", "t.csv").err
    assert "t.csv: 30 rows, 2 features\n" in said
    assert "warning: t.csv: line 1 has text and numbers, and was read as data; if it names the columns, use words" in said


def test_years_alone_are_names_and_a_doubt(cli, folder):
    (folder / "t.csv").write_text(lines([[2019, 2020, 2021], *ROWS]))
    said = cli("embed", "t.csv").err
    assert "t.csv: 30 rows, 3 features" in said
    assert "warning: t.csv: line 1 has years, and was read as the names of the columns; if it is data, write" in said
    said = cli("embed", "t.csv", "--columns", "2020-2021").err
    assert "t.csv: 30 rows, 2 features" in said


@pytest.mark.parametrize(("delimiter", "suffix"), [(";", "csv"), ("\t", "csv"), ("|", "csv"), (",", "tsv")])
def test_another_delimiter_is_found_and_said(cli, folder, delimiter, suffix):
    (folder / "t.csv").write_text(GOOD)
    (folder / f"s.{suffix}").write_text(GOOD.replace(",", delimiter))
    outcome = cli("embed", f"s.{suffix}")
    assert outcome.out == cli("embed", "t.csv").out
    assert f"s.{suffix}: cells are split at {delimiter!r}, for the first line has no" in outcome.err


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("title", ["Measurements of May\n", "Measurements of May,,\n", "\n\nMeasurements of May\n,,\n"])
def test_a_title_above_the_header(cli, folder, title, delimiter):
    (folder / "t.csv").write_text((title + GOOD).replace(",", delimiter))
    number = title.index("M") + 1
    said = cli("embed", "t.csv").err
    assert f"t.csv: line {number}: one cell, where line " in said
    assert "if it is a title, remove it" in said


def test_points_that_may_separate_thousands_are_a_doubt(cli, folder):
    rows = [[a, f"{k}.{500 + k}" if k % 2 else 500 + k, c] for k, (a, _, c) in enumerate(ROWS, start=1)]
    (folder / "t.csv").write_text(lines([["a", "b", "c"], *rows], ";"))
    said = cli("embed", "t.csv").err
    assert "warning: t.csv: points were read as decimal points in column 2 ('b'); if they separate thousands: in" in said
    assert "warning" not in cli("embed", "t.csv", "--columns", "a,c").err
    (folder / "t.csv").write_text(lines([["a", "b", "c"], *rows, [1, "1.25", 3]], ";"))
    assert "thousands" not in cli("embed", "t.csv").err


def test_lines_of_empty_cells_are_left_out(cli, folder):
    (folder / "t.csv").write_text(GOOD)
    expected = cli("embed", "t.csv").out
    (folder / "t.csv").write_text(GOOD + ",,\n , ,\n")
    outcome = cli("embed", "t.csv")
    assert outcome.out == expected
    assert "t.csv: 2 lines of empty cells left out" in outcome.err


def test_numbers_with_units_are_text_and_it_is_said(cli, folder):
    (folder / "t.csv").write_text(lines([["a", "b", "price"], *([*row[:2], f"{k} €"] for k, row in enumerate(ROWS))]))
    assert "numbers are read without units and separators, unlike '0 €'" in cli("embed", "t.csv").err


def test_one_is_singular(cli, folder):
    est = SDPEmbedding(bandwidth=2.0, random_state=0).fit(X)
    save(est, "m")
    np.save("one.npy", X[:1])
    assert "one.npy: 1 row, 3 features\n" in cli("transform", "m", "one.npy").err


class TestArchives:
    """Arrays of Python objects are of no concern unless they are wanted."""

    @pytest.fixture
    def archive(self, folder):
        np.savez(folder / "t.npz", X=X, y=np.arange(30), names=np.array([{"a": i} for i in range(30)], dtype=object))

    def test_is_left_alone(self, cli, archive):
        outcome = cli("embed", "t.npz", "--label", "y")
        assert outcome.code == 0
        assert outcome.numbers.shape[0] == 30

    def test_is_named(self, cli, archive):
        assert "not read, for they hold Python objects: 'names'" in cli("embed", "t.npz", "--label", "names").err

    def test_alone(self, cli, folder):
        np.savez(folder / "t.npz", names=np.array([{"a": 1}], dtype=object))
        said = cli("embed", "t.npz").err
        assert "t.npz: Python objects in 'names', which are not loaded: they could run code" in said

    def test_damage_is_still_damage(self, cli, folder):
        buffer = io.BytesIO()
        np.savez(buffer, X=X)
        content = bytearray(buffer.getvalue())
        content[200] ^= 1
        (folder / "t.npz").write_bytes(content)
        assert "t.npz: not NPZ data, or damaged" in cli("embed", "t.npz").err


def test_a_table_is_no_model(cli, folder):
    (folder / "t.csv").write_text(GOOD)
    outcome = cli("info", "t.csv")
    assert outcome.code == 1
    assert "t.csv: a table by its suffix, not a model (--save-model writes one)" in outcome.err


def test_a_folder_is_a_folder(cli, folder):
    (folder / "data").mkdir()
    outcome = cli("embed", "data")
    assert outcome.code == 1
    assert "data: a folder; name a file" in outcome.err


def test_scale_goes_by_its_name(cli, folder):
    (folder / "t.csv").write_text(GOOD)
    err = cli("embed", "t.csv", "--method", "rkhs").err
    assert ", length scale " in err
    assert "bandwidth" not in err
    assert ", bandwidth " in cli("embed", "t.csv", "--method", "sdp").err


def test_columns_of_info_do_not_touch(cli, monkeypatch):
    monkeypatch.setenv("ELLIPTOPE_DATA", "/data")
    assert "ELLIPTOPE_DATA  /data\n" in cli("info").out.decode()
