"""Text, dates and missing values: what is done to a table is said, is part of the model, and is done by `transform`, too."""

import gzip

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    return tmp_path


def embedded(X):
    return fit(np.asarray(X, dtype=float)).embedding_


def test_text_and_dates_are_left_out_and_named(cli, folder):
    outcome = cli("embed", "t.csv", *SDP)
    np.testing.assert_array_equal(outcome.numbers, embedded(FRAME[["a", "b"]]))
    assert "t.csv: 2 columns left out: kind (text, 3 values), day (dates). (pandas.get_dummies makes" in outcome.err


def test_text_and_dates_by_the_means_that_are_named(cli, folder):
    table = pandas.get_dummies(FRAME.assign(day=pandas.to_datetime(FRAME["day"]).astype("int64") / 1e12), columns=["kind"])
    table.to_csv("t.csv", index=False)
    np.testing.assert_array_equal(cli("embed", "t.csv", *SDP).numbers, embedded(table))


def test_missing_values_are_filled_in(cli, folder):
    gaps = FRAME.assign(a=FRAME["a"].mask(FRAME["a"].rank() <= 3))
    gaps.to_csv("t.csv", index=False)
    assert "fill in the cells" in cli("embed", "t.csv", *SDP).err
    said = cli("report", "t.csv", *SDP, "-o", "p.html", "--save-model", "m").err
    assert f"a (3 by {gaps['a'].median():.6g})" in said
    facts = cli("info", "m", "--json").json["preparation"]
    assert facts["filled"]["a"] == {"by": gaps["a"].median(), "cells": 3}
    assert facts["columns_left_out"] == {"kind": "text, 3 values", "day": "dates"}
    placed = cli("transform", "m", "t.csv")
    np.testing.assert_allclose(load_pipeline("m").transform(pandas.read_csv("t.csv")), placed.numbers, rtol=1e-9)
    np.testing.assert_allclose(placed.numbers, load_pipeline("m")[-1].embedding_, atol=1e-4)
    assert f"('a'): 3 missing values filled in by {gaps['a'].median():.6g}, as in training" in placed.err


def test_new_rows_must_be_as_the_training_rows(cli, folder):
    assert cli("embed", "t.csv", *SDP, "--save-model", "m").code == 0
    new = FRAME.assign(a="x", b=FRAME["b"].mask(FRAME.index == 2))
    new.to_csv("new.csv", index=False)
    outcome = cli("transform", "m", "new.csv")
    assert outcome.code == 1
    assert "column 1 ('a'): 40 cells of text, not numbers, the first 'x' in row 1 (line 2)" in outcome.err
    assert "column 3 ('b'): 1 missing value, the first in row 3 (line 4)" in outcome.err
    with pytest.raises(ValueError, match="a number in every row of a, got 'x'"):
        load_pipeline("m").transform(new)
    with pytest.raises(ValueError, match="no missing values in b, got 1, the first in row 2"):
        load_pipeline("m").transform(new.assign(a="1"))


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
    for cure in ("correct or empty these cells", "leave out 1 row of 40 or fill in the cells", "--drop a,b leaves out"):
        assert cure in outcome.err


def test_a_label_that_is_a_column_of_the_model(cli, folder):
    FRAME[["a", "b"]].to_csv("t.csv", index=False)
    assert cli("embed", "t.csv", *SDP, "--save-model", "m").code == 0
    outcome = cli("transform", "m", "t.csv", "--label", "b")
    taken = "--label takes column 2 ('b'), and the model needs all its columns"
    assert f"t.csv: 1 column, but the model takes 2 ('a', 'b'); {taken}; choose with" in outcome.err


def test_a_column_without_a_name_names_the_rows(cli, folder):
    FRAME[["a", "b"]].rename(index=lambda i: f"car {i}").to_csv("t.csv")
    outcome = cli("embed", "t.csv", *SDP)
    assert [row[0] for row in outcome.table[1]] == [f"car {i}" for i in range(N)]
    assert "column 1 has the names of the rows, as with --id 1" in outcome.err
    FRAME[["a", "b"]].to_csv("t.csv", index_label="number")
    assert "column 1 ('number') counts the rows" in cli("embed", "t.csv", *SDP).err


def test_a_table_without_a_header(cli, folder):
    FRAME[["a", "kind", "b"]].to_csv("t.csv", index=False, header=False)
    expected = cli("embed", "t.csv", *SDP, "--save-model", "m")
    np.testing.assert_allclose(cli("transform", "m", "t.csv").numbers, expected.numbers, atol=1e-4)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_gzip(cli, folder, suffix):
    text = FRAME.to_csv(index=False, sep="\t" if suffix == "tsv" else ",").encode()
    (folder / f"t.{suffix}.gz").write_bytes(gzip.compress(text))
    expected = cli("embed", "t.csv", *SDP, "-q").out.decode()
    assert cli("embed", f"t.{suffix}.gz", *SDP, "-q").out.decode() == expected
    assert cli("embed", "-", *SDP, "-q", "-o", "z.csv.gz", stdin=gzip.compress(text)).code == 0
    assert gzip.decompress((folder / "z.csv.gz").read_bytes()).decode() == expected


def test_a_page_shows_a_sample_of_many_rows(cli, folder):
    np.save("t.npy", FRAME[["a", "b"]])
    outcome = cli("report", "t.npy", *SDP, "--rows", "30", "--coordinates", "z.csv", "-o", "p.html", "--save-model", "m")
    assert "30 of 40 rows used, a random sample. (--rows all uses all" in outcome.err
    z = pandas.read_csv("z.csv")
    used = FRAME[["a", "b"]].iloc[z["row"] - 1]
    np.testing.assert_allclose(z.iloc[:, 1:], embedded(used), rtol=1e-9)
    assert "30 of 40 rows used, a random sample." in (folder / "p.html").read_text(encoding="utf-8")
    assert len(cli("transform", "m", "t.npy").table[1]) == 40
    assert "--rows: must be a whole number" in cli("report", "t.csv", "--rows", "1", "-o", "q.html").err
    assert "m: --rows is for tables" in cli("report", "m", "--rows", "9", "-o", "q.html").err


def test_dates_of_parquet_are_those_of_text(cli, folder):
    FRAME.assign(day=pandas.to_datetime(FRAME["day"])).to_parquet("t.parquet")
    assert cli("embed", "t.parquet", *SDP).out == cli("embed", "t.csv", *SDP).out
    assert "day (dates)" in cli("embed", "t.parquet", *SDP).err


def test_weights_go_with_their_rows(cli, folder):
    FRAME.assign(w=np.arange(1, N + 1)).to_csv("t.csv", index=False)
    expected = fit(FRAME[["a", "b"]].to_numpy(), sample_weight=np.arange(1, N + 1)).embedding_
    np.testing.assert_array_equal(cli("embed", "t.csv", "--weight", "w", *SDP).numbers, expected)
