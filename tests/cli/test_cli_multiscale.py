"""What a table gets by default: two scales, each with its certificate, in every command."""

import numpy as np
import pytest

from commandline import CLASSES, RAW, same
from common import WINE
from elliptope import MultiscaleEmbedding, load


@pytest.fixture(scope="module")
def expected():
    return MultiscaleEmbedding(random_state=0).fit(WINE)


def test_embed(cli, wine, expected):
    outcome = cli("embed", wine, "--label", "class")
    header, rows = outcome.table
    assert outcome.code == 0
    assert header == ["class", *(f"z{k + 1}" for k in range(expected.n_components_))]
    assert [row[0] for row in rows] == CLASSES
    same(outcome.numbers, expected.embedding_)
    first, second = (len(scale.eigenvalues) for scale in expected.scales_)
    assert f"optimal: 178 rows in {first + second} columns, 15 neighbours, 2 scales (tol 0.0001)\n" in outcome.err
    for number, time, rank in ((1, 32, first), (2, 1, second)):
        assert f"  scale {number}, diffusion time {time}: optimal, {rank} components; proved, relative gap " in outcome.err


def test_arrays_have_the_coordinates_as_a_matrix(cli, wine, tmp_path, expected):
    for suffix, found in (("npy", np.load), ("npz", lambda path: np.load(path)["z"])):
        assert cli("embed", wine, "--drop", "class", "-o", tmp_path / f"z.{suffix}").code == 0
        same(found(tmp_path / f"z.{suffix}"), expected.embedding_)


def test_json_has_a_certificate_per_scale(cli, wine, tmp_path, expected):
    facts = cli("embed", wine, "--label", "class", "--json", "-o", tmp_path / "z.csv").json
    assert [scale["diffusion_time"] for scale in facts["scales"]] == [32, 1]
    for found, scale in zip(facts["scales"], expected.scales_, strict=True):
        assert (found["status"], found["certificate"]["grade"]) == ("optimal", "proved")
        assert found["certificate"]["relative_gap"] == scale.certificate.relative_gap
        assert found["certificate"]["distance_bound"] == scale.certificate.distance_bound
        same(found["eigenvalues"], scale.eigenvalues)
    within = cli("embed", wine, "--label", "class", "--json").json
    assert within["columns"] == ["class", *(f"z{k + 1}" for k in range(expected.n_components_))]
    same([row[1:] for row in within["rows"]], expected.embedding_)


def test_models(cli, wine, tmp_path, expected):
    model = tmp_path / "m"
    assert cli("embed", wine, "--label", "class", "--save-model", model).code == 0
    same(load(model).embedding_, expected.embedding_)
    outcome = cli("transform", model, wine, "--label", "class")
    assert outcome.table[0] == ["class", *(f"z{k + 1}" for k in range(expected.n_components_))]
    same(outcome.numbers, expected.transform(WINE))
    about = cli("info", model).out.decode()
    assert "  scale 2, diffusion time 1: optimal, " in about
    assert "array(" not in about


def test_report(cli, raw_wine, tmp_path):
    model = tmp_path / "m"
    assert cli("report", raw_wine, "--label", "class", "-o", tmp_path / "r.html", "--save-model", model).code == 0
    names = cli("transform", model, raw_wine, "--label", "class").table[0]
    assert names[:3] == ["class", "z1", "z2"]


def test_few_rows(cli, tmp_path):
    np.save(tmp_path / "few.npy", RAW.data[:12])
    outcome = cli("embed", tmp_path / "few.npy")
    assert outcome.code == 0
    assert "`n_neighbors` is 4 in place of 15: `X` has no more than 12 distinct rows." in outcome.err
    assert "4 neighbours, 2 scales" in outcome.err
    assert cli("embed", tmp_path / "few.npy", "--neighbors", 5).code == 0
    report = ("report", tmp_path / "few.npy", "-f", "-o", tmp_path / "r.html")
    outcome = cli(*report)
    assert outcome.code == 0
    assert "few.npy: 4 neighbours in place of 15, for 12 rows differ (--neighbors)" in outcome.err
    assert "in place of" in cli(*report, "--neighbors", 15).err
