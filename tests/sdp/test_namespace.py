"""Arrays of other libraries: the same path and the same answers as with NumPy, and nothing in the code that names one.

``strict`` has the functions of the array API standard and no others. On its second device it refuses to be mixed with
arrays of the first, and with NumPy's, as an accelerator would.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import elliptope
from common import MOONS, WINE, Naive
from elliptope._utils import arrays
from elliptope._utils.arrays import as_numpy, hollow, inner, like, matrix, namespace, row_dots, vector
from elliptope.operators import DenseOperator, Operator, dense
from elliptope.sdp import solve
from elliptope.sdp.ascent.dense_newton import dense_newton
from elliptope.sdp.ascent.interior_point import interior_point
from elliptope.sdp.ascent.quasi_newton import quasi_newton
from elliptope.sdp.certificates.lanczos import lanczos_probe
from elliptope.sdp.certificates.probes import run_together
from elliptope.sdp.factors import drop_columns, random_start
from elliptope.sdp.steps import normalize_rows
from sdp.costs import count_calls, cycle, gram, indefinite, meter_of

LIBRARIES = ["torch", "strict", "strict, second device"]


class Library:
    """A way to make arrays."""

    def __init__(self, name):
        pytest.importorskip("array_api_compat", reason="array-api-compat is not installed: extra 'torch' or 'test'")
        module = "torch" if name == "torch" else "array_api_strict"
        self.xp = pytest.importorskip(module, reason=f"{module} is not installed")
        devices = {"torch": "cpu", "strict": None, "strict, second device": "device1"}
        self.device = self.xp.Device(devices[name]) if name == "strict, second device" else devices[name]

    def __call__(self, x, dtype="float64"):
        return self.xp.asarray(np.array(x), dtype=getattr(self.xp, dtype), device=self.device)

    def owns(self, x, dtype="float64"):
        model = self(0.0, dtype)
        return type(x) is type(model) and x.dtype == model.dtype and x.device == model.device


@pytest.fixture(params=LIBRARIES)
def library(request):
    return Library(request.param)


@pytest.fixture
def torch_only():
    return Library("torch")


def laplacian(n=60):
    """The cost of max-cut: the Laplacian of a random graph."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((n, n)) < 0.15, 1)
    W = (upper + upper.T).astype(float)
    return np.diag(W.sum(axis=1)) - W


def kernel(X, sigma):
    """A function that makes the operator of a kernel matrix, whatever the arrays."""

    def make(array):
        naive = Naive(X, sigma)
        J = DenseOperator(array(naive.K))
        J.set_row_scale(array(np.sqrt(naive.d)))
        return J

    return make


COSTS = {
    "max-cut": lambda array: array(laplacian()),
    "wine 3": kernel(WINE, 3.0),
    "moons 0.5": kernel(MOONS, 0.5),
    "wine 1.5": kernel(WINE, 1.5),
}


def plain(x):
    return np.array(x)


def assert_same(found, expected):
    a, b = found.certificate, expected.certificate
    assert a.objective == pytest.approx(b.objective, rel=1e-10)
    assert (a.grade, a.weights, found.status) == (b.grade, b.weights, expected.status)
    assert abs(a.gap - b.gap) <= 1e-6 * b.gain
    assert found.n_products == expected.n_products  # the same path
    np.testing.assert_allclose(gram(found), gram(expected), atol=1e-6)
    np.testing.assert_allclose(as_numpy(found.dual), expected.dual, rtol=1e-6, atol=1e-6 * abs(expected.dual).max())


class TestSolve:
    @pytest.mark.parametrize("cost", COSTS)
    def test_as_with_numpy(self, library, cost):
        for method in ("auto", "power"):
            found, expected = (solve(COSTS[cost](a), method=method, rng=0, max_iter=150) for a in (library, plain))
            assert library.owns(found.factor)
            assert library.owns(found.dual)
            assert all(type(x) is float for x in (found.certificate.objective, found.certificate.upper_bound))
            assert found.certificate.grade == "proved"
            assert_same(found, expected)

    def test_a_diagonal(self, library):
        C, d = laplacian(), np.linspace(0.5, 2.0, 60)
        assert_same(solve(library(C), library(d), rng=0, tol=1e-7), solve(C, d, rng=0, tol=1e-7))

    def test_polish_and_uniqueness(self, library):
        found, expected = (solve(kernel(WINE, 3.0)(array), rng=0, polish=True) for array in (library, plain))
        assert_same(found, expected)
        assert found.certificate.null_space.unique
        assert found.certificate.null_space.nullity == expected.certificate.null_space.nullity

    def test_escape_from_too_low_a_rank(self, library):
        """The best cut of a cycle is critical: there is no way on but a column along negative curvature."""
        cut = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])
        found, expected = (solve(array(-cycle(5)), start=array(cut), rng=0) for array in (library, plain))
        assert found.factor.shape[1] > 1
        assert_same(found, expected)

    def test_a_tensor_to_start_from(self, library):
        C = laplacian()
        start = solve(C, rng=0).factor
        found = solve(library(C), start=library(start), rng=1)
        assert library.owns(found.factor)
        assert found.n_iter <= 2
        assert_same(found, solve(C, start=start, rng=1))

    def test_single_precision_comes_as_float64(self, library):
        C = laplacian().astype(np.float32)
        found = solve(library(C, "float32"), rng=0)
        assert library.owns(found.factor)
        assert_same(found, solve(C, rng=0))

    def test_early_products_in_single_precision(self, library, monkeypatch):
        monkeypatch.setattr(dense, "_SINGLE_SIZE", 10)
        monkeypatch.setattr(dense.DenseStorage, "single_after", 0)
        operator = kernel(MOONS, 0.5)(library)
        assert library.owns(operator.single().core_matmat(library(np.ones((200, 2)))))
        asked = count_calls(operator, "single")
        found = solve(operator, rng=0)
        assert len(asked) == 1
        expected = solve(kernel(MOONS, 0.5)(plain), rng=0)
        assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-6)
        assert found.status == "optimal"

    def test_costs_are_left_alone_and_callbacks_see_plain_numbers(self, library):
        C, seen = library(laplacian()), []
        solve(C, rng=0, callback=seen.append)
        np.testing.assert_array_equal(as_numpy(C), laplacian())
        assert all(type(p.objective) is float and type(p.bound) is float for p in seen)
        assert any(np.isfinite(p.bound) for p in seen[:-1])


class MatrixFree(Operator):
    """Products with a matrix, and nothing else."""

    def __init__(self, J, width):
        self.n, self._width = J.shape[0], width
        xp = namespace(J)
        self._core, self._offset = xp.asarray(J, copy=True), xp.asarray(xp.linalg.diagonal(J), copy=True)
        self._core = hollow(self._core)

    def core_matmat(self, V):
        return self._core @ V

    def offset(self):
        return self._offset

    @property
    def block_width(self):
        return self._width


class TestMatrixFree:
    def test_probabilistic_certificate(self, library):
        proved = solve(laplacian(), rng=0, tol=1e-8).certificate
        for width in (4, 16):
            found, expected = (solve(MatrixFree(array(laplacian()), width), rng=0, tol=1e-4) for array in (library, plain))
            assert library.owns(found.factor)
            assert found.certificate.grade == "probabilistic"
            assert 0 < found.certificate.failure_probability <= 1e-6
            assert found.status == "optimal"
            assert_same(found, expected)
            assert found.certificate.objective <= proved.upper_bound
            assert found.certificate.upper_bound >= proved.objective

    def test_single_precision_is_refused(self, library):
        """Bounds would not account for its rounding."""
        with pytest.raises(ValueError, match=r"`cost` must be an operator in float64, got an offset of dtype .*float32"):
            solve(MatrixFree(library(laplacian(), "float32"), 4))


@pytest.mark.parametrize("method", [interior_point, lambda meter, H, rng: dense_newton(meter, meter.evaluate(H), rng)])
def test_methods_that_factorise(library, method):
    """They compute in NumPy, and hand tensors on."""

    def run(array):
        meter, rng = meter_of(array(indefinite(50))), np.random.default_rng(0)
        return list(method(meter, array(random_start(50, 12, rng)), rng))

    found, expected = run(library), run(plain)
    assert abs(len(found) - len(expected)) <= 2  # the last steps polish rounding, which libraries do differently
    assert min(len(found), len(expected)) > 3
    assert all(library.owns(iterate.H) and library.owns(iterate.P) for iterate in found)
    assert found[-1].gain == pytest.approx(expected[-1].gain, rel=1e-10)


def test_columns_that_are_contiguous(library):
    """A matrix that does not lie in memory as its vector does is copied: no update may be lost with the copy."""

    class Columns(MatrixFree):
        def core_matmat(self, V):
            return (V.T @ self._core).T

    def run(array):
        meter, rng = meter_of(Columns(array(indefinite(50)), 4)), np.random.default_rng(0)
        H = array(random_start(50, 5, rng).T.copy()).T
        return [iterate.gain for iterate in itertools.islice(quasi_newton(meter, meter.evaluate(H), rng), 20)]

    assert run(library) == pytest.approx(run(plain), rel=1e-9)


def test_lanczos_goes_on_where_a_krylov_space_ends(library):
    values = np.repeat([1.0, 2.0, 5.0], 4)
    probe = lanczos_probe(12, 12, np.random.default_rng(0), library(values))
    (ritz,) = run_together(lambda V: library(values)[:, None] * V, [probe])
    assert (ritz.lower, ritz.upper) == pytest.approx((1.0, 5.0))
    assert library.owns(ritz.vector)


class TestDenseOperator:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_contract(self, library, weighted):
        X = WINE[:40]
        w = np.linspace(0.5, 1.5, len(X)) if weighted else None
        naive, rng = Naive(X, 2.0, w), np.random.default_rng(0)
        t, V = rng.uniform(0.5, 2.0, len(X)), rng.standard_normal((len(X), 3))
        J = DenseOperator(library(naive.K), None if w is None else library(w))
        J.set_row_scale(library(t))
        exact = t[:, None] * naive.Abar * t
        for found, expected in [
            (J.m, naive.m),
            (J.abar_diagonal(), np.diag(naive.Abar)),
            (J.offset(), np.diag(exact)),
            (J @ library(V), exact @ V),
            (J.core_matmat(library(V)), exact @ V - np.diag(exact)[:, None] * V),
        ]:
            assert library.owns(found)
            np.testing.assert_allclose(as_numpy(found), expected, rtol=1e-12, atol=1e-14)
        assert pytest.approx(naive.M, rel=1e-14) == J.M
        assert J.largest_entry() == pytest.approx((naive.K - np.diag(np.diag(naive.K))).max())

    def test_triangle_is_numpy(self, library):
        n = len(WINE)  # more than one tile
        naive, c = Naive(WINE, 2.0), np.linspace(0.5, 2.0, n)
        J, V = DenseOperator(library(naive.K)), library(np.eye(n))
        before = as_numpy(J @ V).copy()
        with J.triangle(c) as T:
            assert type(T) is np.ndarray
            np.testing.assert_allclose(np.tril(T), np.tril(-c[:, None] * naive.Abar * c), rtol=1e-12, atol=1e-14)
            T[np.tril_indices(n)] = np.nan
        np.testing.assert_array_equal(as_numpy(J @ V), before)  # what was lent has been given back


class TestHelpers:
    def test_there_and_back(self, library):
        x = np.random.default_rng(0).standard_normal((5, 3))
        moved = like(library(0.0), x[::-1, ::-1])
        assert library.owns(moved)
        np.testing.assert_array_equal(as_numpy(moved), x[::-1, ::-1])
        assert like(x, moved).base is not x
        moved *= 2.0
        np.testing.assert_array_equal(x, np.random.default_rng(0).standard_normal((5, 3)))

    def test_against_numpy(self, library):
        rng = np.random.default_rng(0)
        U, V = rng.standard_normal((2, 6, 3))
        A = rng.standard_normal((4, 4))
        np.testing.assert_allclose(as_numpy(row_dots(library(U), library(V))), (U * V).sum(axis=1))
        assert inner(library(U), library(V)) == pytest.approx((U * V).sum())
        np.testing.assert_array_equal(as_numpy(matrix(vector(library(U).T), library(U).T)), U.T)
        np.testing.assert_array_equal(as_numpy(hollow(library(A))), A - np.diag(np.diag(A)))

    def test_rows_without_direction_are_drawn_alike(self, library):
        V = np.zeros((4, 3))
        V[1] = 2.0
        found, expected = (normalize_rows(array(V), np.random.default_rng(5)) for array in (library, plain))
        np.testing.assert_allclose(as_numpy(found), expected, rtol=1e-15)

    def test_dropped_columns(self, library):
        H = np.zeros((6, 4))
        H[:3, 1] = H[3:, 2] = 1.0
        found = drop_columns(library(H), 1e-3, np.random.default_rng(0))
        assert found.shape == (6, 2)
        np.testing.assert_allclose(as_numpy(found) @ as_numpy(found).T, H @ H.T, atol=1e-15)


class TestRefusals:
    def test_sparse_tensors(self, torch_only, monkeypatch):
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)  # which stands for a device in other tests
        for convert in ("to_sparse_coo", "to_sparse_csr"):
            with pytest.raises(ValueError, match=r"a sparse tensor on a CUDA device or a SciPy .*, got .*sparse_c"):
                solve(getattr(torch_only(laplacian()), convert)())

    def test_complex_tensors(self, library):
        with pytest.raises(ValueError, match=r"`cost` must be real, got dtype .*complex128"):
            solve(library(laplacian().astype(complex), "complex128"))

    def test_bad_entries_and_shapes(self, library):
        for entry, message in ((np.nan, "finite, got nan at row 0, column 1"), (7.0, r"symmetric, got max\|C - C.T\| = 7")):
            C = np.eye(5)
            C[0, 1] = entry
            with pytest.raises(ValueError, match="`cost` must be " + message):
                solve(library(C))
        for shape in ((3,), (3, 4), (2, 3, 3)):
            with pytest.raises(ValueError, match="`cost` must be a square symmetric matrix, got shape"):
                solve(library(np.ones(shape)))

    def test_a_record_of_derivatives_is_left_behind(self, torch_only):
        C = torch_only(laplacian()).requires_grad_()
        found = solve(C, start=torch_only(np.ones((60, 2))).requires_grad_(), rng=0)
        assert not found.factor.requires_grad
        assert C.requires_grad

    def test_missing_library(self, torch_only, monkeypatch):
        C = torch_only(laplacian())
        monkeypatch.setitem(sys.modules, "array_api_compat", None)
        monkeypatch.setattr(arrays, "_namespaces", {})
        with pytest.raises(ImportError, match=r"elliptope\[torch\]"):
            solve(C)


@pytest.mark.parametrize("package", ["sdp", "operators"])
def test_no_library_is_named(package):
    """No ``if torch`` in the mathematics: what is particular to a library is in ``_utils``, and in ``operators/cuda``."""
    files = sorted((Path(elliptope.__file__).parent / package).rglob("*.py"))
    files = [file for file in files if file.parent.name != "cuda"]
    assert len(files) > 5
    assert [str(file) for file in files if "torch" in file.read_text().lower()] == []
