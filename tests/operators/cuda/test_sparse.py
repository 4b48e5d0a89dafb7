"""Sparse matrices on the device beside SciPy's."""

import numpy as np
import pytest
from scipy import sparse

from elliptope._utils.arrays import like
from elliptope.operators import SparseOperator
from elliptope.operators.polynomial import PolynomialOperator, power
from elliptope.sdp import solve

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
pytest.importorskip("triton", reason="Triton is not installed: it comes with torch on Linux")

from elliptope.operators.cuda.sparse import CudaSparseOperator  # noqa: E402


def graph(n=70, seed=0):
    """Rows of any length, none at all among them, and one that is full."""
    K = sparse.random_array((n, n), density=0.05, rng=np.random.default_rng(seed)).toarray()
    K[5], K[:, 5] = 0, 0
    K[9] = np.linspace(0.1, 1, n)
    K = K + K.T
    np.fill_diagonal(K, 1.0)
    return sparse.csr_array(K)


def test_as_on_the_cpu(device):
    rng, K = np.random.default_rng(0), graph()
    n = K.shape[0]
    w, t = rng.uniform(0.5, 2, n), rng.uniform(0.2, 2, n)
    ours, theirs = CudaSparseOperator(K, device, w), SparseOperator(K, w)
    for J in (ours, theirs):
        J.set_row_scale(t)
    np.testing.assert_allclose(ours.m.cpu(), theirs.m, rtol=1e-14)
    np.testing.assert_allclose(ours.offset().cpu(), theirs.offset(), rtol=1e-12, atol=1e-15)
    for r in (1, 5, 67):
        V = rng.standard_normal((n, r))
        found = ours.core_matmat(torch.tensor(V, device=device))
        np.testing.assert_allclose(found.cpu(), theirs.core_matmat(V), rtol=1e-12, atol=1e-13)
        assert (found == ours.core_matmat(torch.tensor(V, device=device))).all()
    for J in (ours, theirs):  # another scale after products with the first
        J.set_row_scale(1 / t)
    found = ours.core_matmat(torch.tensor(V, device=device))
    np.testing.assert_allclose(found.cpu(), theirs.core_matmat(V), rtol=1e-12, atol=1e-12)


def test_recorded_products(device):
    """The same bits as without a recording, for changing numbers and shapes."""
    rng, K = np.random.default_rng(0), graph()
    S = CudaSparseOperator(K, device)
    q = power(32)
    for step, r in enumerate((3, 3, 3, 5, 3, 3, 5, 5, 5, 5)):
        if step == 6:  # another matrix
            S.set_row_scale(rng.uniform(0.5, 1, K.shape[0]))
        V = torch.tensor(rng.standard_normal((K.shape[0], r)), device=device)
        before = V.clone()
        for J in (S, S.deflated(V[:, :1]), S.float32()):
            W = V.to(J.offset().dtype)
            assert torch.equal(J.polynomial(q, W), q.apply(J.matmat, W))
        assert torch.equal(V, before)


def test_solve(device):
    K = graph(24)
    ours, theirs = CudaSparseOperator(K, device), SparseOperator(K)
    for J in (ours, theirs):
        J.set_row_scale(np.ones(24))
    found, expected = solve(ours, rng=0), solve(theirs, rng=0)
    assert found.certificate.grade == expected.certificate.grade == "proved"
    assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-6)


def test_a_sparse_tensor_as_cost(device):
    C = graph(24)
    d = np.linspace(0.5, 2, 24)
    tensor = torch.tensor(C.toarray(), device=device).to_sparse_csr()
    found, expected = solve(tensor, d, rng=0), solve(C, d, rng=0)
    assert found.certificate.grade == "proved"
    assert isinstance(found.factor, torch.Tensor)
    assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-6)


def test_a_polynomial(device):
    """Of a matrix on the device, applied product by product, with and without a deflation basis."""
    K, rng = graph(), np.random.default_rng(1)
    w, V, Q = rng.uniform(0.5, 2, 70), rng.standard_normal((70, 3)), rng.standard_normal((70, 2))
    made = []
    for A in (CudaSparseOperator(K, device, w), SparseOperator(K, w)):
        root = A.w**0.5
        A.set_row_scale(root)
        J = PolynomialOperator(A, power(6), root, A.abar_diagonal())
        made.append((J, J.deflated(like(root, Q))))
    for ours, theirs in zip(*made, strict=True):
        expected = theirs.core_matmat(V)
        np.testing.assert_allclose(ours.offset().cpu(), theirs.offset(), rtol=1e-10)
        np.testing.assert_allclose(ours.core_matmat(torch.tensor(V, device=device)).cpu(), expected, rtol=1e-9, atol=1e-12)
