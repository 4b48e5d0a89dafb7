"""How a solve goes on and ends: limits, interruptions, what it reports, and how it leaves points that are not optimal."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from common import MOONS, WINE
from elliptope import SDPEmbedding
from elliptope.operators import as_operator
from elliptope.sdp import certify, solve
from elliptope.sdp.tuning import TUNING
from sdp.costs import EarlySingle, count_calls, cycle, gram, indefinite, kernel_cost, moons, psd


def assert_bracket(certificate, optimum):
    """The optimum lies between the objective and the bound; it is known by a bracket of its own."""
    assert certificate.objective <= optimum.upper_bound
    assert optimum.objective <= certificate.upper_bound


class TestLimits:
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
    def test_max_products_bounds_everything(self, form):
        """Ascent, certificate and last bound; whatever is allowed for, what is claimed is true."""
        C = np.where(abs(indefinite(40)) > 1.5, indefinite(40), 0.0)
        optimum = solve(C, rng=0, tol=1e-9).certificate
        reserve = TUNING.lanczos_steps + 1
        for allowed in (*range(1, 12), 20, *range(reserve - 1, reserve + 3), 2 * reserve, 75, 100, 150, 300, 500):
            operator = as_operator(form(C))
            calls = count_calls(operator)
            solution = solve(operator, rng=0, max_products=allowed)
            assert len(calls) == solution.n_products == solution.history[-1].n_products <= allowed
            assert solution.status in ("max_iter", "optimal", "degenerate")
            np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)
            assert_bracket(solution.certificate, optimum)
            if solution.status == "max_iter":
                assert solution.message.startswith(f"{solution.n_products} products were not enough")
                assert "increase max_products" in solution.message
            if allowed >= 75:
                assert solution.certificate.upper_bound < 3 * optimum.upper_bound
        assert solution.status != "max_iter"

    def test_products_end_together_with_iterations(self):
        """Whichever is spent first, and at whichever product, there is a certificate."""
        C = indefinite(30)
        optimum = solve(C, rng=0, tol=1e-9).certificate
        for max_iter in (1, 2, 5, 20):
            for allowed in range(1, 2 * max_iter + 12):
                solution = solve(C, rng=0, max_iter=max_iter, max_products=allowed)
                assert solution.status == "max_iter"
                assert solution.n_products <= allowed
                assert solution.n_iter <= max_iter
                assert_bracket(solution.certificate, optimum)

    def test_max_iter_bounds_products_too(self):
        """At a tenth of the automatic bandwidth a certificate by products alone is out of reach."""
        bandwidth = SDPEmbedding(random_state=0).fit(WINE).bandwidth_ / 10
        for max_iter in (5, 100):
            est = SDPEmbedding(operator="tiled", bandwidth=bandwidth, max_iter=max_iter, random_state=0)
            with pytest.warns(ConvergenceWarning, match=r"(iterations|products) were not enough .* increase max_iter"):
                est.fit(WINE)
            assert est.status_ == "max_iter"
            assert est.n_iter_ <= max_iter
            assert est.n_products_ <= 20 * max(max_iter, 20)
            assert est.certificate_.grade == "probabilistic"

    def test_one_iteration_still_gives_a_proof(self):
        C = indefinite(30)
        optimum = solve(C, rng=0).certificate
        solution = solve(C, rng=0, max_iter=1)
        assert (solution.status, solution.n_iter, solution.certificate.grade) == ("max_iter", 1, "proved")
        assert "1 iterations were not enough" in solution.message
        assert solution.certificate.objective < optimum.objective <= solution.certificate.upper_bound < math.inf

    def test_limits_that_are_not_reached_change_nothing(self):
        C = indefinite(30)
        free = solve(C, rng=0)
        limited = solve(C, rng=0, max_iter=free.n_iter + 1, max_products=free.n_products + TUNING.lanczos_steps + 1)
        np.testing.assert_array_equal(limited.factor, free.factor)
        assert limited.certificate == free.certificate

    def test_a_warm_start_with_next_to_no_products(self):
        operator = moons(0.5)
        optimum = solve(operator, tol=1e-9, polish=True, rng=0)
        wide = np.hstack([optimum.factor, np.zeros((operator.n, 1))])
        for allowed in (1, 2, 3):
            solution = solve(operator, start=wide, max_products=allowed, rng=0)
            assert solution.certificate.gain == pytest.approx(optimum.certificate.gain, rel=1e-6)


def test_matrix_free_costs_need_no_polish_to_be_certified():
    """The Gaussian kernel of digits at the median bandwidth, by products alone."""
    X = load_digits().data[:400]
    J = kernel_cost(X, np.median(pdist(X))) @ np.eye(400)
    proved = solve(J, rng=0, tol=1e-8).certificate
    for seed in range(2):
        plain, polished = (solve(aslinearoperator(J), rng=seed, tol=1e-6, polish=polish) for polish in (False, True))
        assert plain.status == polished.status == "optimal"
        assert plain.certificate.relative_gap <= 1e-6
        assert plain.n_products <= 2 * polished.n_products < 400
        assert_bracket(plain.certificate, proved)


class TestCallback:
    def test_sees_every_iteration(self):
        C = psd(30)
        for method in ("auto", "power"):
            seen = []
            solution = solve(C, rng=0, method=method, max_iter=300, callback=seen.append)
            assert seen == solution.history[:-1]  # the last entry has the certified bound
            assert [p.iteration for p in seen] == list(range(1, solution.n_iter + 1))
            assert seen[0].n_products >= 1
            assert all(before.n_products < after.n_products for before, after in pairwise(seen))
            optimum = solve(C, rng=1).certificate.upper_bound
            for p in seen:
                assert p.objective <= min(optimum, p.bound)
                gain = p.objective - np.trace(C)
                assert p.relative_gap == (pytest.approx((p.bound - p.objective) / gain) if gain > 0 else math.inf)
                assert p.defect >= 0
                assert 1 <= p.rank <= 30
            last = solution.history[-1]
            assert last.objective == solution.certificate.objective
            assert (last.bound, last.certified) == (solution.certificate.upper_bound, True)
            assert (last.rank, last.n_products) == (solution.factor.shape[1], solution.n_products)

    def test_changes_nothing(self):
        """Estimates for a callback take neither random numbers nor products of the solve: escapes use the former."""
        for options in ({"rank": 1}, {"max_products": 40}, {"polish": True}):
            for cost in (indefinite(40), aslinearoperator(indefinite(40))):
                silent, watched = (solve(cost, rng=0, callback=callback, **options) for callback in (None, lambda p: None))
                np.testing.assert_array_equal(watched.factor, silent.factor)
                assert watched.certificate == silent.certificate
                assert (watched.n_products, watched.n_iter) == (silent.n_products, silent.n_iter)

    def test_is_shown_estimates_but_none_that_say_nothing(self):
        shown = []
        solution = solve(indefinite(30), rng=0, callback=lambda progress: shown.append(str(progress)))
        assert solution.n_iter > 10
        assert any("bound ≈" in line for line in shown)
        assert not any("inf" in line or "gap 0" in line for line in shown)
        assert "bound ≤" in str(solution.history[-1])

    def test_gaps_do_not_see_the_diagonal(self):
        def gaps(shift):
            seen = []
            solution = solve(indefinite(30) + shift * np.eye(30), rng=0, callback=seen.append)
            assert solution.history[-1].relative_gap == solution.certificate.relative_gap
            return [p.relative_gap for p in seen if p.relative_gap < math.inf]

        assert gaps(0.0)
        np.testing.assert_allclose(gaps(1e14), gaps(0.0), rtol=1e-6)

    def test_stops_the_solve(self):
        C, seen = psd(40), []
        optimum = solve(C, rng=0).certificate
        solution = solve(C, rng=0, method="power", callback=lambda p: seen.append(p) or p.iteration == 5)
        assert (solution.status, solution.n_iter, len(seen)) == ("interrupted", 5, 5)
        assert "stopped by the user" in solution.message
        assert_bracket(solution.certificate, optimum)

    def test_errors_are_raised(self):
        with pytest.raises(ZeroDivisionError):
            solve(psd(10), rng=0, callback=lambda p: 1 / 0)


class TestInterruption:
    def interrupted(self, *after):
        """Ctrl-C during those products."""
        operator = as_operator(indefinite(60))
        plain, count = operator.core_matmat, iter(range(10**6))

        def product(V):
            if next(count) in after:
                raise KeyboardInterrupt
            return plain(V)

        operator.core_matmat = product
        return solve(operator, rng=0)

    def test_keeps_the_best_iterate_with_a_bound(self):
        optimum = solve(indefinite(60), rng=0).certificate
        for after in (2, 7, 15):
            solution = self.interrupted(after)
            assert solution.status == "interrupted"
            assert solution.certificate.grade == "probabilistic"
            assert_bracket(solution.certificate, optimum)
            objectives = [p.objective for p in solution.history[:-1]]
            assert solution.certificate.objective == pytest.approx(max(objectives), rel=1e-12)

    def test_a_second_one_ends_the_certificate_too(self):
        solution = self.interrupted(7, 20)
        assert solution.status == "interrupted"
        assert (solution.certificate.grade, solution.certificate.upper_bound) == ("estimate", math.inf)

    def test_before_the_first_iterate_there_is_nothing_to_keep(self):
        with pytest.raises(KeyboardInterrupt):
            self.interrupted(0)

    def test_the_best_iterate_is_kept_and_not_the_last(self):
        """Steps of the warm-up may descend, here because rows that repel each other all jump at once."""
        seen = []
        repelling = np.eye(40) - np.ones((40, 40))
        solution = solve(repelling, rng=0, callback=lambda p: seen.append(p.objective) or len(seen) == 4)
        assert seen[-1] < max(seen)
        assert solution.certificate.objective == pytest.approx(max(seen))

    def test_among_equal_gains_the_least_defect_is_kept(self):
        """At a tolerance that rounding does not allow for; gains are equal long before."""
        solution = solve(indefinite(6, seed=1), rng=0, tol=1e-14)
        assert solution.status == "max_iter"
        assert solution.message.startswith("no further progress after")
        assert solution.certificate.stationarity < 1e-14
        assert solution.certificate.relative_gap < 1e-12


class TestPrecision:
    """Single precision for early products only; the last steps and the certificate are in double precision."""

    def test_the_optimum_is_in_double_precision(self):
        J = kernel_cost(MOONS, 0.5) @ np.eye(len(MOONS))
        operator = EarlySingle(J)
        singles = count_calls(operator, "single")
        found, expected = solve(operator, rng=0, polish=True), solve(J, rng=0, polish=True)
        assert len(singles) == 1
        assert found.status == "optimal"
        assert found.certificate.stationarity < 1e-8
        np.testing.assert_allclose(gram(found), gram(expected), atol=1e-6)

    def test_interrupted_in_single_precision_is_certified_in_double(self):
        J = indefinite(80)
        for stop in (7, 9):
            solution = solve(EarlySingle(J), rng=0, callback=lambda p, stop=stop: p.iteration == stop)
            assert solution.status == "interrupted"
            y = np.einsum("ij,ij->i", solution.factor, J @ solution.factor)
            np.testing.assert_allclose(solution.dual, y, atol=1e-12 * abs(J).sum())


def test_the_best_column_is_found_where_one_is_too_few():
    """The best cut of a five-cycle is a critical point of rank one; L shows the way out."""
    cut = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])
    solution = solve(-cycle(5), start=cut, rng=0)
    assert solution.history[0].rank == 1
    assert solution.factor.shape[1] > 1
    optimum = 10 * math.cos(math.pi / 5)
    assert solution.certificate.objective == pytest.approx(optimum, rel=1e-6)
    # By products alone the way out comes with a bound, which is shown from then on.
    cost = aslinearoperator(-cycle(5))
    certified = [p.bound for p in solve(cost, start=cut, rng=0).history if p.certified]
    assert certified[0] == pytest.approx(certify(cost, cut, rng=0).upper_bound, rel=1e-9)
    assert certified[0] > certified[-1] >= optimum * (1 - 1e-12)
    # An escape is no iteration, but what follows is.
    stopped = solve(-cycle(5), start=cut, rng=0, max_iter=1)
    assert (stopped.status, stopped.n_iter) == ("max_iter", 1)
    assert stopped.certificate.objective == pytest.approx(6.0)
    assert stopped.certificate.relative_gap > 0.1


def test_dual_and_objective_belong_to_the_factor():
    C = indefinite(20)
    for options in ({}, {"max_iter": 3}, {"max_products": 1}, {"polish": True}):
        solution = solve(C, rng=0, **options)
        y = np.einsum("ij,ij->i", solution.factor, C @ solution.factor)
        np.testing.assert_allclose(solution.dual, y, atol=1e-12 * abs(C).sum())
        assert solution.certificate.objective == pytest.approx(y.sum(), abs=1e-12 * abs(C).sum())


def test_optimality_conditions():
    """LH = 0 and L ⪰ 0, computed densely; to more digits with polish."""
    C = indefinite(25)
    for polish, accuracy in ((False, 1e-5), (True, 1e-9)):
        solution = solve(C, rng=0, polish=polish)
        L = np.diag(solution.dual) - C
        assert abs(L @ solution.factor).max() < accuracy * abs(C).max()
        assert np.linalg.eigvalsh(L)[0] > -accuracy * abs(C).max()


def test_tuning_decides_how_soon_and_not_what():
    C = indefinite(60)
    expected = solve(C, rng=0).certificate
    for change in ({"rank": 2}, {"first_attempt": 0.1}, {"small": 0}, {"forcing": 1e-3}, {"basin": 1e-3}):
        solution = solve(C, rng=0, tuning=replace(TUNING, **change))
        assert solution.status == "optimal"
        assert_bracket(solution.certificate, expected)
