"""The examples run, and what they print is right."""

import importlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))

    def load(name):
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    return load


def test_max_cut(example, capsys):
    cut = example("max_cut").main(n=150, n_edges=600)
    certificate = cut.solution.certificate
    assert cut.solution.status == "optimal"
    assert certificate.grade == "proved"
    # Goemans and Williamson's guarantee holds on average over hyperplanes; the best of 200 is above it.
    assert 0.878 * certificate.objective <= cut.weight <= certificate.upper_bound
    assert set(np.unique(cut.signs)) == {-1.0, 1.0}
    assert "no cut exceeds" in capsys.readouterr().out


def test_max_cut_bound_agrees_with_an_independent_method(example):
    """L-BFGS on unconstrained factors, normalised row by row: another method, another parametrisation."""
    module = example("max_cut")
    rng = np.random.default_rng(0)
    A = module.random_graph(150, 600, rng).toarray()
    cut = module.max_cut(module.random_graph(150, 600, np.random.default_rng(0)), rng)
    L = (np.diag(A.sum(axis=1)) - A) / 4

    def cost(v):
        V = v.reshape(150, 20)
        norms = np.linalg.norm(V, axis=1, keepdims=True)
        H = V / norms
        G = L @ H
        return -np.sum(H * G), (-2 * (G - np.sum(G * H, axis=1, keepdims=True) * H) / norms).ravel()

    start = np.random.default_rng(1).standard_normal(150 * 20)
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})
    assert cut.solution.certificate.objective == pytest.approx(-found.fun, rel=1e-6)


@pytest.mark.slow
def test_max_cut_of_2000_nodes(example):
    cut = example("max_cut").main()
    assert cut.solution.status == "optimal"
    assert cut.solution.certificate.grade == "proved"
    assert cut.solution.certificate.relative_gap <= 1e-6


def test_synchronization_is_solved_and_proved(example):
    result = example("z2_synchronization").main(n=150)
    assert result.rank_one
    assert result.overlap == 1.0
    assert result.solution.certificate.grade == "proved"
    # Rank one: the signs attain the bound over the elliptope, so that no other signs are better.
    certificate = result.solution.certificate
    assert certificate.relative_gap <= 1e-6


def test_synchronization_below_the_threshold_is_not_rank_one(example):
    assert not example("z2_synchronization").main(n=150, signal=0.1).rank_one


def test_community_detection(example):
    result = example("community_detection").main(n=300)
    assert result.accuracy > 0.95
    assert result.solution.certificate.grade == "probabilistic"
    assert 0 < result.solution.certificate.failure_probability < 1e-3
    assert result.solution.status == "optimal"


def test_demo_writes_pictures(example, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    example("demo").main()
    for name in ("wine.png", "clusters_with_outliers.png"):
        assert (tmp_path / "demo_output" / name).read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert out.count("optimal") >= 2
    assert out.count("proved") == 2


@pytest.fixture
def gallery(monkeypatch, tmp_path):
    """Runs a script of the gallery as a user would, without windows; gives its variables and closes its figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield lambda name: runpy.run_path(str(ROOT / "examples" / f"plot_{name}.py"), run_name="__main__")
    pyplot.close("all")


def test_idea(gallery):
    found = gallery("idea")
    est, X = found["est"], found["X"]
    assert est.status_ == "optimal"
    assert len(est.eigenvalues_) == 2
    # The page says that lengths follow from densities alone: 1/m - m/M, from the kernel written out.
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.2**2)
    m = K.sum(axis=1)
    np.testing.assert_allclose(found["length"] ** 2, 1 / m - m / m.sum(), rtol=1e-8)


def test_outliers(gallery):
    found = gallery("outliers")
    assert sorted(found["lowest"]) == list(range(len(found["X"]), len(found["X_all"])))
    assert found["nmi"]["SDP embedding, unit rows"] > 0.6
    assert found["nmi"]["Diffusion map"] < 0.1


def test_bandwidth_path(gallery):
    path = gallery("bandwidth_path")["path"]
    assert {record.status for record in path.records} == {"optimal"}
    assert path.bandwidths[[0, -1]] == pytest.approx([1, 6])


def test_new_points(gallery):
    found = gallery("new_points")
    for name in ("svm_accuracy", "search_accuracy", "process_accuracy"):
        assert found[name] > 0.9  # two thirds of the rows would be wrong by chance


def test_certificates(gallery, capsys):
    found = gallery("certificate")
    assert found["difference"] < 1e-6
    assert found["hasty"].status_ == "max_iter"
    assert found["hasty"].certificate_.relative_gap > 1e-2
    # Opposite corners are opposite, whatever else the embedding of the square is.
    directions = found["ambiguous"].embedding_ / np.linalg.norm(found["ambiguous"].embedding_, axis=1, keepdims=True)
    assert found["ambiguous"].status_ == "degenerate"
    np.testing.assert_allclose([directions[0] @ directions[3], directions[1] @ directions[2]], -1, atol=1e-6)
    assert "not unique" in capsys.readouterr().out


def test_smoothness(gallery):
    traces = [est.trace_ for est in gallery("smoothness")["models"].values()]
    assert traces == sorted(traces)  # roughness grows as its price falls
