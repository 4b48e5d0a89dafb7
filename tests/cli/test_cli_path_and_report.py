"""`elliptope path` and `elliptope report` give what the same steps give in Python."""

import csv
import types

import numpy as np
import pytest

from commandline import CLASSES, RAW, SDP, coordinates, same, write_csv
from common import WINE
from elliptope import SDPEmbedding, bandwidth_path, load


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
            return types.SimpleNamespace(note=None, interrupted=False, symbol=None, n_equal=0)

        monkeypatch.setattr("elliptope.cli.commands.report.collect", collect)
        monkeypatch.setattr("elliptope.cli.commands.report.page_bytes", lambda report: b"a page")
        return calls

    def test_of_a_table(self, cli, wine, tmp_path, calls, reference):
        page, coordinates, model = (str(tmp_path / name) for name in ("r.html", "z.csv", "m"))
        argv = (
            "report",
            wine,
            *SDP,
            "--standardize",
            "--label",
            "class",
            "-o",
            page,
            "--bandwidths",
            "1,2",
            "--title",
            "Wine",
        )
        outcome = cli(*argv, "--title", "Wine", "--coordinates", coordinates, "--save-model", model, "--json")
        assert outcome.code == 0
        (est, options) = calls[0]
        same(est.embedding_, reference.embedding_)
        assert (tmp_path / "r.html").read_bytes() == b"a page"
        assert options["y"].tolist() == CLASSES
        assert options["bandwidths"] == [1.0, 2.0]
        assert options["title"] == "Wine"
        np.testing.assert_allclose(np.column_stack(list(options["columns"].values())), RAW.data, rtol=1e-9)  # not scaled
        assert options["first_row"] == 1  # as in all that is said about tables
        assert "used standardised columns" in options["preparation"]
        facts = outcome.json
        assert (facts["output"], facts["model"], facts["coordinates"]) == (page, model, coordinates)
        assert cli("report", model, "-o", page).code == 1
        assert cli("report", model, "-o", page, "--force").code == 0
        (est, options) = calls[1]
        same(est.embedding_, reference.embedding_)
        assert options["y"].tolist() == CLASSES
        assert options["title"] == wine.name
        assert options["bandwidths"] == "auto"

    def test_numbers_colour_as_numbers(self, cli, tmp_path, calls):
        rows = [["x", "y", "kind", "name"], *([i % 5, i * i % 7, i / 4, f"r{i}"] for i in range(20))]
        argv = ("report", write_csv(tmp_path / "t.csv", rows), *SDP, "--bandwidth", 3, "--label", "kind", "--id", "name")
        assert cli(*argv, "-o", tmp_path / "r.html", "--no-path").code == 0
        options = calls[0][1]
        assert options["y_name"] == "kind"
        same(options["y"], np.arange(20) / 4)
        assert options["row_names"] == [f"r{i}" for i in range(20)]
        assert (options["bandwidths"], options["neighbors"]) == (None, None)
        assert cli(*argv, "-o", tmp_path / "q.html", "--neighbor-counts", "1,2").code == 2

    @pytest.mark.parametrize("kernel", [("--bandwidth", 50), ("--kernel", "neighbors")], ids=["gaussian", "neighbors"])
    def test_scale_of_the_columns_is_told(self, cli, wine, tmp_path, calls, kernel):
        argv = ("report", wine, *SDP, "--no-standardize", "--label", "class", "-o", tmp_path / "r.html", *kernel)
        assert cli(*argv).code == 0
        spread = RAW.data.std(axis=0)
        assert "not standardised" in calls[0][1]["preparation"]
        assert f"differ {spread.max() / spread.min():.0f}-fold in spread" in calls[0][1]["preparation"]

    def test_interrupted(self, cli, wine, tmp_path, monkeypatch):
        """Ctrl-C while the bandwidths of the slider are solved for: the fit and what is done of the slider are kept."""
        original = SDPEmbedding.fit
        fits = []

        def press(self, *args, **kwargs):
            fits.append(self)
            if len(fits) == 3:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        monkeypatch.setattr(SDPEmbedding, "fit", press)
        page, model, coordinates = (tmp_path / name for name in ("r.html", "m", "z.csv"))
        argv = ("report", wine, *SDP, "--standardize", "--label", "class", "--bandwidths", "3,4,5", "-o", page)
        outcome = cli(*argv, "--save-model", model, "--coordinates", coordinates)
        assert outcome.code == 130
        assert "σ = 3, 4 left out: stopped by hand." in outcome.err
        assert "σ = 3, 4 left out: stopped by hand." in page.read_text("utf-8")
        same(load(model).embedding_, fits[0].embedding_)
        assert len(coordinates.read_text().splitlines()) == 179

    def test_no_slider_is_said(self, cli, wine, tmp_path):
        argv = ("report", wine, *SDP, "--standardize", "--label", "class", "--method", "rkhs", "-o", tmp_path / "r.html")
        assert "There is no slider: this RKHSEmbedding has no bandwidth to vary." in cli(*argv).err

    def test_real_page(self, cli, wine, tmp_path):
        pytest.importorskip("elliptope.report")
        page = tmp_path / "r.html"
        assert cli("report", wine, *SDP, "--standardize", "--label", "class", "--bandwidths", "3", "-o", page).code == 0
        assert "class_0" in page.read_text("utf-8")
