"""The Chebyshev test never claims what is false, and what it claims is close to the truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2, ortho_group

from elliptope.sdp.certificates import chebyshev
from elliptope.sdp.certificates.chebyshev import chebyshev_test
from elliptope.sdp.certificates.probes import run_together
from elliptope.sdp.tuning import TUNING

# So small that a false claim in these tests means an error in the test, and not bad luck.
RISK = 1e-9
# By which a claim may fall short for the rounding of the tests themselves.
ROUNDING = 1e-12


def run(apply, n, *, upper=1.0, target=1e-3, risk=RISK, rounding=1e-13, width=4, seed=0):
    start = np.random.default_rng(seed).standard_normal((n, width))
    return run_together(apply, [chebyshev_test(start, upper, target, risk, rounding)])[0]


def diagonal(values):
    """Products with Diag(values). Normal vectors have no preferred axes, so that no other matrix is more general."""
    return lambda V: values[:, None] * V


def bulk(n, seed=0, power=1.0):
    """Eigenvalues on [0, 1], both ends included; the higher the power, the more of them near zero."""
    return np.linspace(0.0, 1.0, n) ** power * np.r_[0.0, np.random.default_rng(seed).uniform(0.5, 1, n - 2), 1.0]


class Aim:
    """Where the recurrence that is at work has its middle: it multiplies by N - middle. Low passes may be taken as exact."""

    part, middle, exact_passes = "T_k", 0.5, False


@pytest.fixture
def aim(monkeypatch):
    now, low_pass = Aim(), chebyshev._low_pass

    def watched(Y, P, upper, edge, *rest):
        now.part, now.middle = "low pass", 0.5 * (upper + edge)
        found = yield from low_pass(Y, P, upper, edge, *rest)
        now.part, now.middle = "T_k", 0.5 * upper
        return (found[0], 0.0) if now.exact_passes else found

    monkeypatch.setattr(chebyshev, "_low_pass", watched)
    return now


def hostile(values, size, aim, parts=("low pass", "T_k")):
    """Products with Diag(values) that hide the last eigenvalue as far as an error of that size allows, in those parts.

    Without that part of its row that N - middle makes, the eigenvector does not grow.
    """

    def apply(V):
        P = values[:, None] * V
        if aim.part in parts:
            wanted, allowed = P[-1] - aim.middle * V[-1], size * np.linalg.norm(V, 2)
            P[-1] -= wanted / max(1.0, np.linalg.norm(wanted) / allowed)
        return P

    return apply


class TestNeverClaimsTooMuch:
    @settings(max_examples=100, deadline=None)
    @given(
        n=st.integers(2, 300),
        depth=st.floats(-8, 0),  # λmin = -10^depth
        target=st.floats(-8, 0),
        power=st.sampled_from([0.2, 1.0, 4.0]),
        repeated=st.integers(1, 3),
        width=st.integers(1, 6),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_planted_eigenvalues_of_all_sizes(self, n, depth, target, power, repeated, width, seed):
        values = np.r_[bulk(n, seed, power), np.full(repeated, -(10.0**depth))]
        found = run(diagonal(values), len(values), target=10.0**target, width=width, seed=seed)
        assert found.shift >= 10.0**depth * (1 - ROUNDING)

    def test_just_below_the_target(self):
        for seed in range(10):
            for below in (1e-9, 1e-6, 1e-3, 0.1, 1.0):
                values = np.r_[bulk(200, seed), -1e-3 * (1 + below)]
                found = run(diagonal(values), 201, target=1e-3, seed=seed)
                assert found.shift >= 1e-3 * (1 + below) * (1 - ROUNDING)

    def test_dense_matrices(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            values = np.r_[bulk(80, seed), -(10.0 ** rng.uniform(-6, -1, 3))]
            U = ortho_group.rvs(83, random_state=seed)
            N = (U * values) @ U.T
            found = run(lambda V, N=N: N @ V, 83, target=10.0 ** rng.uniform(-6, -1), seed=seed)
            assert found.shift >= -values.min() * (1 - 1e-8)
            if found.direction is not None:
                assert np.linalg.norm(found.direction) == pytest.approx(1)
                assert found.direction @ N @ found.direction < 0

    def test_an_upper_end_that_is_too_low_makes_it_inconclusive(self):
        for true_end in (1.001, 1.1, 2.0, 100.0):
            for smallest in (-1e-2, -1e-5, 0.0):
                values = np.r_[true_end * bulk(200), smallest]
                found = run(diagonal(values), 201, target=1e-4)
                assert found.shift >= max(-smallest, 1e-4)
                # What has grown are the largest eigenvalues; they are no way out of a saddle.
                assert found.direction is None or found.direction @ (values * found.direction) < 0

    def test_failures_are_no_more_frequent_than_the_risk(self):
        """Nor much rarer: with nothing else in the way, the quantile of chi-squared is all that decides."""
        values, runs, risk = np.r_[np.linspace(0.5, 1.0, 40), -1.5e-3], 500, 0.2
        for width in (1, 3):
            shifts = [
                run(diagonal(values), 41, target=1e-3, risk=risk, width=width, seed=seed).shift for seed in range(runs)
            ]
            failures = int((np.array(shifts) < 1.5e-3 * (1 - 1e-9)).sum())
            assert binom.sf(failures - 1, runs, risk) > 1e-6
            assert failures > 0.5 * risk * runs


class TestClaims:
    def test_the_target_is_reached_where_it_is_true(self):
        for target in (1e-1, 1e-3, 1e-5, 1e-7):
            for power in (0.2, 1.0, 4.0):
                found = run(diagonal(bulk(300, power=power)), 300, target=target)
                assert found.shift <= target
                assert found.direction is None

    def test_small_negative_eigenvalues_do_not_spoil_it(self):
        for share in (0.01, 0.25):
            values = np.r_[bulk(300), -share * 1e-4]
            assert share * 1e-4 <= run(diagonal(values), 301, target=1e-4).shift <= 1e-4

    def test_what_is_missed_is_bounded_within_a_small_factor(self):
        for smallest in (1e-1, 1e-3, 1e-6):
            values = np.r_[bulk(300), -smallest]
            found = run(diagonal(values), 301, target=0.5 * smallest)
            assert smallest <= found.shift <= 6 * smallest
            assert found.direction @ (values * found.direction) < -0.5 * smallest

    def test_work_grows_with_the_root_of_the_target(self):
        products = []
        for target in (1e-2, 1e-4, 1e-6):
            count = [0]

            def apply(V, count=count):
                count[0] += 1
                return bulk(300)[:, None] * V

            run(apply, 300, target=target)
            products.append(count[0])
        assert products[1] < 20 * products[0]
        assert products[2] < 20 * products[1]

    def test_scale(self):
        small = run(diagonal(bulk(100)), 100, target=1e-4, seed=3)
        large = run(diagonal(1e6 * bulk(100)), 100, upper=1e6, target=1e2, seed=3)
        assert large.shift == pytest.approx(1e6 * small.shift, rel=1e-9)


class TestRounding:
    """Products that are wrong by as much as was admitted, at random or with the intent to hide an eigenvalue."""

    values = np.r_[bulk(200), -3e-3]

    def random(self, size, seed):
        rng = np.random.default_rng(seed)

        def apply(V):
            E = rng.standard_normal(V.shape)
            return self.values[:, None] * V + size * np.linalg.norm(V, 2) / np.linalg.norm(E, 2) * E

        return apply

    def test_nothing_false_is_claimed(self, aim):
        for size in (1e-13, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2):
            for seed in range(20):
                for apply in (self.random(size, seed), hostile(self.values, size, aim)):
                    found = run(apply, 201, target=1e-3, rounding=size, seed=seed)
                    assert found.shift >= 3e-3 * (1 - ROUNDING)

    @pytest.mark.parametrize("parts", [("low pass",), ("T_k",), ("low pass", "T_k")])
    def test_the_unluckiest_start_whichever_part_is_wrong(self, parts, aim):
        """Of all random vectors that the risk does not cover, the one that tells least."""
        values, risk = np.r_[np.linspace(0.5, 1.0, 40), -1.1e-4], 0.01
        aim.exact_passes = "low pass" not in parts  # so that each allowance has to suffice by itself

        def shift(size, rounding):
            unluckiest = math.sqrt(chi2.ppf(risk, 1)) * np.eye(41)[:, -1:]
            test = chebyshev_test(unluckiest, 1.0, 1e-4, risk, rounding)
            return run_together(hostile(values, size, aim, parts), [test])[0].shift

        for size in (1e-6, 1e-5, 5e-5, 1e-4, 2e-4):
            assert shift(size, size) >= 1.1e-4
        # Without the allowance the same products lead to a claim that is false.
        assert shift(2e-4, 0.0) < 1.1e-4

    def test_what_passes_cost_adds_up(self, monkeypatch):
        costs, low_pass = [], chebyshev._low_pass

        def watched(Y, *rest):
            before = np.linalg.norm(Y, 2)
            Z, cost = yield from low_pass(Y, *rest)
            costs.append(cost * (before + np.linalg.norm(Z, 2)))
            return Z, cost

        monkeypatch.setattr(chebyshev, "_low_pass", watched)
        G = np.random.default_rng(0).standard_normal((300, 4))
        values = np.linspace(0.01, 1.0, 300)
        _, lost = run_together(diagonal(values), [chebyshev._low_passes(G, 0.1, 1.0, 1e-4, 1e-9, TUNING.damping)])[0]
        assert len(costs) >= 3
        assert lost == pytest.approx(sum(costs), rel=1e-6)

    def test_rounding_of_double_precision_costs_nothing(self):
        exact = run(diagonal(bulk(300)), 300, target=1e-6, rounding=0.0)
        rounded = run(diagonal(bulk(300)), 300, target=1e-6, rounding=1e-13)
        assert rounded.shift == pytest.approx(exact.shift, rel=0.02)

    def test_too_much_of_it_ends_the_test(self):
        assert run(diagonal(bulk(300)), 300, target=1e-6, rounding=1e-3).shift == math.inf
