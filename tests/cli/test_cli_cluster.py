"""Commands on a cluster: the same numbers as without one, from and to folders of Parquet files."""

import json

import numpy as np
import pandas
import pytest

import dask_cluster
from elliptope.cli import main

pytest.importorskip("dask.distributed", reason=dask_cluster.REASON)
dask = pytest.importorskip("dask")


@pytest.fixture
def tables(tmp_path):
    """Files with names, labels and, in one of them, no rows; and one file with all of them."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.standard_normal((120, 3)) * [1, 5, 9], columns=["a", "b", "c"])
    table["kind"] = ["u", "v"] * 60
    folder = tmp_path / "in"
    folder.mkdir()
    for k, (start, stop) in enumerate(((0, 50), (50, 50), (50, 120))):
        table[start:stop].to_parquet(folder / f"part.{k}.parquet", index=False)
    table.to_parquet(tmp_path / "all.parquet", index=False)
    return tmp_path


def test_same_numbers(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    options = ["--method", "sdp", "--label", "kind", "--standardize", "--bandwidth", "2", "--quiet"]
    assert main(["embed", "all.parquet", "-o", "here.csv", *options]) == 0
    assert main(["fit", "in", "-o", "model", "--workers", "1", *options]) == 0
    assert main(["transform", "model", "all.parquet", "-o", "new.csv", "--label", "kind", "--quiet"]) == 0
    with dask_cluster.of_processes(1) as client:
        address = ["--scheduler", client.scheduler.address]
        assert main(["embed", "in", "-o", "there.csv", *options, *address]) == 0
        assert main(["transform", "model", "in", "-o", "out", "--label", "kind", "--json", *address]) == 0
        assert json.loads(capsys.readouterr().out)["output"] == "out"
        assert main(["transform", "model", "in", "-o", "out", *address]) == 1
        assert "out: exists; use --force" in capsys.readouterr().err
        assert main(["transform", "model", "in", "-o", "out", "--label", "other", "--force", *address]) == 1
        assert "there is no column 'other'" in capsys.readouterr().err
    here, new = pandas.read_csv("here.csv"), pandas.read_csv("new.csv")
    np.testing.assert_allclose(np.abs(pandas.read_csv("there.csv")["z1"]), np.abs(here["z1"]), rtol=1e-4)
    there = pandas.concat([pandas.read_parquet(file) for file in sorted((tables / "out").glob("*.parquet"))])
    assert list(there.columns) == list(new.columns)
    np.testing.assert_array_equal(there["kind"], new["kind"])
    np.testing.assert_allclose(there["z1"], new["z1"], rtol=1e-9)
    np.testing.assert_allclose(np.abs(new["z1"]), np.abs(here["z1"]), rtol=1e-4)


def test_names_of_scales(tables, monkeypatch):
    """Two scales, the default: the columns of a folder have the names that a file has."""
    monkeypatch.chdir(tables)
    with dask_cluster.of_processes(1) as client:
        address = ["--scheduler", client.scheduler.address]
        assert main(["fit", "in", "-o", "model", "--label", "kind", "--n-components", "3", "--quiet", *address]) == 0
        assert main(["transform", "model", "in", "-o", "out", "--label", "kind", "--quiet", *address]) == 0
    assert main(["transform", "model", "all.parquet", "-o", "new.csv", "--label", "kind", "--quiet"]) == 0
    new = pandas.read_csv("new.csv")
    there = pandas.concat([pandas.read_parquet(file) for file in sorted((tables / "out").glob("*.parquet"))])
    assert list(there.columns) == list(new.columns) == ["kind", "scale1_1", "scale2_1", "scale1_2"]
    np.testing.assert_allclose(there["scale2_1"], new["scale2_1"], rtol=1e-9, atol=1e-12)


def test_what_is_refused(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    (tables / "empty").mkdir()
    for command, text in (
        ("fit in -o model --label kind --method rkhs --workers 1", "--method rkhs: not computed by a cluster"),
        ("fit in -o model --label kind --scheduler tcp://127.0.0.1:1", "no scheduler answers"),
        ("fit in -o model --workers 0", "at least 1"),
        ("fit in -o model --label kind --device cuda --workers 1", "--device must be None, 'cpu' or 'auto' for kernel="),
        ("fit empty -o model", "a folder; name a file, or a folder of Parquet files"),
    ):
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            assert main(command.split()) != 0
        assert text in capsys.readouterr().err
