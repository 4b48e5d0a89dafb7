"""What a solve moves between a device and the host: random numbers to the device, and nothing of size n back."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton", reason="triton is not installed: make test-gpu installs it")

from scipy import sparse  # noqa: E402

from elliptope.kernels import Gaussian  # noqa: E402
from elliptope.operators.cuda.operator import CudaOperator  # noqa: E402
from elliptope.operators.cuda.sparse import CudaSparseOperator  # noqa: E402
from elliptope.operators.polynomial import PolynomialOperator, power  # noqa: E402
from elliptope.sdp import solve  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N = 400


@pytest.fixture
def moved(monkeypatch):
    """Sizes of the arrays that have been moved: to the host, and to the device."""
    sizes = {"host": [], "device": []}
    to_host, to_device = torch.Tensor.__dlpack__, torch.asarray

    def dlpack(self, *args, **kwargs):
        sizes["host"].append(self.numel())
        return to_host(self, *args, **kwargs)

    def asarray(x, *args, **kwargs):
        if isinstance(x, np.ndarray):
            sizes["device"].append(x.size)
        return to_device(x, *args, **kwargs)

    def copied(*args, **kwargs):
        raise AssertionError("a copy that was not asked for")

    monkeypatch.setattr(torch.Tensor, "__dlpack__", dlpack)
    monkeypatch.setattr(torch, "asarray", asarray)
    for name in ("__array__", "numpy", "tolist", "cpu"):
        monkeypatch.setattr(torch.Tensor, name, copied)
    return sizes


# Operators whose products are those of a stored matrix: the interpreter takes long for device functions.
def exact_kernel(X):
    J = CudaOperator(Gaussian(2.0), torch.tensor(X, device=DEVICE))
    J.set_row_scale(torch.sqrt(J.abar_diagonal()))
    K = torch.tensor(hollow_gaussian(X), device=DEVICE)
    J.product = lambda V, squared=False: (K**2 if squared else K) @ V
    J._rough = SimpleNamespace(hollow_matmat=lambda V: K @ V)
    return J


def hollow_gaussian(X):
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 4)
    np.fill_diagonal(K, 0)
    return K


def neighbours(X):
    D = ((X[:, None] - X) ** 2).sum(axis=-1)
    K = np.where(np.sort(D, axis=1)[:, 12, None] >= D, np.exp(-D), 0.0)
    A = CudaSparseOperator(sparse.csr_array(np.maximum(K, K.T)), DEVICE)
    ones = torch.ones(N, dtype=torch.float64, device=DEVICE)
    A.set_row_scale(ones)
    scaled = A._s[:, None] * torch.tensor(A._K.toarray(), device=DEVICE) * A._s
    A._product = lambda values, diagonal, V: scaled @ V + diagonal[:, None] * V
    return PolynomialOperator(A, power(4), ones, A.abar_diagonal())


@pytest.mark.parametrize(("make", "spread"), [(exact_kernel, 0.0), (neighbours, 0.2)])
def test_no_arrays_but_random_ones(make, spread, moved):
    J = make(np.random.default_rng(0).standard_normal((N, 2)))
    moved["host"].clear()
    moved["device"].clear()
    solution = solve(J, polish=True, tol=1e-5, rng=0, spread=spread)
    assert solution.certificate.relative_gap <= 1e-5
    assert max(moved["host"], default=0) < N
    # Columns of the start, and those that are added; random vectors of tests.
    large = [size for size in moved["device"] if size >= N]
    assert len(large) <= 12
    assert solution.n_products > 3 * len(large)
