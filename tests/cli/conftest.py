"""Fixtures of the command line: a runner, the Wine table, models of it, and a folder with a small table."""

import os

import numpy as np
import pytest

from commandline import GOOD, SDP, Runner, X, wine_rows, write_csv
from common import WINE, fit
from elliptope.cli import main
from elliptope.persistence import save


@pytest.fixture
def cli(monkeypatch, capsysbinary):
    return Runner(monkeypatch, capsysbinary)


@pytest.fixture(scope="session")
def raw_wine(tmp_path_factory):
    """As it was measured."""
    return write_csv(tmp_path_factory.mktemp("wine") / "wine.csv", wine_rows())


@pytest.fixture(scope="session")
def wine(tmp_path_factory):
    """Its z-scores."""
    return write_csv(tmp_path_factory.mktemp("wine") / "wine.csv", wine_rows(WINE))


@pytest.fixture(scope="session")
def model(tmp_path_factory, wine):
    """Without scaling."""
    path = tmp_path_factory.mktemp("model") / "m"
    assert main(["embed", str(wine), *SDP, "--label", "class", "-o", os.devnull, "--save-model", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def scaled_model(tmp_path_factory, raw_wine):
    """Of rows as they were measured, which it standardises."""
    path = tmp_path_factory.mktemp("model") / "m"
    page = str(path.with_name("page.html"))
    assert main(["report", str(raw_wine), *SDP, "--label", "class", "-o", page, "--save-model", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def reference():
    """The estimator that the command line should fit to the Wine table."""
    return fit(WINE)


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """The bytes of a model of the small table."""
    path = tmp_path_factory.mktemp("model") / "m"
    est = fit(X, bandwidth=2.0)
    est.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    save(est, path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, monkeypatch, small_model):
    """The current folder, with the small table ``t.csv`` and the model ``m`` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elliptope.cli.commands.report.collect", None)  # never to be called
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "m").write_bytes(small_model)
    return tmp_path
