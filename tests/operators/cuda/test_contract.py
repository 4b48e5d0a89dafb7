"""The contract of all operators, for those on a device; tensors are moved to the host, where the contract looks at them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
pytest.importorskip("triton", reason="Triton is not installed: it comes with torch on Linux")

from elliptope._utils.arrays import as_numpy  # noqa: E402
from elliptope.operators import Operator  # noqa: E402
from elliptope.operators.cuda.operator import CudaOperator  # noqa: E402
from elliptope.operators.cuda.sparse import CudaSparseOperator  # noqa: E402
from operator_cases import LAPLACIAN, WIDE, deflated_case, exact_kernel, kernel_case, neighbors  # noqa: E402
from operators.test_contract import TestProducts as Products  # noqa: E402
from operators.test_contract import TestTriangle as Triangle  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class OnHost:
    """An operator on a device, as if its arrays were those of NumPy."""

    def __init__(self, operator):
        self._operator = operator

    def __getattr__(self, name):
        found = getattr(self._operator, name)
        if name in ("triangle", "factorization") or not callable(found):
            return as_numpy(found) if isinstance(found, torch.Tensor) else found

        def call(*arguments):
            arguments = [torch.tensor(x, device=DEVICE) if isinstance(x, np.ndarray) else x for x in arguments]
            out = found(*arguments)
            return OnHost(out) if isinstance(out, Operator) else as_numpy(out) if isinstance(out, torch.Tensor) else out

        return call

    def __matmul__(self, V):
        return self.matmat(V)


def tiled(kernel):
    def build(X, w, n_jobs):
        K = exact_kernel(kernel, X)
        return OnHost(CudaOperator(kernel, torch.tensor(X, device=DEVICE), w)), K

    return build


def sparse(X, w, n_jobs):
    operator, K = neighbors(X, w, n_jobs)
    stored = operator._K.copy()
    stored.setdiag(operator.kernel_diagonal())
    return OnHost(CudaSparseOperator(stored, DEVICE, w)), K


BUILDERS = {"tiled": tiled(WIDE), "laplacian": tiled(LAPLACIAN), "sparse": sparse}


@pytest.fixture(params=["tiled", "laplacian", "sparse", "deflated tiled", "deflated sparse"])
def case(request):
    name = request.param.removeprefix("deflated ")
    found = kernel_case(name, weights=True, build=BUILDERS[name])
    return deflated_case(found) if request.param.startswith("deflated") else found


class TestProductsOnADevice(Products):
    pass


class TestTriangleOnADevice(Triangle):
    test_entry_scale_bounds_the_rounding = None  # triangles are made by the code of the operators on the CPU
