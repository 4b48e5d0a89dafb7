"""When a proof is worth an attempt: what H itself allows for, before anything is factorised."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, kernel_matrix
from elliptope.sdp import solve
from elliptope.sdp.certificates.certify import certify
from elliptope.sdp.problem import Goal, Problem
from elliptope.sdp.steps import normalize_rows


def moons(bandwidth, seed=0):
    return DenseOperator(kernel_matrix(Gaussian(bandwidth), two_moons(100, random_state=seed)[0]))


def near_optimum(bandwidth, error, seed=0):
    problem, rng = Problem(moons(bandwidth, seed)), np.random.default_rng(seed)
    H = solve(problem.operator, tol=1e-9, polish=True, rng=seed).factor
    return problem, problem.evaluate(normalize_rows(H + error * rng.standard_normal(H.shape), rng))


@pytest.mark.parametrize("error", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("bandwidth", [0.2, 0.5, 1.0])
def test_the_least_gap_is_that_of_the_range(bandwidth, error):
    problem, iterate = near_optimum(bandwidth, error)
    root = np.sqrt(iterate.pull)[:, None]
    U = np.linalg.qr(root * iterate.H)[0]
    L = np.diag(iterate.slack) - problem.operator.core_matmat(np.eye(problem.n))
    lowest = np.linalg.eigvalsh(U.T @ (L / root / root.T) @ U)[0]
    assert iterate.least_gap == pytest.approx(-lowest * iterate.pull.sum() / iterate.gain, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("error", [1e-7, 1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("bandwidth", [0.3, 1.0])
def test_no_proof_in_that_metric_undercuts_it(bandwidth, error):
    problem, iterate = near_optimum(bandwidth, error)
    certificate, _ = certify(problem, iterate, np.random.default_rng(0), 1e-9, "proof")
    assert certificate.grade == "proved"
    if certificate.weights != "slack":  # another metric may serve better
        return
    # Up to the difference between pulls and slacks, which is of second order.
    assert certificate.relative_gap >= iterate.least_gap * (1 - 10 * error) - 1e-12


@pytest.mark.parametrize("bandwidth", [0.2, 0.4, 0.8, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_proofs_succeed_at_the_first_attempt(monkeypatch, bandwidth, seed):
    efforts = []
    loop = importlib.import_module("elliptope.sdp.solve")
    monkeypatch.setattr(loop, "certify", lambda *args: efforts.append(args[-1]) or certify(*args))
    assert solve(moons(bandwidth, seed), rng=seed).status == "optimal"
    assert efforts == ["attempt"]


def test_a_goal_asks_for_all_that_it_names():
    _, iterate = near_optimum(0.5, 1e-5)
    assert Goal().reached(iterate)
    for name in ("defect", "stationarity"):
        assert Goal(**{name: getattr(iterate, name)}).reached(iterate)
        assert not Goal(**{name: 0.99 * getattr(iterate, name)}).reached(iterate)
    assert Goal(gap=1.01 * iterate.least_gap).reached(iterate)
    assert not Goal(gap=0.99 * iterate.least_gap).reached(iterate)


def test_what_rounding_hides_is_not_in_the_way():
    """Of a column that is there twice nothing is known; and a small defect suffices, whatever seems to be left."""
    problem, iterate = near_optimum(0.5, 1e-5)
    twice = problem.evaluate(np.asfortranarray(np.hstack([iterate.H, iterate.H]) / math.sqrt(2)))
    assert Goal(gap=1.01 * iterate.least_gap).reached(twice)
    assert Goal(gap=1e-6).reached(SimpleNamespace(defect=1e-7, least_gap=1.0))
    assert not Goal(gap=1e-6).reached(SimpleNamespace(defect=2e-7, least_gap=1.0))


def test_what_can_be_proved_is_not_widened():
    solution = solve(moons(2.0), rank=2, rng=0)
    assert solution.status == "optimal"
    assert {progress.rank for progress in solution.history} == {2}


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("bandwidth", [0.2, 0.5, 1.0])
def test_loose_tolerances_neither_widen_nor_crawl(bandwidth, tol):
    loose, tight = solve(moons(bandwidth), tol=tol, rng=0), solve(moons(bandwidth), tol=1e-6, rng=0)
    assert loose.status == "optimal"
    assert loose.certificate.relative_gap <= tol
    assert loose.n_products <= tight.n_products
    assert max(progress.rank for progress in loose.history) <= 4


@pytest.mark.parametrize("max_products", [1, 2, 3])
def test_a_warm_start_with_next_to_no_products(max_products):
    operator = moons(0.5)
    H = solve(operator, tol=1e-9, polish=True, rng=0).factor
    wide = np.hstack([H, np.zeros((len(H), 1))])
    solution = solve(operator, start=wide, max_products=max_products, rng=0)
    assert solution.certificate.gain == pytest.approx(solve(operator, rng=0).certificate.gain, rel=1e-6)
