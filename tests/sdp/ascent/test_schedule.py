"""The default method: every phase climbs, all reach the same summit, and each takes over where it is the cheaper one."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from common import MOONS, WINE
from elliptope import SDPEmbedding
from elliptope.operators import as_operator, dense
from elliptope.sdp import solve
from elliptope.sdp.ascent import METHODS
from elliptope.sdp.ascent.interior_point import interior_point
from elliptope.sdp.ascent.quasi_newton import quasi_newton
from elliptope.sdp.ascent.schedule import _compress
from elliptope.sdp.factors import drop_columns, drop_light_columns, random_start
from elliptope.sdp.goal import Goal
from elliptope.sdp.problem import Meter, Problem
from elliptope.sdp.tuning import TUNING
from sdp.costs import EarlySingle, gram, indefinite, kernel_cost, meter_of, unit_rows

COSTS = {
    "wine 3": lambda: kernel_cost(WINE, 3.0),
    "wine 1.5": lambda: kernel_cost(WINE, 1.5),
    "moons 0.5": lambda: kernel_cost(MOONS, 0.5),
    "indefinite": lambda: indefinite(60),
}

# Phases of "auto", each able to reach the optimum by itself from a start of the given rank.
PHASES = {
    "quasi-Newton": lambda meter, H, rng: quasi_newton(meter, meter.evaluate(H), rng),
    "interior point": interior_point,
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("cost", COSTS)
def test_phases_reach_the_optimum(cost, phase):
    cost = COSTS[cost]()
    reference = solve(cost, rng=1, tol=1e-8)
    meter, rng = meter_of(cost), np.random.default_rng(0)
    best = 0.0
    for k, iterate in enumerate(PHASES[phase](meter, random_start(meter.problem.n, 16, rng), rng)):
        best = max(best, iterate.objective)
        np.testing.assert_allclose(np.linalg.norm(iterate.H, axis=1), 1.0, rtol=1e-12)
        if iterate.defect < 1e-7 or k > 1500:
            break
    gain = reference.certificate.gain
    assert reference.certificate.objective - best < 1e-6 * gain
    assert best <= reference.certificate.upper_bound + 1e-12 * gain


class TestHandover:
    """The interior-point method has four times the columns of what comes before it; from 4, no other phase has 16."""

    @staticmethod
    def solve(cost, **tuning):
        solution = solve(cost, rng=0, tuning=replace(TUNING, **tuning))
        assert solution.status == "optimal"
        assert solution.certificate.grade == "proved"
        wide = [p.n_products for p in solution.history if p.rank == 16]
        return solution, (wide[0] if wide else np.inf)

    def test_small_problems_go_on_by_factorisations(self):
        """Where L-BFGS is slow, Newton steps take over, and the interior-point method if they do not arrive."""
        for sigma, steps, interior in ((1.0, 15, False), (1.0, 0, True), (0.6, 15, True)):
            J = kernel_cost(WINE, sigma)
            slow, _ = self.solve(J, interior_point_rows=0)
            found, began = self.solve(J, newton_steps=steps)
            assert (began < np.inf) == interior
            difference = found.certificate.objective - slow.certificate.objective
            assert abs(difference) <= 2e-6 * found.certificate.gain
            assert found.n_products < 0.7 * slow.n_products

    def test_patience_has_an_end(self):
        """On more rows the interior-point method takes over after so many products per row, and no sooner."""
        J = kernel_cost(load_digits().data[:300] / 16, 0.7)
        assert self.solve(J)[1] == np.inf
        for patience in (0.1, 0.3):
            _, began = self.solve(J, patience_per_row=patience)
            assert 300 * patience <= began <= 300 * patience + 5

    def test_optima_with_many_columns(self):
        """Almost nothing holds points together, and the optimum has as many columns as there may be."""
        model = SDPEmbedding(bandwidth=0.3, random_state=0)
        with pytest.warns(UserWarning, match="degenerate"):
            model.fit(WINE)
        assert model.certificate_.grade == "proved"
        assert model.certificate_.relative_gap <= 1e-6
        assert model.n_products_ < 1000


@pytest.fixture(scope="module")
def optimum():
    J = kernel_cost(WINE, 3.0)
    return J, solve(J, tol=1e-10, polish=True, rng=0).factor


class TestCompression:
    def test_light_columns_are_dropped(self, optimum):
        """Some rows use it, so that no bound on the entries would drop it; but the objective does not need it."""
        (J, H), rng = optimum, np.random.default_rng(0)
        meter, extra = meter_of(J), np.zeros((len(H), 1))
        extra[:3] = 5e-3
        wide = meter.evaluate(unit_rows(np.hstack([H, extra])))
        assert drop_columns(wide.H, 1e-3, rng).shape[1] == H.shape[1] + 1
        assert drop_light_columns(wide.H, wide.pull, 1e-6, rng).shape[1] == H.shape[1]
        compressed = _compress(meter, wide, rng)
        assert compressed.H.shape[1] == H.shape[1]
        assert compressed.gain >= wide.gain

    def test_not_at_the_expense_of_the_objective(self, optimum):
        """Columns that are needed stay; also those that would be called light, but are not."""
        (J, H), rng = optimum, np.random.default_rng(0)
        for share in (TUNING.light_column, 0.5):
            meter = Meter(Problem(J, replace(TUNING, light_column=share)))
            iterate = meter.evaluate(H)
            assert (drop_light_columns(H, iterate.pull, share, rng).shape[1] < H.shape[1]) == (share == 0.5)
            assert _compress(meter, iterate, rng) is iterate


class TestPrecision:
    def test_products_switch_to_double_before_newton(self):
        """The copy in single precision is given up as soon as the defect is small."""
        meter, rng = Meter(Problem(EarlySingle(kernel_cost(MOONS, 0.5) @ np.eye(len(MOONS))))), np.random.default_rng(0)
        seen = []
        for iterate in METHODS["auto"](meter, random_start(meter.problem.n, 5, rng), Goal(), rng):
            seen.append((iterate.defect, meter.in_single_precision))
            if iterate.defect < 1e-9:
                break
        assert any(single for _, single in seen)
        assert not any(single for defect, single in seen if defect < 0.1 * TUNING.single_precision)

    def test_stored_kernels(self, monkeypatch):
        """Their copies in single precision pay on thousands of rows only; where they do, the optimum is the same."""
        operator, V = kernel_cost(MOONS, 0.5), np.random.default_rng(0).standard_normal((len(MOONS), 3))
        assert operator.single() is None
        expected = solve(operator, rng=0, polish=True)
        monkeypatch.setattr(dense, "_SINGLE_SIZE", 1)
        monkeypatch.setattr(dense.DenseStorage, "single_after", 0)
        exact, single = operator.core_matmat(V), operator.single().core_matmat(V)
        assert 1e-9 < abs(single - exact).max() / abs(exact).max() < 1e-5
        assert single.dtype == np.float64
        found = solve(operator, rng=0, polish=True)
        assert found.certificate.grade == "proved"
        np.testing.assert_allclose(gram(found), gram(expected), atol=1e-6)


def test_a_start_in_the_basin_is_not_widened():
    """More columns would only move away a factor that was polished before."""
    J = indefinite(80)
    optimum = solve(J, rng=0, polish=True, tol=1e-8)
    again = solve(as_operator(J), rng=0, start=optimum.factor)
    assert {p.rank for p in again.history} <= {optimum.factor.shape[1]}
    assert again.n_products <= 3
