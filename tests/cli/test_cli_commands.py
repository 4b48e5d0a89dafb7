"""Commands give what the same steps give in Python, whatever the files look like."""

import csv
import re
import types
from dataclasses import replace

import numpy as np
import pytest

from commandline import CLASSES, NAMES, RAW, Runner, coordinates, snapshot, wine_rows, write_csv
from common import WINE, fit
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, bandwidth_path, load, operators
from elliptope.cli import load_pipeline
from elliptope.cli.fitting import certificate_facts
from elliptope.persistence import save

# Exactness is the point: no tolerance where the same numbers go the same way.
same = np.testing.assert_array_equal


@pytest.fixture
def cli(monkeypatch, capsysbinary):
    return Runner(monkeypatch, capsysbinary)


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("wine") / "wine.csv", wine_rows())


@pytest.fixture
def model(cli, wine, tmp_path):
    path = tmp_path / "wine.model"
    assert cli("fit", wine, "--standardize", "--label", "class", "-o", path).code == 0
    return path


@pytest.fixture(scope="module")
def reference():
    return fit(WINE)


class TestEmbed:
    def test_is_the_estimator(self, cli, wine, reference):
        outcome = cli("embed", wine, "--standardize", "--label", "class")
        header, rows = outcome.table
        assert outcome.code == 0
        assert header == ["class", "z1", "z2"]
        assert [row[0] for row in rows] == CLASSES
        same(outcome.numbers, reference.embedding_)
        assert "178 rows, 13 features" in outcome.err
        assert "optimal: 178 rows in 2 columns, bandwidth 2.60024; proved" in outcome.err

    @pytest.mark.parametrize(
        ("flags", "est"),
        [
            ("--method diffusion --n-components 3 --diffusion-time 0", DiffusionMap(3, diffusion_time=0)),
            ("--method rkhs --regularization 0.01", RKHSEmbedding(regularization=0.01, random_state=0)),
            (
                "--bandwidth 2 --kernel laplacian --n-components 1 --normalize unit --tol 1e-4 --seed 3 --jobs 2",
                SDPEmbedding(1, kernel="laplacian", bandwidth=2.0, normalize="unit", tol=1e-4, random_state=3),
            ),
            ("--kernel neighbors --neighbors 20", SDPEmbedding(kernel="neighbors", n_neighbors=20, random_state=0)),
            ("--kernel neighbors --jobs 2", SDPEmbedding(kernel="neighbors", random_state=0)),
            ("--diagonal constant --bandwidth 3", SDPEmbedding(diagonal="constant", bandwidth=3.0, random_state=0)),
        ],
    )
    def test_options_reach_the_estimator(self, cli, wine, flags, est):
        outcome = cli("embed", wine, "--standardize", "--drop", "class", *flags.split())
        same(outcome.numbers, est.fit(WINE).embedding_)
        assert outcome.code == 0

    def test_formats_agree(self, cli, tmp_path, reference):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame(RAW.data, columns=NAMES)
        frame.to_csv(tmp_path / "a.csv", index=False)
        frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
        frame.to_parquet(tmp_path / "a.parquet")
        np.save(tmp_path / "a.npy", RAW.data)
        np.savez(tmp_path / "a.npz", X=RAW.data, y=RAW.target)
        for source in ("csv", "tsv", "parquet", "npy", "npz"):
            for sink in ("csv", "tsv", "parquet", "npy", "npz"):
                target = tmp_path / f"from_{source}.{sink}"
                assert cli("embed", tmp_path / f"a.{source}", "--standardize", "-o", target).code == 0
        for source in ("csv", "tsv", "parquet", "npy", "npz"):
            name = str(tmp_path / f"from_{source}")
            same(np.load(f"{name}.npy"), reference.embedding_)
            same(np.load(f"{name}.npz")["z"], reference.embedding_)
            same(np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1), reference.embedding_)
            same(np.loadtxt(f"{name}.tsv", delimiter="\t", skiprows=1), reference.embedding_)
            same(pandas.read_parquet(f"{name}.parquet"), reference.embedding_)

    @pytest.mark.parametrize("format", ["csv", "tsv", "npy", "npz", "parquet"])
    def test_pipelines(self, cli, tmp_path, reference, format):
        """Output of one command is input of the next, through standard input and output."""
        if format == "parquet":
            pytest.importorskip("pyarrow")
        np.save(tmp_path / "wine.npy", RAW.data)
        first = cli("embed", tmp_path / "wine.npy", "--standardize", "--output-format", format)
        second = cli("embed", "-", "--format", format, "--output-format", "csv", "--bandwidth", 0.5, stdin=first.out)
        assert (first.code, second.code) == (0, 0)
        same(second.numbers, fit(reference.embedding_, bandwidth=0.5).embedding_)
        assert "standard input: 178 rows, 2 features" in second.err

    def test_format_is_passed_on_to_standard_output(self, cli, wine):
        content = wine.read_bytes().replace(b",", b"\t")
        outcome = cli("embed", "-", "--format", "tsv", "--label", "class", stdin=content)
        assert outcome.out.startswith(b"class\tz1\tz2\n")

    def test_label_and_id_are_kept(self, cli, tmp_path):
        rows = [["name", "x", "y", "kind"], *([f"r{i}", i % 5, i * i % 7, "ab"[i % 2]] for i in range(20))]
        path = write_csv(tmp_path / "t.csv", rows)
        outcome = cli("embed", path, "--label", "kind", "--id", "name", "--bandwidth", 3)
        header, body = outcome.table
        assert header[:2] == ["name", "kind"]
        assert [row[:2] for row in body] == [[row[0], row[3]] for row in rows[1:]]
        X = np.array([row[1:3] for row in rows[1:]], dtype=float)
        same(coordinates(header, body), fit(X, bandwidth=3.0).embedding_)

    def test_weights(self, cli, tmp_path):
        w = np.linspace(0.5, 2, 178)
        path = write_csv(tmp_path / "t.csv", [["w", *NAMES], *([a, *row] for a, row in zip(w, WINE.tolist(), strict=True))])
        same(cli("embed", path, "--weight", "w").numbers, fit(WINE, w).embedding_)

    def test_columns(self, cli, wine):
        outcome = cli("embed", wine, "--columns", "hue,1-3", "--bandwidth", 2)
        X = RAW.data[:, [NAMES.index("hue"), 0, 1, 2]]
        same(outcome.numbers, fit(X, bandwidth=2.0).embedding_)

    def test_without_header(self, cli, tmp_path, reference):
        path = write_csv(tmp_path / "t.csv", wine_rows(names=None))
        outcome = cli("embed", path, "--standardize", "--label", 14)
        assert outcome.table[0] == ["label", "z1", "z2"]
        same(outcome.numbers, reference.embedding_)

    def test_json(self, cli, wine, tmp_path, reference):
        within = cli("embed", wine, "--standardize", "--label", "class", "--json").json
        assert within["columns"] == ["class", "z1", "z2"]
        same([row[1:] for row in within["rows"]], reference.embedding_)
        assert [row[0] for row in within["rows"]] == CLASSES
        beside = cli("embed", wine, "--standardize", "--label", "class", "--json", "-o", tmp_path / "out.csv").json
        assert "rows" not in beside
        assert beside["output"] == str(tmp_path / "out.csv")
        for facts in (within, beside):
            assert facts["status"] == "optimal"
            assert facts["certificate"]["grade"] == "proved"
            assert facts["certificate"]["relative_gap"] == reference.certificate_.relative_gap
            assert facts["bandwidth"] == reference.bandwidth_
            assert facts["feature_names"] == NAMES

    def test_json_has_no_infinity(self, cli, wine):
        outcome = cli("embed", wine, "--standardize", "--drop", "class", "--max-iter", 1, "--bandwidth", 1, "--json")
        assert outcome.code == 3
        assert outcome.json["status"] == "max_iter"

    def test_not_optimal(self, cli, wine, tmp_path):
        outcome = cli("embed", wine, "--drop", "class", "--bandwidth", 1e9, "-o", tmp_path / "out.csv")
        assert outcome.code == 3
        assert "elliptope: warning: SDPEmbedding ended with status" in outcome.err
        assert "decrease `bandwidth`" in outcome.err
        assert (tmp_path / "out.csv").exists()

    def test_quiet(self, cli, wine):
        outcome = cli("embed", wine, "--label", "class", "--standardize", "--quiet")
        assert outcome.err == ""
        assert len(outcome.table[1]) == 178

    def test_progress(self, cli, wine, monkeypatch):
        pytest.importorskip("sklearn.callback", exc_type=ImportError)
        monkeypatch.setattr("elliptope.cli.console._NEW_LINE", 0.0)
        outcome = cli("embed", wine, "--standardize", "--label", "class")
        lines = [line for line in outcome.err.splitlines() if "digits" in line]
        assert len(lines) > 10
        assert all(re.fullmatch(r"[0-6]/6  digits  iteration \d+, products \d+, objective [\d.]+", line) for line in lines)

    def test_hints(self, cli, wine, tmp_path):
        assert "columns differ 2530-fold in spread; --standardize" in cli("embed", wine, "--label", "class").err
        path = write_csv(tmp_path / "t.csv", [["a", "b"], *([i % 7, 5] for i in range(20))])
        outcome = cli("embed", path, "--standardize", "--bandwidth", 1)
        assert "constant, and without influence: 'b'" in outcome.err
        x = np.arange(20.0) % 7
        z = np.column_stack([(x - x.mean()) / x.std(ddof=1), np.zeros(20)])
        same(outcome.numbers, fit(z, bandwidth=1.0).embedding_)

    def test_force(self, cli, wine, tmp_path):
        target = tmp_path / "out.csv"
        target.write_text("old")
        link = tmp_path / "link.csv"
        link.symlink_to(target)
        assert cli("embed", wine, "--label", "class", "-o", link).code == 1
        assert target.read_text() == "old"
        assert cli("embed", wine, "--label", "class", "-o", link, "--force").code == 0
        assert target.read_text().startswith("class,z1,z2\n")
        assert link.is_symlink()

    def test_devices_are_written_to(self, cli, wine):
        assert cli("embed", wine, "--label", "class", "-o", "/dev/null").code == 0


class TestModels:
    def test_transform_is_that_of_the_estimator(self, cli, wine, model, reference):
        outcome = cli("transform", model, wine, "--label", "class")
        assert outcome.code == 0
        assert [row[0] for row in outcome.table[1]] == CLASSES
        same(outcome.numbers, reference.transform(WINE))
        assert "valid feature names" not in outcome.err

    def test_new_rows_are_scaled_as_the_training_rows_were(self, cli, model, tmp_path, reference):
        new = RAW.data[:5] * 1.01
        scaled = (new - RAW.data.mean(axis=0)) / RAW.data.std(axis=0, ddof=1)
        path = write_csv(tmp_path / "new.csv", [NAMES, *new.tolist()])
        same(cli("transform", model, path).numbers, reference.transform(scaled))

    def test_columns_are_found_by_name(self, cli, model, tmp_path, reference):
        order = np.random.default_rng(0).permutation(13)
        rows = [["extra", *(NAMES[j] for j in order)], *(["x", *row] for row in RAW.data[:, order].tolist())]
        same(cli("transform", model, write_csv(tmp_path / "n.csv", rows)).numbers, reference.transform(WINE))

    def test_columns_without_names_go_by_position(self, cli, model, tmp_path, reference):
        np.save(tmp_path / "n.npy", RAW.data)
        same(cli("transform", model, tmp_path / "n.npy").numbers, reference.transform(WINE))
        rows = wine_rows(names=[f"other {j}" for j in range(13)])
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
        outcome = cli("embed", tmp_path / "t.npz", "--label", "y", "--bandwidth", 2, "--save-model", tmp_path / "m")
        assert outcome.code == 0
        texts = [str(label) for label in labels.astype(str if labels.dtype.kind in "SM" else labels.dtype).tolist()]
        assert [row[0] for row in outcome.table[1]] == texts
        assert cli("info", tmp_path / "m", "--json").json["label"] == "y"

    def test_models_from_python(self, cli, wine, tmp_path):
        save(SDPEmbedding(bandwidth=40.0, random_state=0).fit(RAW.data), tmp_path / "m")
        outcome = cli("transform", tmp_path / "m", wine, "--drop", "class")
        same(outcome.numbers, fit(RAW.data, bandwidth=40.0).transform(RAW.data))

    def test_models_for_python(self, model, reference):
        pandas = pytest.importorskip("pandas")
        same(load(model).transform(pandas.DataFrame(WINE, columns=NAMES)), reference.transform(WINE))
        pipeline = load_pipeline(model)
        same(pipeline.transform(pandas.DataFrame(RAW.data, columns=NAMES)), reference.transform(WINE))

    def test_pipeline_without_scaling(self, cli, wine, tmp_path):
        assert cli("fit", wine, "--drop", "class", "-o", tmp_path / "m").code == 0
        assert isinstance(load_pipeline(tmp_path / "m"), SDPEmbedding)

    def test_embed_saves_the_same_model(self, cli, wine, model, tmp_path):
        argv = ("embed", wine, "--standardize", "--label", "class", "--save-model", tmp_path / "other", "-q")
        assert cli(*argv).code == 0
        assert (tmp_path / "other").read_bytes() == model.read_bytes()

    def test_json(self, cli, wine, model, tmp_path):
        facts = cli("fit", wine, "--drop", "class", "--json", "-q", "-o", tmp_path / "m").json
        assert (facts["model"], facts["n_samples"], facts["standardized"]) == (str(tmp_path / "m"), 178, False)
        facts = cli("transform", model, wine, "--json", "-o", tmp_path / "z.npy").json
        assert (facts["n_samples"], facts["n_components"], facts["output"]) == (178, 2, str(tmp_path / "z.npy"))


class TestCertify:
    def test_confirms(self, cli, model):
        outcome = cli("certify", model)
        assert outcome.code == 0
        assert outcome.out.decode().startswith(f"{model}: confirmed, status 'optimal'\n  stored: Certificate(proved")
        facts = cli("certify", model, "--json").json
        assert facts["confirmed"] is True
        assert facts["found"]["grade"] == "proved"

    @pytest.mark.parametrize(
        "claim",
        [
            lambda honest: {"gap": 0.0, "upper_bound": honest.objective},
            lambda honest: {"gap": 0.0, "objective": honest.upper_bound},
        ],
        ids=["less above it", "more below it"],
    )
    def test_does_not_believe_what_a_model_claims(self, cli, tmp_path, claim):
        """An embedding that is feasible, but not optimal, with a certificate that says it is."""
        est = fit(WINE, bandwidth=2.0, solver="power", max_iter=3)
        honest = est.certificate_
        assert honest.relative_gap > 0.01
        est.certificate_ = replace(honest, **claim(honest))
        est.status_ = "optimal"
        save(est, tmp_path / "m")
        outcome = cli("certify", tmp_path / "m")
        assert outcome.code == 3
        assert b"NOT confirmed" in outcome.out

    def test_parts_that_do_not_belong_together(self, cli, tmp_path):
        est = fit(WINE)
        est.embedding_ = est.embedding_ * 1.01
        save(est, tmp_path / "m")
        outcome = cli("certify", tmp_path / "m")
        assert outcome.code == 1
        assert "error" in outcome.err
        assert "The parts of the model do not belong together" in outcome.err

    def test_what_is_not_optimal_is_confirmed_as_such(self, cli, wine, tmp_path):
        assert cli("fit", wine, "--drop", "class", "--max-iter", 3, "-o", tmp_path / "m").code == 3
        outcome = cli("certify", tmp_path / "m")
        assert outcome.code == 3
        assert b": confirmed, status 'max_iter'" in outcome.out

    def test_diffusion_maps_have_none(self, cli, wine, tmp_path):
        cli("fit", wine, "--drop", "class", "--method", "diffusion", "-o", tmp_path / "m")
        outcome = cli("certify", tmp_path / "m")
        assert outcome.code == 1
        assert "a DiffusionMap has no certificate" in outcome.err


class TestNeighbors:
    @pytest.fixture
    def model(self, cli, wine, tmp_path):
        argv = ("fit", wine, "--standardize", "--label", "class", "--kernel", "neighbors", "--neighbors", 12)
        outcome = cli(*argv, "-o", tmp_path / "m")
        assert outcome.code == 0
        assert "optimal: 178 rows in" in outcome.err
        assert ", 12 neighbours; proved, relative gap" in outcome.err
        return tmp_path / "m"

    def test_model(self, cli, wine, model):
        est = fit(WINE, kernel="neighbors", n_neighbors=12)
        same(cli("transform", model, wine, "--label", "class").numbers, est.transform(WINE))
        facts = cli("info", model, "--json").json
        assert "bandwidth" not in facts
        assert facts["parameters"]["n_neighbors"] == 12
        assert b"12 neighbours" in cli("info", model).out
        assert b"178 rows" in cli("info", model).out

    def test_certify(self, cli, model):
        outcome = cli("certify", model)
        assert outcome.code == 0
        assert b"confirmed" in outcome.out

    def test_certify_where_nothing_can_be_factorised(self, cli, wine, tmp_path, monkeypatch):
        """What was tested with random vectors is confirmed by another test, and by a proof."""
        monkeypatch.setattr(operators.sparse, "_LARGEST_DENSE", 10)
        argv = ("fit", wine, "--standardize", "--label", "class", "--kernel", "neighbors", "-o", tmp_path / "m")
        assert "; probabilistic, relative gap" in cli(*argv).err
        for limit, grade in ((10, "probabilistic"), (1000, "proved")):
            monkeypatch.setattr(operators.sparse, "_LARGEST_DENSE", limit)
            facts = cli("certify", tmp_path / "m", "--json").json
            assert facts["confirmed"] is True
            assert facts["found"]["grade"] == grade

    def test_parts(self, cli, tmp_path):
        rows = [["a", "b"], *([i % 5 + 100 * (i % 2), i * i % 7] for i in range(40))]
        outcome = cli("embed", write_csv(tmp_path / "t.csv", rows), "--kernel", "neighbors", "--neighbors", 5)
        assert "elliptope: warning: The graph of neighbours has" in outcome.err

    def test_report(self, cli, model, tmp_path):
        pytest.importorskip("plotly")
        assert cli("report", model, "-o", tmp_path / "page.html").code == 0
        assert "178" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_precomputed_models_have_no_scale_to_tell(self, cli, tmp_path):
        save(fit(np.exp(-(WINE[:, None, 0] - WINE[:, 0]) ** 2), kernel="precomputed"), tmp_path / "m")
        assert b"178 rows in" in cli("info", tmp_path / "m").out


def test_what_is_known_of_the_exact_problem_is_told_where_it_differs():
    certificate = fit(WINE, bandwidth=3.0).certificate_
    assert "exact_interval" not in certificate_facts(certificate)
    facts = certificate_facts(replace(certificate, error_below=0.5, error_above=0.25))
    assert facts["exact_interval"] == (certificate.objective - 0.5, certificate.upper_bound + 0.25)
    assert facts["exact_relative_gap"] == pytest.approx((certificate.gap + 0.75) / certificate.gain)
    assert facts["relative_gap"] == certificate.relative_gap


class TestPath:
    def test_is_that_of_the_library(self, cli, wine, tmp_path):
        frames = tmp_path / "frames.csv"
        argv = ("path", wine, "--standardize", "--label", "class", "--bandwidths", "2,6,3", "--embeddings", frames)
        outcome = cli(*argv)
        path = bandwidth_path(WINE, [2, 6, 3], random_state=0)
        header, rows = outcome.table
        assert outcome.code == 0
        assert header[:3] == ["bandwidth", "status", "grade"]
        assert [row[1] for row in rows] == ["optimal"] * 3
        same([float(row[header.index("lambda_1")]) for row in rows], path.spectra[:, 0])
        same([float(row[header.index("relative_gap")]) for row in rows], [r["relative_gap"] for r in path.to_rows()])
        header, *rows = csv.reader(frames.open(newline=""))
        assert header == ["bandwidth", "row", "class", "z1", "z2"]
        assert [row[2] for row in rows] == CLASSES * 3
        assert [int(row[1]) for row in rows] == [*range(1, 179)] * 3
        same(coordinates(header, rows), path.aligned.reshape(-1, 2))

    def test_default_bandwidths_surround_the_rule(self, cli, wine, reference):
        facts = cli("path", wine, "--standardize", "--drop", "class", "--json").json
        sigma = [row["bandwidth"] for row in facts["path"]]
        assert len(sigma) == 11
        np.testing.assert_allclose(sigma[5], reference.bandwidth_, rtol=1e-14)
        np.testing.assert_allclose([sigma[0], sigma[-1]], [reference.bandwidth_ / 2, 2 * reference.bandwidth_], rtol=1e-14)

    @pytest.mark.parametrize("command", ["path", "report"])
    def test_ranges_are_explained(self, cli, command):
        assert "low:high:count with equal ratios" in " ".join(cli(command, "--help").out.decode().split())

    def test_ranges(self, cli, wine):
        facts = cli("path", wine, "--standardize", "--drop", "class", "--bandwidths", "2:8:3", "--json", "-q").json
        np.testing.assert_allclose([row["bandwidth"] for row in facts["path"]], [2, 4, 8])

    def test_not_optimal(self, cli, wine):
        outcome = cli("path", wine, "--standardize", "--drop", "class", "--bandwidths", "3,1e9")
        assert outcome.code == 3
        assert "warning: bandwidth_path: status 'degenerate' at 1 of 2 bandwidths" in outcome.err

    def test_checkpoint(self, cli, wine, tmp_path, monkeypatch):
        argv = ("path", wine, "--standardize", "--drop", "class", "--bandwidths", "3,4", "--checkpoint", tmp_path / "c.npz")
        original = SDPEmbedding.fit

        def interrupted(self, *args, **kwargs):
            if self.bandwidth < 3.5:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(SDPEmbedding, "fit", interrupted)
            outcome = cli(*argv, "-o", tmp_path / "out.csv")
        assert outcome.code == 130
        assert "c.npz holds 1 bandwidth; the same command goes on" in outcome.err
        assert not (tmp_path / "out.csv").exists()
        outcome = cli(*argv)
        assert outcome.code == 0
        assert f"1/2  from {tmp_path / 'c.npz'}" in outcome.err


class TestReport:
    @pytest.fixture
    def calls(self, monkeypatch):
        """A page that notes what it is asked for, and is empty."""
        calls = []

        def collect(est, **options):
            calls.append((est, options))
            return types.SimpleNamespace(note=None, interrupted=False)

        monkeypatch.setattr("elliptope.cli.commands.report.collect", collect)
        monkeypatch.setattr("elliptope.cli.commands.report.page_bytes", lambda report, library: b"a page")
        return calls

    def test_of_a_table(self, cli, wine, tmp_path, calls, reference):
        page, coordinates, model = (str(tmp_path / name) for name in ("r.html", "z.csv", "m"))
        argv = ("report", wine, "--standardize", "--label", "class", "-o", page, "--bandwidths", "1,2", "--title", "Wine")
        outcome = cli(*argv, "--coordinates", coordinates, "--save-model", model, "--json")
        assert outcome.code == 0
        (est, options) = calls[0]
        same(est.embedding_, reference.embedding_)
        assert (tmp_path / "r.html").read_bytes() == b"a page"
        assert options["y"].tolist() == CLASSES
        assert options["bandwidths"] == [1.0, 2.0]
        assert options["title"] == "Wine"
        assert options["first_row"] == 1  # as in all that is said about tables
        assert "were standardised" in options["preparation"]
        facts = outcome.json
        assert (facts["output"], facts["model"], facts["coordinates"]) == (page, model, coordinates)
        assert cli("report", model, "-o", page).code == 1
        assert cli("report", model, "-o", page, "--force").code == 0
        (est, options) = calls[1]
        same(est.embedding_, reference.embedding_)
        assert options["y"].tolist() == CLASSES
        assert options["title"] == str(wine)
        assert options["bandwidths"] == "auto"

    def test_numbers_colour_as_numbers(self, cli, tmp_path, calls):
        rows = [["x", "y", "kind", "name"], *([i % 5, i * i % 7, i / 4, f"r{i}"] for i in range(20))]
        argv = ("report", write_csv(tmp_path / "t.csv", rows), "--bandwidth", 3, "--label", "kind", "--id", "name")
        assert cli(*argv, "-o", tmp_path / "r.html", "--no-path").code == 0
        options = calls[0][1]
        assert options["y_name"] == "kind"
        same(options["y"], np.arange(20) / 4)
        assert options["row_names"] == [f"r{i}" for i in range(20)]
        assert options["bandwidths"] is None

    def test_scale_of_the_columns_is_told(self, cli, wine, tmp_path, calls):
        assert cli("report", wine, "--label", "class", "-o", tmp_path / "r.html", "--bandwidth", 50).code == 0
        spread = RAW.data.std(axis=0)
        assert "not standardised" in calls[0][1]["preparation"]
        assert f"differ {spread.max() / spread.min():.0f}-fold in spread" in calls[0][1]["preparation"]

    def test_interrupted(self, cli, wine, tmp_path, monkeypatch):
        """Ctrl-C while the bandwidths of the slider are solved for: the fit and what is done of the slider are kept."""
        pytest.importorskip("plotly")
        original = SDPEmbedding.fit
        fits = []

        def press(self, *args, **kwargs):
            fits.append(self)
            if len(fits) == 3:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        monkeypatch.setattr(SDPEmbedding, "fit", press)
        page, model, coordinates = (tmp_path / name for name in ("r.html", "m", "z.csv"))
        argv = ("report", wine, "--standardize", "--label", "class", "--bandwidths", "3,4,5", "-o", page)
        outcome = cli(*argv, "--save-model", model, "--coordinates", coordinates)
        assert outcome.code == 130
        assert "σ = 3, 4 left out: stopped by hand." in outcome.err
        assert "σ = 3, 4 left out: stopped by hand." in page.read_text("utf-8")
        same(load(model).embedding_, fits[0].embedding_)
        assert len(coordinates.read_text().splitlines()) == 179

    def test_no_slider_is_said(self, cli, wine, tmp_path):
        pytest.importorskip("plotly")
        argv = ("report", wine, "--standardize", "--label", "class", "--method", "rkhs", "-o", tmp_path / "r.html")
        assert "There is no slider: this RKHSEmbedding has no bandwidth to vary." in cli(*argv).err

    def test_real_page(self, cli, wine, tmp_path):
        pytest.importorskip("elliptope.report")
        pytest.importorskip("plotly")
        page = tmp_path / "r.html"
        assert cli("report", wine, "--standardize", "--label", "class", "--bandwidths", "3", "-o", page).code == 0
        assert "class_0" in page.read_text("utf-8")


class TestInfo:
    def test_installation(self, cli):
        facts = cli("info", "--json").json
        assert facts["numpy"] == np.__version__
        assert b"scikit-learn" in cli("info").out

    def test_model(self, cli, model, reference):
        facts = cli("info", model, "--json").json
        assert facts["standardized"] is True
        assert facts["label"] == "class"
        assert facts["versions"]["numpy"] == np.__version__
        same(facts["eigenvalues"], reference.eigenvalues_)
        assert b"optimal: 178 rows in 2 columns" in cli("info", model).out

    def test_help(self, cli):
        outcome = cli("--help")
        assert outcome.code == 0
        assert b"130  interrupted" in outcome.out
        for command in ("embed", "fit", "transform", "path", "certify", "report", "info"):
            assert cli(command, "--help").code == 0

    def test_version(self, cli):
        assert cli("--version").out.startswith(b"elliptope ")
