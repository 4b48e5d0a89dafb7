"""Costs that users bring: what is accepted, and what is refused in which words."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from elliptope.operators import as_operator
from elliptope.operators.sparse import SparseMatrix
from operator_cases import N, WithDiagonal, kernel_case, symmetric

BUILDERS = [np.array, sparse.csr_array, aslinearoperator]


def unsorted(C):
    """Sparse, with the columns of every row in the wrong order."""
    columns = np.arange(len(C))[::-1]
    indptr = len(C) * np.arange(len(C) + 1)
    return sparse.csr_array((C[:, columns].ravel(), np.tile(columns, len(C)), indptr), shape=C.shape)


def test_operators_pass_through():
    operator = kernel_case("dense", weights=False).operator
    assert as_operator(operator) is operator
    with pytest.raises(ValueError, match="`diagonal` must be None when `cost` is an Operator"):
        as_operator(operator, np.ones(N))


def test_not_square():
    for build, shape in product(BUILDERS, [(3, 4), (0, 0)]):
        with pytest.raises(ValueError, match=rf"`cost` must be a square symmetric matrix, got shape \({shape[0]}, "):
            as_operator(build(np.zeros(shape)))


def test_not_symmetric():
    for build in (np.array, sparse.csr_array):
        with pytest.raises(ValueError, match=r"`cost` must be symmetric, got max\|C - C.T\| = 0.5"):
            as_operator(build([[1.0, 2.0], [1.5, 1.0]]))


@pytest.mark.parametrize("build", [*BUILDERS, WithDiagonal])
def test_a_large_diagonal_does_not_hide_asymmetry(build):
    C = symmetric()
    C[0, 0] = 1e12
    C[0, 1] += 4.0
    with pytest.raises(ValueError, match="`cost` must be symmetric, got"):
        as_operator(build(C))


@pytest.mark.parametrize("build", [*BUILDERS, WithDiagonal])
def test_rounding_on_a_diagonal_is_no_asymmetry(build):
    """All that is off the diagonal is rounding, as in Q Qᵀ of an orthogonal Q, and that is not symmetric."""
    eps = np.finfo(float).eps
    rounding = np.random.default_rng(0).uniform(-eps, eps, (300, 300))
    for size in (1.0, 1e15):
        C = size * (np.eye(300) + rounding)
        np.testing.assert_array_equal(as_operator(build(C)).offset(), C.diagonal())


def test_not_finite():
    for build, bad in product([np.array, sparse.csr_array, unsorted], [np.nan, np.inf, -np.inf]):
        C = symmetric(4)
        C[1, 2] = C[2, 1] = C[3, 3] = bad
        with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 1, column 2\."):
            as_operator(build(C))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_products_that_are_not_finite(bad):
    v = np.zeros(N)
    v[3] = bad
    with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 3 of a product\."):
        as_operator(LinearOperator((N, N), matvec=lambda x: v, dtype=np.float64))
    with pytest.raises(ValueError, match=rf"`cost` must be finite, got {bad} at row 3 of its diagonal\."):
        as_operator(WithDiagonal(np.diag(v)))


def test_products_that_are_no_longer_finite():
    operator = WithDiagonal(symmetric())
    J = as_operator(operator)
    operator.C = np.full((N, N), np.nan)
    with pytest.raises(ValueError, match=r"`cost` must be finite, got nan at row 0 of a product\."):
        J @ np.ones((N, 2))


@pytest.mark.parametrize("C", [1j * np.eye(3), np.array([[0, 1j], [-1j, 0]])])
def test_products_that_turn_out_complex(C):
    claimed = LinearOperator(C.shape, matvec=lambda x: C @ x, dtype=np.float64)
    with pytest.raises(ValueError, match=r"`cost` must return an array of real numbers, got dtype complex128\."):
        as_operator(claimed)


def test_linear_operators_may_leave_their_dtype_open():
    operator = WithDiagonal(symmetric())
    operator.dtype = None
    np.testing.assert_array_equal(as_operator(operator).offset(), symmetric().diagonal())


@pytest.mark.parametrize("asymmetry", [0.0, 1e-12])
def test_averaging_does_not_overflow(asymmetry):
    C = np.array([[0.0, 1.2e308], [1.2e308 * (1 + asymmetry), 0.0]])
    assert SparseMatrix(sparse.csr_array(C), np.ones(2)).largest_entry() == pytest.approx(1.2e308)
    assert as_operator(C).largest_entry() == pytest.approx(1.2e308)


def test_asymmetry_that_overflows():
    with pytest.raises(ValueError, match="`cost` must be symmetric, got"):
        as_operator(np.array([[0.0, 1.2e308], [-1.2e308, 0.0]]))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([["a", "b"], ["b", "a"]], "an array of real numbers, got dtype <U1"),
        (np.array([[1.0, "b"], ["b", 1.0]], dtype=object), "an array of real numbers, got type ndarray: .*'b'"),
        ([[1.0, 2.0], [2.0]], "an array of real numbers, got type list: .*inhomogeneous"),
        ([[10**400, 1], [1, 0]], "an array of real numbers, got type list: .*too large"),
        ([[10**5000, 1.5], [1.5, 0]], "an array of real numbers, got type list: .*too large"),
        ({}, "an array of real numbers, got type dict: "),
        (np.zeros((2, 2), "m8[s]"), r"an array of real numbers, got dtype timedelta64\[s\]"),
        (np.zeros((2, 2), [("a", float)]), "an array of real numbers, got dtype "),
    ],
    ids=["strings", "objects", "ragged", "huge", "huge, mixed", "dict", "times", "records"],
)
def test_not_numbers(bad, message):
    with pytest.raises(ValueError, match=f"`cost` must be {message}"):
        as_operator(bad)


def test_real_numbers_of_every_kind():
    C = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]])
    for dtype in (bool, np.uint8, np.float16, np.float32, np.longdouble, object):
        np.testing.assert_array_equal(as_operator(C.astype(dtype)) @ np.eye(3), C)


@pytest.mark.parametrize("build", [np.array, sparse.csr_array])
def test_complex(build):
    """The imaginary part is not dropped in silence."""
    with pytest.raises((ValueError, TypeError), match=r"real|complex"):
        as_operator(build([[1.0, 1j], [-1j, 1.0]]))


def test_integers():
    V = np.array([[1.0], [0.5]])
    for build in BUILDERS:
        np.testing.assert_array_equal(as_operator(build(np.array([[0, 2], [2, 1]]))) @ V, [[1.0], [2.5]])


@pytest.mark.parametrize("build", [np.array, sparse.csr_array])
def test_asymmetry_by_rounding_is_averaged(build):
    """What is proved about the lent triangle must hold for the matrix that is multiplied with."""
    C = symmetric()
    C[np.triu_indices(N, 1)] *= 1 + 1e-11
    operator = as_operator(build(C))
    with operator.triangle(np.ones(N)) as T:
        np.testing.assert_allclose(np.tril(T), -np.tril(0.5 * (C + C.T)), rtol=1e-15)
    np.testing.assert_allclose(operator @ np.eye(N), 0.5 * (C + C.T), rtol=1e-15)


def test_does_not_change_the_callers_array():
    C = symmetric()
    before = C.copy()
    with as_operator(C, np.linspace(0.1, 5, N)).triangle(np.full(N, 2.0)) as T:
        T[:] = 0.0
    np.testing.assert_array_equal(C, before)


def test_a_small_entry_beside_a_large_diagonal_is_not_overlooked():
    """C v and the diagonal times v are the same numbers, and yet C is not diagonal."""
    for n, (i, j) in product((2, 3, 7, 64), [(0, 1), (-1, 0), (-2, -1)]):
        C = np.diag(np.linspace(1.0, 2.0, n))
        for build in (*BUILDERS, WithDiagonal):
            assert as_operator(build(C)).uncoupled
            assert as_operator(build(C), np.linspace(0.3, 0.7, n)).uncoupled
        C[i, j] = C[j, i] = 1e-30
        for build in (*BUILDERS, WithDiagonal):
            assert not as_operator(build(C)).uncoupled


def test_products_of_another_shape():
    C = symmetric()
    for cut in (lambda P: P[:-1], lambda P: P[:, :-1], lambda P: P[:, 0], lambda P: P.T):
        cost = LinearOperator((N, N), matvec=C.dot, matmat=lambda V, cut=cut: cut(C @ V), dtype=float)
        with pytest.raises(ValueError, match=rf"`cost` must return products of shape \({N}, \d+\), got shape \("):
            as_operator(cost)


def test_a_diagonal_of_another_shape():
    cost = WithDiagonal(symmetric())
    cost.diagonal = lambda: np.ones(N - 1)
    with pytest.raises(ValueError, match=rf"`cost` must have a diagonal of shape \({N},\), got shape \({N - 1},\)"):
        as_operator(cost)


def test_products_that_overwrite_what_they_are_given():
    C, V = symmetric(), np.random.default_rng(0).standard_normal((N, 3))

    def overwriting(C):
        def matmat(V):
            P = C @ V
            V[...] = np.nan
            return P

        return LinearOperator((N, N), matvec=C.dot, matmat=matmat, dtype=float)

    np.testing.assert_allclose(as_operator(overwriting(C)) @ V, C @ V, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="`cost` must be symmetric"):
        as_operator(overwriting(np.triu(C)))
