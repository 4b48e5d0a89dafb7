"""Text, dates and missing values: what is done to a table is said, is part of the model, and is done by `transform`, too."""

import gzip
import io

import numpy as np
import pandas
import pytest

from commandline import SDP
from common import fit
from elliptope.cli import load_pipeline

RNG = np.random.default_rng(0)
N = 40
FRAME = pandas.DataFrame(
    {
        "a": RNG.standard_normal(N).round(3),
        "kind": ["u", "v", "w", "v"] * (N // 4),
        "b": RNG.standard_normal(N).round(3),
        "day": pandas.date_range("2020-01-01", periods=N, freq="36h").strftime("%Y-%m-%d %H:%M"),
    }
)
FLAGS = (*SDP, "--bandwidth", "1.5")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    return tmp_path


def embedded(X):
    return fit(np.asarray(X, dtype=float), bandwidth=1.5).embedding_


def one_hot(kind):
    return np.column_stack([kind == value for value in ("u", "v", "w")])


def days(day):
    return (pandas.to_datetime(day) - pandas.Timestamp("1970-01-01")) / pandas.Timedelta("1D")


def test_text_and_dates_are_left_out_and_named(cli, folder):
    outcome = cli("embed", "t.csv", *FLAGS)
    np.testing.assert_array_equal(outcome.numbers, embedded(FRAME[["a", "b"]]))
    assert "t.csv: 2 columns left out: kind (text, 3 values), day (dates). (--one-hot uses text, --dates uses" in outcome.err


def test_text_and_dates_as_numbers(cli, folder):
    outcome = cli("embed", "t.csv", "--one-hot", "--dates", *FLAGS, "--save-model", "m")
    expected = np.column_stack([FRAME["a"], one_hot(FRAME["kind"]), FRAME["b"], days(FRAME["day"])])
    np.testing.assert_allclose(outcome.numbers, embedded(expected), rtol=1e-10)
    assert "Text as columns of 0 and 1, one for every value: kind (3). Dates as days since 1970-01-01: day." in outcome.err
    facts = cli("info", "m", "--json").json
    assert facts["feature_names"] == ["a", "kind=u", "kind=v", "kind=w", "b", "day"]
    assert facts["preparation"]["one_hot"] == {"kind": ["u", "v", "w"]}
    same_embedding_of_new_rows(cli, "m")


def test_missing_values_are_dropped(cli, folder):
    gaps = FRAME.assign(a=FRAME["a"].mask(FRAME["a"].rank() <= 3))
    gaps.to_csv("t.csv", index=False)
    assert cli("embed", "t.csv", *FLAGS).code == 1
    outcome = cli("embed", "t.csv", "--drop-missing", "--id", "day", *FLAGS, "--save-model", "m")
    used = gaps["a"].notna()
    header, rows = outcome.table
    assert header[:2] == ["row", "day"]
    assert [int(row[0]) - 1 for row in rows] == np.flatnonzero(used).tolist()
    assert [row[1] for row in rows] == FRAME["day"][used].tolist()
    np.testing.assert_array_equal(outcome.numbers, embedded(FRAME.loc[used, ["a", "b"]]))
    assert "3 rows with missing values left out." in outcome.err
    again = cli("transform", "m", "t.csv")
    np.testing.assert_allclose(again.numbers, outcome.numbers, atol=1e-4)
    assert [row[0] for row in again.table[1]] == [row[0] for row in rows]
    with pytest.raises(ValueError, match="no missing values in a, got 3"):
        load_pipeline("m").transform(gaps)


def test_missing_values_are_filled_in(cli, folder):
    gaps = FRAME.assign(a=FRAME["a"].mask(FRAME["a"].rank() <= 3), kind=FRAME["kind"].mask(FRAME.index == 7))
    gaps.to_csv("t.csv", index=False)
    outcome = cli("embed", "t.csv", "--impute", "median", "--one-hot", "--drop", "day", *FLAGS, "--save-model", "m")
    expected = np.column_stack([gaps["a"].fillna(gaps["a"].median()), one_hot(gaps["kind"].fillna("v")), FRAME["b"]])
    np.testing.assert_array_equal(outcome.numbers, embedded(expected))
    assert f"a (3 by {gaps['a'].median():.6g}), kind (1 by v)" in outcome.err
    same_embedding_of_new_rows(cli, "m")
    said = cli("transform", "m", "t.csv").err
    assert f"('a'): 3 missing values filled in by {gaps['a'].median():.6g}, as in training" in said
    assert "('kind'): 1 missing value filled in by v, as in training" in said


def same_embedding_of_new_rows(cli, model):
    """`transform` of the training table gives the training embedding, and so does the pipeline."""
    placed = cli("transform", model, "t.csv").numbers
    np.testing.assert_allclose(load_pipeline(model).transform(pandas.read_csv("t.csv")), placed, rtol=1e-9)
    np.testing.assert_allclose(placed, load_pipeline(model)[-1].embedding_, atol=1e-4)


def test_values_that_the_model_has_not_seen(cli, folder):
    assert cli("fit", "t.csv", "--one-hot", *FLAGS, "-o", "m").code == 0
    FRAME.assign(kind="other").to_csv("new.csv", index=False)
    assert (
        "column 2 ('kind'): values that the model has not seen, 'other': all its columns"
        in cli("transform", "m", "new.csv").err
    )


def test_columns_must_hold_what_they_held(cli, folder):
    assert cli("fit", "t.csv", "--dates", *FLAGS, "-o", "m").code == 0
    FRAME.assign(a="x", day="soon").to_csv("new.csv", index=False)
    outcome = cli("transform", "m", "new.csv")
    assert outcome.code == 1
    assert "column 1 ('a'): 40 cells of text, not numbers, the first 'x' in row 1 (line 2)" in outcome.err
    assert "column 4 ('day'): 40 cells of text, not dates, the first 'soon' in row 1 (line 2)" in outcome.err


def test_all_bad_columns_are_listed(cli, folder):
    FRAME.assign(a=FRAME["a"].mask(FRAME.index == 4), b=FRAME["b"].astype(str).where(FRAME.index != 9, "n.d.")).to_csv(
        "t.csv"
    )
    outcome = cli("embed", "t.csv", "--drop", "1")
    assert outcome.code == 1
    assert outcome.err.splitlines()[:2] == [
        "t.csv: column 2 ('a'): 1 missing value, the first in row 5 (line 6)",
        "t.csv: column 4 ('b'): 1 cell of text among 39 numbers, the first 'n.d.' in row 10 (line 11)",
    ]
    outcome = cli("embed", "t.csv", "--numeric-only", "--impute", "median", "--drop", "1", *FLAGS)
    assert outcome.code == 0
    assert "b (1 cell of text among 39 numbers)" in outcome.err


def test_a_label_that_is_a_column_of_the_model(cli, folder):
    FRAME[["a", "b"]].to_csv("t.csv", index=False)
    assert cli("fit", "t.csv", *FLAGS, "-o", "m").code == 0
    outcome = cli("transform", "m", "t.csv", "--label", "b")
    taken = "--label takes column 2 ('b'), and the model needs all its columns"
    assert f"t.csv: 1 column, but the model takes 2 ('a', 'b'); {taken}; choose with" in outcome.err


def test_a_column_without_a_name_names_the_rows(cli, folder):
    FRAME[["a", "b"]].rename(index=lambda i: f"car {i}").to_csv("t.csv")
    outcome = cli("embed", "t.csv", *FLAGS)
    assert [row[0] for row in outcome.table[1]] == [f"car {i}" for i in range(N)]
    assert "column 1 has the names of the rows, as with --id 1" in outcome.err
    FRAME[["a", "b"]].to_csv("t.csv", index_label="number")
    assert "column 1 ('number') counts the rows" in cli("embed", "t.csv", *FLAGS).err


def test_a_table_without_a_header(cli, folder):
    FRAME[["a", "kind", "b"]].to_csv("t.csv", index=False, header=False)
    expected = cli("embed", "t.csv", *FLAGS, "--save-model", "m")
    np.testing.assert_allclose(cli("transform", "m", "t.csv").numbers, expected.numbers, atol=1e-4)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_gzip(cli, folder, suffix):
    text = FRAME.to_csv(index=False, sep="\t" if suffix == "tsv" else ",").encode()
    (folder / f"t.{suffix}.gz").write_bytes(gzip.compress(text))
    expected = cli("embed", "t.csv", *FLAGS, "-q").out.decode()
    assert cli("embed", f"t.{suffix}.gz", *FLAGS, "-q").out.decode() == expected
    assert cli("embed", "-", "--format", suffix, *FLAGS, "-q", "-o", "z.csv.gz", stdin=gzip.compress(text)).code == 0
    assert gzip.decompress((folder / "z.csv.gz").read_bytes()).decode() == expected
    assert cli("fit", f"t.{suffix}.gz", *FLAGS, "-q", "-o", "m").code == 0


def test_a_page_shows_a_sample_of_many_rows(cli, folder, monkeypatch):
    flags = ("--rows", "30", "--no-standardize", *FLAGS, "--no-path")
    outcome = cli("report", "t.csv", *flags, "--coordinates", "z.csv", "-o", "p.html")
    assert "30 of 40 rows used, a random sample. (--one-hot" in outcome.err
    numbers = pandas.read_csv("z.csv")["row"].to_numpy()
    np.testing.assert_allclose(
        pandas.read_csv("z.csv").iloc[:, 1:], embedded(FRAME[["a", "b"]].iloc[numbers - 1]), rtol=1e-9
    )
    page = (folder / "p.html").read_text(encoding="utf-8")
    assert "2 columns left out: kind (text, 3 values), day (dates). 30 of 40 rows used, a random sample." in page
    assert "--rows: must be a whole number" in cli("report", "t.csv", "--rows", "1", "-o", "q.html").err
    cli("fit", "t.csv", *FLAGS, "-o", "m")
    assert "m: --one-hot is for tables" in cli("report", "m", "--one-hot", "-o", "q.html").err


def test_dates_of_parquet_are_those_of_text(cli, folder):
    frame = FRAME.assign(day=pandas.to_datetime(FRAME["day"]))
    frame.to_parquet("t.parquet")
    options = ("--dates", "--one-hot", *FLAGS)
    assert cli("embed", "t.parquet", *options).out == cli("embed", "t.csv", *options).out


def test_weights_go_with_their_rows(cli, folder):
    FRAME.assign(w=np.arange(1, N + 1), a=FRAME["a"].mask(FRAME.index < 2)).to_csv("t.csv", index=False)
    outcome = cli("embed", "t.csv", "--weight", "w", "--drop-missing", *FLAGS)
    expected = fit(FRAME[["a", "b"]].to_numpy()[2:], bandwidth=1.5, sample_weight=np.arange(3, N + 1)).embedding_
    np.testing.assert_array_equal(outcome.numbers, expected)


def test_a_sparse_matrix_has_no_text(cli, folder):
    from scipy import sparse

    buffer = io.BytesIO()
    sparse.save_npz(buffer, sparse.random(20, 5, 0.5, random_state=0, format="csr"))
    (folder / "s.npz").write_bytes(buffer.getvalue())
    assert "a sparse matrix holds numbers only, and --one-hot does not apply" in cli("embed", "s.npz", "--one-hot").err
