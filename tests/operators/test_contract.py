"""One contract for every operator, against its plain matrix and, where it stands for a kernel, against the exact one.

What belongs to one operator alone is in a file of its own.
"""

from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope._utils.rounding import UNIT
from elliptope.kernels import Gaussian, Laplacian, Matern
from elliptope.operators import (
    DenseOperator,
    KernelOperator,
    SparseOperator,
    TiledOperator,
    as_operator,
    kernel_matrix,
)
from elliptope.operators.metric import DiagonalMetric
from elliptope.sdp import solve
from operator_cases import (
    KERNELS,
    MATRICES,
    N,
    cost_terms,
    deflated_case,
    kernel_case,
    long,
    off_diagonal,
)

# Error of a product relative to the sizes of its terms.
USUAL = 1e-13
ALL = [(name, weights) for name in KERNELS for weights in (False, True)] + [(name, None) for name in MATRICES]
DEFLATED = [(f"deflated {name}", weights) for name, weights in ALL if not weights]


def identify(parameter):
    name, weights = parameter
    return f"{name}-weighted" if weights else name


def make(parameter):
    name, weights = parameter
    if name.startswith("deflated "):
        return deflated_case(make((name.removeprefix("deflated "), weights)))
    return MATRICES[name]() if weights is None else kernel_case(name, weights)


@pytest.fixture(params=ALL + DEFLATED, ids=identify)
def case(request):
    return make(request.param)


@pytest.fixture(params=[one for one in ALL if one[1] is not None], ids=identify)
def of_kernel(request):
    return make(request.param)


def worst(difference):
    """The largest Tr(± difference Z) over the elliptope; scaled, so that the solver's tolerances mean something."""
    difference = ((difference + difference.T) / 2).astype(float)
    scale = abs(difference).max()
    return [scale * solve(sign * difference / scale, tol=1e-3, rng=0).certificate.objective for sign in (1, -1)]


class TestProducts:
    def test_with_the_whole_and_with_the_core(self, case):
        """In either order, without side effects; where entries are known, without the rounding of the diagonal."""
        operator = case.operator
        assert (operator.n, operator.shape) == (N, (N, N))
        for r, order in ((1, "C"), (4, "F"), (5, "C")):
            V = np.asarray(np.random.default_rng(r).standard_normal((N, r)), order=order)
            before = V.copy()
            for found in (operator.matmat(V), operator @ V):
                assert (abs(found - case.J @ V) <= USUAL * (case.size @ abs(V))).all()
            assert (abs(operator.core_matmat(V) - case.core @ V) <= USUAL * (case.core_size @ abs(V))).all()
            np.testing.assert_array_equal(V, before)

    def test_offset_is_the_diagonal(self, case, request):
        if "regularized" not in request.node.name:  # whose offset is a constant
            np.testing.assert_allclose(case.operator.offset(), case.J.diagonal().astype(float), rtol=1e-11, atol=1e-15)

    def test_symmetric(self, case):
        U, V = np.random.default_rng(5).standard_normal((2, N, 3))
        difference = abs(U.T @ (case.operator @ V) - (case.operator @ U).T @ V)
        assert (difference <= USUAL * (abs(U).T @ case.size @ abs(V))).all()

    def test_sum_of_squares(self, case):
        """What is claimed is never less than the sum, and sharp."""
        v = np.random.default_rng(6).uniform(0.1, 1.0, N)
        found = case.operator.core_square(v)
        if found < np.inf:
            exact = (off_diagonal(case.J) ** 2 / v[:, None] / v).sum()
            terms = (case.core_size**2 / v[:, None] / v).sum()
            assert -1e-13 * terms <= found - exact <= 1e-10 * terms


class TestTriangle:
    def test_is_lent_and_restored(self, case):
        operator = case.operator
        if not operator.has_entries:
            with pytest.raises(TypeError, match="has no entries"), operator.triangle(np.ones(N)):
                pass
            return
        before, offset = operator @ np.eye(N), operator.offset()
        for c in (np.ones(N), np.geomspace(1e-3, 1e3, N)):
            with operator.triangle(c) as T:
                assert T.flags.f_contiguous
                np.testing.assert_allclose(
                    np.tril(T), np.tril(-np.outer(c, c) * case.J).astype(float), rtol=1e-11, atol=1e-15 * c.max() ** 2
                )
                T[np.tril_indices(N)] = np.nan
        with suppress(KeyboardInterrupt), operator.triangle(np.full(N, 3.0)) as T:
            T[np.tril_indices(N)] = np.nan
            raise KeyboardInterrupt
        np.testing.assert_array_equal(operator @ np.eye(N), before)
        np.testing.assert_array_equal(operator.offset(), offset)

    def test_entry_scale_bounds_the_rounding(self, case):
        """|error| ≤ 8u cᵢ aᵢ aⱼ cⱼ, beside the same entries in extended precision; degrees are taken as they are stored."""
        operator, J = case.operator, case.J
        if not operator.has_entries or (isinstance(operator, KernelOperator) and not hasattr(case, "K")):
            return
        if hasattr(case, "K"):
            # What is stored, to the last bit; K in extended precision would have the rounding of the kernel as well.
            K = operator._K.toarray() if hasattr(operator._K, "toarray") else operator._K
            A, top = cost_terms(long(K), operator.m, operator.M, case.t)
            J = A - top
        for c in (np.linspace(0.7, 1.3, N), np.geomspace(1e-3, 1e3, N)):
            a = np.sqrt(operator.entry_scale()) * c
            with operator.triangle(c) as T:
                error = abs(np.tril(T + np.outer(long(c), c) * J, -1))
            assert (error <= 8 * UNIT * np.outer(a, a)).all()
            assert error.max() > 0


class TestFactorization:
    def test_tells_definite_from_indefinite(self, case):
        """L + sM is definite exactly for s beyond the least eigenvalue; ``solve`` is its inverse in whitened coordinates."""
        operator, rng = case.operator, np.random.default_rng(1)
        core = case.core.astype(float)
        slack = rng.uniform(-0.5, 1, N) * 0.3 * abs(core).sum(axis=1)
        metric = operator.metric() or DiagonalMetric(np.geomspace(1e-2, 1e2, N))
        if not operator.can_factor:
            with pytest.raises(TypeError, match=r"be factorised|has no entries"), operator.factorization(slack, metric, 0.0):
                pass
            return
        whitened = metric.whiten_gradient(metric.whiten_gradient(np.diag(slack) - core).T)
        least = np.linalg.eigvalsh((whitened + whitened.T) / 2)[0]
        assert least < 0
        with operator.factorization(slack, metric, -least * (1 - 1e-6)) as factor:
            assert factor is None
        with operator.factorization(slack, metric, -least * (1 + 1e-6)) as factor:
            assert -least * (1 + 1e-6) <= factor.added <= factor.shift < -least * (1 + 2e-6)
        with operator.factorization(slack, metric, -2 * least) as factor:
            found = factor.solve(whitened + factor.added * np.eye(N))
        np.testing.assert_allclose(found, np.eye(N), atol=1e-8)


class TestDeflation:
    def test_leaves_the_operator_as_it_was(self, case):
        V = np.random.default_rng(0).standard_normal((N, 2))
        before, bounds = case.operator @ V, case.operator.error_bounds
        twice = case.operator.deflated(V).deflated(2 * V)
        np.testing.assert_allclose(twice @ V, before - 5 * V @ (V.T @ V), rtol=1e-9, atol=1e-9)
        assert twice.error_bounds == bounds
        np.testing.assert_array_equal(case.operator @ V, before)

    def test_weights_of_the_norm(self):
        """‖B‖² on L²(w) for B = Diag(√d) Z Diag(√d): w d; and d where a cost comes with a diagonal."""
        d = np.random.default_rng(0).uniform(0.5, 2, N)
        case = kernel_case("dense", weights=True)
        case.operator.set_row_scale(case.w * np.sqrt(d))
        np.testing.assert_allclose(case.operator.norm_weights(), case.w * d, rtol=1e-12)
        for build in (np.asarray, sparse.csr_array, aslinearoperator):
            np.testing.assert_allclose(as_operator(build(np.eye(N)), d).norm_weights(), d, rtol=1e-12)
            np.testing.assert_array_equal(as_operator(build(np.eye(N))).norm_weights(), np.ones(N))

    def test_in_single_precision_throughout(self):
        case = kernel_case("neighbors", weights=True)
        single = case.operator.float32()
        V = np.random.default_rng(5).standard_normal((N, 20)).astype(np.float32)
        found = single.core_matmat(V)
        assert found.dtype == single.offset().dtype == np.float32
        error = abs(found - case.core @ V)
        assert (error <= 3e-6 * (case.core_size @ abs(V))).all()
        assert error.max() > 1e-9
        np.testing.assert_allclose(single.offset(), case.operator.offset(), rtol=1e-6)


class TestKernels:
    def test_degrees_and_diagonal(self, of_kernel):
        operator, K, w, m = of_kernel.operator, of_kernel.K, of_kernel.w, of_kernel.m
        np.testing.assert_allclose(operator.m, m.astype(float), rtol=1e-13)
        np.testing.assert_allclose(operator.M, float((w * m).sum()), rtol=1e-13)
        np.testing.assert_array_equal(operator.w, w)
        np.testing.assert_allclose(operator.kernel_diagonal(), K.diagonal().astype(float), rtol=1e-13)
        d = K.diagonal() / m - m / (w * m).sum()
        np.testing.assert_allclose(operator.abar_diagonal(), d.astype(float), rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(operator.contrast(), (d * m / K.diagonal()).astype(float), rtol=1e-11, atol=1e-14)

    def test_the_top_eigenvector_is_deflated(self, of_kernel):
        """Abar annihilates √m on L²(w), so J annihilates w √m / t."""
        x = (of_kernel.w * np.sqrt(of_kernel.m) / of_kernel.t).astype(float)[:, None]
        assert (abs(of_kernel.operator @ x) <= USUAL * of_kernel.size @ x).all()

    def test_another_row_scale(self, of_kernel):
        """Whatever was kept for the last one is made anew."""
        operator, V = of_kernel.operator, np.random.default_rng(6).standard_normal((N, 2))
        before, bounds = operator @ V, operator.error_bounds
        operator.set_row_scale(3 * of_kernel.t)
        assert (abs(operator @ V - 9 * of_kernel.J @ V) <= 9 * USUAL * (of_kernel.size @ abs(V))).all()
        assert abs(operator @ V - before).max() > 0
        np.testing.assert_allclose(operator.error_bounds, 9 * np.array(bounds), rtol=1e-12)

    @pytest.mark.parametrize("name", KERNELS)
    def test_threads_change_nothing(self, name):
        V = np.random.default_rng(4).standard_normal((N, 4))
        one, *others = (kernel_case(name, True, n_jobs).operator for n_jobs in (1, 2, 3))
        for other in others:
            np.testing.assert_array_equal(one.m, other.m)
            np.testing.assert_array_equal(one @ V, other @ V)
            assert one.error_bounds == other.error_bounds

    def test_large_sparse_products_are_shared_by_threads(self):
        """Beyond the size up to which one thread is faster; parts are equal in entries, not in rows."""
        n, rng = 10_001, np.random.default_rng(0)
        K = sparse.random_array((n, n), density=5 / n, random_state=rng, format="csr")
        K = sparse.csr_array(K + K.T + sparse.eye_array(n))
        V = rng.standard_normal((n, 3))
        one, three = (SparseOperator(K, n_jobs=n_jobs) for n_jobs in (1, 3))
        np.testing.assert_array_equal(one @ V, three @ V)
        m = K.sum(axis=1)
        plain = (K @ (V.T / np.sqrt(m)).T) / np.sqrt(m)[:, None] - np.outer(np.sqrt(m), np.sqrt(m) @ V) / m.sum()
        np.testing.assert_allclose(one @ V, plain, atol=1e-13)

    @pytest.mark.parametrize("name", ["dense", "tiled", "dask"])
    def test_single_precision_is_the_same_operator(self, name):
        """It errs by no more than float32 does, and is not the operator itself."""
        case = kernel_case(name, weights=True)
        single = case.operator.in_single() if name == "dense" else case.operator.single()
        V = np.random.default_rng(5).standard_normal((N, 4)) * [1.0, 2.0**60, 2.0**-60, 0.0]
        error = abs(single.core_matmat(V) - off_diagonal(case.J) @ V)
        assert (error <= 3e-6 * (case.size @ abs(V))).all()
        assert (error[:, :3].max(axis=0) > 1e-9 * abs(V[:, :3]).max(axis=0)).all()
        assert single.core_matmat(V).dtype == np.float64
        np.testing.assert_array_equal(single.offset(), case.operator.offset())

    def test_spectrum_is_that_of_the_random_walk(self):
        """With t = √w the eigenvalues are those of the row-stochastic Diag(1/m) K Diag(w), its 1 replaced by 0."""
        case = kernel_case("dense", weights=True)
        case.operator.set_row_scale(np.sqrt(case.w))
        K = case.K.astype(float)
        walk = np.sort(np.linalg.eigvals(K * case.w / (K @ case.w)[:, None]).real)
        assert walk[-1] == pytest.approx(1.0, rel=1e-12)
        walk[-1] = 0.0
        np.testing.assert_allclose(np.linalg.eigvalsh(case.operator @ np.eye(N)), np.sort(walk), atol=1e-13)


class TestErrorBounds:
    def test_are_never_below_the_true_error(self, of_kernel):
        """For the worst Z of the elliptope in either direction, and for objectives as they are computed."""
        operator = of_kernel.operator
        for t in (of_kernel.t, of_kernel.w * np.sqrt(np.maximum(operator.abar_diagonal(), 0))):
            operator.set_row_scale(t)
            below, above = operator.error_bounds
            exact = of_kernel.exact(t)
            difference = exact - operator @ np.eye(N)
            if not (below or above):  # exact up to rounding
                np.testing.assert_allclose(difference.astype(float), 0, atol=1e-12 * float(abs(exact).max()))
                continue
            for found, bound in zip(worst(difference), (above, below), strict=True):
                assert found <= bound
            for H in (np.ones((N, 1)), np.linalg.qr(np.random.default_rng(3).standard_normal((N, 3)))[0]):
                H = H / np.linalg.norm(H, axis=1, keepdims=True)
                objective = (H * (operator @ H)).sum()
                assert -below <= (long(H) * (exact @ H)).sum() - objective <= above

    def test_the_exact_optimum_lies_in_the_claimed_interval(self):
        """On random instances; and the optimum of the tiled operator lies in its own interval."""
        for seed in range(24):
            kernel, X, w, exact = random_instance(seed)
            operator = TiledOperator(kernel, X, w)
            operator.set_row_scale(w * np.sqrt(operator.abar_diagonal()))
            certificate = solve(operator, rng=0, tol=1e-4, max_iter=1000).certificate
            assert certificate.grade in ("proved", "probabilistic")
            assert certificate.relative_gap <= 1e-2
            low, high = certificate.exact_interval
            assert low <= exact.upper_bound
            assert high >= exact.objective
            below, above = operator.error_bounds
            assert (low, high) == (certificate.objective - below, certificate.upper_bound + above)
            J = operator @ np.eye(operator.n)
            plain = solve((J + J.T) / 2, rng=0, tol=1e-5).certificate
            rounding = 1e-12 * abs(plain.upper_bound)
            assert certificate.objective <= plain.upper_bound + rounding
            assert plain.objective <= certificate.upper_bound + rounding


def random_instance(seed):
    """Kernel, points and weights of a random problem, and the certificate of its exact optimum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 120)) if seed else 300
    X = rng.standard_normal((n, int(rng.integers(1, 6))))
    if seed % 2:
        X += 4 * rng.standard_normal((3, X.shape[1]))[rng.integers(3, size=n)]
    if seed % 5 == 0:
        X[:2] *= 5
    kernel = (Gaussian, Laplacian, Matern)[seed % 3](float(rng.choice([0.5, 1.0, 2.0, 5.0])))
    w = rng.uniform(0.1, 3, n) if seed % 4 == 0 else np.ones(n)
    dense = DenseOperator(kernel_matrix(kernel, X), w)
    dense.set_row_scale(w * np.sqrt(dense.abar_diagonal()))
    exact = solve(dense, rng=0, tol=1e-5).certificate
    assert exact.grade == "proved"
    return kernel, X, w, exact
