"""Fixtures of the command line: a runner, the Wine table, a model of it, and a folder with a small table."""

import numpy as np
import pytest

from commandline import GOOD, SDP, Runner, X, wine_rows, write_csv
from common import WINE, fit
from elliptope.persistence import save


@pytest.fixture
def cli(monkeypatch, capsysbinary):
    return Runner(monkeypatch, capsysbinary)


@pytest.fixture(scope="session")
def wine(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("wine") / "wine.csv", wine_rows())


@pytest.fixture
def model(cli, wine, tmp_path):
    path = tmp_path / "wine.model"
    assert cli("fit", wine, *SDP, "--standardize", "--label", "class", "-o", path).code == 0
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
