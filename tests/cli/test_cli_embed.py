"""`elliptope embed` gives what the estimator gives in Python, whatever the files look like."""

import re

import numpy as np
import pytest

from commandline import CLASSES, NAMES, RAW, SDP, coordinates, same, wine_rows, write_csv
from common import WINE, fit
from elliptope import MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding
from elliptope.cli.console import Console

fit_of = SDPEmbedding.fit


class TestEmbed:
    def test_is_the_estimator(self, cli, wine, reference):
        outcome = cli("embed", wine, *SDP, "--label", "class")
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
            ("--method sdp --n-components 1 --seed 3 --jobs 2", SDPEmbedding(1, random_state=3)),
            ("--method rkhs --device cpu", RKHSEmbedding(random_state=0, device="cpu")),
            ("--n-components 5 --neighbors 20 --seed 3", MultiscaleEmbedding(5, n_neighbors=20, random_state=3)),
        ],
    )
    def test_options_reach_the_estimator(self, cli, wine, flags, est):
        outcome = cli("embed", wine, "--drop", "class", *flags.split())
        same(outcome.numbers, est.fit(WINE).embedding_)
        assert outcome.code == 0

    def test_options_of_another_method(self, cli, wine):
        outcome = cli("embed", wine, *SDP, "--neighbors", 5)
        assert outcome.code == 2
        assert "--neighbors does not apply to --method sdp, only to multiscale" in outcome.err

    def test_formats_agree(self, cli, tmp_path, reference):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame(WINE, columns=NAMES)
        frame.to_csv(tmp_path / "a.csv", index=False)
        frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
        frame.to_parquet(tmp_path / "a.parquet")
        np.save(tmp_path / "a.npy", WINE)
        np.savez(tmp_path / "a.npz", X=WINE, y=RAW.target)
        for source in ("csv", "tsv", "parquet", "npy", "npz"):
            for sink in ("csv", "tsv", "parquet", "npy", "npz"):
                target = tmp_path / f"from_{source}.{sink}"
                assert cli("embed", tmp_path / f"a.{source}", *SDP, "-o", target).code == 0
        for source in ("csv", "tsv", "parquet", "npy", "npz"):
            name = str(tmp_path / f"from_{source}")
            same(np.load(f"{name}.npy"), reference.embedding_)
            same(np.load(f"{name}.npz")["z"], reference.embedding_)
            same(np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1), reference.embedding_)
            same(np.loadtxt(f"{name}.tsv", delimiter="\t", skiprows=1), reference.embedding_)
            same(pandas.read_parquet(f"{name}.parquet"), reference.embedding_)

    def test_pipelines(self, cli, wine, reference):
        """Output of one command is input of the next, through standard input and output."""
        first = cli("embed", wine, *SDP, "--drop", "class")
        second = cli("embed", "-", *SDP, stdin=first.out)
        assert (first.code, second.code) == (0, 0)
        same(second.numbers, fit(reference.embedding_).embedding_)
        assert "standard input: 178 rows, 2 features" in second.err

    def test_label_and_id_are_kept(self, cli, tmp_path):
        rows = [["name", "x", "y", "kind"], *([f"r{i}", i % 5, i * i % 7, "ab"[i % 2]] for i in range(20))]
        path = write_csv(tmp_path / "t.csv", rows)
        outcome = cli("embed", path, *SDP, "--label", "kind", "--id", "name")
        header, body = outcome.table
        assert header[:2] == ["name", "kind"]
        assert [row[:2] for row in body] == [[row[0], row[3]] for row in rows[1:]]
        X = np.array([row[1:3] for row in rows[1:]], dtype=float)
        same(coordinates(header, body), fit(X).embedding_)

    def test_weights(self, cli, tmp_path):
        w = np.linspace(0.5, 2, 178)
        path = write_csv(tmp_path / "t.csv", [["w", *NAMES], *([a, *row] for a, row in zip(w, WINE.tolist(), strict=True))])
        same(cli("embed", path, *SDP, "--weight", "w").numbers, fit(WINE, w).embedding_)

    def test_columns(self, cli, wine):
        outcome = cli("embed", wine, *SDP, "--columns", "hue,1-3")
        same(outcome.numbers, fit(WINE[:, [NAMES.index("hue"), 0, 1, 2]]).embedding_)

    def test_without_header(self, cli, tmp_path, reference):
        path = write_csv(tmp_path / "t.csv", wine_rows(WINE, names=None))
        outcome = cli("embed", path, *SDP, "--label", 14)
        assert outcome.table[0] == ["label", "z1", "z2"]
        same(outcome.numbers, reference.embedding_)

    def test_json(self, cli, wine, tmp_path, reference):
        within = cli("embed", wine, *SDP, "--label", "class", "--json").json
        assert within["columns"] == ["class", "z1", "z2"]
        same([row[1:] for row in within["rows"]], reference.embedding_)
        assert [row[0] for row in within["rows"]] == CLASSES
        beside = cli("embed", wine, *SDP, "--label", "class", "--json", "-o", tmp_path / "out.csv").json
        assert "rows" not in beside
        assert beside["output"] == str(tmp_path / "out.csv")
        for facts in (within, beside):
            assert facts["status"] == "optimal"
            assert facts["certificate"]["grade"] == "proved"
            assert facts["certificate"]["relative_gap"] == reference.certificate_.relative_gap
            assert facts["bandwidth"] == reference.bandwidth_
            assert facts["feature_names"] == NAMES

    def test_not_optimal(self, cli, wine, tmp_path, monkeypatch):
        """The certificate of such a fit has infinities, which JSON has not."""
        monkeypatch.setattr(
            SDPEmbedding, "fit", lambda self, *args, **options: fit_of(self.set_params(max_iter=1), *args, **options)
        )
        outcome = cli("embed", wine, *SDP, "--drop", "class", "-o", tmp_path / "out.csv", "--json")
        assert outcome.code == 3
        assert outcome.json["status"] == "max_iter"
        assert "elliptope: warning: SDPEmbedding ended with status" in outcome.err
        assert (tmp_path / "out.csv").exists()

    def test_quiet(self, cli, wine):
        outcome = cli("embed", wine, *SDP, "--label", "class", "--quiet")
        assert outcome.err == ""
        assert len(outcome.table[1]) == 178

    def test_progress(self, capsys):
        pytest.importorskip("sklearn.callback", exc_type=ImportError)
        est = SDPEmbedding(random_state=0)
        with Console(interval=0.0).watching(est):
            est.fit(WINE)
        lines = [line for line in capsys.readouterr().err.splitlines() if "digits" in line]
        assert len(lines) > 10
        assert all(re.fullmatch(r"[0-6]/6  digits  iteration \d+, products \d+, objective [\d.]+", line) for line in lines)

    def test_hints(self, cli, raw_wine, tmp_path):
        said = "columns differ 2530-fold in spread, and the widest ones decide; `report` standardises them"
        assert said in cli("embed", raw_wine, *SDP, "--label", "class").err
        x = np.arange(20.0) % 7
        path = write_csv(tmp_path / "t.csv", [["a", "b"], *([value, 5] for value in x.tolist())])
        outcome = cli("embed", path, *SDP)
        assert "constant columns have no influence: 'b'" in outcome.err
        same(outcome.numbers, fit(np.column_stack([x, np.full(20, 5.0)])).embedding_)

    def test_force(self, cli, wine, tmp_path):
        target = tmp_path / "out.csv"
        target.write_text("old")
        link = tmp_path / "link.csv"
        link.symlink_to(target)
        assert cli("embed", wine, *SDP, "--label", "class", "-o", link).code == 1
        assert target.read_text() == "old"
        assert cli("embed", wine, *SDP, "--label", "class", "-o", link, "--force").code == 0
        assert target.read_text().startswith("class,z1,z2\n")
        assert link.is_symlink()

    def test_devices_are_written_to(self, cli, wine):
        assert cli("embed", wine, *SDP, "--label", "class", "-o", "/dev/null").code == 0
