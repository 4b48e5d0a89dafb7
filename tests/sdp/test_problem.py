"""Problems, which do not change; and meters, which count and limit products."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from elliptope.operators import as_operator
from elliptope.sdp.problem import Meter, OutOfProducts, Problem
from elliptope.sdp.tuning import TUNING
from sdp.costs import EarlySingle, core, count_calls, indefinite, moons


class TestProblem:
    def test_nothing_can_be_assigned(self):
        problem = Problem(as_operator(indefinite(5)))
        for name in ("operator", "tuning", "offset", "metric", "core_matrix", "n_products"):
            with pytest.raises(FrozenInstanceError):
                setattr(problem, name, None)
        with pytest.raises(FrozenInstanceError):
            TUNING.rank = 5

    def test_parts_of_the_cost(self):
        for operator in (as_operator(indefinite(20)), as_operator(indefinite(20), np.linspace(0.5, 2, 20)), moons(0.5, 20)):
            J, problem = operator @ np.eye(20), Problem(operator)
            np.testing.assert_allclose(problem.offset, J.diagonal(), rtol=1e-12)
            np.testing.assert_allclose(problem.core_matrix, J - np.diag(J.diagonal()), atol=1e-14 * abs(J).max())
            assert (problem.n, problem.metric) == (20, None)


class TestMeter:
    def test_counts_block_products(self):
        operator = as_operator(indefinite(20))
        meter, calls = Meter(Problem(operator)), count_calls(operator)
        for width in (1, 3):
            V = np.random.default_rng(width).standard_normal((20, width))
            np.testing.assert_allclose(meter.product(V), (indefinite(20) - np.diag(indefinite(20).diagonal())) @ V)
        meter.evaluate(np.ones((20, 1)))
        assert meter.count == len(calls) == 3
        assert meter.left == np.inf

    @pytest.mark.parametrize("limit", [0, 0.5, 1, 1.5, 3])
    def test_no_product_is_made_beyond_the_limit(self, limit):
        operator, V = as_operator(indefinite(5)), np.ones((5, 1))
        meter, calls = Meter(Problem(operator), limit), count_calls(operator)
        for _ in range(int(np.ceil(limit))):
            assert meter.left > 0
            meter.product(V)
        for _ in range(2):
            with pytest.raises(OutOfProducts):
                meter.product(V)
        assert meter.count == len(calls) == np.ceil(limit)
        assert meter.left == 0

    def test_precision(self):
        operator = EarlySingle(indefinite(30))
        meter, V = Meter(Problem(operator)), np.random.default_rng(0).standard_normal((30, 2))
        exact = core(operator) @ V
        meter.use_single_precision()
        assert meter.in_single_precision
        assert 1e-9 < abs(meter.product(V) - exact).max() / abs(exact).max() < 1e-5
        meter.use_double_precision()
        assert not meter.in_single_precision
        np.testing.assert_allclose(meter.product(V), exact, rtol=1e-13)
        assert meter.count == 2

    def test_operators_without_single_precision_stay_in_double(self):
        meter = Meter(Problem(as_operator(indefinite(5))))
        meter.use_single_precision()
        assert not meter.in_single_precision
