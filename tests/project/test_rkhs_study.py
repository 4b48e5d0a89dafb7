"""The study of the kernelised problem: its formulas, its protocol, a quick run, and the page that reports it."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments/ is not installed

from elliptope.kernels import Matern
from elliptope.theory import cover_ball, fill_distance, least_regularization
from experiments import rkhs_study
from experiments.rkhs import classification, domains, labelled, matrices, regularization, rows, violation

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "experiments" / "results" / "rkhs_study"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rkhs_study")
    rkhs_study.main(["--quick", "--output", str(folder)])
    return folder, {path.stem: rows.read_rows(path) for path in folder.glob("*.csv")}


@pytest.mark.parametrize("nu", [0.5, 1.5])
def test_collapse_threshold_is_where_the_certificate_of_one_place_turns_indefinite(nu):
    X = domains.random_points(30, 2, seed=3)
    K, n, ones = Matern(0.7, nu).block(X, X), 30, np.ones(30)
    u = K @ ones / np.sqrt(ones @ K @ ones)
    inverse = np.linalg.inv(K)
    threshold = matrices.collapse_threshold(K)

    def smallest(factor):
        L = factor * threshold * n**2 * (inverse - np.diag(inverse @ ones)) - (K - np.outer(u, u))
        return np.linalg.eigvalsh((L + L.T) / 2)[0]

    assert smallest(1.01) > -1e-8  # the vector of ones is in the null space
    assert smallest(0.99) < -1e-4


def test_gain_scale_is_the_gain_of_the_leading_eigenfunction():
    """f_n(B) = Tr(K̄ B')/n² for B' = e eᵀ with e the values of the eigenfunction, of unit norm eᵀK⁻¹e in the RKHS."""
    X = domains.random_points(25, 2, seed=1)
    K = Matern(1.0, 1.5).block(X, X)
    u = K.sum(axis=1) / np.sqrt(K.sum())
    Kbar = K - np.outer(u, u)
    e = Kbar @ np.linalg.eigh(Kbar)[1][:, -1]
    norm = e @ np.linalg.solve(K, e)
    assert matrices.gain_scale(K) == pytest.approx(e @ Kbar @ e / norm / 25**2, rel=1e-8)


def test_n_needed_is_the_first_n():
    n = regularization.n_needed(0.04, 0.57)
    assert least_regularization(n, violation.DELTA, 0.57) < 0.04 <= least_regularization(n - 1, violation.DELTA, 0.57)


def test_points_fill_the_ball():
    X = domains.random_points(4000, 3, seed=0)
    radius = np.linalg.norm(X, axis=1)
    assert radius.max() < 1
    assert np.mean(radius**3) == pytest.approx(0.5, abs=0.02)  # the volume within a radius is uniform
    h = fill_distance(domains.spread_points(400, 2), cover_ball(2, 1.0, 0.02))
    assert 1 / np.sqrt(400) < h.upper  # discs of radius h around the points cover the disc
    assert h.lower < 2 / np.sqrt(400)


def test_violations_are_the_norms_of_the_gap():
    Z = np.array([[0.0], [0.5], [0.9], [1.0]])
    found = violation.violations(np.array([0.1, -0.2, 0.3, -4.0]), Z)
    assert found == {"sup": 4.0, "sup_inner": 0.2, "mean": pytest.approx(0.2), "worst_radius": 1.0, "worst_sign": -1}


def test_rows_survive_a_file(tmp_path):
    given = [{"a": 1, "b": 0.25, "c": "theory", "d": True}, {"a": 2, "e": '{"x": null}'}]
    rows.write_rows(tmp_path / "x.csv", given)
    assert rows.read_rows(tmp_path / "x.csv") == given


def test_selection_never_sees_the_test_labels():
    X, y = labelled.wine(0)
    train, test = next(labelled.splits(X, y, 1, 0))
    spoilt = y.copy()
    spoilt[test] = np.roll(y[test], 7)
    trial = classification.trials(quick=True)["Wine"]
    honest, _ = classification._compare(X, y, train, test, trial, quick=True)
    blind, _ = classification._compare(X, spoilt, train, test, trial, quick=True)
    assert [row.get("parameters") for row in honest] == [row.get("parameters") for row in blind]
    assert [row["accuracy"] for row in honest] != [row["accuracy"] for row in blind]


@pytest.mark.slow
def test_violation_has_the_predicted_exponents(quick):
    slopes = quick[1]["violation_slopes"]
    spread = [row for row in slopes if row["design"] == "spread"]
    assert len(spread) == 2
    for row in spread:
        assert row["sup_against_h"] == pytest.approx(row["s"], abs=0.1)
        assert row["mean_against_h"] == pytest.approx(row["s"] + 1, abs=0.1)
        assert row["sup_inner_against_h"] == pytest.approx(2 * row["s"], abs=0.15)
    for row in slopes:
        assert row["sup_against_n"] < min(row["minus_m_over_p"], -0.5)  # faster than the theorem promises
    assert all(0 < row["mean"] <= row["sup"] for row in quick[1]["violation"])


@pytest.mark.slow
def test_path_collapses_where_predicted_and_the_trace_falls(quick):
    path = quick[1]["regularization_path"]
    for n in {row["n"] for row in path}:
        part = sorted((row for row in path if row["n"] == n), key=lambda row: row["regularization"])
        assert [row["rank"] == 1 for row in part] == [row["regularization"] > row["collapse"] for row in part]
        for key in ("trace", "f_n", "objective"):
            values = np.array([row[key] for row in part])
            assert (np.diff(values) <= 1e-5 * np.abs(values).max()).all()
        assert part[0]["trace"] > 5 * part[-1]["trace"]


@pytest.mark.slow
def test_theory_asks_for_more_than_the_collapse(quick):
    for row in quick[1]["thresholds"]:
        assert row["theory"] > row["collapse"] > row["gain_scale"]
        assert row["rank"] == 1


@pytest.mark.slow
def test_every_solve_is_proved_optimal(quick):
    for name in ("violation", "regularization_path", "thresholds", "spectrum", "defaults", "classification_solves"):
        solves = [row for row in quick[1][name] if "status" in row]
        assert solves
        assert {(row["status"], row["grade"]) for row in solves} == {("optimal", "proved")}
        assert max(row["relative_gap"] for row in solves) <= 1e-6


@pytest.mark.slow
def test_learned_features_classify(quick):
    results = [row for row in quick[1]["classification"] if row["parameters_by"] == "selection"]
    for method in ("RKHS", "SDP", "DM"):
        assert np.mean([row["accuracy"] for row in results if row["method"] == method]) > 0.85


@pytest.mark.slow
def test_quick_run_writes_figures_and_tables(quick):
    folder, _ = quick
    for name in ("violation", "regularization", "spectrum", "classification"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text()
    assert (folder / "tables.md").read_text().count("## ") == len(rkhs_study.TABLES)


def test_page_shows_the_tables_of_the_committed_results(tmp_path):
    for path in COMMITTED.glob("*.csv"):
        shutil.copy(path, tmp_path)
    rkhs_study.report(tmp_path)
    tables = (tmp_path / "tables.md").read_text("utf-8")
    assert tables == (COMMITTED / "tables.md").read_text("utf-8")
    shown = re.findall(r"(?:^\|.*\|\n)+", (ROOT / "docs" / "rkhs.md").read_text("utf-8"), flags=re.MULTILINE)
    assert len(shown) >= 5
    for table in shown:
        assert table in tables
