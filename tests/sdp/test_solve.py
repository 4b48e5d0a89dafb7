"""The solver as users call it: closed forms, what it accepts and refuses, and certificates of given factors."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from elliptope.sdp import certify, solve
from sdp.costs import cycle, gram, indefinite, psd, unit_rows


def assert_optimum(solution, value, status=("optimal", "degenerate")):
    """The value is bracketed, both ends are near, and rows have unit length."""
    certificate = solution.certificate
    assert solution.status in status
    assert certificate.relative_gap <= 1e-6
    assert certificate.upper_bound >= value - 1e-12 * abs(value)
    assert certificate.upper_bound == pytest.approx(value, rel=1e-5)
    assert certificate.objective == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(solution.factor, axis=1), 1, rtol=1e-12)


class TestClosedForms:
    def test_pair(self):
        for a in (3.0, -3.0, 1e-30, -1e30):
            solution = solve([[0.0, a], [a, 0.0]], rng=0)
            assert_optimum(solution, 2 * abs(a), status=("optimal",))
            np.testing.assert_allclose(gram(solution), [[1, np.sign(a)], [np.sign(a), 1]], atol=1e-6)
            np.testing.assert_allclose(solution.dual, abs(a), rtol=1e-6)

    def test_complete_graph(self):
        """max n - 1ᵀZ1 = n, attained by rows that add up to zero; unique for two and three points only."""
        for n in (2, 3, 4, 7, 30):
            solution = solve(np.eye(n) - 1, rng=0)
            assert_optimum(solution, n, status=("optimal",) if n <= 3 else ("degenerate",))
            np.testing.assert_allclose(solution.factor.sum(axis=0), 0, atol=1e-5)
            assert ("not unique" in solution.message) == (n > 3)

    def test_odd_cycle(self):
        """Max-cut of C_n: neighbours at the angle π - π/n, so that max Tr(-A Z) = 2n cos(π/n)."""
        for n in (3, 5, 7, 11):
            solution = solve(-cycle(n), rng=0, polish=True)
            assert_optimum(solution, 2 * n * math.cos(math.pi / n), status=("optimal",))
            np.testing.assert_allclose(np.diag(gram(solution), 1), -math.cos(math.pi / n), atol=1e-6)

    def test_signs(self):
        """Even cycles are bipartite; rank one; and signs seen through noise that is small enough."""
        rng = np.random.default_rng(1)
        s, v = rng.choice([-1.0, 1.0], 60), rng.standard_normal(30)
        costs = [(-cycle(8), (-1.0) ** np.arange(8)), (np.outer(v, v), np.sign(v)), (np.outer(s, s) + indefinite(60, 2), s)]
        for C, sign in costs:
            solution = solve(C, rng=0)
            assert_optimum(solution, sign @ C @ sign, status=("optimal",))
            np.testing.assert_allclose(gram(solution), np.outer(sign, sign), atol=1e-6)
        by_power = solve(np.outer(v, v), rng=0, method="power")
        assert_optimum(by_power, np.abs(v).sum() ** 2, status=("optimal",))

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
    @pytest.mark.parametrize(
        "entries",
        [[0.0, 1, 2, 3], [-1.0, 2, 0, 3], [-1.0, -2], [0.0, 0, 0], [2.0], [-2.0], [1e-200, 2e-200], np.arange(40.0)],
        ids=str,
    )
    def test_diagonal_costs_of_every_kind(self, form, entries):
        """f(Z) = Tr J - ½ Σ e_i² at best, which takes Z_ij = 0 where e_i e_j > 0."""
        cost, n = form(np.diag(np.asarray(entries, dtype=float))), len(entries)
        for d, spread, polish in product((None, np.linspace(0.3, 0.7, n)), (0, 0.3, 1), (False, True)):
            J = np.asarray(entries) * (1 if d is None else d)
            if spread and not max(J) > 0:
                continue
            solution = solve(cost, d, spread=spread, polish=polish, rng=0)
            again = certify(cost, solution.factor, d, spread=solution.spread, rng=0)
            assert solution.status == ("optimal" if spread or n == 1 else "degenerate")
            optimum = J.sum() - 0.5 * solution.spread.s * J[J > 0].sum()
            for found in (solution.certificate, again):
                assert found.relative_gap == 0
                assert found.objective == pytest.approx(optimum, abs=1e-13)
            e = np.sqrt(solution.spread.s * np.maximum(J, 0))
            np.testing.assert_allclose(np.outer(e, e) * gram(solution), np.diag(e**2), atol=1e-15)

    def test_a_start_at_which_products_vanish_does_not_make_a_cost_diagonal(self):
        C = np.array([[0.0, 1, -1, 0], [1, 0, 0, -1], [-1, 0, 0, 1], [0, -1, 1, 0]])
        for cost in (C, aslinearoperator(C)):
            found = certify(cost, np.ones((4, 1)), rng=0)
            assert found.objective == 0
            assert found.upper_bound >= 4 * np.linalg.eigvalsh(C)[-1] - 1e-12  # by an eigenvector of signs


class TestInput:
    def test_kinds_of_cost_agree(self):
        C = indefinite(25)
        C[abs(C) < 1.5] = 0.0
        expected = solve(C, rng=0, polish=True)
        for cost in (C.tolist(), sparse.csr_array(C), sparse.coo_matrix(C), aslinearoperator(C)):
            solution = solve(cost, rng=0, polish=True)
            assert_optimum(solution, expected.certificate.objective)
            np.testing.assert_allclose(gram(solution), gram(expected), atol=1e-6)

    def test_diagonal_is_a_scaling(self):
        C, d = indefinite(15), np.random.default_rng(0).uniform(0.1, 5, 15)
        root = np.sqrt(d)
        before = C.copy()
        given, by_hand = solve(C, d, rng=0), solve(root[:, None] * C * root, rng=0)
        np.testing.assert_array_equal(C, before)
        assert_optimum(given, by_hand.certificate.objective)
        np.testing.assert_allclose(gram(given), gram(by_hand), atol=1e-5)
        # In the user's terms: B has the diagonal d, and the objective is Tr(C B).
        B = root[:, None] * gram(given) * root
        np.testing.assert_allclose(B.diagonal(), d, rtol=1e-12)
        assert np.vdot(C, B) == pytest.approx(given.certificate.objective, rel=1e-10)

    def test_scale_of_the_cost_does_not_matter(self):
        C = indefinite(12)
        plain = solve(C, rng=0)
        for exponent in (-100, -30, 30, 100):
            scaled = solve(C * 2.0**exponent, rng=0)
            assert scaled.status == "optimal"
            np.testing.assert_allclose(gram(scaled), gram(plain), atol=1e-6)
            expected = math.ldexp(plain.certificate.objective, exponent)
            assert scaled.certificate.objective == pytest.approx(expected, rel=1e-9)

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
    def test_rank_is_only_a_start(self):
        """One column is too few for an odd cycle; the certificate adds what is missing."""
        for rank in (1, 2, 50, np.int64(3)):
            assert_optimum(solve(-cycle(7), rng=0, rank=rank), 14 * math.cos(math.pi / 7))

    def test_tolerance_is_met(self):
        for tol in (1e-2, 1e-8):
            solution = solve(psd(30), rng=0, tol=tol)
            assert solution.status == "optimal"
            assert solution.certificate.relative_gap <= tol


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
        start = np.zeros((5, 2))
        assert_optimum(solve(-cycle(5), rng=0, start=start), 10 * math.cos(math.pi / 5))
        assert not start.any()


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


class TestCertify:
    """The certificate of a factor that somebody else may have found."""

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
    def test_as_the_solve_that_found_it(self, form):
        cost, d = form(indefinite(40)), np.linspace(0.5, 2.0, 40)
        for solution, diagonal in ((solve(cost, rng=0, polish=True), None), (solve(cost, d, rng=0, polish=True), d)):
            before = solution.factor.copy()
            found, solved = certify(cost, solution.factor, diagonal, rng=0), solution.certificate
            np.testing.assert_array_equal(solution.factor, before)
            assert (found.grade, found.weights) == (solved.grade, solved.weights)
            assert found.objective == pytest.approx(solved.objective, rel=1e-13)
            assert found.gap == pytest.approx(solved.gap, abs=1e-8 * solved.gain)
            assert found.relative_gap <= 1e-6
            if form is np.asarray:
                assert found.null_space.unique
                assert found.null_space.nullity == solved.null_space.nullity

    def test_the_factor_is_taken_as_it_is(self):
        """Far from the optimum, and at a saddle, the objective is that of the factor, and the bound still holds."""
        C = psd(30)
        optimum = solve(C, rng=0, tol=1e-9).certificate
        for H in (unit_rows(np.random.default_rng(0).standard_normal((30, 2))), np.ones((30, 1))):
            found = certify(C, H)
            assert found.objective == pytest.approx(np.vdot(H, C @ H), rel=1e-12)
            assert found.grade == "proved"
            assert found.objective < optimum.objective <= found.upper_bound
            assert found.relative_gap > 1e-3

    def test_its_products_are_limited(self):
        """A tolerance that rounding puts out of reach costs no more than that, and no bound that was found is lost."""
        C, products = psd(60), []
        cost = LinearOperator(C.shape, matmat=lambda V: (products.append(1), C @ V)[1], matvec=lambda v: C @ v, dtype=float)
        H = solve(C, rng=0, polish=True).factor
        for limit in (1, 3, 40, 500):
            products.clear()
            found = certify(cost, H, tol=1e-14, max_products=limit, rng=0)
            assert len(products) <= limit + 2  # for its diagonal, and whether it is symmetric
            assert found.upper_bound >= found.objective
        assert found.relative_gap < 1e-9
        with pytest.raises(ValueError, match="`max_products` must be an integer of at least 1, got 0"):
            certify(C, H, max_products=0)

    def test_rows_must_have_unit_length(self):
        H = solve(psd(6), rng=0).factor.copy()
        certify(psd(6), H * (1 + 1e-10))
        H[4] *= 1 + 1e-5
        with pytest.raises(ValueError, match=r"`factor` must have rows of length 1, got 1\.00001 in row 4"):
            certify(psd(6), H)
