"""The paper's algorithm."""

import numpy as np
import pytest

from common import WINE
from elliptope.sdp import solve
from elliptope.sdp.ascent import METHODS
from elliptope.sdp.factors import random_start
from elliptope.sdp.goal import Goal
from sdp.costs import indefinite, kernel_cost, meter_of, psd, unit_rows


def test_is_the_algorithm_of_the_paper():
    """H ← rows of JH, normalised: the diagonal of J counts."""
    rng = np.random.default_rng(0)
    for J in (psd(12), kernel_cost(WINE, 6.0) @ np.eye(len(WINE))):
        H = random_start(len(J), 4, rng)
        for _, iterate in zip(range(5), METHODS["power"](meter_of(J), H, Goal(), rng), strict=False):
            np.testing.assert_allclose(iterate.H, H, atol=1e-10)
            H = unit_rows(J @ H)


def test_never_descends_on_a_psd_cost():
    solution = solve(psd(50), rng=0, method="power", max_iter=200)
    objectives = np.array([p.objective for p in solution.history[:-1]])
    assert len(objectives) > 20
    assert (np.diff(objectives) >= -1e-13 * objectives[-1]).all()
    assert objectives[-1] > 1.2 * objectives[0]


def test_reaches_the_same_optimum_as_auto():
    C = psd(15) + 5.0
    auto, power = solve(C, rng=0), solve(C, rng=0, method="power", tol=1e-4)
    assert power.status == "optimal"
    assert power.certificate.objective == pytest.approx(auto.certificate.objective, rel=1e-4)


def test_a_cost_that_is_not_psd_is_refused():
    with pytest.raises(ValueError, match="must be positive semi-definite for the power method"):
        solve(indefinite(60), method="power", rng=0)


def test_too_few_iterations_are_not_called_degenerate():
    solution = solve(kernel_cost(WINE, 1.5), method="power", polish=True, tol=1e-3, max_iter=60, rng=0)
    assert solution.status == "max_iter"
