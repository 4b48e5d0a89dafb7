"""Polynomials of a normalised kernel, against powers of a matrix that is formed."""

import numpy as np
import pytest
from scipy import sparse

from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, SparseOperator, TiledOperator, kernel_matrix
from elliptope.operators.polynomial import diffused_cost, diffused_values, power
from elliptope.sdp import certify, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
W = RNG.uniform(0.5, 2, 60)
D = RNG.uniform(0.5, 2, 60)
K = np.where(kernel_matrix(Gaussian(1.0), X) > 0.1, kernel_matrix(Gaussian(1.0), X), 0.0)


def matrices():
    """S, u_0 and the row scales, from their definitions."""
    m = K @ W
    A = K / np.sqrt(np.outer(m, m))
    root = np.sqrt(W)
    return root[:, None] * A * root, root * np.sqrt(m / (W @ m)), W * np.sqrt(D) / root


def value(q, S):
    values, U = np.linalg.eigh(S)
    return (U * q(values)) @ U.T


@pytest.mark.parametrize("t", [1, 2, 4, 6, 14, 16, 32, 34, 500, 3000])
@pytest.mark.parametrize("s", [0.0, 0.1])
def test_the_polynomial_follows_the_power(t, s):
    """And is not negative for even t, so that mixed with s λ its values are at least s λ."""
    p, x = power(t), np.linspace(-1, 1, 1001)
    q = p.mixed(s)
    assert q(0.0) == pytest.approx(0, abs=1e-14)
    assert q(1.0) == pytest.approx(1, abs=1e-13)
    assert abs(p(x) - x**t).max() < 0.05
    assert p.degree <= max(4, 3.7 * np.sqrt(t))
    if t > 1:
        assert p(x).min() >= -1e-14
    np.testing.assert_allclose(q(x), (1 - s) * p(x) + s * x, atol=1e-14)
    np.testing.assert_allclose(x * q.divided()(x), q(x), atol=1e-12)
    if t <= 4:
        np.testing.assert_allclose(p(x), x**t, atol=1e-15)


@pytest.mark.parametrize("stored", [DenseOperator, SparseOperator])
@pytest.mark.parametrize("t", [1, 2, 10, 32])
def test_cost_and_extended_values(t, stored):
    """J = Diag(s) (q(S) - u_0 u_0ᵀ) Diag(s); the extension of the diffused values is that of the values under q(A)."""
    S, u, scale = matrices()
    s = 0.0 if t == 1 else 0.2
    q = power(t).mixed(s)
    expected = scale[:, None] * (value(q, S) - np.outer(u, u)) * scale
    A = stored(sparse.csr_array(K) if stored is SparseOperator else K.copy(), W)
    J = diffused_cost(A, D, t)
    if t > 1:
        J = J.mixed(s)
    V = RNG.standard_normal((60, 4))
    np.testing.assert_allclose(J @ V, expected @ V, atol=1e-12)
    np.testing.assert_allclose(J.offset(), expected.diagonal(), atol=1e-13)
    F = RNG.standard_normal((60, 2))
    G = diffused_values(A, t, s, F)
    root, deflated = np.sqrt(W)[:, None], S - np.outer(u, u)
    np.testing.assert_allclose(deflated @ (root * G), (value(q, S) - np.outer(u, u)) @ (root * F), atol=1e-12)


def test_applied_and_formed_are_one_program():
    """Where nothing is formed, products are the same, the trace is close, and so are optimum and certificate."""
    applied = diffused_cost(DenseOperator(K.copy(), W), D, 8)
    formed = applied.mixed(0.0)
    V = RNG.standard_normal((60, 3))
    np.testing.assert_allclose(applied @ V, formed @ V, atol=1e-12)
    np.testing.assert_allclose(applied.core_matmat(V) + applied.offset()[:, None] * V, applied @ V, atol=1e-12)
    assert applied.offset().sum() == pytest.approx(formed.offset().sum(), rel=0.2)
    one, other = (solve(J, polish=True, rng=0) for J in (formed, applied))
    assert one.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-8)
    assert certify(applied, one.factor, rng=0).relative_gap < 1e-6


def test_a_kernel_that_is_not_stored_is_refused():
    with pytest.raises(ValueError, match="`diffusion_time` must be 1 unless the kernel is stored, got 3"):
        diffused_cost(TiledOperator(Gaussian(1.0), X, W), D, 3)
