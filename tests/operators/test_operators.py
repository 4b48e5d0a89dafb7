"""One contract for every operator, against plain matrices built from the formulas of the paper."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern
from elliptope.operators import DenseOperator, Operator, as_operator, dense, kernel_matrix
from elliptope.operators.metric import DiagonalMetric
from elliptope.operators.sparse import SparseMatrix

UNIT = np.finfo(float).eps / 2
N = 41


@dataclass(frozen=True)
class Case:
    """An operator, the matrix J that it must be, and the sizes of the terms that are summed in its entries."""

    operator: Operator
    plain: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class KernelCase(Case):
    """With what J = Diag(t) (K / √(m mᵀ) - √(m mᵀ)/M) Diag(t) is made of."""

    K: np.ndarray
    w: np.ndarray
    t: np.ndarray


def points(n=N, p=3):
    return np.random.default_rng(n).standard_normal((n, p))


def long(a):
    return np.asarray(a, dtype=np.longdouble)


def kernel_case(kernel, *, weights=False, n=N, scaled=True):
    rng = np.random.default_rng(1)
    w = rng.uniform(0.1, 3, n) if weights else np.ones(n)
    t = rng.uniform(0.2, 2, n) if scaled else np.ones(n)
    K = kernel_matrix(kernel, points(n))
    operator = DenseOperator(K.copy(), w if weights else None)
    if scaled:
        operator.set_row_scale(t)
    m = long(K) @ w
    A, v0v0 = abar_terms(K, m, m @ w)
    return KernelCase(operator, np.outer(t, t) * (A - v0v0), np.outer(t, t) * (abs(A) + v0v0), K, w, t)


def abar_terms(K, m, M):
    """K / √(m mᵀ) and v0 v0ᵀ in extended precision, the two terms of Abar."""
    root = np.sqrt(np.outer(long(m), long(m)))
    return long(K) / root, root / long(M)


def abar(case):
    m = long(case.K) @ case.w
    A, v0v0 = abar_terms(case.K, m, m @ case.w)
    return (A - v0v0).astype(float)


def symmetric(n=N):
    C = np.random.default_rng(2).standard_normal((n, n))
    return C + C.T


def scaling(n=N):
    return np.random.default_rng(3).uniform(0.1, 5, n)


def matrix_case(build, diagonal=None):
    C = symmetric()
    C[abs(C) < 1] = 0
    C[3, 3] = 0.0
    d = np.ones(N) if diagonal is None else long(diagonal)
    plain = np.sqrt(np.outer(d, d)) * C
    return Case(as_operator(build(C), diagonal), plain, abs(plain))


class WithDiagonal(LinearOperator):
    """A linear operator that knows its diagonal, and whose products with single columns are refused."""

    def __init__(self, C):
        super().__init__(C.dtype, C.shape)
        self.C = C

    def _matvec(self, x):
        raise AssertionError("one column at a time is slow")

    def _matmat(self, X):
        return self.C @ X

    def diagonal(self):
        return self.C.diagonal()


def unsorted(C):
    """Sparse, with the columns of every row in the wrong order."""
    columns = np.arange(len(C))[::-1]
    indptr = len(C) * np.arange(len(C) + 1)
    return sparse.csr_array((C[:, columns].ravel(), np.tile(columns, len(C)), indptr), shape=C.shape)


CASES = {
    "gaussian": lambda: kernel_case(Gaussian(1.0)),
    "gaussian-default-scale": lambda: kernel_case(Gaussian(1.0), scaled=False),
    "gaussian-weights": lambda: kernel_case(Gaussian(1.0), weights=True),
    "gaussian-narrow": lambda: kernel_case(Gaussian(0.05), weights=True),
    "laplacian": lambda: kernel_case(Laplacian(0.7), weights=True),
    "matern": lambda: kernel_case(Matern(2.0, 2.5)),
    "callable": lambda: kernel_case(CallableKernel(lambda X, Y: (4 + X @ Y.T) ** 2), weights=True),
    "array": lambda: matrix_case(np.array),
    "array-diagonal": lambda: matrix_case(np.array, scaling()),
    "fortran": lambda: matrix_case(np.asfortranarray, scaling()),
    "list": lambda: matrix_case(lambda C: C.tolist()),
    "csr": lambda: matrix_case(sparse.csr_array),
    "csr-diagonal": lambda: matrix_case(sparse.csr_array, scaling()),
    "coo-matrix": lambda: matrix_case(sparse.coo_matrix, scaling()),
    "linear": lambda: matrix_case(aslinearoperator),
    "linear-diagonal": lambda: matrix_case(aslinearoperator, scaling()),
    "linear-knows-diagonal": lambda: matrix_case(WithDiagonal),
    "linear-knows-diagonal-scaled": lambda: matrix_case(WithDiagonal, scaling()),
}
FACTORABLE = [name for name in CASES if not name.startswith("linear")]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 16, so that 41 points need several and the last is not full."""
    monkeypatch.setattr(dense, "_TILE", 16)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


@pytest.fixture(params=FACTORABLE)
def factorable(request):
    return CASES[request.param]()


class TestContract:
    def test_shape(self, case):
        assert case.operator.n == N
        assert case.operator.shape == (N, N)
        assert case.operator.error_bounds == (0.0, 0.0)

    @pytest.mark.parametrize("r", [1, 4])
    def test_products(self, case, r):
        V = np.random.default_rng(4).standard_normal((N, r))
        before = V.copy()
        expected = (case.plain @ V).astype(float)
        for found in (case.operator.matmat(V), case.operator @ V):
            assert found.shape == (N, r)
            assert (abs(found - expected) <= 2 * N * UNIT * (case.size @ abs(V))).all()
        np.testing.assert_array_equal(V, before)

    def test_hollow_products(self, case, request):
        """Without the diagonal of J, and (where entries are known) without its rounding."""
        V = np.random.default_rng(4).standard_normal((N, 4))
        expected = (case.plain - np.diag(case.plain.diagonal())) @ V
        size = case.size.copy()
        if isinstance(case, KernelCase):
            size[np.diag_indices(N)] -= case.plain.diagonal()  # twice (t v0)² is left
        elif not request.node.callspec.params["case"].startswith("linear"):
            np.fill_diagonal(size, 0.0)
        assert (abs(case.operator.core_matmat(V) - expected) <= 2 * N * UNIT * (size @ abs(V))).all()

    def test_diagonal(self, case):
        np.testing.assert_allclose(case.operator.offset(), case.plain.diagonal().astype(float), rtol=1e-12, atol=1e-15)

    def test_symmetry(self, case):
        U, V = np.random.default_rng(5).standard_normal((2, N, 3))
        scale = float((abs(U).T @ case.size @ abs(V)).max())
        np.testing.assert_allclose(U.T @ (case.operator @ V), (case.operator @ U).T @ V, atol=N * UNIT * scale)

    def test_can_factor(self, case, request):
        assert case.operator.can_factor is not request.node.callspec.params["case"].startswith("linear")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("linear")])
def test_linear_operators_lend_no_triangle(name):
    operator = CASES[name]().operator
    with pytest.raises(TypeError, match="has no entries"), operator.triangle(np.ones(N)):
        pass
    metric = DiagonalMetric(np.ones(N))
    with pytest.raises(TypeError, match="cannot be factorised"), operator.factorization(np.ones(N), metric, 0.0):
        pass


class TestTriangle:
    @pytest.mark.parametrize("c", [np.ones(N), np.geomspace(1e-3, 1e3, N)], ids=["ones", "geometric"])
    def test_lends_the_lower_triangle(self, factorable, c):
        with factorable.operator.triangle(c) as T:
            assert T.shape == (N, N)
            assert T.dtype == np.float64
            assert T.flags.forc
            assert T.flags.writeable
            found = np.tril(T)
        expected = -np.outer(c, c) * factorable.plain
        np.testing.assert_allclose(found, np.tril(expected).astype(float), rtol=1e-11, atol=1e-15 * np.outer(c, c).max())

    @pytest.mark.parametrize("raises", [False, True])
    def test_is_restored_after_being_overwritten(self, factorable, raises):
        operator = factorable.operator
        before, diagonal = operator @ np.eye(N), operator.offset()
        try:
            with operator.triangle(np.full(N, 3.0)) as T:
                T[np.tril_indices(N)] = np.nan
                if raises:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert raises
        np.testing.assert_array_equal(operator @ np.eye(N), before)
        np.testing.assert_array_equal(operator.offset(), diagonal)
        with operator.triangle(np.ones(N)) as T:
            np.testing.assert_allclose(np.tril(T), -np.tril(before), rtol=1e-11, atol=1e-14 * abs(before).max())

    @pytest.mark.parametrize("c", [np.linspace(0.7, 1.3, N), np.geomspace(1e-3, 1e3, N)], ids=["linear", "geometric"])
    def test_entry_scale_bounds_the_rounding(self, factorable, c):
        """|error| ≤ 8u cᵢ aᵢ aⱼ cⱼ, beside the same entries in extended precision; degrees are taken as they are stored."""
        operator, plain = factorable.operator, factorable.plain
        if isinstance(factorable, KernelCase):
            A, v0v0 = abar_terms(factorable.K, operator.m, operator.M)
            plain = np.outer(long(factorable.t), factorable.t) * (A - v0v0)
        assert_entry_scale(operator, plain, c)

    def test_entry_scale_of_a_kernel_that_is_not_psd(self):
        """Where K_ij > √(K_ii K_jj), the diagonal alone does not bound the entries."""
        rng = np.random.default_rng(6)
        K, even = 1e-3 * np.eye(400), np.arange(0, 400, 2)
        K[even, even + 1] = K[even + 1, even] = rng.uniform(1, 2, 200)
        operator = DenseOperator(K.copy())
        A, v0v0 = abar_terms(K, operator.m, operator.M)
        assert_entry_scale(operator, A - v0v0, rng.uniform(1, 2, 400))


def assert_entry_scale(operator, plain, c):
    ac = np.sqrt(operator.entry_scale()) * c
    with operator.triangle(c) as T:
        error = abs(np.tril(T + np.outer(long(c), c) * plain, -1))
    assert (error <= 8 * UNIT * np.outer(ac, ac)).all()
    assert error.max() > 0


class TestKernelOperator:
    @pytest.mark.parametrize("name", ["gaussian", "gaussian-weights", "laplacian", "callable"])
    def test_the_top_eigenvector_is_deflated(self, name):
        """Abar annihilates √m on L²(w), so J annihilates w √m / t."""
        case = CASES[name]()
        x = (case.w * np.sqrt(long(case.K) @ case.w) / case.t).astype(float)[:, None]
        assert (abs(case.operator @ x) <= 2 * N * UNIT * (case.size @ abs(x))).all()

    def test_degrees(self):
        case = CASES["gaussian-weights"]()
        expected = [sum(case.K[i, j] * case.w[j] for j in range(N)) for i in range(N)]
        np.testing.assert_allclose(case.operator.m, expected, rtol=1e-13)
        np.testing.assert_allclose(case.operator.M, case.w @ expected, rtol=1e-13)

    def test_abar_diagonal_ignores_the_row_scale(self):
        case = CASES["gaussian-weights"]()
        np.testing.assert_allclose(case.operator.abar_diagonal(), abar(case).diagonal(), rtol=1e-12)

    def test_spectrum_is_that_of_the_random_walk(self):
        """With t = √w the eigenvalues are those of the row-stochastic Diag(1/m) K Diag(w), its 1 replaced by 0."""
        case = CASES["gaussian-weights"]()
        case.operator.set_row_scale(np.sqrt(case.w))
        walk = np.sort(np.linalg.eigvals(case.K * case.w / (case.K @ case.w)[:, None]).real)
        assert walk[-1] == pytest.approx(1.0, rel=1e-12)
        walk[-1] = 0.0
        np.testing.assert_allclose(np.linalg.eigvalsh(case.operator @ np.eye(N)), np.sort(walk), atol=1e-13)

    def test_set_row_scale_replaces_the_old_one(self):
        case = CASES["gaussian"]()
        case.operator.set_row_scale(np.full(N, 2.0))
        np.testing.assert_allclose(case.operator @ np.eye(N), 4 * abar(case), atol=1e-14)

    def test_row_sums_must_be_positive(self):
        with pytest.raises(ValueError, match="`kernel` must have positive row sums, got a minimum of -1"):
            DenseOperator(np.array([[1.0, -2.0], [-2.0, 1.0]]))


class TestKernelMatrix:
    @pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0), Matern(1.0)], ids=lambda k: type(k).__name__)
    def test_equals_one_block_and_is_symmetric(self, kernel):
        X = points()
        K = kernel_matrix(kernel, X)
        np.testing.assert_allclose(K, kernel.block(X, X), rtol=1e-14)
        np.testing.assert_array_equal(K, K.T)

    @pytest.mark.parametrize("p", [3, 50])
    def test_does_not_depend_on_the_number_of_threads(self, p):
        X = points(200, p)
        np.testing.assert_array_equal(kernel_matrix(Gaussian(1.0), X, 1), kernel_matrix(Gaussian(1.0), X, 2))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_errors_in_a_tile_are_raised(self, n_jobs):
        with pytest.raises(ValueError, match="must give finite values"):
            kernel_matrix(CallableKernel(lambda X, Y: np.full((len(X), len(Y)), np.nan)), points(), n_jobs)

    def test_full_size_tiles(self, monkeypatch):
        monkeypatch.undo()
        assert 600 % dense._TILE != 0
        case = kernel_case(Gaussian(1.0), weights=True, n=600)
        V, c = np.random.default_rng(0).standard_normal((600, 2)), np.random.default_rng(1).uniform(1, 2, 600)
        np.testing.assert_allclose(case.operator @ V, (case.plain @ V).astype(float), rtol=1e-9, atol=1e-13)
        before = case.operator @ np.eye(600)
        with case.operator.triangle(c) as T:
            np.testing.assert_allclose(np.tril(T), -np.tril(np.outer(c, c) * case.plain).astype(float), atol=1e-14)
        np.testing.assert_array_equal(case.operator @ np.eye(600), before)

    def test_one_array_and_no_second(self, monkeypatch):
        monkeypatch.undo()
        n = 1500
        X, V = points(n), np.ones((n, 5))
        tracemalloc.start()
        try:
            operator = DenseOperator(kernel_matrix(Gaussian(1.0), X), np.full(n, 2.0))
            operator.set_row_scale(np.full(n, 0.5))
            operator @ V, operator.offset(), operator.entry_scale()
            with operator.triangle(np.ones(n)) as T:
                T[-1, 0] = 7.0
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert 8 * n**2 <= held < 1.05 * 8 * n**2
        assert peak < 1.3 * 8 * n**2


class TestAsOperator:
    def test_operators_pass_through(self):
        operator = CASES["gaussian"]().operator
        assert as_operator(operator) is operator
        with pytest.raises(ValueError, match="`diagonal` must be None when `cost` is an Operator"):
            as_operator(operator, np.ones(N))

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, aslinearoperator])
    @pytest.mark.parametrize("shape", [(3, 4), (0, 0)])
    def test_not_square(self, build, shape):
        with pytest.raises(ValueError, match=rf"`cost` must be a square symmetric matrix, got shape \({shape[0]}, "):
            as_operator(build(np.zeros(shape)))

    @pytest.mark.parametrize("cost", [1.0, np.ones(3), np.ones((2, 2, 2))])
    def test_not_a_matrix(self, cost):
        with pytest.raises(ValueError, match="`cost` must be a square symmetric matrix"):
            as_operator(cost)

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array])
    def test_not_symmetric(self, build):
        with pytest.raises(ValueError, match=r"`cost` must be symmetric, got max\|C - C.T\| = 0.5"):
            as_operator(build([[1.0, 2.0], [1.5, 1.0]]))

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, aslinearoperator, WithDiagonal])
    def test_a_large_diagonal_does_not_hide_asymmetry(self, build):
        C = symmetric()
        C[0, 0] = 1e12
        C[0, 1] += 4.0
        with pytest.raises(ValueError, match="`cost` must be symmetric, got"):
            as_operator(build(C))

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, aslinearoperator, WithDiagonal])
    @pytest.mark.parametrize("size", [1.0, 1e15])
    def test_rounding_on_a_diagonal_is_no_asymmetry(self, build, size):
        """Nearly all that is off the diagonal of Q Qᵀ is rounding, and that is not symmetric."""
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((300, 300)))[0]
        C = size * (Q @ Q.T.copy())
        assert abs(C - C.T).max() > 1e-3 * abs(C - np.diag(C.diagonal())).max()
        np.testing.assert_array_equal(as_operator(build(C)).offset(), C.diagonal())

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, unsorted])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, build, bad):
        C = symmetric(4)
        C[1, 2] = C[2, 1] = C[3, 3] = bad
        with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 1, column 2\."):
            as_operator(build(C))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_products_that_are_not_finite(self, bad):
        v = np.zeros(N)
        v[3] = bad
        with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 3 of a product\."):
            as_operator(LinearOperator((N, N), matvec=lambda x: v, dtype=np.float64))
        with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 3 of its diagonal\."):
            as_operator(WithDiagonal(np.diag(v)))

    def test_products_that_are_no_longer_finite(self):
        operator = WithDiagonal(symmetric())
        J = as_operator(operator)
        operator.C = np.full((N, N), np.nan)
        with pytest.raises(ValueError, match=r"`cost` must be finite, got nan at row 0 of a product\."):
            J @ np.ones((N, 2))

    @pytest.mark.parametrize("C", [1j * np.eye(3), np.array([[0, 1j], [-1j, 0]])])
    def test_products_that_turn_out_complex(self, C):
        claimed = LinearOperator(C.shape, matvec=lambda x: C @ x, dtype=np.float64)
        with pytest.raises(ValueError, match=r"`cost` must be real, got dtype complex128\."):
            as_operator(claimed)

    def test_linear_operators_may_leave_their_dtype_open(self):
        operator = WithDiagonal(symmetric())
        operator.dtype = None
        np.testing.assert_array_equal(as_operator(operator).offset(), symmetric().diagonal())

    @pytest.mark.parametrize("asymmetry", [0.0, 1e-12])
    def test_averaging_does_not_overflow(self, asymmetry):
        C = np.array([[0.0, 1.2e308], [1.2e308 * (1 + asymmetry), 0.0]])
        assert SparseMatrix(sparse.csr_array(C), np.ones(2)).largest_entry() == pytest.approx(1.2e308)
        assert as_operator(C).largest_entry() == pytest.approx(1.2e308)

    def test_asymmetry_that_overflows(self):
        with pytest.raises(ValueError, match="`cost` must be symmetric, got"):
            as_operator(np.array([[0.0, 1.2e308], [-1.2e308, 0.0]]))

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ("abc", "real, got dtype <U3"),
            ([["a", "b"], ["b", "a"]], "real, got dtype <U1"),
            (np.array([[1.0, "b"], ["b", 1.0]], dtype=object), "an array of real numbers, got type ndarray: .*'b'"),
            ([[1.0, 2.0], [2.0]], "an array of real numbers, got type list: .*inhomogeneous"),
            ([[10**400, 1], [1, 0]], "an array of real numbers, got type list: .*too large"),
            ([[10**5000, 1.5], [1.5, 0]], "an array of real numbers, got type list: .*too large"),
            ({}, "an array of real numbers, got type dict: "),
            (np.zeros((2, 2), "M8[D]"), r"real, got dtype datetime64\[D\]"),
            (np.zeros((2, 2), "m8[s]"), r"real, got dtype timedelta64\[s\]"),
            (np.zeros((2, 2), [("a", float)]), "real, got dtype "),
            (np.ma.masked_array(np.eye(2), mask=np.eye(2)), "an array without a mask, got type MaskedArray"),
        ],
        ids=["str", "strings", "objects", "ragged", "huge", "huge, mixed", "dict", "dates", "times", "records", "masked"],
    )
    def test_not_numbers(self, bad, message):
        with pytest.raises(ValueError, match=f"`cost` must be {message}"):
            as_operator(bad)

    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.float16, np.float32, np.longdouble, object])
    def test_real_numbers_of_every_kind(self, dtype):
        C = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]])
        np.testing.assert_array_equal(as_operator(C.astype(dtype)) @ np.eye(3), C)

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array])
    def test_complex(self, build):
        """The imaginary part is not dropped in silence."""
        with pytest.raises((ValueError, TypeError), match=r"real|complex"):
            as_operator(build([[1.0, 1j], [-1j, 1.0]]))

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, aslinearoperator])
    def test_integers(self, build):
        V = np.array([[1.0], [0.5]])
        np.testing.assert_array_equal(as_operator(build(np.array([[0, 2], [2, 1]]))) @ V, [[1.0], [2.5]])

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array])
    def test_asymmetry_by_rounding_is_averaged(self, build):
        """What is proved about the lent triangle must hold for the matrix that is multiplied with."""
        C = symmetric()
        C[np.triu_indices(N, 1)] *= 1 + 1e-11
        operator = as_operator(build(C))
        with operator.triangle(np.ones(N)) as T:
            np.testing.assert_allclose(np.tril(T), -np.tril(0.5 * (C + C.T)), rtol=1e-15)
        np.testing.assert_allclose(operator @ np.eye(N), 0.5 * (C + C.T), rtol=1e-15)

    def test_does_not_change_the_callers_array(self):
        C = symmetric()
        before = C.copy()
        with as_operator(C, scaling()).triangle(np.full(N, 2.0)) as T:
            T[:] = 0.0
        np.testing.assert_array_equal(C, before)

    @pytest.mark.parametrize("build", [np.array, sparse.csr_array, aslinearoperator])
    @pytest.mark.parametrize("d", [[1.0, 0.0], [1.0, -2.0], [1.0, np.nan], [1.0, np.inf]])
    def test_bad_diagonal(self, build, d):
        with pytest.raises(ValueError, match="`diagonal` must be positive and finite, got"):
            as_operator(build(np.eye(2)), np.array(d))

    @pytest.mark.parametrize("d", [np.ones(3), np.ones((2, 1)), 1.0])
    def test_diagonal_of_the_wrong_shape(self, d):
        with pytest.raises(ValueError, match=r"`diagonal` must have one entry per row, shape \(2,\), got"):
            as_operator(np.eye(2), d)

    def test_probing_needs_several_blocks(self):
        """More rows than the probe takes at a time."""
        d = np.random.default_rng(0).standard_normal(300)
        np.testing.assert_array_equal(as_operator(aslinearoperator(sparse.diags_array(d))).offset(), d)


@pytest.mark.parametrize("small_kernels", [True, False])
@pytest.mark.parametrize(("n", "r"), [(30, 3), (400, 7), (1001, 5), (1200, 1), (1500, 32), (1500, 33), (1501, 2)])
def test_thin_products_by_rows_are_products(n, r, small_kernels, monkeypatch):
    monkeypatch.setattr(dense, "blas_has_small_kernels", lambda: small_kernels)
    rng = np.random.default_rng(0)
    K, V = rng.standard_normal((n, n)), rng.standard_normal((n, r))
    K += K.T
    found = dense.thin_product(K, V)
    assert found.flags.f_contiguous
    np.testing.assert_allclose(found, K @ V, rtol=0, atol=1e-10)


def test_triangles_that_are_lent_at_the_same_time_are_apart():
    rng = np.random.default_rng(0)
    costs = [C + C.T for C in rng.standard_normal((2, 20, 20))]
    first, second = map(as_operator, costs)
    with first.triangle(np.ones(20)) as T:
        with second.triangle(np.ones(20)) as U:
            np.testing.assert_allclose(np.tril(U), -np.tril(costs[1]))
        np.testing.assert_allclose(np.tril(T), -np.tril(costs[0]))


def test_kept_memory_that_is_too_small_is_not_used(monkeypatch):
    monkeypatch.setattr(dense, "_SPARE", [np.empty(9)])
    C = np.ones((20, 20))
    with as_operator(C).triangle(np.ones(20)) as T:
        np.testing.assert_array_equal(np.tril(T), -np.tril(C))
