"""The reproduction of the paper: every item in quick mode, and what its results must show."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from common import WINE, Naive
from elliptope.datasets import clusters_with_outliers
from experiments import __main__ as reproduction
from experiments import algorithm1, fig3, fig8_compare, moons, report, table1
from experiments.common import Options, certified, published
from experiments.results import Result, Table, Verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path):
    """Run one item in quick mode; the result as it comes back from its file."""

    def run_item(item):
        reproduction.run(item, Options(quick=True, output=tmp_path))
        return Result.load(tmp_path / f"{item}.json")

    return run_item


@pytest.fixture
def data():
    if not os.environ.get("ELLIPTOPE_DATA"):
        pytest.skip("needs the folder named by ELLIPTOPE_DATA")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No data folder, no network, and no copies from earlier downloads."""

    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.delenv("ELLIPTOPE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the attempts of scikit-learn


def verdict(result, words):
    (found,) = [v for v in result.verdicts if words in v.claim]
    return found


def proved(result):
    return all(fit["grade"] == "proved" and fit["relative_gap"] <= 1e-6 for fit in result.certificates)


class TestPublishedNumbers:
    """Single digits of the copies, looked up by eye in the LaTeX source."""

    @pytest.mark.parametrize(
        ("name", "rows", "column", "row", "value"),
        [
            ("fig3_training", 15, "left_chi_2", 0, 1.49905779305143),
            ("fig3_extension", 100, "right_chi_2", -1, -1.92401390361754),
            ("fig5_sdp_spectrum", 56, "lambda_1", 1, 0.424043614805521),
            ("fig5_sdp_spectrum", 56, "lambda_5", -1, 3.67774204143007e-07),
            ("fig5_diffusion_spectrum", 96, "lambda_3", -1, 0.0413730437348308),
            ("fig8_nmi", 20, "dm_projected_sd", 1, 0.384882782780325),
            ("fig8_nmi", 20, "sdp", 2, 0.91117303832729),
            ("fig8_sdp_spectrum", 20, "lambda_2", 0, 0.108054814823416),
            ("fig8_diffusion_spectrum", 20, "lambda_4", -1, 0.512537193062334),
            ("table1", 4, "recall", 0, 0.76),
        ],
    )
    def test_digits(self, name, rows, column, row, value):
        columns = published(name)
        assert len(columns[column]) == rows
        assert columns[column][row] == value

    def test_bandwidths_are_evenly_spaced(self):
        for name, step in (("fig5_sdp_spectrum", 0.1), ("fig5_diffusion_spectrum", 0.1), ("fig8_nmi", 0.05)):
            np.testing.assert_allclose(np.diff(published(name)["sigma"]), step, atol=1e-12)


class TestItems:
    def test_figure_1(self, run):
        """The radius of an embedded point is √d, here from the formula of the paper and without any solver."""
        result = run("fig1")
        assert proved(result)
        assert set(result.ours["ranks"]) == {2}
        for seed, ratio in zip(result.seeds, result.ours["ratios"]["SDP"], strict=True):
            X, y = clusters_with_outliers(random_state=seed)
            d = Naive(X, 1.2).d
            assert ratio == pytest.approx(np.sqrt(d[y == -1].min() / d[y != -1].max()), rel=1e-9)
        assert max(result.ours["ratios"]["DM"]) < min(result.ours["ratios"]["SDP"])

    def test_figure_2(self, run):
        result = run("fig2")
        assert proved(result)
        assert result.certificates[0]["status"] == "optimal"

    def test_figure_3(self, run):
        result = run("fig3")
        assert proved(result)
        assert result.ours["largest_difference"] <= 1e-6
        assert [v.agrees for v in result.verdicts] == [True] * 4

    def test_figure_3_notices_an_error(self, run, monkeypatch):
        """The weights left out: the same kernel, and another embedding."""
        monkeypatch.setattr(fig3, "certified", lambda X, s, seed, weights: certified(X, s, seed))
        result = run("fig3")
        assert result.ours["largest_difference"] > 0.1
        assert [v.agrees for v in result.verdicts] == [False] * 4

    @pytest.mark.data
    @pytest.mark.slow
    def test_figure_4(self, run, data):
        """A subsample has a sixth of the digits to learn from, hence twice the error of the full size."""
        result = run("fig4")
        assert proved(result)
        assert result.ours["ranks"] == [2]
        assert max(result.ours["errors"]) <= 0.03

    @pytest.mark.slow
    def test_figure_5(self, run):
        result = run("fig5")
        assert proved(result)
        assert verdict(result, "spectrum of B⋆ for σ ≥ 1").agrees
        sigma, theirs = (np.array(result.published["sdp"][name]) for name in ("sigma", "spectrum"))
        ours = np.array(result.ours["sdp"])
        assert np.abs(ours - theirs)[sigma >= 1].max() <= 0.01
        (small,) = np.flatnonzero(sigma == 0.6)
        assert ours[small, 0] == pytest.approx(0.8687, abs=1e-4)
        # Algorithm 1, as its authors stop it, is as far from the optimum as the published value, and says nothing of it.
        assert result.ours["algorithm1"][small][0] < 0.5
        assert result.ours["algorithm1_gap"][small] > 1e-3
        # The published diffusion spectrum: v0 of one bandwidth was subtracted at all of them.
        assert not verdict(result, "three largest eigenvalues").agrees
        assert result.ours["stale_bandwidth"] == 2.3
        assert result.ours["stale_difference"] <= 1e-12
        assert result.ours["dm"][-1] == pytest.approx(np.linalg.eigvalsh(Naive(WINE, 11.0).Abar)[:-4:-1], rel=1e-9)

    @pytest.mark.data
    def test_figure_6(self, run, data):
        result = run("fig6")
        assert proved(result)
        assert result.ours["rank"] == 2

    @pytest.mark.data
    def test_table_1(self, run, data):
        result = run("table1")
        assert proved(result)
        assert result.seeds == [0, 1, 2]
        assert len(result.verdicts) == 8
        for scores in result.ours["scores"].values():
            assert (np.abs(np.mean(scores, axis=0) - [0.9, 0.77]) < 0.1).all()

    def test_figure_7(self, run):
        result = run("fig7")
        assert proved(result)
        assert result.ours["nmi"] > 0.9 > 0.5 > result.ours["nmi_raw"]

    @pytest.mark.slow
    def test_figure_8(self, run):
        result = run("fig8")
        scores = {name: np.array(values) for name, values in result.ours["nmi"].items()}
        assert result.ours["sigma"] == [0.05, 0.3, 1.0]
        assert all(fit["grade"] == "proved" and fit["relative_gap"] <= 1e-5 for fit in result.certificates)
        assert scores["sdp"][:, 0].min() > 0.8  # the certified optimum, where 0.046 is published
        assert scores["algorithm1"][:, 0].max() < 0.5  # and where Algorithm 1 has not converged
        assert abs(scores["dm"][:, 2].mean() - 0.388) < 0.05
        assert verdict(result, "one point against 399").agrees


class TestTable1:
    THEIRS = {
        "method": np.array(["SDP"]),
        "sigma": np.array([5.0]),
        "precision": np.array([0.9]),
        "precision_sd": np.array([0.01]),
        "recall": np.array([0.8]),
        "recall_sd": np.array([0.01]),
    }

    def test_within_two_standard_deviations(self):
        scores = {"SDP σ=5": [[0.89, 0.70], [0.91, 0.72], [0.93, 0.74]]}  # means 0.91 and 0.72, deviations 0.02
        precision, recall = table1.verdicts(self.THEIRS, scores, 3, pulsars=450)
        assert (precision.agrees, recall.agrees) == (True, False)
        assert "4.0 of our standard deviations" in recall.why

    def test_triples(self):
        scores = {"SDP σ=5": [[0.9, 0.7], [0.9, 0.8], [0.9, 0.8], [0.9, 0.8]]}
        ((_, precision, recall),) = table1.triples(self.THEIRS, scores).rows
        assert precision == "0 % below, 100 % equal, 0 % above"
        assert recall == "75 % below, 25 % equal, 0 % above"


class TestFigure8:
    def test_bars_overlap(self):
        theirs = {"sdp": np.array([0.5, 0.5]), "sdp_sd": np.array([0.1, 0.1])}
        ours = np.array([[0.55, 0.6], [0.65, 0.8]])  # 0.60(0.071) and 0.70(0.141)
        assert fig8_compare.overlaps(theirs, "sdp", ours).tolist() == [True, True]
        theirs["sdp_sd"] = np.array([0.02, 0.02])
        assert fig8_compare.overlaps(theirs, "sdp", ours).tolist() == [False, False]

    def test_nmi_is_normalised_by_the_geometric_mean(self):
        """One point of 400 split off, moons of 200: MI / √(H(x) H(y)), written out."""
        x = np.array([1 / 400, 399 / 400])
        joint = np.array([1, 199, 200]) / 400
        entropy = [-(p * np.log(p)).sum() for p in (x, joint)]
        expected = (entropy[0] + np.log(2) - entropy[1]) / np.sqrt(entropy[0] * np.log(2))
        assert moons.nmi(np.repeat([0, 1], 200), np.arange(400) == 0) == pytest.approx(expected, rel=1e-9)

    def test_projection(self):
        Z = np.array([[3.0, 4.0], [0.0, 0.0]])
        np.testing.assert_allclose(moons.project(Z), [[0.6, 0.8], [0.0, 0.0]])


class TestAlgorithm1:
    def plain(self, sigma, iterations):
        """Algorithm 1 in plain NumPy, on Abar and rows of length √d."""
        problem = Naive(WINE, sigma)
        scale = np.sqrt(problem.d)[:, None]
        H = np.random.default_rng(0).uniform(-1, 1, (len(WINE), algorithm1.WINE.rank))
        H *= scale / np.linalg.norm(H, axis=1, keepdims=True)
        steps = []
        for _ in range(iterations):
            G = problem.Abar @ H + 1e-7 * H
            G *= scale / np.linalg.norm(G, axis=1, keepdims=True)
            steps.append(np.linalg.norm(G - H))
            H = G
        shares = np.linalg.svd(H, compute_uv=False) ** 2
        return shares / shares.sum(), np.array(steps)

    def test_stops_at_the_limit(self):
        spectrum, steps = self.plain(0.8, 40)
        stopped = algorithm1.run(WINE, 0.8, algorithm1.Rule(algorithm1.WINE.rank, 1e-6, 40), seed=0)
        assert stopped.n_iter == 40
        assert stopped.step == pytest.approx(steps[-1], rel=1e-6)
        np.testing.assert_allclose(stopped.spectrum, spectrum, atol=1e-9)
        assert stopped.certificate.relative_gap > 1e-2

    def test_stops_at_a_short_step(self):
        spectrum, steps = self.plain(6.0, 60)
        first = int(np.flatnonzero(steps < 1e-6)[0]) + 1
        stopped = algorithm1.run(WINE, 6.0, algorithm1.WINE, seed=0)
        assert stopped.n_iter == first
        np.testing.assert_allclose(stopped.spectrum, spectrum, atol=1e-5)
        assert stopped.certificate.relative_gap <= 1e-6


class TestResults:
    RESULT = Result(
        "fig3",
        "Figure 3: a title",
        setting="a setting",
        ours={"x": np.array([[1.5, np.nan], [np.inf, 2 / 3]]), "n": np.int64(3)},
        verdicts=[Verdict("claim", "1", "2", False, "because"), Verdict("other", "1", "1", None)],
        tables=[Table("a table", ["a", "b"], [["1", "x | y"]], folded=True)],
        seeds=[0, 1],
    )

    def test_round_trip(self, tmp_path):
        loaded = Result.load(self.RESULT.save(tmp_path))
        assert loaded.ours == {"x": [[1.5, None], [None, 0.666666666667]], "n": 3}
        assert loaded.verdicts == self.RESULT.verdicts
        assert loaded.tables == self.RESULT.tables
        assert Result.load(loaded.save(tmp_path)) == loaded

    def test_report_from_files_alone(self, tmp_path):
        self.RESULT.save(tmp_path)
        report.main(["--output", str(tmp_path)])
        text = (tmp_path / "report.md").read_text("utf-8")
        assert "- Figure 3, claim: published 1, ours 2 (because)" in text
        assert "| claim | 1 | 2 | **differs**: because |" in text
        assert "x \\| y" in text
        assert "- fig8: not run" in text
        assert "[Figure 3: a title](#figure-3-a-title)" in text


class TestCommandLine:
    def test_without_data_the_rest_runs(self, offline, tmp_path, capsys):
        reproduction.main(["--quick", "--output", str(tmp_path), "--items", "fig3", "fig4", "table1"])
        out = capsys.readouterr().out
        assert "left out: MNIST is not there" in out
        text = (tmp_path / "report.md").read_text("utf-8")
        assert "**Left out**" in text
        assert re.search(r"- Figure 4.*: MNIST is not there: .*ELLIPTOPE_DATA", text)
        assert re.search(r"- Table 1.*: HTRU2 is not there", text)
        assert "extension points, right panel" in text
        assert "Quick run" in text

    def test_pictures_of_the_report_exist(self, tmp_path):
        reproduction.main(["--quick", "--output", str(tmp_path), "--items", "fig2", "fig3"])
        text = (tmp_path / "report.md").read_text("utf-8")
        pictures = re.findall(r"\]\((\S+\.(?:png|svg))\)", text)
        assert len(pictures) == 4
        for name in pictures:
            assert (tmp_path / name).stat().st_size < 250_000

    def test_a_folder_without_the_file_is_named(self, tmp_path):
        result = reproduction.run("fig6", Options(quick=True, output=tmp_path, data=tmp_path))
        assert str(tmp_path) in result.skipped

    def test_resume_keeps_what_is_done(self, tmp_path, capsys):
        arguments = ["--quick", "--output", str(tmp_path), "--items", "fig3"]
        reproduction.main(arguments)
        reproduction.main([*arguments, "--resume"])
        assert "fig3     kept" in capsys.readouterr().out
        # Quick results do not pass for full ones.
        assert not reproduction.is_done("fig3", Options(output=tmp_path))

    def test_one_item_alone(self, tmp_path):
        command = [sys.executable, "-m", "experiments.fig3", "--quick", "--output", str(tmp_path)]
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert out.count("agrees") == 4
        assert (tmp_path / "fig3.json").is_file()
