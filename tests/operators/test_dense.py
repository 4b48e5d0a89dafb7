"""The stored kernel matrix: how it is made, multiplied and kept."""

import tracemalloc

import numpy as np
import pytest

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern
from elliptope.operators import DenseOperator, as_operator, kernel_matrix
from elliptope.operators.dense import product_in_panels, thin_product
from operator_cases import cost_terms, long, points


def test_kernel_matrix_equals_one_block_and_is_symmetric():
    X = points()
    for kernel in (Gaussian(1.0), Laplacian(1.0), Matern(1.0)):
        K = kernel_matrix(kernel, X)
        np.testing.assert_allclose(K, kernel.block(X, X), rtol=1e-14)
        np.testing.assert_array_equal(K, K.T)


def test_kernel_matrix_does_not_depend_on_the_number_of_threads():
    for p in (3, 50):
        X = points(300, p)
        np.testing.assert_array_equal(kernel_matrix(Gaussian(1.0), X, 1), kernel_matrix(Gaussian(1.0), X, 2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_in_a_tile_are_raised(n_jobs):
    with pytest.raises(ValueError, match="must give finite values"):
        kernel_matrix(CallableKernel(lambda X, Y: np.full((len(X), len(Y)), np.nan)), points(), n_jobs)


def test_row_sums_must_be_positive():
    with pytest.raises(ValueError, match="`kernel` must have positive row sums, got a minimum of -1"):
        DenseOperator(np.array([[1.0, -2.0], [-2.0, 1.0]]))


def test_entry_scale_of_a_kernel_that_is_not_psd():
    """Where K_ij > √(K_ii K_jj), the diagonal alone does not bound the entries."""
    rng = np.random.default_rng(6)
    K, even = 1e-3 * np.eye(400), np.arange(0, 400, 2)
    K[even, even + 1] = K[even + 1, even] = rng.uniform(1, 2, 200)
    operator, c = DenseOperator(K.copy()), rng.uniform(1, 2, 400)
    A, top = cost_terms(long(K), operator.m, operator.M, np.ones(400))
    a = np.sqrt(operator.entry_scale()) * c
    with operator.triangle(c) as T:
        error = abs(np.tril(T + np.outer(long(c), c) * (A - top), -1))
    assert 0 < (error / np.outer(a, a)).max() <= 4 * np.finfo(float).eps


def test_entry_scale_follows_the_row_scale():
    """Rows of very different sizes are each proved to their own: one bound for all would exceed the small ones."""
    operator, plain = (as_operator(np.ones((30, 30)), d) for d in (np.geomspace(1e-12, 1.0, 30), None))
    np.testing.assert_allclose(operator.entry_scale(), np.geomspace(1e-12, 1.0, 30) * plain.entry_scale(), rtol=1e-12)


def test_one_array_and_no_second():
    n = 1500
    X, V = points(n), np.ones((n, 5))
    tracemalloc.start()
    try:
        operator = DenseOperator(kernel_matrix(Gaussian(1.0), X), np.full(n, 2.0))
        operator.set_row_scale(np.full(n, 0.5))
        operator @ V, operator.offset(), operator.entry_scale(), operator.core_square(np.ones(n))
        with operator.triangle(np.ones(n)) as T:
            T[-1, 0] = 7.0
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 8 * n**2 <= held < 1.05 * 8 * n**2
    assert peak < 1.3 * 8 * n**2


def in_panels(K, V):
    one, two = product_in_panels(K, V, 128, 1), product_in_panels(K, V, 128, 2)
    np.testing.assert_array_equal(one, two)  # the number of threads changes no bit
    return two


@pytest.mark.parametrize("multiply", [thin_product, in_panels])
def test_thin_products(multiply):
    """Below and beyond the sizes from which products go by panels, and from which threads share these."""
    rng = np.random.default_rng(0)
    for n, r in ((30, 3), (400, 7), (1001, 5), (1200, 1), (1500, 33), (1501, 2)):
        K, V = rng.standard_normal((n, n)), rng.standard_normal((n, r))
        K += K.T
        found = multiply(K, V)
        assert found.flags.f_contiguous
        np.testing.assert_allclose(found, K @ V, rtol=0, atol=1e-10)
