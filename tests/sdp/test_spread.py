"""The program with a quadratic term: its optimum by other methods, its certificate, and all the ways to hold J."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.spread_programs import (
    FAMILIES,
    almost_identity,
    distance,
    gaussian_cost,
    narrow,
    random_program,
    symmetric_programs,
    value,
    weights,
)
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian
from elliptope.kernels.neighbors import Neighbors
from elliptope.operators import (
    DenseOperator,
    RegularizedOperator,
    SparseOperator,
    TiledOperator,
    as_operator,
    kernel_matrix,
)
from elliptope.sdp import Spread, certify, resolve_spread, solve
from elliptope.sdp.tuning import TUNING
from sdp.costs import count_calls, gram, indefinite, kernel_cost, psd, unit_rows
from sdp.programs import conic, nearest, nearest_in_extended_precision

# L-BFGS alone, which otherwise is left to problems that are too large for dense linear algebra.
COLUMNS = replace(TUNING, dense_newton_rows=0)
# What rounding may do to distances that are computed here.
ROUNDING = 1e-12


def assert_certified(J, solution, Z=None, error=ROUNDING):
    """The objective is f(Z), the bracket holds, rows have unit length, and the optimum is as near as is claimed."""
    found, certificate = gram(solution), solution.certificate
    e = weights(J, solution.spread.s)
    size = abs(J).sum() + (e @ e) * len(J)
    np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)
    assert certificate.objective == pytest.approx(value(J, e, found), abs=1e-13 * size)
    assert certificate.gain == pytest.approx(certificate.objective - value(J, e, np.eye(len(J))), abs=1e-13 * size)
    assert certificate.gap == pytest.approx(certificate.upper_bound - certificate.objective, abs=1e-12 * size)
    if Z is not None:
        assert certificate.upper_bound >= value(J, e, Z) - error * size
        assert distance(e, Z, found) <= certificate.distance_bound + error


class TestRandomPrograms:
    """Narrow kernels, disconnected graphs, costs that are almost the identity, negative diagonal entries among them."""

    def test_two_seeds_end_within_the_sum_of_their_bounds(self):
        stalled = []
        for seed in (*range(300), 403, 1004):
            J, eta = random_program(seed)
            # From another start and, where that is not beyond it, by another method.
            hard = FAMILIES[seed % len(FAMILIES)] in (narrow, almost_identity)
            one, two = solve(J, spread=eta, rng=0), solve(J, spread=eta, rng=1, tuning=TUNING if hard else COLUMNS)
            assert one.status == "optimal", (seed, one.message)
            if two.status != "optimal":  # the columns alone stall now and then, on some processors; their bounds hold
                stalled.append(seed)
            assert one.spread == two.spread
            assert_certified(J, one)
            assert_certified(J, two)
            apart = distance(weights(J, one.spread.s), gram(two), gram(one))
            # The second bound is relative to the second factor.
            assert apart <= one.certificate.distance_bound + two.certificate.distance_bound * (1 + apart) + ROUNDING
        assert len(stalled) <= 3, stalled

    def test_bounds_hold_for_an_optimum_from_elsewhere(self):
        """By a general root finder, or by a conic solver where rows have no part in the quadratic term."""
        compared = 0
        for seed in range(180):
            J, eta = random_program(seed, largest=20)
            solution = solve(J, spread=eta, rng=0)
            e = weights(J, solution.spread.s)
            if e.min() > 1e-6 * e.max():
                Z, _, error = nearest(J, e)
                if error > 1e-13:  # the root finder has got stuck
                    continue
            elif seed % 4 == 0:
                Z, error = conic(J, e), 1e-5
            else:
                continue
            assert_certified(J, solution, Z, max(error, ROUNDING))
            compared += 1
        assert compared > 120

    def test_and_for_one_in_extended_precision(self):
        compared = 0
        for seed in range(100):
            J, eta = random_program(seed, largest=9)
            one, two = solve(J, spread=eta, rng=0), solve(J, spread=eta, rng=1, tol=1e-3, tuning=COLUMNS)
            e = weights(J, one.spread.s)
            if e.min() < 1e-6 * e.max():
                continue
            Z, error = nearest_in_extended_precision(J, e, nearest(J, e)[1])
            if error > 1e-13:  # the root finder was stuck too far away
                continue
            for solution in (one, two):
                assert_certified(J, solution, Z.astype(float), 1e-14)
            if one.certificate.distance_bound < 1e-4:
                assert distance(e, Z.astype(float), gram(one)) < 1e-11  # the bound is a root; the factor is exact
            compared += 1
        assert compared > 60

    def test_bounds_of_poor_factors(self):
        """At random factors and close to the optimum; for two points the bound on the distance is almost attained."""
        rng, sharpest = np.random.default_rng(0), 0.0
        for seed in range(120):
            J, eta = random_program(seed, largest=3 if seed % 2 else 15)
            solution = solve(J, spread=eta, rng=0)
            e = weights(J, solution.spread.s)
            if e.min() < 1e-6 * e.max():
                continue
            Z, _, error = nearest(J, e)
            if error > 1e-13:
                continue
            for size in (0.01, 0.3, 100.0):
                H = unit_rows(solution.factor + size * rng.standard_normal(solution.factor.shape))
                certificate = certify(J, H, spread=solution.spread)
                assert certificate.upper_bound >= value(J, e, Z) - 1e-12 * abs(J).sum()
                true = distance(e, Z, H @ H.T)
                assert true <= certificate.distance_bound
                sharpest = max(sharpest, true / certificate.distance_bound)
        assert sharpest > 0.7


class TestSymmetricPrograms:
    @pytest.mark.parametrize("n", [25, 49, 121])
    def test_small_weights_of_the_quadratic_term_on_lines_grids_and_helices(self, n):
        """Undamped, Newton's method for the dual stops with gaps of 1 to 17 % on most of them."""
        for name, J in symmetric_programs(n):
            for s in (1e-4, 1e-3, 1e-2, 0.1):
                solution = solve(J, spread=Spread(s), rng=0)
                assert solution.status == "optimal", (name, s, solution.message)
                assert_certified(J, solution)
                e = weights(J, s)
                L = np.diag(solution.dual) - J + np.outer(e, e) * gram(solution)
                assert np.linalg.eigvalsh(L)[0] > -1e-8 * solution.dual.max(), (name, s)

    @pytest.mark.parametrize("seed", [183, 229, 420])
    def test_the_dual_takes_over_where_the_ascent_by_columns_makes_no_progress(self, seed, monkeypatch):
        J, eta = random_program(seed)
        # The schedule of large programs.
        monkeypatch.setattr("elliptope.sdp.ascent.concave.can_use_dual", lambda meter: False)
        assert solve(J, spread=eta, rng=0).status == "optimal"


class TestClosedForms:
    def test_two_points(self):
        """f = 2bz - e₁e₂z²: z = b/(e₁e₂), but no more than 1."""
        for a, b, s in ((1.0, 0.2, 0.5), (1.0, -0.4, 0.5), (2.0, 1.5, 0.1), (1e-30, 2e-31, 0.9), (1e30, 5e29, 0.6)):
            solution = solve([[a, b], [b, 4 * a]], spread=Spread(s), rng=0)
            assert solution.status == "optimal"
            assert gram(solution)[0, 1] == pytest.approx(np.clip(b / (2 * s * a), -1, 1), abs=1e-6)

    @pytest.mark.parametrize("tuning", [TUNING, COLUMNS])
    def test_an_infinite_spread_gives_back_a_psd_cost(self, tuning):
        """With d = diag(C), as in the paper, and then B = C."""
        rng = np.random.default_rng(0)
        for C in (psd(20), psd(20)[:, :5] @ psd(20)[:5], narrow(25, rng) + 0.01 * np.eye(25)):
            C = C @ C.T if not np.allclose(C, C.T) else C
            d = C.diagonal()
            solution = solve(C, d, spread=math.inf, rng=0, tuning=tuning)
            assert (solution.status, solution.spread.s) == ("optimal", 1.0)
            B = np.sqrt(np.outer(d, d)) * gram(solution)
            np.testing.assert_allclose(B, C, atol=1e-6 * abs(C).max())

    def test_the_paper_s_cost_at_an_infinite_spread_is_the_diffusion_kernel(self):
        """With weights, too: J = Diag(w√d) Abar Diag(w√d), d = diag(Abar)."""
        w = np.random.default_rng(0).uniform(0.5, 2, 120)
        J = DenseOperator(kernel_matrix(Gaussian(0.4), two_moons(60, random_state=0)[0]), w)
        J.set_row_scale(np.ones(120))
        abar, d = J @ np.eye(120), J.abar_diagonal()
        J.set_row_scale(w * np.sqrt(d))
        solution = solve(J, spread=math.inf, rng=0)
        np.testing.assert_allclose(np.sqrt(np.outer(d, d)) * gram(solution), abar, atol=1e-10)

    def test_a_diagonal_cost_is_spread_out_completely(self):
        for tuning in (TUNING, COLUMNS):
            solution = solve(np.diag([1.0, 2.0, 0.5, 3.0]), spread=1.0, rng=0, tuning=tuning)
            assert solution.status == "optimal"
            np.testing.assert_allclose(gram(solution), np.eye(4), atol=1e-5)

    def test_rank_grows_from_that_of_the_linear_program_to_full(self):
        J = kernel_cost(two_moons(40, random_state=0)[0], 0.5)
        ranks = [solve(J, spread=eta, rng=0).factor.shape[1] for eta in (0.05, 0.3, 1.0, 3.0, math.inf)]
        assert ranks == sorted(ranks)
        assert ranks[0] <= 4
        assert ranks[-1] >= 79  # Abar has one zero eigenvalue


class TestNorms:
    def test_the_distance_is_that_of_b_whatever_the_diagonal(self):
        """‖B - B*‖_F / ‖B‖_F for B = D^½ Z D^½, also where d is not diag(C)."""
        rng = np.random.default_rng(1)
        C = psd(12)
        for d in (C.diagonal(), rng.uniform(0.1, 10, 12), np.ones(12)):
            root = np.sqrt(np.outer(d, d))
            optimum = solve(C, d, spread=0.5, rng=0)
            B = root * gram(optimum)
            assert optimum.certificate.distance_bound < 1e-4
            for size in (1e-3, 0.1, 10.0):
                H = unit_rows(optimum.factor + size * rng.standard_normal(optimum.factor.shape))
                bound = certify(C, H, d, spread=optimum.spread).distance_bound
                found = root * (H @ H.T)
                true = np.linalg.norm(found - B) / np.linalg.norm(found)
                assert true <= bound + 1e-4
                assert bound <= 100 * true  # and is no empty claim

    def test_rows_without_a_part_in_the_term_are_excepted(self):
        """Their entries may be anything; the message says how many there are, and the bound is about the others."""
        J = np.diag([2.0, 1.0, -1.0, 0.0])
        J[0, 1] = J[1, 0] = 0.3
        one, two = (solve(J, spread=Spread(0.5), rng=seed) for seed in (0, 1))
        assert one.status == two.status == "optimal"
        assert "2 rows whose J_ii is not positive" in one.message
        assert gram(one)[0, 1] == pytest.approx(0.3 / (0.5 * math.sqrt(2)), abs=1e-5)
        assert abs(gram(one) - gram(two))[2:].max() > 1e-2
        assert "rows" not in solve(psd(5), spread=0.5, rng=0).message


def neighbor_cost(n, n_jobs=1):
    X = two_moons(n // 2, random_state=0)[0]
    J = SparseOperator(Neighbors().fit(X, n_neighbors=15).matrix(), n_jobs=n_jobs)
    J.set_row_scale(np.sqrt(np.maximum(J.abar_diagonal(), 0)))
    return J


class TestOperators:
    @pytest.mark.parametrize("eta", [0.1, 1.0])
    def test_all_ways_to_hold_a_kernel_agree(self, eta):
        """n = 1000: proved by factorisation or by moments, or tested."""
        X = two_moons(500, random_state=0)[0]
        dense = kernel_cost(X, 0.5)
        tiled = TiledOperator(Gaussian(0.5), X)
        tiled.set_row_scale(np.sqrt(dense.abar_diagonal()))
        J = dense @ np.eye(1000)
        expected = solve(dense, spread=eta, rng=0, tol=1e-7)
        e = weights(J, expected.spread.s)
        for operator in (dense, tiled, J, aslinearoperator((J + J.T) / 2)):
            solution = solve(operator, spread=eta, rng=1, tol=1e-5)
            assert (solution.status, solution.spread) == ("optimal", expected.spread)
            free = not isinstance(operator, TiledOperator) and not as_operator(operator).can_factor
            assert solution.certificate.grade == ("probabilistic" if free else "proved")
            apart = distance(e, gram(expected), gram(solution))
            assert apart <= 1.01 * (solution.certificate.distance_bound + expected.certificate.distance_bound) + 1e-6
            assert apart < 1e-3

    def test_sparse(self):
        J = neighbor_cost(1000)
        matrix = J @ np.eye(1000)
        for eta in (0.1, 1.0):
            proved = solve(J, spread=eta, rng=0, polish=True)
            dense = solve((matrix + matrix.T) / 2, spread=eta, rng=1, polish=True)
            free = solve(aslinearoperator((matrix + matrix.T) / 2), spread=eta, rng=2, tol=1e-5)
            e = weights(matrix, proved.spread.s)
            for solution in (proved, dense, free):
                assert solution.status == "optimal"
                assert_certified(matrix, solution, gram(proved), 1e-5)
                assert distance(e, gram(proved), gram(solution)) < (1e-6 if solution is dense else 1e-4)
            assert proved.certificate.stationarity < 1e-6
            assert (proved.certificate.grade, free.certificate.grade) == ("proved", "probabilistic")

    def test_large_factors_ascend_in_single_precision(self):
        """And end in double: a proof, unit rows, and the same B."""
        J = neighbor_cost(4000)
        asked = count_calls(J, "float32")
        solution = solve(J, spread=1.0, rng=0, tol=1e-4)
        assert len(asked) == 1
        assert solution.status == "optimal"
        assert solution.factor.dtype == np.float64
        np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)
        scaled = neighbor_cost(4000)
        scaled.set_row_scale(2.0**60 * np.sqrt(J.abar_diagonal()))  # which float32 cannot square
        asked = count_calls(scaled, "float32")
        again = solve(scaled, spread=1.0, rng=0, tol=1e-4)
        assert not asked
        e = np.sqrt(J.abar_diagonal() ** 2)
        assert distance(e, gram(again), gram(solution)) < 3e-3

    def test_every_operator_of_a_user(self):
        """One that offers nothing but products."""

        class Products(type(as_operator(aslinearoperator(psd(5))))):
            pass

        J = psd(40)
        solution = solve(Products(aslinearoperator(J), np.ones(40)), spread=0.3, rng=0, tuning=COLUMNS)
        assert solution.status == "optimal"
        assert_certified(J, solution, gram(solve(J, spread=0.3, rng=0)), 1e-5)


class TestSpread:
    def test_is_measured_by_the_largest_eigenvalue(self):
        for J in (psd(30), psd(30) - 20 * np.eye(30), kernel_cost(two_moons(100, random_state=0)[0], 0.3) @ np.eye(200)):
            trace = np.maximum(J.diagonal(), 0).sum()
            for eta in (1e-3, 0.7):
                s = resolve_spread(as_operator(J), eta).s
                assert s == pytest.approx(eta * np.linalg.eigvalsh(J)[-1] / trace, rel=0.051)  # two digits
        assert resolve_spread(as_operator(psd(30)), 1e9).s == 1.0
        assert resolve_spread(as_operator(psd(30)), 0).s == 0.0

    def test_does_not_depend_on_how_the_cost_is_held(self):
        X = two_moons(150, random_state=0)[0]
        dense, tiled = kernel_cost(X, 0.3), TiledOperator(Gaussian(0.3), X, n_jobs=2)
        tiled.set_row_scale(np.sqrt(tiled.abar_diagonal()))
        J = dense @ np.eye(300)
        J = (J + J.T) / 2
        found = {resolve_spread(as_operator(a), 0.37).s for a in (dense, tiled, J, sparse.csr_array(J), aslinearoperator(J))}
        assert len(found) == 1

    def test_zero_is_the_linear_program(self):
        plain, zero = solve(indefinite(20), rng=0), solve(indefinite(20), rng=0, spread=Spread(0.0))
        np.testing.assert_array_equal(plain.factor, zero.factor)
        assert plain.certificate == zero.certificate
        assert plain.certificate.distance_bound == math.inf
        assert plain.spread == Spread(0.0)

    def test_bad_input(self):
        for spread in (-1, -math.inf, math.nan, True, "1", None, 1j):
            with pytest.raises(ValueError, match="`spread` must be a number from 0 to infinity or a Spread, got "):
                solve(psd(3), spread=spread)
        for s in (-0.1, 1.5, math.nan, "a", True):
            with pytest.raises(ValueError, match="`s` must be a number from 0 to 1, got "):
                Spread(s)
        for C in (np.zeros((3, 3)), -psd(3)):
            for spread in (0.1, math.inf, Spread(0.1)):
                with pytest.raises(ValueError, match="`spread` must be 0 for a cost without positive entries on its diag"):
                    solve(C, spread=spread)
        with pytest.raises(ValueError, match="`method` must be 'auto' where `spread` is positive, got 'power'"):
            solve(psd(3), spread=0.1, method="power")
        own = RegularizedOperator(as_operator(psd(3)), np.eye(3), 1.0, 10.0)
        with pytest.raises(ValueError, match=r"`spread` must be 0 for a cost with a metric of its own, got 0\.1"):
            solve(own, spread=0.1)


class TestCourse:
    """Starts, limits, interruptions and reports, as for the linear program."""

    J = gaussian_cost(np.random.default_rng(3).standard_normal((40, 2)), 0.4, np.random.default_rng(3))

    def solve(self, **options):
        return solve(self.J, **{"spread": 0.3, "rng": 0, **options})

    @pytest.mark.parametrize("tuning", [TUNING, COLUMNS])
    def test_a_warm_start_is_cheaper(self, tuning):
        cold = self.solve(tuning=tuning)
        warm = self.solve(tuning=tuning, start=2 * cold.factor, rng=1)
        assert warm.status == "optimal"
        assert warm.n_iter < 0.5 * cold.n_iter
        nearby = self.solve(tuning=tuning, start=self.solve(spread=0.25).factor)
        assert nearby.status == "optimal"
        assert nearby.n_iter < cold.n_iter

    @pytest.mark.parametrize("tuning", [TUNING, COLUMNS])
    def test_rank_is_only_a_start(self, tuning):
        expected = self.solve()
        assert expected.factor.shape[1] > 5
        e = weights(self.J, expected.spread.s)
        for rank in (1, 2, 40):
            solution = self.solve(tuning=tuning, rank=rank)
            assert solution.status == "optimal"
            assert distance(e, gram(expected), gram(solution)) < 1e-4

    def test_same_seed_same_bits(self):
        one, two = (self.solve(tuning=COLUMNS, rng=5) for _ in range(2))
        np.testing.assert_array_equal(one.factor, two.factor)
        assert one.certificate == two.certificate
        assert one.history == two.history

    def test_certify_finds_what_solve_did(self):
        for spread in (0.05, 1.0, math.inf):
            solution = self.solve(spread=spread)
            certificate = certify(self.J, solution.factor, spread=solution.spread)
            assert certificate.objective == pytest.approx(solution.certificate.objective, rel=1e-12)
            assert certificate.relative_gap <= 1e-6
            assert certificate.distance_bound <= 10 * solution.certificate.distance_bound
        # Of another program it is not the optimum.
        assert certify(self.J, self.solve().factor, spread=1.0).relative_gap > 1e-2
        assert certify(self.J, self.solve().factor).distance_bound == math.inf

    @pytest.mark.parametrize("tuning", [TUNING, COLUMNS])
    def test_limits(self, tuning):
        optimum = self.solve().certificate
        for limit in (1, 2, 3, 8, 40):
            for options in ({"max_iter": limit}, {"max_products": limit}):
                solution = self.solve(tuning=tuning, **options)
                assert solution.status in ("max_iter", "optimal")
                assert solution.certificate.objective <= optimum.upper_bound
                assert solution.certificate.upper_bound >= optimum.objective
                assert solution.n_products <= (limit if "max_products" in options else 400)
                assert solution.n_iter <= limit or "max_products" in options
                np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)

    @pytest.mark.parametrize("tuning", [TUNING, COLUMNS])
    def test_interruptions(self, tuning):
        seen = []

        def stop(progress):
            seen.append(progress)
            return len(seen) == 3

        solution = self.solve(tuning=tuning, callback=stop)
        assert (solution.status, solution.n_iter) == ("interrupted", 3)
        assert solution.certificate.objective <= self.solve().certificate.upper_bound

        def interrupt(progress):
            if progress.iteration == 2:
                raise KeyboardInterrupt

        solution = self.solve(tuning=tuning, callback=interrupt)
        assert solution.status == "interrupted"
        assert [p.objective for p in solution.history[:2]] == [p.objective for p in seen[:2]]

    def test_the_scale_of_the_cost_does_not_matter(self):
        expected = self.solve()
        for exponent in (-100, 100):
            for tuning in (TUNING, COLUMNS):
                scaled = solve(self.J * 2.0**exponent, spread=0.3, rng=0, tuning=tuning)
                assert (scaled.status, scaled.spread) == ("optimal", expected.spread)
                np.testing.assert_allclose(gram(scaled), gram(expected), atol=1e-5)

    def test_polish_makes_rows_stationary(self):
        """(JH)_i = h_i (y_i + e_i HᵀEH): the rows are where their extension puts them."""
        for tuning in (TUNING, COLUMNS):
            solution = self.solve(tuning=tuning, polish=True)
            H, e = solution.factor, weights(self.J, solution.spread.s)
            G = H.T @ (e[:, None] * H)
            right = solution.dual[:, None] * H + e[:, None] * (H @ G)
            np.testing.assert_allclose(self.J @ H, right, atol=1e-7 * np.linalg.norm(self.J @ H, axis=1).max())
