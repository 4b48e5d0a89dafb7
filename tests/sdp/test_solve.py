"""The solver by itself: closed forms, how it ends, and what it reports on the way."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope.sdp import solve


def psd(n, seed=0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return W @ W.T


def indefinite(n, seed=0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return W + W.T


def cycle(n):
    A = np.roll(np.eye(n), 1, axis=0)
    return A + A.T


def gram(solution):
    return solution.factor @ solution.factor.T


def assert_feasible(solution, n):
    assert solution.factor.shape[0] == n
    np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)


def assert_optimum(solution, value, status=("optimal", "degenerate")):
    """The value is bracketed, both ends are near, and the factor attains what is claimed."""
    certificate = solution.certificate
    assert solution.status in status
    assert certificate.relative_gap <= 1e-6
    assert certificate.upper_bound >= value - 1e-12 * abs(value)
    assert certificate.upper_bound == pytest.approx(value, rel=1e-5)
    assert certificate.objective == pytest.approx(value, rel=1e-9)


class TestClosedForms:
    @pytest.mark.parametrize("a", [3.0, -3.0, 1e-30, -1e30])
    def test_pair(self, a):
        solution = solve([[0.0, a], [a, 0.0]], rng=0)
        assert_optimum(solution, 2 * abs(a), status=("optimal",))
        np.testing.assert_allclose(gram(solution), [[1, np.sign(a)], [np.sign(a), 1]], atol=1e-6)
        np.testing.assert_allclose(solution.dual, abs(a), rtol=1e-6)

    @pytest.mark.parametrize("n", [2, 3, 4, 7, 30])
    def test_complete_graph(self, n):
        """max n - 1ᵀZ1 = n, attained by rows that add up to zero; unique for two and three points only."""
        solution = solve(np.eye(n) - 1, rng=0)
        assert_optimum(solution, n, status=("optimal",) if n <= 3 else ("degenerate",))
        np.testing.assert_allclose(solution.factor.sum(axis=0), 0, atol=1e-5)

    @pytest.mark.parametrize("n", [3, 5, 7, 11])
    def test_odd_cycle(self, n):
        """Max-cut of C_n: neighbours at the angle π - π/n, so that max Tr(-A Z) = 2n cos(π/n)."""
        solution = solve(-cycle(n), rng=0, polish=True)
        assert_optimum(solution, 2 * n * math.cos(math.pi / n), status=("optimal",))
        np.testing.assert_allclose(np.diag(gram(solution), 1), -math.cos(math.pi / n), atol=1e-6)

    def test_even_cycle_is_bipartite(self):
        solution = solve(-cycle(8), rng=0)
        assert_optimum(solution, 16, status=("optimal",))
        sign = (-1.0) ** np.arange(8)
        np.testing.assert_allclose(gram(solution), np.outer(sign, sign), atol=1e-6)

    @pytest.mark.parametrize("method", ["auto", "power"])
    def test_rank_one_cost(self, method):
        v = np.random.default_rng(0).standard_normal(30)
        solution = solve(np.outer(v, v), rng=0, method=method)
        assert_optimum(solution, np.abs(v).sum() ** 2, status=("optimal",))
        np.testing.assert_allclose(gram(solution), np.outer(np.sign(v), np.sign(v)), atol=1e-6)

    def test_synchronisation(self):
        """Z2: signs s seen through noise; the optimum of the relaxation is s sᵀ where the noise is small."""
        rng = np.random.default_rng(1)
        s = rng.choice([-1.0, 1.0], 60)
        C = np.outer(s, s) + indefinite(60, 2)
        solution = solve(C, rng=0)
        assert_optimum(solution, s @ C @ s, status=("optimal",))
        np.testing.assert_allclose(gram(solution), np.outer(s, s), atol=1e-6)

    def test_identity_less_its_mean_is_degenerate(self):
        """K = I to rounding: every Z with Z1 = 0 is optimal."""
        solution = solve(np.eye(20) - 1 / 20, rng=0)
        assert solution.status == "degenerate"
        assert "not unique" in solution.message
        assert_optimum(solution, 20.0)

    @pytest.mark.parametrize("C", [np.diag([1.0, 2.0, -3.0]), np.zeros((4, 4))], ids=["diagonal", "zero"])
    def test_diagonal_cost_is_degenerate(self, C):
        """Every feasible B has the value Tr C: there is nothing to gain and nothing to iterate for."""
        solution = solve(C, rng=0)
        assert_feasible(solution, len(C))
        assert solution.certificate.objective == pytest.approx(np.trace(C), abs=1e-12)
        assert solution.certificate.upper_bound == pytest.approx(np.trace(C), abs=1e-12)
        assert solution.status == "degenerate"

    def test_one_point(self):
        solution = solve([[-2.0]], rng=0)
        assert solution.certificate.objective == -2.0
        assert solution.certificate.upper_bound == pytest.approx(-2.0, rel=1e-12)
        assert solution.status == "optimal"


class TestInput:
    def test_kinds_of_cost_agree(self):
        C = indefinite(25)
        C[abs(C) < 1.5] = 0.0
        expected = solve(C, rng=0)
        for cost in (C.tolist(), sparse.csr_array(C), sparse.coo_matrix(C), aslinearoperator(C)):
            solution = solve(cost, rng=0)
            assert_optimum(solution, expected.certificate.objective)
            np.testing.assert_allclose(gram(solution), gram(expected), atol=1e-5)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_diagonal_is_a_scaling(self, seed):
        C, d = indefinite(15, seed), np.random.default_rng(seed).uniform(0.1, 5, 15)
        root = np.sqrt(d)
        given, by_hand = solve(C, d, rng=0), solve(root[:, None] * C * root, rng=0)
        assert_optimum(given, by_hand.certificate.objective)
        np.testing.assert_allclose(gram(given), gram(by_hand), atol=1e-5)
        # In the user's terms: B has the diagonal d, and the objective is Tr(C B).
        B = root[:, None] * gram(given) * root
        np.testing.assert_allclose(B.diagonal(), d, rtol=1e-12)
        assert np.vdot(C, B) == pytest.approx(given.certificate.objective, rel=1e-10)

    def test_cost_is_left_alone(self):
        C = indefinite(10)
        before = C.copy()
        solve(C, rng=0)
        np.testing.assert_array_equal(C, before)

    @pytest.mark.parametrize("exponent", [-100, -30, 30, 100])
    def test_scale_of_the_cost_does_not_matter(self, exponent):
        C = indefinite(12)
        plain, scaled = solve(C, rng=0), solve(C * 2.0**exponent, rng=0)
        assert scaled.status == "optimal"
        np.testing.assert_allclose(gram(scaled), gram(plain), atol=1e-6)
        assert scaled.certificate.objective == pytest.approx(math.ldexp(plain.certificate.objective, exponent), rel=1e-9)

    @settings(max_examples=10, deadline=None)
    @given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
    def test_permutation_and_signs(self, seed, n):
        """Tr(P C Pᵀ Z) over the elliptope: points may be renamed and reflected."""
        rng = np.random.default_rng(seed)
        C, order, sign = indefinite(n, seed), rng.permutation(n), rng.choice([-1.0, 1.0], n)
        plain, moved = solve(C, rng=0), solve((sign[:, None] * C * sign)[np.ix_(order, order)], rng=1)
        assert moved.certificate.objective == pytest.approx(plain.certificate.objective, rel=1e-6)
        if plain.status == moved.status == "optimal":
            expected = (sign[:, None] * gram(plain) * sign)[np.ix_(order, order)]
            np.testing.assert_allclose(gram(moved), expected, atol=1e-4)


class TestParameters:
    @pytest.mark.parametrize("rank", [1, 2, 50, np.int64(3)])
    def test_rank_is_only_a_start(self, rank):
        """One column is too few for an odd cycle; the certificate adds what is missing."""
        assert_optimum(solve(-cycle(7), rng=0, rank=rank), 14 * math.cos(math.pi / 7))

    @pytest.mark.parametrize("tol", [1e-2, 1e-8])
    def test_tolerance_is_met(self, tol):
        solution = solve(psd(30), rng=0, tol=tol)
        assert solution.status == "optimal"
        assert solution.certificate.relative_gap <= tol

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "simplex"}, r"`method` must be one of .*'auto'.*'power'.*, got 'simplex'"),
            ({"tol": 0.0}, "`tol` must be positive and finite, got 0.0"),
            ({"tol": -1e-6}, "`tol` must be positive and finite, got -1e-06"),
            ({"tol": math.nan}, "`tol` must be positive and finite, got nan"),
            ({"tol": math.inf}, "`tol` must be positive and finite, got inf"),
            ({"max_iter": 0}, "`max_iter` must be an integer of at least 1, got 0"),
            ({"max_iter": 1.5}, "`max_iter` must be an integer of at least 1, got 1.5"),
            ({"max_iter": None}, "`max_iter` must be an integer of at least 1, got None"),
            ({"max_products": 0}, "`max_products` must be None or an integer of at least 1, got 0"),
            ({"rank": 0}, "`rank` must be 'auto' or an integer of at least 1, got 0"),
            ({"rank": 2.0}, "`rank` must be 'auto' or an integer of at least 1, got 2.0"),
            ({"rank": True}, "`rank` must be 'auto' or an integer of at least 1, got True"),
            ({"rank": "full"}, "`rank` must be 'auto' or an integer of at least 1, got 'full'"),
            ({"start": np.ones((4, 2))}, r"`start` must be an array of shape \(3, r\), got shape \(4, 2\)"),
            ({"start": np.ones(3)}, r"`start` must be an array of shape \(3, r\), got shape \(3,\)"),
            ({"start": np.ones((3, 0))}, r"`start` must be an array of shape \(3, r\)"),
            ({"start": np.full((3, 1), np.nan)}, "`start` must be finite, got nan at row 0"),
            ({"rng": -1}, "`rng` must be a Generator, a non-negative integer or None, got -1"),
            ({"callback": 3}, "`callback` must be a callable or None, got 3"),
            ({"polish": "a"}, "`polish` must be True or False, got 'a'"),
            ({"diagonal": [1.0, 1.0]}, r"`diagonal` must have one entry per row, shape \(3,\), got shape \(2,\)"),
            ({"diagonal": [1.0, 0.0, 1.0]}, "`diagonal` must be positive and finite"),
        ],
    )
    def test_errors(self, options, message):
        with pytest.raises(ValueError, match=message):
            solve(-cycle(3), **options)

    @pytest.mark.parametrize(
        ("cost", "message"),
        [
            (np.ones((2, 3)), "`cost` must be a square symmetric matrix"),
            ([[0.0, 1.0], [2.0, 0.0]], "`cost` must be symmetric"),
            ([[0.0, math.nan], [math.nan, 0.0]], "`cost` must be finite"),
        ],
    )
    def test_bad_cost(self, cost, message):
        with pytest.raises(ValueError, match=message):
            solve(cost)


class TestStart:
    def test_warm_start_is_cheaper_and_ends_at_the_same_optimum(self):
        C = psd(40)
        cold = solve(C, rng=0)
        warm = solve(C, rng=1, start=3.0 * cold.factor)  # rows are normalised
        assert warm.status == "optimal"
        assert warm.n_iter < cold.n_iter
        assert warm.n_products < cold.n_products
        np.testing.assert_allclose(gram(warm), gram(cold), atol=1e-5)

    def test_zero_rows_get_a_direction(self):
        assert_optimum(solve(-cycle(5), rng=0, start=np.zeros((5, 2))), 10 * math.cos(math.pi / 5))

    def test_start_is_left_alone(self):
        start = np.ones((5, 2))
        solve(-cycle(5), rng=0, start=start)
        np.testing.assert_array_equal(start, np.ones((5, 2)))


class TestRandomness:
    @pytest.mark.parametrize("method", ["auto", "power"])
    def test_same_seed_same_bits(self, method):
        C = psd(30)
        first, again = solve(C, rng=7, method=method, max_iter=60), solve(C, rng=7, method=method, max_iter=60)
        np.testing.assert_array_equal(first.factor, again.factor)
        assert first.certificate == again.certificate
        assert first.history == again.history
        from_generator = solve(C, rng=np.random.default_rng(7), method=method, max_iter=60)
        np.testing.assert_array_equal(first.factor, from_generator.factor)

    def test_other_seed_other_path_same_optimum(self):
        C = psd(30)
        first, other = (solve(C, rng=seed, polish=True) for seed in (1, 2))
        assert first.history[0].objective != other.history[0].objective
        np.testing.assert_allclose(gram(first), gram(other), atol=1e-6)

    def test_global_state_is_not_touched(self):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        solve(psd(10))
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


class TestEndings:
    def test_one_iteration_still_bounds_the_optimum(self):
        C = indefinite(30)
        optimum = solve(C, rng=0).certificate.objective
        solution = solve(C, rng=0, max_iter=1)
        assert solution.status == "max_iter"
        assert "max_iter" in solution.message
        assert solution.n_iter == 1
        assert solution.certificate.grade == "proved"
        assert solution.certificate.objective < optimum <= solution.certificate.upper_bound < math.inf
        assert_feasible(solution, 30)

    @pytest.mark.parametrize("allowed", [1, 7, 30])
    def test_no_more_products_than_allowed(self, allowed):
        """A solve that has to stop there is told so, and knows a bound; one that has not does not notice."""
        C = indefinite(30)
        free = solve(C, rng=0)
        solution = solve(C, rng=0, max_products=allowed)
        assert free.n_products > 30
        assert solution.status == "max_iter"
        assert "increase max_products" in solution.message
        assert solution.history[-2].n_products <= allowed  # the last entry has those of the bound, too
        assert solution.certificate.grade == "probabilistic"
        assert solution.certificate.objective < free.certificate.objective <= solution.certificate.upper_bound
        unhindered = solve(C, rng=0, max_products=free.n_products)
        np.testing.assert_array_equal(unhindered.factor, free.factor)
        assert unhindered.certificate == free.certificate

    def test_progress_shows_no_bound_that_says_nothing(self):
        shown = []
        solution = solve(indefinite(30), rng=0, callback=lambda progress: shown.append(str(progress)))
        assert solution.n_iter > 10
        assert any("bound ≈" in line for line in shown)
        assert not any("inf" in line or "gap 0" in line for line in shown)
        assert "bound ≤" in str(solution.history[-1])

    def test_callback_stops(self):
        seen = []

        def stop_at_five(progress):
            seen.append(progress)
            return progress.iteration == 5

        C = psd(40)
        optimum = solve(C, rng=0).certificate.objective
        solution = solve(C, rng=0, method="power", callback=stop_at_five)
        assert solution.status == "interrupted"
        assert "stopped" in solution.message
        assert solution.n_iter == len(seen) == 5
        assert_feasible(solution, 40)
        assert solution.certificate.objective <= optimum * (1 + 1e-12)
        # With more Lanczos steps than points even an estimate is as good as exact.
        assert solution.certificate.upper_bound >= optimum * (1 - 1e-12)

    def test_looking_on_changes_nothing(self):
        """A callback (`verbose`) must not move the random numbers: here a column is missing, and escapes use them."""
        C = indefinite(40)
        silent, watched = (solve(C, rng=0, rank=1, callback=callback) for callback in (None, lambda progress: None))
        np.testing.assert_array_equal(watched.factor, silent.factor)
        assert watched.certificate == silent.certificate

    def test_keyboard_interrupt_returns_what_there_is(self):
        def interrupt(progress):
            if progress.iteration == 3:
                raise KeyboardInterrupt

        solution = solve(psd(40), rng=0, method="power", callback=interrupt)
        assert solution.status == "interrupted"
        assert_feasible(solution, 40)
        assert solution.certificate.upper_bound >= solution.certificate.objective

    def test_errors_in_a_callback_are_raised(self):
        def fail(progress):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            solve(psd(10), rng=0, callback=fail)


class TestReport:
    @pytest.mark.parametrize("method", ["auto", "power"])
    def test_history(self, method):
        seen = []
        C = psd(30)
        solution = solve(C, rng=0, method=method, max_iter=300, callback=seen.append)
        history = solution.history[: solution.n_iter]  # one entry per iteration, and a last one with the certified bound
        assert history == seen
        assert [p.iteration for p in history] == list(range(1, solution.n_iter + 1))
        products = [p.n_products for p in history]
        assert products[0] >= 1
        assert all(before < after for before, after in pairwise(products))
        assert solution.n_products >= products[-1]
        optimum = solve(C, rng=1).certificate.upper_bound
        for p in history:
            assert p.objective <= min(optimum, p.bound)
            gain = p.objective - np.trace(C)
            assert p.relative_gap == (pytest.approx((p.bound - p.objective) / gain) if gain > 0 else np.inf)
            assert p.defect >= 0
            assert 1 <= p.rank <= 30
        last = solution.history[-1]
        assert last.objective == history[-1].objective == solution.certificate.objective
        assert last.bound == solution.certificate.upper_bound
        assert last.rank == solution.factor.shape[1]
        assert last.n_products == solution.n_products

    def test_dual_and_objective_belong_to_the_factor(self):
        C = indefinite(20)
        for solution in (solve(C, rng=0), solve(C, rng=0, max_iter=3)):
            y = np.einsum("ij,ij->i", solution.factor, C @ solution.factor)
            np.testing.assert_allclose(solution.dual, y, atol=1e-12 * abs(C).sum())
            assert solution.certificate.objective == pytest.approx(y.sum(), abs=1e-12 * abs(C).sum())

    def test_optimality_conditions(self):
        """L H = 0 and L ⪰ 0, computed densely."""
        C = indefinite(25)
        solution = solve(C, rng=0)
        L = np.diag(solution.dual) - C
        assert abs(L @ solution.factor).max() < 1e-5 * abs(C).max()
        assert np.linalg.eigvalsh(L)[0] > -1e-5 * abs(C).max()


class TestPower:
    def test_never_descends_on_a_psd_cost(self):
        C = psd(50)
        solution = solve(C, rng=0, method="power", max_iter=200)
        objectives = np.array([p.objective for p in solution.history[: solution.n_iter]])
        assert len(objectives) > 20
        assert (np.diff(objectives) >= -1e-13 * objectives[-1]).all()
        assert objectives[-1] > 1.2 * objectives[0]

    def test_is_the_algorithm_of_the_paper(self):
        """H ← rows of JH, normalised."""
        C, rng = psd(12), np.random.default_rng(3)
        H = rng.standard_normal((12, 4))
        H /= np.linalg.norm(H, axis=1, keepdims=True)
        for p in solve(C, rng=0, method="power", start=H, max_iter=6).history[:6]:
            assert p.objective == pytest.approx(np.vdot(H, C @ H), rel=1e-12)
            H = C @ H
            H /= np.linalg.norm(H, axis=1, keepdims=True)

    def test_reaches_the_same_optimum_as_auto(self):
        C = psd(15) + 5.0
        auto, power = solve(C, rng=0), solve(C, rng=0, method="power", tol=1e-4)
        assert power.status == "optimal"
        assert power.certificate.objective == pytest.approx(auto.certificate.objective, rel=1e-4)
