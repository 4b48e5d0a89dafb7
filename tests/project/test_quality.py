"""The comparison of embeddings: its scores against values known beforehand, and the command from end to end."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """The benchmarks are scripts: they import each other by plain names."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def turned(Z, rng):
    """Z rotated, scaled, moved, and with one column more."""
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return 2.5 * np.pad(Z, ((0, 0), (0, 1))) @ Q + rng.standard_normal(3)


def test_displacement_ignores_similarities_and_measures_the_rest():
    from quality_scores import displacement

    rng = np.random.default_rng(0)
    Z, n = rng.standard_normal((60, 2)), 40
    W = turned(Z, rng)
    assert displacement(Z[:n], Z[n:], W[:n], W[n:]) == pytest.approx(0, abs=1e-12)
    size = np.sqrt(Z[:n].var(axis=0).sum())
    assert displacement(Z[:n], Z[n:] + [3 * size, 4 * size], W[:n], W[n:]) == pytest.approx(5)


def test_outliers_take_part_in_kmeans_and_not_in_the_scores():
    from quality_data import Sample
    from quality_scores import scores

    y = np.repeat([0, 1], 30)
    near = y[:, None] + 0.01 * np.random.default_rng(0).standard_normal((60, 2))
    far = np.array([[1e3, 1e3], [1e3, 1e3 + 1]])
    Z = np.vstack([near, far])
    result = scores(Z, Sample(Z, y, Z[:0], y[:0]))
    # k-means spends one of its two clusters on the far rows; HDBSCAN calls them noise.
    expected = {"nmi": 0, "ari": 0, "nmi_inliers": 1, "accuracy": 1}
    assert {name: result[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert min(result["nmi_hdbscan"], result["ari_hdbscan"]) > 0.8


def test_outliers_fill_the_box():
    from quality_data import with_outliers

    X = np.random.default_rng(0).uniform([0, 10], [1, 30], (500, 2))
    spoilt = with_outliers(X, 0.2, np.random.default_rng(1))
    assert spoilt.shape == (600, 2)
    assert (spoilt[:500] == X).all()
    np.testing.assert_allclose(spoilt[500:].min(axis=0), [-1, -10], atol=1.5)
    np.testing.assert_allclose(spoilt[500:].max(axis=0), [2, 50], atol=1.5)


def test_development_and_held_out_sets_are_apart_and_enough():
    from quality_sets import DEVELOPMENT, HELD_OUT, SETS

    assert not set(DEVELOPMENT) & set(HELD_OUT)
    assert len(SETS) >= 14
    assert {"two moons", "rings", "spirals"} <= set(DEVELOPMENT)
    for kind in ("table", "image", "series", "text", "cells", "generated"):
        assert {SETS[name].development for name in SETS if SETS[name].kind == kind} == {True, False}, kind


def test_sets_at_hand_load_and_repeat():
    from quality_data import draw
    from quality_sets import SETS, available

    for name in available(list(SETS)):
        sample, same = draw(name, 0.1, 3), draw(name, 0.1, 3)
        assert np.isfinite(sample.X_fit).all(), name
        np.testing.assert_array_equal(sample.X_fit, same.X_fit)
        assert len(sample.X_fit) == sample.n_train + round(0.1 * sample.n_train), name
        assert len(sample.X_all) <= 1500, name
        assert min(np.unique(sample.y_train, return_counts=True)[1]) >= 10, name


def test_quick_run_can_be_stopped_and_started_again(tmp_path):
    command = [sys.executable, "benchmarks/quality.py", "--sets", "quick", "--seeds", "1", "--levels", "0", "10"]
    command += ["--methods", "SDPEmbedding", "PCA", "--output", str(tmp_path)]
    path = tmp_path / "quality.csv"

    def run():
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        return path.read_text().splitlines()

    lines = run()
    assert len(lines) == 1 + 2 * 2 * 2  # data sets, methods, levels
    path.write_text("\n".join(lines[:-1]) + "\n")
    assert [line.split(",")[:4] for line in run()] == [line.split(",")[:4] for line in lines]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows if row["method"] == "SDPEmbedding"] == ["optimal"] * 4
    (pca,) = [row for row in rows if (row["data"], row["method"], row["outliers"]) == ("wine", "PCA", "0")]
    assert float(pca["new_rows"]) == pytest.approx(wine_accuracy(), abs=1e-6)
    assert "| SDPEmbedding | 4 | 4 proved | 4 optimal |" in (tmp_path / "quality.md").read_text()
    assert (tmp_path / "quality.png").stat().st_size > 10_000


def wine_accuracy():
    """Five nearest neighbours after PCA, with scikit-learn alone."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    return make_pipeline(PCA(2), KNeighborsClassifier(5)).fit(X_train, y_train).score(X_test, y_test)


def test_tables_of_the_comparison_page_come_from_the_command():
    page = (ROOT / "docs" / "comparison.md").read_text().splitlines()
    results = ROOT / "benchmarks" / "results"
    generated = {line for name in ("quality.md", "quality_time.md") for line in (results / name).read_text().splitlines()}
    cells = [line for line in page if line.startswith("|")]
    assert len(cells) > 20
    assert [line for line in cells if line not in generated] == []
