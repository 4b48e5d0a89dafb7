"""One contract for every operator, against its plain matrix and, where it stands for a kernel, against the exact one.

What belongs to one operator alone is in a file of its own.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse as scipy_sparse
from scipy.sparse.linalg import aslinearoperator

from elliptope.kernels import Gaussian
from elliptope.kernels.neighbors import Neighbors
from elliptope.operators import (
    DenseOperator,
    NystroemOperator,
    RegularizedOperator,
    SparseOperator,
    TiledOperator,
    TruncatedOperator,
    as_operator,
    dense,
    kernel_matrix,
    sparse,
)
from elliptope.operators.matrix import DenseMatrix
from elliptope.operators.nystroem import operator as nystroem
from elliptope.operators.nystroem import tall
from elliptope.operators.tiled import tiles
from elliptope.sdp import solve
from neighborhoods import NaiveNeighbors

N, P, SIGMA, CUTOFF = 70, 3, 1.5, 1e-3
# Errors of a product relative to the sizes of its terms, by the precision of the entries.
USUAL = {"float64": 1e-13, "float32": 3e-6}


def long(a):
    return np.asarray(a, dtype=np.longdouble)


def off_diagonal(K):
    return K - np.diag(K.diagonal())


def exact_kernel(X):
    """exp(-‖x-y‖²/σ²) in extended precision, (n, n)."""
    return np.exp(-((long(X)[:, None, :] - long(X)) ** 2).sum(axis=-1) / long(SIGMA) ** 2)


def cost(K, m, w, t):
    """The two terms of Diag(t) (K / √(m mᵀ) - √(m mᵀ)/M) Diag(t), in extended precision."""
    root, tt = np.sqrt(m[:, None] * m), long(t)[:, None] * long(t)
    return tt * K / root, tt * root / (long(w) * m).sum()


# Operators on points X with weights w: each with the kernel matrix that it is to have, beside the exact one.


def build_dense(X, w, dtype, n_jobs):
    return DenseOperator(kernel_matrix(Gaussian(SIGMA), X, n_jobs), w), exact_kernel(X)


def build_neighbors(X, w, dtype, n_jobs):
    K = Neighbors().fit(X, n_neighbors=9, n_jobs=n_jobs).matrix()
    return SparseOperator(K, w, n_jobs), long(NaiveNeighbors(X, 9).K)


def build_truncated(X, w, dtype, n_jobs):
    K = exact_kernel(X)
    m = (K @ (np.ones(len(X)) if w is None else long(w))).astype(float)
    return TruncatedOperator(Gaussian(SIGMA), X, m, w, cutoff=CUTOFF, n_jobs=n_jobs), np.where(K >= CUTOFF, K, 0)


def build_tiled(X, w, dtype, n_jobs):
    return TiledOperator(Gaussian(SIGMA), X, w, dtype=dtype, n_jobs=n_jobs), exact_kernel(X)


def build_nystroem(X, w, dtype, n_jobs):
    operator = NystroemOperator(Gaussian(SIGMA), X, 25, w, rng=0, dtype=dtype, n_jobs=n_jobs)
    F = long(operator._factor.F)
    K = exact_kernel(X)
    return operator, off_diagonal(F @ F.T) + np.diag(K.diagonal())


BUILD = {
    "dense": build_dense,
    "neighbors": build_neighbors,
    "truncated": build_truncated,
    "tiled": build_tiled,
    "nystroem": build_nystroem,
}
# What is stored or computed in float32, and yet has float64 products of what is stored.
OF_WHAT_IS_STORED = {("nystroem", "float32")}
KINDS = [(name, "float64") for name in BUILD] + [("tiled", "float32"), ("nystroem", "float32")]


@dataclass(frozen=True)
class Case:
    operator: DenseOperator
    precision: str
    K: np.ndarray  # its own kernel matrix
    K_exact: np.ndarray
    J: np.ndarray
    J_exact: np.ndarray
    size: np.ndarray  # of the terms that are summed in an entry of J
    w: np.ndarray


def make(name, dtype, weights, n_jobs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) + rng.choice([0.0, 3.0], (N, 1))
    w = 10 ** rng.uniform(-1, 1, N) if weights else None
    operator, K = BUILD[name](X, w, dtype, n_jobs)
    w = np.ones(N) if w is None else w
    t = rng.uniform(0.2, 2, N)
    operator.set_row_scale(t)
    K_exact = K if name == "neighbors" else exact_kernel(X)
    m = (K_exact * long(w)).sum(axis=1)  # of the exact kernel, whatever the operator keeps of it
    A, top = cost(K, m, w, t)
    A_exact, _ = cost(K_exact, m, w, t)
    precision = "float64" if (name, dtype) in OF_WHAT_IS_STORED else dtype
    # The low rank is a sum of many terms.
    size = abs(A) + top + (np.outer(*[np.sqrt(abs(A_exact).diagonal())] * 2) if name == "nystroem" else 0)
    return Case(operator, precision, K, K_exact, A - top, A_exact - top, size, w)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several tiles, blocks, chunks and shares of threads even here, the last ones not full."""
    for module, name, value in (
        (dense, "_TILE", 16),
        (tiles, "SIDES", (16,)),
        (tiles, "_FEWEST_BLOCKS", 3),
        (sparse, "_THREADED", 1),
        (tall, "_CHUNK", 24),
        (tall, "_ROWS", 7),
        (tall, "_GRAM_ROWS", 10),
        (nystroem, "_TILE", 16),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def weights(request):
    return request.param


@pytest.fixture(params=KINDS, ids="-".join)
def case(request, weights, small_parts):
    return make(*request.param, weights)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("r", [1, 5])
def test_products(case, r, order):
    V = np.asarray(np.random.default_rng(1).standard_normal((N, r)), order=order)
    before = V.copy()
    allowed = USUAL[case.precision] * (case.size @ abs(V))
    assert (abs(case.operator @ V - case.J @ V) <= allowed).all()
    assert (abs(case.operator.core_matmat(V) - off_diagonal(case.J) @ V) <= allowed).all()
    np.testing.assert_array_equal(V, before)


def test_row_sums(case):
    """Degrees are those of the exact kernel, in float64, whatever the operator keeps of it."""
    m = (case.K_exact * case.w).sum(axis=1)
    np.testing.assert_allclose(case.operator.m, m.astype(float), rtol=1e-13)
    np.testing.assert_allclose(case.operator.M, float((case.w * m).sum()), rtol=1e-13)
    np.testing.assert_array_equal(case.operator.w, case.w)


def test_diagonal(case):
    """So is the diagonal: surrogate and exact problem have the same feasible set and offset."""
    operator = case.operator
    np.testing.assert_allclose(operator.kernel_diagonal(), case.K_exact.diagonal().astype(float), rtol=1e-14)
    np.testing.assert_allclose(operator.offset(), case.J_exact.diagonal().astype(float), rtol=1e-11, atol=1e-15)
    m = (case.K_exact * case.w).sum(axis=1)
    d = case.K_exact.diagonal() / m - m / (case.w * m).sum()
    np.testing.assert_allclose(operator.abar_diagonal(), d.astype(float), rtol=1e-11, atol=1e-15)


def test_another_row_scale(case):
    """Whatever was kept for the last one is made anew."""
    operator, V = case.operator, np.random.default_rng(6).standard_normal((N, 2))
    before = operator @ V
    operator.set_row_scale(np.ones(N))
    t = case.operator.w * np.sqrt(operator.abar_diagonal())
    operator.set_row_scale(t)
    A, top = cost(case.K, (case.K_exact * case.w).sum(axis=1), case.w, t)
    size = abs(A) + top + np.outer(t, t)
    assert (abs(operator @ V - (A - top) @ V) <= 10 * USUAL[case.precision] * (size @ abs(V))).all()
    assert abs(operator @ V - before).max() > 1e-3


def test_symmetric(case):
    U, V = np.random.default_rng(2).standard_normal((2, N, 3))
    difference = abs(U.T @ (case.operator @ V) - (case.operator @ U).T @ V)
    assert (difference <= USUAL[case.precision] * (abs(U).T @ case.size @ abs(V))).all()


@pytest.mark.parametrize("row_scale", ["cost", "other"])
def test_error_bound_is_never_below_the_true_error(case, row_scale):
    """For the worst Z of the elliptope in either direction, and for objectives as they are computed."""
    operator = case.operator
    if row_scale == "cost":
        t = case.w * np.sqrt(operator.abar_diagonal())
        operator.set_row_scale(t)
        A, top = cost(case.K_exact, (case.K_exact * case.w).sum(axis=1), case.w, t)
        exact = A - top
    else:
        exact = case.J_exact
    below, above = operator.error_bounds
    assert below >= 0
    assert above >= 0
    difference = exact - operator @ np.eye(N)
    difference = ((difference + difference.T) / 2).astype(float)
    if not (below or above):  # exact up to rounding
        np.testing.assert_allclose(difference, 0, atol=1e-12 * float(abs(exact).max()))
        return
    scale = abs(difference).max()
    for sign, bound in ((1, above), (-1, below)):
        worst = solve(sign * difference / scale, tol=1e-3, rng=0).certificate
        assert scale * worst.objective <= bound
    for H in (np.ones((N, 1)), np.linalg.qr(np.random.default_rng(3).standard_normal((N, 3)))[0]):
        H = H / np.linalg.norm(H, axis=1, keepdims=True)
        objective = (H * (operator @ H)).sum()
        assert -below <= (long(H) * (exact @ H)).sum() - objective <= above


@pytest.mark.parametrize("name", ["truncated", "nystroem"])
@pytest.mark.parametrize("signs", ["random", "all", "small degrees", "large degrees"])
def test_errors_of_degrees_are_covered(name, signs, weights):
    """Degrees that are off by as much as was admitted, at random or in a way that does most harm."""
    rng, error = np.random.default_rng(8), 1e-3
    X = rng.standard_normal((N, P)) + rng.choice([0.0, 3.0], (N, 1))
    w = 10 ** rng.uniform(-1, 1, N) if weights else np.ones(N)
    K = exact_kernel(X)
    m = (K * w).sum(axis=1)
    sign = {
        "random": rng.choice([-1.0, 1.0], N),
        "all": np.ones(N),
        "small degrees": np.where(m < np.median(m), 1.0, -1.0),
        "large degrees": np.where(m > np.median(m), 1.0, -1.0),
    }[signs]
    degrees = (m / (1 + sign * error)).astype(float)  # so that m is (1 ± error) times what is given
    if name == "truncated":
        operator = TruncatedOperator(Gaussian(SIGMA), X, degrees, w, cutoff=1e-12, degree_error=error)
    else:
        operator = NystroemOperator(Gaussian(SIGMA), X, N, w, degrees=degrees, degree_error=error, rng=0)
    # Rows of equal weight in the sums, by which the bound is attained most nearly; and as the estimator scales them.
    for t in (w * np.sqrt(degrees), w * np.sqrt(np.maximum(operator.abar_diagonal(), 0))):
        operator.set_row_scale(t)
        A, top = cost(K, m, w, t)
        difference = A - top - operator @ np.eye(N)
        difference = ((difference + difference.T) / 2).astype(float)
        scale = abs(difference).max()
        for sign, bound in zip((1, -1), reversed(operator.error_bounds), strict=True):
            worst = scale * solve(sign * difference / scale, tol=1e-3, rng=0).certificate.objective
            assert worst <= bound


@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_threads_change_nothing(name, dtype, weights):
    V = np.random.default_rng(4).standard_normal((N, 4))
    one, *others = (make(name, dtype, weights, n_jobs).operator for n_jobs in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.m, other.m)
        np.testing.assert_array_equal(one @ V, other @ V)
        assert one.error_bounds == other.error_bounds


@pytest.mark.parametrize("name", ["dense", "tiled"])
def test_single_precision_is_the_same_operator(name, weights, monkeypatch):
    """Where there is a copy for early products, it errs by no more than float32 does."""
    monkeypatch.setattr(dense, "_SINGLE_SIZE", 1)
    case = make(name, "float64", weights)
    single, V = case.operator.single(), np.random.default_rng(5).standard_normal((N, 4))
    error = abs(single.core_matmat(V) - off_diagonal(case.J) @ V)
    assert (error <= USUAL["float32"] * (case.size @ abs(V))).all()
    assert error.max() > 1e-9  # it is not the operator itself
    np.testing.assert_allclose(single.offset(), case.operator.offset(), rtol=1e-6)


def test_what_is_claimed_of_entries_is_there(case):
    operator = case.operator
    if not operator.has_entries:
        with pytest.raises(TypeError, match="has no entries"), operator.triangle(np.ones(N)):
            pass
        return
    c = np.linspace(0.5, 2, N)
    with operator.triangle(c) as T:
        found = np.tril(T)
    np.testing.assert_allclose(found, np.tril(-np.outer(c, c) * case.J).astype(float), rtol=1e-10, atol=1e-14)
    assert operator.can_factor


def matrix_operators():
    """Costs that have no kernel: matrices that users bring, and the one with an inverse in it."""
    rng = np.random.default_rng(7)
    C = rng.standard_normal((N, N))
    C = C + C.T
    C[abs(C) < 1] = 0.0
    d = rng.uniform(0.1, 5, N)
    J = np.sqrt(np.outer(d, d)) * C
    F = np.linalg.cholesky(exact_kernel(rng.standard_normal((N, P))).astype(float) + 0.1 * np.eye(N)).T
    inverse = np.linalg.inv(F)
    s, q = rng.uniform(0.5, 1.5, N), rng.uniform(0, 0.2, (N, 1))
    gain, A = abs(C), np.outer(s, s) * abs(C) - q @ q.T
    regularized = RegularizedOperator(DenseMatrix(gain.copy(), s, q), F, 3.0, float(s @ gain @ s))
    return {
        "array": (as_operator(C, d), J),
        "sparse": (as_operator(scipy_sparse.csr_array(C), d), J),
        "linear": (as_operator(aslinearoperator(C), d), J),
        "regularized": (regularized, A - 3.0 * inverse @ inverse.T),
    }


@pytest.mark.parametrize("name", ["array", "sparse", "linear", "regularized"])
def test_operators_without_a_kernel(name):
    operator, J = matrix_operators()[name]
    V, W = np.random.default_rng(8).standard_normal((2, N, 4))
    scale = np.linalg.norm(J, 2)
    np.testing.assert_allclose(operator @ V, J @ V, rtol=0, atol=1e-13 * scale * np.linalg.norm(V))
    core = J - np.diag(operator.offset())
    np.testing.assert_allclose(operator.core_matmat(V), core @ V, rtol=0, atol=1e-13 * scale * np.linalg.norm(V))
    np.testing.assert_allclose(W.T @ (operator @ V), (operator @ W).T @ V, atol=1e-11 * scale)
    if name != "regularized":  # whose offset is a constant
        np.testing.assert_allclose(operator.offset(), J.diagonal(), rtol=1e-12, atol=1e-14)
    assert operator.error_bounds == (0.0, 0.0)
    assert operator.shape == (N, N)
