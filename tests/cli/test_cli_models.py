"""Models: `transform` and `info` give what the same steps give in Python."""

from dataclasses import replace

import numpy as np
import pytest

from commandline import CLASSES, NAMES, RAW, SDP, same, wine_rows, write_csv
from common import WINE, fit
from elliptope import DiffusionMap, SDPEmbedding, load
from elliptope.cli import load_pipeline
from elliptope.cli.fitting import certificate_facts
from elliptope.persistence import save


class TestModels:
    def test_transform_is_that_of_the_estimator(self, cli, wine, model, reference):
        outcome = cli("transform", model, wine, "--label", "class")
        assert outcome.code == 0
        assert [row[0] for row in outcome.table[1]] == CLASSES
        same(outcome.numbers, reference.transform(WINE))
        assert "valid feature names" not in outcome.err

    def test_new_rows_are_scaled_as_the_training_rows_were(self, cli, scaled_model, tmp_path, reference):
        new = RAW.data[:5] * 1.01
        scaled = (new - RAW.data.mean(axis=0)) / RAW.data.std(axis=0, ddof=1)
        path = write_csv(tmp_path / "new.csv", [NAMES, *new.tolist()])
        same(cli("transform", scaled_model, path).numbers, reference.transform(scaled))

    def test_columns_are_found_by_name(self, cli, model, tmp_path, reference):
        order = np.random.default_rng(0).permutation(13)
        rows = [["extra", *(NAMES[j] for j in order)], *(["x", *row] for row in WINE[:, order].tolist())]
        same(cli("transform", model, write_csv(tmp_path / "n.csv", rows)).numbers, reference.transform(WINE))

    def test_columns_without_names_go_by_position(self, cli, model, tmp_path, reference):
        np.save(tmp_path / "n.npy", WINE)
        same(cli("transform", model, tmp_path / "n.npy").numbers, reference.transform(WINE))
        rows = wine_rows(WINE, names=[f"other {j}" for j in range(13)])
        outcome = cli("transform", model, write_csv(tmp_path / "n.csv", rows), "--columns", "1-13")
        same(outcome.numbers, reference.transform(WINE))

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0.5, np.nan, np.inf] * 10),
            np.arange(30),
            np.array([b"a", b"b"] * 15),
            np.arange(30).astype("datetime64[D]"),
            np.array([True, False] * 15),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_of_all_kinds(self, cli, tmp_path, labels):
        X = np.random.default_rng(0).standard_normal((30, 2))
        np.savez(tmp_path / "t.npz", X=X, y=labels)
        outcome = cli("embed", tmp_path / "t.npz", *SDP, "--label", "y", "--save-model", tmp_path / "m")
        assert outcome.code == 0
        texts = [str(label) for label in labels.astype(str if labels.dtype.kind in "SM" else labels.dtype).tolist()]
        assert [row[0] for row in outcome.table[1]] == texts
        assert cli("info", tmp_path / "m", "--json").json["label"] == "y"

    def test_models_from_python(self, cli, wine, tmp_path, reference):
        save(reference, tmp_path / "m")
        outcome = cli("transform", tmp_path / "m", wine, "--drop", "class")
        same(outcome.numbers, reference.transform(WINE))

    def test_models_for_python(self, scaled_model, reference):
        pandas = pytest.importorskip("pandas")
        same(load(scaled_model).transform(pandas.DataFrame(WINE, columns=NAMES)), reference.transform(WINE))
        pipeline = load_pipeline(scaled_model)
        same(pipeline.transform(pandas.DataFrame(RAW.data, columns=NAMES)), reference.transform(WINE))

    def test_pipeline_without_scaling(self, cli, wine, tmp_path):
        assert cli("embed", wine, *SDP, "--columns", "1-13", "--save-model", tmp_path / "m").code == 0
        assert isinstance(load_pipeline(tmp_path / "m")[-1], SDPEmbedding)
        numbers = write_csv(tmp_path / "numbers.csv", [NAMES, *WINE.tolist()])
        assert cli("embed", numbers, *SDP, "--save-model", tmp_path / "plain").code == 0
        assert isinstance(load_pipeline(tmp_path / "plain"), SDPEmbedding)

    def test_json(self, cli, wine, model, tmp_path):
        facts = cli("transform", model, wine, "--json", "-o", tmp_path / "z.npy").json
        assert (facts["n_samples"], facts["n_components"], facts["output"]) == (178, 2, str(tmp_path / "z.npy"))


class TestNeighbors:
    @pytest.fixture
    def model(self, tmp_path):
        save(fit(WINE, kernel="neighbors", n_neighbors=12), tmp_path / "m")
        return tmp_path / "m"

    def test_model(self, cli, wine, model):
        est = fit(WINE, kernel="neighbors", n_neighbors=12)
        same(cli("transform", model, wine, "--label", "class").numbers, est.transform(WINE))
        facts = cli("info", model, "--json").json
        assert "bandwidth" not in facts
        assert facts["parameters"]["n_neighbors"] == 12
        assert b"12 neighbours" in cli("info", model).out
        assert b"178 rows" in cli("info", model).out

    def test_report(self, cli, model, tmp_path):
        assert cli("report", model, "-o", tmp_path / "page.html").code == 0
        assert "178" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_precomputed_models_have_no_scale_to_tell(self, cli, tmp_path):
        save(fit(np.exp(-((WINE[:, None, 0] - WINE[:, 0]) ** 2)), kernel="precomputed"), tmp_path / "m")
        assert b"178 rows in" in cli("info", tmp_path / "m").out


def test_a_model_without_a_certificate_has_no_page(cli, tmp_path):
    save(DiffusionMap().fit(WINE), tmp_path / "m")
    outcome = cli("report", tmp_path / "m", "-o", tmp_path / "page.html")
    assert outcome.code == 1
    assert "a DiffusionMap has no report; other embeddings have one" in outcome.err
    assert cli("info", tmp_path / "m").code == 0


def test_what_is_known_of_the_exact_problem_is_told_where_it_differs():
    certificate = fit(WINE, bandwidth=3.0).certificate_
    assert "exact_interval" not in certificate_facts(certificate)
    facts = certificate_facts(replace(certificate, error_below=0.5, error_above=0.25))
    assert facts["exact_interval"] == (certificate.objective - 0.5, certificate.upper_bound + 0.25)
    assert facts["exact_relative_gap"] == pytest.approx((certificate.gap + 0.75) / certificate.gain)
    assert facts["relative_gap"] == certificate.relative_gap


class TestInfo:
    def test_installation(self, cli):
        facts = cli("info", "--json").json
        assert facts["numpy"] == np.__version__
        assert b"scikit-learn" in cli("info").out

    def test_model(self, cli, scaled_model, reference):
        facts = cli("info", scaled_model, "--json").json
        assert facts["standardized"] is True
        assert facts["label"] == "class"
        assert facts["versions"]["numpy"] == np.__version__
        same(facts["eigenvalues"], reference.eigenvalues_)
        assert b"optimal: 178 rows in 2 columns" in cli("info", scaled_model).out

    def test_help(self, cli):
        outcome = cli("--help")
        assert outcome.code == 0
        assert b"130  interrupted" in outcome.out
        for command in ("embed", "transform", "report", "info"):
            assert cli(command, "--help").code == 0

    def test_version(self, cli):
        assert cli("--version").out.startswith(b"elliptope ")
