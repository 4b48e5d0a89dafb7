"""Softmax means on the device beside those of the extension on the CPU."""

import numpy as np
import pytest

from elliptope.estimators.extension import Extension
from elliptope.kernels import Gaussian, Laplacian, Matern
from operator_cases import two_groups

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
pytest.importorskip("triton", reason="Triton is not installed: it comes with torch on Linux")

from elliptope.operators.cuda.attention import Attention  # noqa: E402


def test_as_on_the_cpu(device):
    """Near and far rows, of several kernels, and more columns than one launch takes."""
    n, rng = 70, np.random.default_rng(0)
    Y, w = two_groups(n, 3), rng.uniform(0.1, 2, n)
    Y[50] = Y[3]  # of points at the same place the first is the nearest
    X = np.concatenate([Y[[0, 50]], two_groups(20, 3, seed=1), 1e4 + two_groups(3, 3)])
    for kernel, r in ((Gaussian(0.3), 35), (Laplacian(0.7), 2), (Matern(1.0, 2.5), 0)):
        F, m = rng.standard_normal((n, r)), rng.uniform(1, 2, n)
        extension = Extension(kernel.fit(Y), w, m, 1.0, np.ones(n), F)
        c = (w * np.sqrt(m)) @ F
        expected = [attention for _, attention in extension.attend(X)]
        ((part, mean, log_mass, nearest),) = Attention(kernel, Y, w, F / np.sqrt(m)[:, None], device)(X)
        assert part == slice(0, len(X))
        np.testing.assert_allclose(mean - c, np.concatenate([a.mean for a in expected]), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(log_mass, np.concatenate([a.log_mass for a in expected]), rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(nearest, np.concatenate([a.nearest for a in expected]))
        assert nearest[1] == 3


@pytest.mark.filterwarnings("ignore:overflow")  # of NumPy, in the interpreter
def test_vanishing_kernel(device):
    """Rows so far that squares of distances overflow: no point has any weight."""
    Y = two_groups(40, 2)
    ((_, _, log_mass, _),) = Attention(Gaussian(1.0), Y, np.ones(40), np.ones((40, 1)), device)(np.full((2, 2), 1e200))
    assert (log_mass == -np.inf).all()
