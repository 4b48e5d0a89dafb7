"""Kernels against their formulas, evaluated from direct differences in extended precision."""

import math
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from sklearn.gaussian_process.kernels import Matern as SklearnMatern

from elliptope.kernels import CallableKernel, Gaussian, Kernel, Laplacian, Matern, Precomputed, make_kernel
from elliptope.kernels.distances import distances, squared_distances


def direct(X, Y):
    """Squared distances from differences formed in extended precision, one row at a time."""
    X, Y = np.asarray(X, dtype=np.longdouble), np.asarray(Y, dtype=np.longdouble)
    return np.array([((x - Y) ** 2).sum(axis=1) for x in X])


def log_matern(distance, bandwidth, nu):
    """The Bessel function from its integral, K_ν(ρ) = ∫ exp(-ρ cosh t) cosh(νt) dt over t > 0 (trapezoidal, in logs)."""
    out = np.zeros(np.shape(distance))
    for index, r in np.ndenumerate(np.asarray(distance, dtype=float)):
        rho = math.sqrt(2 * nu) * r / bandwidth
        if rho == 0:
            continue
        peak, width = math.asinh(nu / rho), (nu**2 + rho**2) ** -0.25
        t, h = np.linspace(0, peak + 40 * width + 12 / math.sqrt(1 + nu), 20001, retstep=True)
        with np.errstate(over="ignore"):
            exponents = -2 * rho * np.sinh(t / 2) ** 2 + np.logaddexp(nu * t, -nu * t) - math.log(2)
        exponents[0] -= math.log(2)
        log_bessel = logsumexp(exponents) + math.log(h) - rho
        out[index] = (1 - nu) * math.log(2) - gammaln(nu) + nu * math.log(rho) + log_bessel
    return out


FORMULAS = {
    "gaussian": (Gaussian(1.7), lambda D: -D / np.longdouble(1.7) ** 2),
    "laplacian": (Laplacian(1.7), lambda D: -np.sqrt(D) / np.longdouble(1.7)),
    **{
        f"matern-{nu}": (Matern(1.7, nu), lambda D, nu=nu: log_matern(np.sqrt(D), 1.7, nu))
        for nu in (0.3, 0.5, 0.8, 1.3, 1.5, 2.5, 4.5, 7.0, 10.5, 11.5, 20.5, 50.0)
    },
}


# One of each kind, for what does not depend on the formula itself.
KINDS = {name: FORMULAS[name][0] for name in ("gaussian", "laplacian", "matern-0.8", "matern-2.5", "matern-11.5")}


@pytest.fixture(params=FORMULAS, ids=str)
def formula(request):
    return FORMULAS[request.param]


@pytest.fixture(params=KINDS, ids=str)
def kernel(request):
    return KINDS[request.param]


def points(n=9, m=7, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((m, p)) + 0.5


class TestSquaredDistances:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
    @pytest.mark.parametrize("p", [1, 3, 32, 33, 100])
    def test_offset_and_dtype(self, p, offset, dtype):
        X, Y = points(40, 30, p)
        # Many float32 points coincide at an offset of 1e8: their distance is then exactly zero.
        X, Y = (X + offset).astype(dtype), (Y + offset).astype(dtype)
        found = squared_distances(X, Y)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, direct(X, Y).astype(float), rtol=1e-13, atol=1e-12)

    @pytest.mark.parametrize("scale", [1e-4, 1.0, 30.0])
    @pytest.mark.parametrize("p", [3, 100, 784])
    def test_error_is_small_beside_the_scale(self, p, scale):
        X, Y = points(60, 50, p)
        error = np.abs(squared_distances(X, Y, scale) * np.longdouble(scale) ** 2 - direct(X, Y))
        assert (error <= 1e-12 * scale**2 + 1e-14 * p * direct(X, Y)).all()

    @pytest.mark.parametrize("p", [3, 100])
    def test_outlier_far_from_a_unit_cluster(self, p):
        X, _ = points(50, 1, p)
        X[17] += 1e8
        found = squared_distances(X, X)
        np.testing.assert_allclose(found, direct(X, X).astype(float), rtol=1e-12, atol=1e-12)
        assert found.min() >= 0

    @pytest.mark.parametrize("p", [2, 60])
    def test_extreme_scales(self, p):
        X, Y = points(5, 4, p)
        np.testing.assert_array_equal(squared_distances(X, Y, 1e-200), np.inf)
        np.testing.assert_allclose(squared_distances(X, Y, 1e200), 0, atol=1e-12)
        np.testing.assert_allclose(squared_distances(X, Y, 1e-140), direct(X, Y) * np.longdouble(1e140) ** 2, rtol=1e-12)

    @pytest.mark.parametrize("p", [2, 60])
    @pytest.mark.parametrize("exponent", [-350, -530, -1000])
    def test_data_whose_squares_underflow(self, p, exponent):
        """The same numbers as at an ordinary scale, near and far rows alike, whatever other rows are asked for."""
        X, Y = points(5, 4, p)
        scale, far = math.ldexp(1.5, exponent), np.full((1, p), 2.0**400)
        found = squared_distances(np.ldexp(np.vstack([X, far]), exponent), np.ldexp(Y, exponent), scale)
        np.testing.assert_allclose(found, squared_distances(np.vstack([X, far]), Y, 1.5), rtol=1e-12)
        roots = distances(np.ldexp(np.vstack([X, far]), exponent), np.ldexp(Y, exponent), scale)
        np.testing.assert_allclose(roots, distances(np.vstack([X, far]), Y, 1.5), rtol=1e-12)


class TestFormulas:
    def test_block(self, formula):
        kernel, log_k = formula
        X, Y = points()
        expected = np.exp(log_k(direct(X, Y))).astype(float)
        np.testing.assert_allclose(kernel.block(X, Y), expected, rtol=2e-11, atol=0)
        np.testing.assert_allclose(kernel.log_block(X, Y), np.log(kernel.block(X, Y)), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(kernel(X, Y), expected, rtol=2e-11, atol=0)
        np.testing.assert_allclose(kernel(X), np.exp(log_k(direct(X, X))).astype(float), rtol=2e-11, atol=0)

    def test_close_points(self, formula):
        """Near the origin K_ν overflows; the kernel tends to one."""
        kernel, log_k = formula
        Y = np.array([[0.0], [1e-12], [1e-8], [1e-4], [1e-2]])
        expected = np.exp(log_k(direct(Y[:1], Y))).astype(float)
        np.testing.assert_allclose(kernel.block(Y[:1], Y), expected, rtol=1e-11)

    def test_log_block_far_away(self, formula):
        """1000 bandwidths away the block is zero, its logarithm is not lost."""
        kernel, log_k = formula
        Y = np.array([[1e3 * 1.7], [1.1e3 * 1.7]])
        found = kernel.log_block(np.zeros((1, 1)), Y)
        np.testing.assert_allclose(found, log_k(direct(np.zeros((1, 1)), Y)).astype(float), rtol=1e-12)


class TestEveryKind:
    @pytest.mark.parametrize(("p", "error"), [(3, 1e-15), (33, 1e-12), (100, 1e-12)])
    def test_coinciding_points(self, kernel, p, error):
        """k(x, x) = 1 also where distances come from an expansion, whose error a square root would magnify."""
        X, _ = points(30, 1, p)
        np.testing.assert_array_equal(kernel.diagonal(X), np.ones(len(X)))
        np.testing.assert_allclose(kernel.block(X, X).diagonal(), 1, atol=error)

    @pytest.mark.parametrize("p", [3, 100])
    def test_offset_of_1e8(self, kernel, p):
        """Coordinates on a grid of 1/8 stay exact at the offset, so the kernel must not change."""
        X = np.round(8 / math.sqrt(p) * points(12, 1, p)[0]) / 8
        np.testing.assert_allclose(kernel.block(X + 1e8, X + 1e8), kernel.block(X, X), rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("distance", [1e5, 1e12])
    def test_very_far_away(self, kernel, distance):
        near, far = kernel.log_block(np.zeros((1, 1)), np.array([[distance], [2 * distance]]))[0]
        assert -np.inf < far < near < -0.5 * distance

    def test_tiny_bandwidths_give_the_identity(self, kernel):
        X = np.array([[0.0], [1.0], [3.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for bandwidth in (1e-100, 1e-160, 1e-309):
                np.testing.assert_array_equal(replace(kernel, bandwidth=bandwidth).block(X, X), np.eye(3))

    @pytest.mark.parametrize("p", [1, 40])
    def test_huge_bandwidths_give_ones(self, kernel, p):
        X, Y = points(4, 3, p)
        for bandwidth in (1e20, 1e200):
            np.testing.assert_allclose(replace(kernel, bandwidth=bandwidth).block(X, Y), np.ones((4, 3)), rtol=1e-11)


class TestMatern:
    @pytest.mark.parametrize("nu", [0.5, 0.8, 1.3, 1.5, 2.5, 3.7])
    @pytest.mark.parametrize("bandwidth", [0.3, 2.0])
    def test_agrees_with_sklearn(self, nu, bandwidth):
        X, Y = points(20, 15, 4)
        expected = SklearnMatern(length_scale=bandwidth, nu=nu)(X, Y)
        np.testing.assert_allclose(Matern(bandwidth, nu).block(X, Y), expected, rtol=1e-10)

    @pytest.mark.parametrize("nu", [50.5, 1000.0])
    def test_orders_that_overflow_are_refused(self, nu):
        with pytest.raises(ValueError, match=r"`nu` must be at most 50, got .*Gaussian"):
            Matern(1.0, nu)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_sobolev_order(p):
    assert Gaussian(1.0).sobolev_order(p) == math.inf
    assert Laplacian(1.0).sobolev_order(p) == 0.5 + p / 2
    assert Matern(1.0, 2.5).sobolev_order(p) == 2.5 + p / 2
    assert math.isnan(CallableKernel(np.dot).sobolev_order(p))


class TestCallable:
    def test_values_and_diagonal(self):
        """More rows than one block of the diagonal, and a diagonal that is not constant."""
        X, Y = points(150, 3, 2)
        kernel = make_kernel(lambda A, B: (1 + A @ B.T) ** 2, None)
        np.testing.assert_allclose(kernel.block(X, Y), [[(1 + x @ y) ** 2 for y in Y] for x in X], rtol=1e-13)
        np.testing.assert_allclose(kernel.diagonal(X), [(1 + x @ x) ** 2 for x in X], rtol=1e-13)
        np.testing.assert_allclose(np.exp(kernel.log_block(X, Y)), kernel.block(X, Y), rtol=1e-12)

    def test_zero_becomes_minus_infinity_without_a_warning(self):
        kernel = make_kernel(lambda A, B: np.maximum(0, 1 - abs(A - B.T)), None)
        found = kernel.log_block(np.array([[0.0]]), np.array([[0.0], [0.5], [2.0]]))
        np.testing.assert_allclose(found, [[0, math.log(0.5), -math.inf]])

    def test_does_not_overwrite_the_callers_array(self):
        stored = np.array([[1.0, 0.5], [0.5, 1.0]])
        kernel = make_kernel(lambda A, B: stored, None)
        kernel.log_block(np.zeros((2, 1)), np.zeros((2, 1)))
        np.testing.assert_array_equal(stored, [[1.0, 0.5], [0.5, 1.0]])

    @pytest.mark.parametrize("answer", [np.ones((3, 2)), np.ones(6), 1.0, np.ones((1, 2, 3))])
    def test_wrong_shape(self, answer):
        kernel = make_kernel(lambda A, B: answer, None)
        with pytest.raises(ValueError, match=r"`kernel` must return an array of shape \(2, 3\).* got shape"):
            kernel.block(np.zeros((2, 1)), np.zeros((3, 1)))

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("method", ["block", "log_block"])
    def test_not_finite(self, bad, method):
        kernel = make_kernel(lambda A, B: np.array([[1.0, bad]]), None)
        with pytest.raises(ValueError, match="`kernel` must give finite values"):
            getattr(kernel, method)(np.zeros((1, 1)), np.zeros((2, 1)))

    def test_negative_is_refused_in_the_log_domain_only(self):
        kernel = make_kernel(lambda A, B: A @ B.T, None)
        X = np.array([[1.0], [-2.0]])
        np.testing.assert_array_equal(kernel.block(X, X), [[1, -2], [-2, 4]])
        with pytest.raises(ValueError, match=r"`kernel` must be non-negative .* minimum of -2"):
            kernel.log_block(X, X)


class TestPrecomputed:
    K = Gaussian(1.0)(points(6, 1, 2)[0])

    def values(self, kernel, X):
        """Rows of kernel values, read off the sums that an extension takes of them."""
        (rows,) = kernel.rows(X)
        return rows.sums(np.zeros(len(X)), np.eye(kernel.n_points))[0]

    def test_rows_are_the_kernel_values(self):
        chosen = np.array([0, 2, 5])
        kernel = Precomputed().fit(self.K, chosen)
        np.testing.assert_allclose(kernel.matrix(), self.K[np.ix_(chosen, chosen)], rtol=1e-15)
        new = np.array([[0.5, 9.0, 0.25, 9.0, 9.0, 0.0]])
        np.testing.assert_allclose(self.values(kernel, new), [[0.5, 0.25, 0.0]], rtol=1e-15)
        np.testing.assert_array_equal(new[0, [0, 2, 5]], [0.5, 0.25, 0.0])

    def test_a_model_does_not_keep_the_matrix(self):
        kept = Precomputed().fit(self.K).without_matrix()
        with pytest.raises(ValueError, match="`K` must be the kernel matrix given to `fit`, got None"):
            kept.matrix()
        np.testing.assert_array_equal(kept.refit(self.K, 1).matrix(), self.K)

    def test_diagonal(self):
        np.testing.assert_allclose(Precomputed().fit(2.5 * self.K).diagonal(np.zeros((3, 6))), [2.5, 2.5, 2.5])
        scale = np.linspace(1, 2, 6)
        unequal = Precomputed().fit(scale[:, None] * self.K * scale)
        with pytest.raises(ValueError, match=r"k\(x, x\) differs between training points.*diagonal='constant'"):
            unequal.diagonal(np.zeros((3, 6)))

    def test_bad_values(self):
        kernel = Precomputed().fit(self.K)
        for bad, message in [(math.nan, "must give finite values"), (-1.0, "must be non-negative")]:
            with pytest.raises(ValueError, match=message):
                next(kernel.rows(np.full((1, 6), bad)))


class TestMakeKernel:
    @pytest.mark.parametrize(
        ("name", "expected"), [("gaussian", Gaussian(0.7)), ("laplacian", Laplacian(0.7)), ("matern", Matern(0.7, 1.5))]
    )
    def test_names(self, name, expected):
        assert make_kernel(name, np.float32(0.7)).bandwidth == pytest.approx(0.7)
        assert make_kernel(name, 0.7) == expected

    @pytest.mark.parametrize("kernel", [Matern(0.3, 2.5), CallableKernel(np.dot)], ids=type)
    def test_instances_pass_through(self, kernel):
        assert make_kernel(kernel, 123.0) is kernel

    def test_user_subclass(self):
        class Constant(Kernel):
            def log_block(self, X, Y):
                return np.zeros((len(X), len(Y)))

            def sobolev_order(self, p):
                return math.inf

        np.testing.assert_array_equal(make_kernel(Constant(), None)(np.zeros((2, 1)), np.zeros((3, 1))), np.ones((2, 3)))

    @pytest.mark.parametrize("name", ["Gaussian", "rbf", "", None, 3, ["gaussian"]])
    def test_unknown(self, name):
        with pytest.raises(ValueError, match=r"`kernel` must be one of 'gaussian', .* got") as error:
            make_kernel(name, 1.0)
        assert str(error.value).endswith(f"got {name!r}.")

    @pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern"])
    def test_bandwidth_is_required(self, name):
        with pytest.raises(ValueError, match=f"`bandwidth` is required for kernel='{name}'"):
            make_kernel(name, None)

    @pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, -math.inf, True, "wide", [1.0]])
    def test_bad_parameters(self, value):
        by_name = (partial(make_kernel, name) for name in ("gaussian", "laplacian", "matern"))
        for build in (Gaussian, Laplacian, Matern, *by_name):
            with pytest.raises(ValueError, match="`bandwidth` must be positive and finite, got"):
                build(value)
        with pytest.raises(ValueError, match="`nu` must be positive and finite, got"):
            Matern(1.0, value)
