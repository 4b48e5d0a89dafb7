"""The statistical constants against hand computation and closed forms; every condition that fails is named."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import lambertw

from elliptope.kernels import Gaussian, Laplacian, Matern
from elliptope.theory import (
    Guarantee,
    constraint_rate,
    deviation,
    least_regularization,
    objective_bound,
    samples_needed,
    shortfall_bound,
    top_eigenvalue,
    trace_deviation,
    trace_floor,
)


class TestDeviation:
    @pytest.mark.parametrize(
        ("arguments", "kappa2", "c"),
        [
            # κ² = 2, λmax = 1, δ = 4/e⁴ make β = 4; with n = 8 the two terms are 4/3 and √2.
            ((8, 4 / math.e**4, 1.0, 2.0), 2, 4 / 3 + math.sqrt(2)),
            # λmax = κ² = 1 and δ = 2/e³ make β = 3; with n = 6 the terms are 2/3 and 1.
            ((6, 2 / math.e**3, 1.0), 1, 5 / 3),
        ],
    )
    def test_by_hand(self, arguments, kappa2, c):
        C = 2 * kappa2 * c + c**2
        assert deviation(*arguments) == pytest.approx(c, rel=1e-14)
        assert trace_deviation(*arguments) == pytest.approx(C, rel=1e-14)
        assert least_regularization(*arguments) == pytest.approx(2 * C, rel=1e-14)

    @given(st.integers(1, 10**6), st.floats(0.001, 0.49), st.floats(0.001, 1.0), st.floats(1e-3, 1e3))
    def test_scales_with_the_kernel(self, n, delta, share, t):
        """t k in the place of k multiplies operators by t and the objective by t²."""
        assert deviation(n, delta, share * t, t) == pytest.approx(t * deviation(n, delta, share), rel=1e-12)
        assert trace_deviation(n, delta, share * t, t) == pytest.approx(t**2 * trace_deviation(n, delta, share), rel=1e-12)

    @given(st.floats(1e-6, 0.499), st.floats(1e-4, 0.999), st.integers(1, 10**6))
    def test_increases_with_the_eigenvalue_where_it_says_so(self, delta, share, extra):
        n = math.ceil(34 / share) + extra
        assert deviation(n, delta, min(1.0, 1.001 * share)) > deviation(n, delta, share)

    def test_does_not_increase_everywhere(self):
        assert deviation(10, 0.1, 2e-3) < deviation(10, 0.1, 1e-3)


class TestTheorem:
    SETTING = {"n": 1000, "delta": 0.05, "lambda_max": 0.5}

    def test_value_and_probability(self):
        lam = least_regularization(**self.SETTING)
        assert objective_bound(lam, 4.0, **self.SETTING) == Guarantee(12 * lam, 0.9)
        assert objective_bound(2 * lam, 4.0, **self.SETTING).value == pytest.approx(24 * lam)
        assert objective_bound(lam, 4.0, **self.SETTING).holds

    @pytest.mark.parametrize(
        ("result", "least", "name"),
        [(objective_bound, least_regularization, "2 C"), (shortfall_bound, trace_deviation, "C")],
    )
    def test_small_regularization_is_named(self, result, least, name):
        lam = 0.99 * least(**self.SETTING)
        found = result(lam, 4.0, **self.SETTING)
        assert not found.holds
        (failed,) = found.failed
        assert failed.startswith(f"λ ≥ {name}_{{n,δ}} = ")
        assert failed.endswith(f"got λ = {lam:.6g}")
        if result is objective_bound:
            assert found.value == pytest.approx(12 * lam)

    def test_large_delta_is_named(self):
        setting = self.SETTING | {"delta": 0.4}
        result = objective_bound(2 * least_regularization(**setting), 1.0, **setting)
        assert result.failed == ("δ < 1/3; got δ = 0.4",)
        assert result.probability == pytest.approx(0.2)

    def test_all_failures_are_named(self):
        result = objective_bound(1e-9, 1.0, **self.SETTING | {"delta": 1 / 3})
        assert [name.split(" ")[0] for name in result.failed] == ["λ", "δ"]

    def test_shortfall(self):
        C = trace_deviation(**self.SETTING)
        result = shortfall_bound(C, 4.0, **self.SETTING)
        assert result.value == pytest.approx(8 * C, rel=1e-14)
        assert result.probability == pytest.approx(0.9)
        assert result.holds
        assert shortfall_bound(3 * C, 4.0, **self.SETTING).value == pytest.approx(16 * C, rel=1e-14)

    def test_trace_floor_is_never_negative(self):
        assert trace_floor(2.0, 0.1) == 0.0
        assert trace_floor(-2.0, 0.1) == pytest.approx(20.0)


class TestTopEigenvalue:
    @pytest.mark.parametrize("n", [1, 2, 50, 1100])
    def test_agrees_with_all_eigenvalues(self, n):
        X = np.random.default_rng(n).standard_normal((n, 2))
        K = Gaussian(0.7)(X)
        expected = np.linalg.eigvalsh(K)[-1] / n
        assert top_eigenvalue(K) == pytest.approx(expected, rel=1e-12)
        assert top_eigenvalue(X, Gaussian(0.7)) == pytest.approx(expected, rel=1e-12)
        assert top_eigenvalue(X, lambda A, B: Gaussian(0.7)(A, B)) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("n", [4, 1100])
    def test_eigenvector_may_change_sign(self, n):
        """λmax belongs to (1, -1, 1, ...), orthogonal to the constants where Perron's vector would be."""
        v = np.where(np.arange(n) % 2, -1.0, 1.0)
        assert top_eigenvalue(np.outer(v, v) + np.eye(n)) == pytest.approx(1 + 1 / n, rel=1e-12)

    @pytest.mark.parametrize("n", [50, 1100])
    def test_same_value_every_time(self, n):
        X = np.random.default_rng(0).uniform(-1, 1, (n, 1))
        assert len({top_eigenvalue(X, Laplacian(1.0)) for _ in range(3)}) == 1

    def test_close_eigenvalues(self):
        """tridiag(1, 2, 1), of eigenvalues 2 + 2 cos(kπ/(n+1)): too close at the top for Lanczos to converge."""
        n = 1100
        K = 2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
        with pytest.raises(ArpackNoConvergence):
            eigsh(K, k=1, which="LA", v0=np.random.default_rng(0).standard_normal(n), ncv=40, maxiter=100)
        assert top_eigenvalue(K) == pytest.approx((2 + 2 * np.cos(np.pi / (n + 1))) / n, rel=1e-12)

    @pytest.mark.parametrize("n", [2, 20, 40, 100, 178, 300, 1100])
    def test_repeated_eigenvalues(self, n):
        """I - 11ᵀ/n to rounding, a matrix of zeros, and blocks: LAPACK fails to find the largest eigenvalue by bisection."""
        noise = np.random.default_rng(n).standard_normal((n, n))
        noise += noise.T
        blocks = np.kron(np.eye(-(-n // 5)), np.ones((5, 5)))[:n, :n]
        for scale in (0.0, 1e-300, 1e-17, 1e-12):
            for K, top in ((np.eye(n) - 1 / n, 1.0), (np.eye(n), 1.0), (np.zeros((n, n)), 0.0), (blocks, min(n, 5))):
                assert top_eigenvalue(K + scale * noise) == pytest.approx(top / n, abs=1e-10)

    def test_constant_kernel_is_accepted_by_the_constants(self):
        """λmax(K)/n is κ² but for rounding, which may be upwards."""
        assert deviation(1500, 0.1, top_eigenvalue(np.ones((1500, 1500)))) == pytest.approx(deviation(1500, 0.1, 1.0))
        assert deviation(10, 0.1, 1 + 1e-15) == pytest.approx(deviation(10, 0.1, 1.0), rel=1e-14)


class TestConstraintRate:
    def test_by_hand(self):
        """n = 10⁴, p = 2, δ = 0.01: log(n/δ) = 6 log 10; p log 2 = log 4; n^(-3/2) = 10⁻⁶."""
        value = 1e-6 * (6 * math.log(10) + math.log(4)) ** 1.5
        assert constraint_rate(10**4, 2, 0.01, 3, 10.0).value == pytest.approx(value, rel=1e-12)

    def test_holds(self):
        for s in (Matern(1.0, nu=2.5).sobolev_order(1), 2.5000001):
            result = constraint_rate(10**4, 1, 0.05, 2, s)
            assert result.holds
            assert result.probability == 0.95

    @pytest.mark.parametrize("s", [1.5, 2.5, math.nan])
    def test_smoothness_is_named(self, s):
        failed = constraint_rate(10**4, 1, 0.05, 2, s).failed
        assert failed == (f"0 < m < s - p/2; got m = 2, s = {s:g}, p = 1",)

    def test_analytic_kernels_are_no_sobolev_spaces(self):
        failed = constraint_rate(10**4, 1, 0.05, 2, Gaussian(1.0).sobolev_order(1)).failed
        assert failed == ("s finite: the RKHS must be a Sobolev space; got s = inf",)

    def test_few_samples_are_named(self):
        failed = constraint_rate(50, 1, 0.05, 1, 3.0).failed
        assert len(failed) == 2
        left, least = 11 * (math.log(1000) + math.log(2)) / 50, 12 * (math.log(40) + 2 * math.log(4))
        assert failed[0] == f"11 ((log(n/δ) + p log 2)/n)^(1/p) ≤ min(1, 1/(18(m-1)²)) = 1; got {left:.6g}"
        assert failed[1] == f"n ≥ 2 (6R/r)^p (log(2/δ) + 2p log(4R/r)) = {least:.6g}; got n = 50"

    def test_each_condition_on_n_can_fail_alone(self):
        assert len(constraint_rate(85, 1, 0.05, 1, 3.0).failed) == 1
        (first,) = constraint_rate(1000, 1, 0.05, 2, 3.0).failed
        assert "= 0.0555556; got" in first  # 1/18
        (second,) = constraint_rate(1130, 1, 1e-40, 1, 3.0).failed
        assert second.startswith("n ≥ 2 (6R/r)^p")

    def test_everything_fails(self):
        assert len(constraint_rate(1, 3, 0.05, 1, math.inf).failed) == 3
        assert len(constraint_rate(1, 3, 0.05, 1, 1.0).failed) == 3

    def test_high_dimension_is_no_obstacle(self):
        failed = constraint_rate(100, 5000, 0.05, 1, 1e9).failed
        assert "= 1e3895; got n = 100" in failed[1]


class TestSamplesNeeded:
    @pytest.mark.parametrize("p", [1, 2, 3, 5])
    @pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6, 1e-40])
    @pytest.mark.parametrize("m", [1, 2, 3])
    def test_closed_form(self, p, delta, m):
        """n = a (log n + b) is solved by the lower branch of Lambert's function: n = -a W(-e^{-b}/a)."""
        a, b = (11 * max(1, 18 * (m - 1) ** 2)) ** p, p * math.log(2) - math.log(delta)
        zeros = math.ceil(-a * lambertw(-math.exp(-b) / a, k=-1).real)
        fill = math.ceil(2 * 6**p * (math.log(2 / delta) + 2 * p * math.log(4)))
        n = samples_needed(p, delta, m)
        assert n == pytest.approx(max(zeros, fill), rel=1e-12)
        assert constraint_rate(n, p, delta, m, 100.0).holds
        assert not constraint_rate(n - 1, p, delta, m, 100.0).holds

    @pytest.mark.parametrize("p", [784, 2000])
    def test_beyond_floats(self, p):
        n = samples_needed(p, 0.05, 2)
        assert math.log(n) / p == pytest.approx(math.log(198), rel=0.02)
        assert constraint_rate(n, p, 0.05, 2, math.inf).failed == constraint_rate(10**4, 1, 0.05, 2, math.inf).failed
        assert not constraint_rate(n // 2, p, 0.05, 2, 1e9).holds


class TestBadInput:
    GOOD = {"n": 100, "delta": 0.1, "lambda_max": 0.5, "kappa2": 1.0}

    @pytest.mark.parametrize("function", [deviation, trace_deviation, least_regularization])
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("n", 0, "an integer of at least 1"),
            ("n", 10.0, "an integer of at least 1"),
            ("delta", 0.0, "strictly between 0 and 0.5"),
            ("delta", 0.5, "strictly between 0 and 0.5"),
            ("delta", math.nan, "strictly between 0 and 0.5"),
            ("delta", "0.1", "strictly between 0 and 0.5"),
            ("lambda_max", 0.0, "positive and finite"),
            ("lambda_max", 1.01, r"in \(0, κ²\] = \(0, 1\], because λmax\(S\*S\) ≤ Tr\(S\*S\) ≤ κ²"),
            ("kappa2", -1.0, "positive and finite"),
            ("kappa2", math.inf, "positive and finite"),
        ],
    )
    def test_constants(self, function, name, value, message):
        with pytest.raises(ValueError, match=f"`{name}` must (be|lie) {message}, got {value!r}"):
            function(**self.GOOD | {name: value})

    @pytest.mark.parametrize("function", [objective_bound, shortfall_bound])
    def test_theorem(self, function):
        with pytest.raises(ValueError, match="`regularization` must be positive and finite, got 0"):
            function(0, 1.0, **self.GOOD)
        with pytest.raises(ValueError, match=r"`trace` must be non-negative and finite, got -1\.0"):
            function(1.0, -1.0, **self.GOOD)
        with pytest.raises(ValueError, match=r"`delta` must lie strictly between 0 and 0\.5, got 0\.5"):
            function(1.0, 1.0, **self.GOOD | {"delta": 0.5})

    def test_trace_floor(self):
        with pytest.raises(ValueError, match="`upper_bound` must be a finite number, got nan"):
            trace_floor(math.nan, 1.0)
        with pytest.raises(ValueError, match="`regularization` must be positive and finite, got 0"):
            trace_floor(1.0, 0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0, 1, 0.1, 1, 2.0), "`n` must be an integer of at least 1, got 0"),
            ((9, 0, 0.1, 1, 2.0), "`p` must be an integer of at least 1, got 0"),
            ((9, 1, 1.0, 1, 2.0), "`delta` must lie strictly between 0 and 1, got 1.0"),
            ((9, 1, 0.1, 0, 2.0), "`m` must be an integer of at least 1, got 0"),
            ((9, 1, 0.1, 1.5, 2.0), "`m` must be an integer of at least 1, got 1.5"),
            ((9, 1, 0.1, 1, "2"), "`s` must be a number, .* got '2'"),
        ],
    )
    def test_constraint_rate(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            constraint_rate(*arguments)
        if "`s`" not in message and "`n`" not in message:
            with pytest.raises(ValueError, match=message):
                samples_needed(*arguments[1:4])

    def test_kernel_matrix(self):
        with pytest.raises(ValueError, match=r"`X` must be a square kernel matrix .*, got shape \(3, 2\)"):
            top_eigenvalue(np.ones((3, 2)))
        with pytest.raises(ValueError, match=r"`X` must be a symmetric kernel matrix .*, got max\|K - K.T\| = 0.5"):
            top_eigenvalue(np.array([[1.0, 0.5], [0.0, 1.0]]))
        with pytest.raises(ValueError, match="X contains NaN"):
            top_eigenvalue(np.full((2, 2), np.nan))
        with pytest.raises(ValueError, match="`kernel` must be one of"):
            top_eigenvalue(np.ones((2, 2)), "rbf")
