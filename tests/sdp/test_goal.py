"""What an iterate must attain before a proof is tried, and what that saves."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from elliptope.sdp import solve
from elliptope.sdp.goal import Goal
from sdp.costs import count_calls, moons, near_optimum


def test_a_goal_asks_for_all_that_it_names():
    _, iterate = near_optimum(moons(0.5), 1e-5)
    assert Goal().reached(iterate)
    for name in ("defect", "stationarity"):
        assert Goal(**{name: getattr(iterate, name)}).reached(iterate)
        assert not Goal(**{name: 0.99 * getattr(iterate, name)}).reached(iterate)
    assert Goal(gap=1.01 * iterate.least_gap).reached(iterate)
    assert not Goal(gap=0.99 * iterate.least_gap).reached(iterate)


def test_a_least_gap_that_rounding_hides_prevents_nothing():
    """Where a column is zero nothing is known; and a small defect suffices, whatever the least gap."""
    meter, iterate = near_optimum(moons(0.5), 1e-5)
    wider = meter.evaluate(np.asfortranarray(np.pad(iterate.H, ((0, 0), (0, 1)))))
    assert math.isnan(wider.least_gap)
    assert Goal(gap=1.01 * iterate.least_gap).reached(wider)
    assert Goal(gap=1e-6).reached(SimpleNamespace(defect=1e-7, least_gap=1.0))
    assert not Goal(gap=1e-6).reached(SimpleNamespace(defect=2e-7, least_gap=1.0))


@pytest.mark.parametrize("bandwidth", [0.2, 0.4, 0.8, 1.5])
def test_proofs_succeed_at_the_first_attempt(bandwidth):
    """Every attempt asks for the sum of squares of the core once, and for one factorisation at most."""
    for seed in range(4):
        operator = moons(bandwidth, seed=seed)
        attempts, factorizations = (count_calls(operator, name) for name in ("core_square", "factorization"))
        assert solve(operator, rng=seed).status == "optimal"
        assert len(attempts) == 1
        assert len(factorizations) <= 1


def test_what_can_be_proved_is_not_widened():
    solution = solve(moons(2.0), rank=2, rng=0)
    assert solution.status == "optimal"
    assert {progress.rank for progress in solution.history} == {2}


@pytest.mark.parametrize("bandwidth", [0.2, 0.5, 1.0])
def test_loose_tolerances_add_no_columns_and_cost_no_more(bandwidth):
    operator = moons(bandwidth)
    tight = solve(operator, tol=1e-6, rng=0)
    for tol in (0.3, 1e-2, 1e-3, 1e-4):
        loose = solve(operator, tol=tol, rng=0)
        assert loose.status == "optimal"
        assert loose.certificate.relative_gap <= tol
        assert loose.n_products <= tight.n_products
        assert max(progress.rank for progress in loose.history) <= 4
