"""Newton's method, by conjugate gradients and by factorisations."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from common import WINE
from elliptope.operators import SparseOperator
from elliptope.sdp import solve
from elliptope.sdp.ascent.dense_newton import dense_newton
from elliptope.sdp.ascent.newton import newton
from elliptope.sdp.ascent.quasi_newton import quasi_newton
from elliptope.sdp.factors import drop_columns, random_start
from elliptope.sdp.goal import Goal
from elliptope.sdp.problem import Meter, Problem
from elliptope.sdp.spread import Spread
from elliptope.sdp.tuning import TUNING
from sdp.costs import count_calls, kernel_cost, meter_of, unit_rows

MAX_CG = 500
METHODS = {
    "conjugate gradients": lambda meter, iterate: newton(meter, iterate, Goal(), np.random.default_rng(0), MAX_CG),
    "factorisations": lambda meter, iterate: dense_newton(meter, iterate, np.random.default_rng(0)),
}


@pytest.mark.parametrize("method", METHODS)
def test_convergence_is_superlinear(method):
    """Once below 1e-3, the defect falls with a power of itself of at least 1.5, up to a factor, until rounding ends it."""
    for sigma in (1.5, 3.0):
        meter = meter_of(kernel_cost(WINE, sigma))
        start = meter.evaluate(solve(meter.problem.operator, rng=0, tol=1e-2).factor)
        iterates = itertools.islice(METHODS[method](meter, start), 12)
        defects = [start.defect, *(iterate.defect for iterate in iterates)]
        assert min(defects) < 1e-9
        steps = [(before, after) for before, after in itertools.pairwise(defects) if 1e-9 < before < 1e-3]
        assert steps
        assert all(after < 50 * before**1.5 for before, after in steps)


def test_systems_are_solved_no_better_than_they_are_worth():
    """Far from the optimum an exact solution of a Newton system is wasted."""
    rng = np.random.default_rng(0)
    start = random_start(len(WINE), 3, rng)

    def products(forcing):
        meter = Meter(Problem(kernel_cost(WINE, 3.0), replace(TUNING, forcing=forcing)))
        near = next(itertools.islice(quasi_newton(meter, meter.evaluate(start), np.random.default_rng(0)), 12, 13))
        spent = meter.count
        for iterate in newton(meter, near, Goal(), np.random.default_rng(0), MAX_CG):
            if iterate.defect < 1e-9:
                return meter.count - spent
        return np.inf

    assert products(TUNING.forcing) < 0.7 * products(1e-8) < np.inf


def test_systems_in_single_precision():
    """The steps are those of double precision to a few digits, and converge to where single precision cannot go itself."""
    K = sparse.csr_array(np.exp(-((WINE[:, None] - WINE) ** 2).sum(axis=2) / 9.0))
    J = SparseOperator(K)
    J.set_row_scale(np.sqrt(J.abar_diagonal()))
    meter = Meter(Problem(J, spread=0.01))
    start = meter.evaluate(solve(J, rng=0, tol=1e-2, spread=Spread(0.01)).factor)
    assert start.defect > 1e-5
    single = meter.in_float32()
    assert single is not None
    calls = count_calls(single.problem.operator)
    *_, last = newton(meter, start, Goal(), np.random.default_rng(0), MAX_CG, single)
    assert last.defect < 1e-11
    assert len(calls) > 5
    assert all(V.dtype == np.float32 for (V,) in calls)
    *_, expected = newton(meter, start, Goal(), np.random.default_rng(0), MAX_CG)
    np.testing.assert_allclose(last.H @ last.H.T, expected.H @ expected.H.T, atol=1e-9)


def test_no_system_is_solved_beyond_the_aim():
    meter = meter_of(kernel_cost(WINE, 1.5))
    start = meter.evaluate(solve(meter.problem.operator, rng=0, tol=1e-2).factor)
    spent = []
    for aim in (0.0, 3e-5):
        before = meter.count
        for iterate in newton(meter, start, Goal(aim=aim), np.random.default_rng(0), MAX_CG):
            if iterate.defect < 4e-5:
                break
        assert iterate.defect < 4e-5
        spent.append(meter.count - before)
    assert spent[1] < spent[0]


def test_a_system_that_is_not_solved_ends_it():
    meter = meter_of(kernel_cost(WINE, 1.5))
    start = meter.evaluate(solve(meter.problem.operator, rng=0, tol=1e-4).factor)
    steps = newton(meter, start, Goal(), np.random.default_rng(0), 1)
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value[1] is False


def test_factorisations_return_from_soft_directions():
    """There a full step errs, to second order, in stiff directions, and is farther from LH = 0 than where it began."""
    rng, meter = np.random.default_rng(0), meter_of(kernel_cost(WINE, 0.55))
    H = drop_columns(solve(meter.problem.operator, rng=0, polish=True).factor, 1e-3, rng)
    assert H.shape[1] == 2
    start = meter.evaluate(H)
    *_, optimum = start, *dense_newton(meter, start, rng)
    H, root = optimum.H, np.sqrt(optimum.scale)
    # In the plane rows move by angles, and the Hessian is -J ∘ HHᵀ but for its diagonal.
    hessian = -meter.problem.core_matrix * (H @ H.T)
    np.fill_diagonal(hessian, optimum.slack)
    values, U = np.linalg.eigh(hessian / root[:, None] / root)
    assert values[1] < 1e-5
    softest = U[:, 1] / root
    for angle in (1e-5, 1e-4):
        turned = H + angle * (softest / abs(softest).max())[:, None] * np.column_stack([-H[:, 1], H[:, 0]])
        *_, back = dense_newton(meter, meter.evaluate(unit_rows(turned)), rng)
        assert back.stationarity < 1e-12
