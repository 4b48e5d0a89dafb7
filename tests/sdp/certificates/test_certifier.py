"""Ways to a certificate: which of them proves, which gives up early, and what each of them costs."""

import math

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from elliptope.operators import as_operator
from elliptope.sdp import certify, solve
from elliptope.sdp.certificates.certificate import dual_metrics
from elliptope.sdp.certificates.certifier import attempt_proof, certify_converged, prove, quick_bound
from elliptope.sdp.certificates.probabilistic import certify_by_tests
from elliptope.sdp.problem import Meter, OutOfProducts, Problem
from elliptope.sdp.tuning import TUNING
from sdp.costs import count_calls, cycle, indefinite, meter_of, moons, near_optimum, psd
from sdp.reference import FAMILIES, ROUNDING, power_steps, random_factor, reference

TOL = 1e-6


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestFarFromTheOptimum:
    """There only `prove` says something, whatever it takes; the others leave the ascent to go on."""

    def test_an_attempt_says_nothing_for_one_factorisation(self, rng):
        operator = as_operator(psd(30))
        meter, factorizations = Meter(Problem(operator)), count_calls(operator, "factorization")
        certificate, direction = attempt_proof(meter, meter.evaluate(random_factor(30, rng)), rng, TOL)
        assert (certificate.grade, certificate.upper_bound, direction) == ("estimate", math.inf, None)
        assert len(factorizations) == meter.count == 1

    def test_a_converged_point_gets_an_estimate_and_a_direction(self, rng):
        cut = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])
        meter = meter_of(-cycle(5))
        iterate = meter.evaluate(cut)
        certificate, direction = certify_converged(meter, iterate, rng, TOL)
        assert certificate.grade == "estimate"
        assert math.isnan(certificate.failure_probability)
        L = np.diag(iterate.y) + cycle(5)
        lowest = np.linalg.eigvalsh(L)[0]
        assert certificate.gap == pytest.approx(-5 * lowest, rel=0.02)  # by an exact Ritz value, in the metric 1
        assert direction @ L @ direction == pytest.approx(lowest * direction @ direction, rel=1e-9)

    def test_a_proof_is_as_sharp_as_its_metric_allows(self, rng):
        """Where Lanczos sees the whole space, a factorisation little above its Ritz value succeeds."""
        operator = as_operator(indefinite(30))
        meter, factorizations = Meter(Problem(operator)), count_calls(operator, "factorization")
        iterate = meter.evaluate(random_factor(30, rng))
        gaps = []
        for metric in dual_metrics(iterate).values():
            root = 1 / np.sqrt(metric.v)
            L = root[:, None] * (np.diag(iterate.y) - indefinite(30)) * root
            gaps.append(-np.linalg.eigvalsh(L)[0] * metric.v.sum())
        assert min(gaps) <= prove(meter, iterate, rng, TOL).gap <= 1.02 * min(gaps)
        assert len(factorizations) == 2


class TestNearTheOptimum:
    def test_all_ways_meet_the_tolerance(self, rng):
        """A proof that is tried early may give away most of it; later ones a tenth."""
        meter, iterate = near_optimum(indefinite(40), 0.0)
        attempt, converged = (how(meter, iterate, rng, TOL)[0] for how in (attempt_proof, certify_converged))
        proof = prove(meter, iterate, rng, TOL)
        for certificate, part in ((attempt, 0.9), (converged, 0.1), (proof, 0.1)):
            assert certificate.grade == "proved"
            assert certificate.relative_gap == pytest.approx(part * TOL, rel=0.01)
            assert certificate.null_space.unique
        assert meter.count == 1

    @pytest.mark.parametrize("bandwidth", [0.3, 1.0])
    def test_no_proof_in_its_metric_undercuts_the_least_gap(self, bandwidth, rng):
        for error in (1e-7, 1e-6, 1e-5, 1e-4):
            meter, iterate = near_optimum(moons(bandwidth), error)
            certificate = prove(meter, iterate, rng, 1e-9)
            assert certificate.grade == "proved"
            # Up to the difference between pulls and slacks, which is of second order; another metric may serve better.
            if certificate.weights == "slack":
                assert certificate.relative_gap >= iterate.least_gap * (1 - 10 * error) - 1e-12

    def test_what_misses_by_the_residual_of_the_factor_is_not_factorised(self, rng):
        operator = moons(1.0, 400)
        meter, iterate = near_optimum(operator, 1e-6)
        assert iterate.least_gap > 1e-9
        factorizations = count_calls(operator, "factorization")
        certificate, _ = attempt_proof(meter, iterate, rng, 1e-9)
        assert not factorizations
        assert certificate.grade == "proved"
        assert iterate.least_gap <= certificate.relative_gap * (1 + 1e-6)
        assert certificate.relative_gap <= 2 * iterate.least_gap + 1e-9

    def test_weakly_held_rows_are_measured_in_another_metric(self):
        """In their own scale rounding takes up the tolerance."""
        for weak in (1e-9, 1e-10, 1e-11):
            for seed in range(5):
                X = np.random.default_rng(seed).standard_normal((30, 2))
                C = np.exp(-np.square(X[:, None] - X).sum(axis=2))
                C[:3] *= weak
                C[:, :3] *= weak
                assert solve(C, rng=0).certificate.relative_gap <= TOL


class TestLimits:
    def test_a_quick_bound_takes_what_is_left(self, rng):
        C = psd(100)
        optimum = solve(C, rng=0).certificate
        for left in (0, 1, 5, 20, 50, 80):
            meter = Meter(Problem(as_operator(C)), left + 1)
            certificate = quick_bound(meter, meter.evaluate(random_factor(100, rng)), rng)
            assert meter.count == 1 + min(left, TUNING.lanczos_steps)
            assert certificate.grade == ("probabilistic" if left else "estimate")
            assert optimum.objective <= certificate.upper_bound
            assert (certificate.upper_bound < math.inf) == (left >= 20)

    def test_proofs_end_with_the_products(self, rng):
        for cost, limit in ((aslinearoperator(indefinite(60)), 30), (indefinite(60), 1)):
            meter = Meter(Problem(as_operator(cost)), limit)
            iterate = meter.evaluate(random_factor(60, rng))
            with pytest.raises(OutOfProducts):
                prove(meter, iterate, rng, TOL)
            assert meter.count == limit


class TestProbabilistic:
    @pytest.mark.parametrize("family", ["psd", "indefinite", "graph"])
    def test_on_small_problems(self, family):
        rng = np.random.default_rng(7)
        for _ in range(5):
            J = FAMILIES[family](12, rng)
            optimum = reference(J)
            for H in (random_factor(12, rng), power_steps(J, random_factor(12, rng), 5), solve(J, rng=0).factor):
                certificate = certify(aslinearoperator(J), H, rng=0)
                assert certificate.grade == "probabilistic"
                assert 0 <= certificate.failure_probability < 1e-3
                assert certificate.upper_bound >= optimum.lower
                assert certificate.objective <= optimum.upper

    def test_where_lanczos_does_not_see_everything(self):
        """More points than Lanczos steps; a lower bound on p⋆ is the value of the feasible point of a dense solve."""
        rng, J = np.random.default_rng(8), indefinite(300)
        F = solve(J, rng=0).factor
        attained = float(np.vdot(F, J @ F))
        for H in (random_factor(300, rng), power_steps(J + 60 * np.eye(300), random_factor(300, rng), 30), F):
            certificate = certify(aslinearoperator(J), H, rng=0)
            assert certificate.grade == "probabilistic"
            assert 0 < certificate.failure_probability < 1e-3
            assert attained * (1 - ROUNDING) <= certificate.upper_bound < math.inf

    def test_lanczos_in_the_whole_space_needs_no_further_test(self, rng):
        H = solve(indefinite(10), rng=0, tol=1e-12).factor
        meter = meter_of(aslinearoperator(indefinite(10)))
        certificate, _ = certify_by_tests(meter, meter.evaluate(H), rng, 1e-17, saddle=False)
        assert 1e-17 < certificate.relative_gap < 1e-12
        assert meter.count == 1 + 10

    def test_at_a_saddle_the_direction_is_all_that_is_looked_for(self, rng):
        """The test that would bound what is there is left out, unless nothing else is to come."""
        C = psd(200)
        for saddle in (True, False):
            meter = meter_of(aslinearoperator(C))
            certificate, direction = certify_by_tests(meter, meter.evaluate(np.ones((200, 1))), rng, TOL, saddle)
            assert direction @ (np.diag(C.sum(axis=1)) - C) @ direction < 0
            assert certificate.upper_bound > certificate.objective
            assert (meter.count == 1 + TUNING.lanczos_steps) == saddle
