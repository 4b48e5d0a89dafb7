"""Products on the device beside matrices in extended precision."""

import numpy as np
import pytest

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern
from elliptope.operators import TiledOperator
from elliptope.sdp import solve
from operator_cases import long, off_diagonal, two_groups

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
triton = pytest.importorskip("triton", reason="Triton is not installed: it comes with torch on Linux")
tl = triton.language

from elliptope.operators.cuda.functions import exp2_double  # noqa: E402
from elliptope.operators.cuda.operator import CudaOperator  # noqa: E402


@triton.jit
def exponentials(x, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + at, exp2_double(tl.load(x + at), True))


def exact(kernel, X):
    """The kernel matrix by its formula, in extended precision."""
    D = np.sqrt(((long(X)[:, None, :] - long(X)) ** 2).sum(axis=-1)) / long(kernel.bandwidth)
    if isinstance(kernel, Gaussian):
        return np.exp(-(D**2))
    if isinstance(kernel, Laplacian):
        return np.exp(-D)
    rho = np.sqrt(long(2 * kernel.nu)) * D
    q = {1.5: 1 + rho, 2.5: 1 + rho + rho**2 / 3, 3.5: 1 + rho + 2 * rho**2 / 5 + rho**3 / 15}[kernel.nu]
    return q * np.exp(-rho)


def operator_of(kernel, X, device, w=None):
    return CudaOperator(kernel, torch.tensor(X, device=device), w)


def product(J, V, **options):
    return J.product(torch.tensor(V, device=J.m.device), **options).cpu().numpy()


class TestDouble:
    @pytest.mark.parametrize(
        ("kernel", "p", "r", "dot"),
        [
            (Gaussian(1.5), 3, 5, True),
            (Gaussian(2.0), 1, 1, True),
            (Gaussian(9.0), 40, 33, True),  # two chunks of coordinates, two groups of columns
            (Gaussian(1e-3), 3, 2, False),  # points lie so far out that differences are formed
            (Laplacian(0.7), 3, 4, False),
            (Matern(1.0, 1.5), 2, 3, False),
            (Matern(3.0, 3.5), 20, 3, False),
        ],
        ids=str,
    )
    def test_against_the_matrix(self, kernel, p, r, dot, device):
        """Of entries and of their squares; and points that occur twice."""
        n = 150
        X = two_groups(n, p, seed=p)
        X[7] = X[90]
        J, K = operator_of(kernel, X, device), off_diagonal(exact(kernel, X))
        assert J._products.dot == dot
        V = np.random.default_rng(r).standard_normal((n, r))
        allowed = J.relative_error or 1e-14
        assert allowed < 1e-11
        for squared, matrix, factor in ((False, K, 1), (True, K**2, 2)):
            found = product(J, V, squared=squared)
            assert (abs(found - matrix @ V) <= factor * allowed * (matrix @ abs(V)) + 1e-300).all()
        np.testing.assert_array_equal(product(J, V), product(J, V))  # the same bits

    def test_many_coordinates(self, device):
        X = np.random.default_rng(0).random((64, 784))
        J, K = operator_of(Gaussian(10.0), X, device), off_diagonal(exact(Gaussian(10.0), X))
        V = np.ones((64, 1))
        assert J._products.dot
        assert (abs(product(J, V) - K @ V) <= J.relative_error * (K @ V)).all()

    def test_far_points_underflow(self, device):
        X = np.concatenate([two_groups(70), 1e8 + two_groups(5)])
        for kernel in (Gaussian(1.5), Laplacian(0.7), Matern(1.0, 2.5)):
            J, K = operator_of(kernel, X, device), off_diagonal(exact(kernel, X))
            V = np.ones((75, 1))
            assert np.allclose(product(J, V), (K @ V).astype(float), rtol=1e-7)  # 1e8 has eight digits to spare

    def test_exponential(self, device):
        """To 2 ulp, over its whole range."""
        x = np.concatenate([-np.geomspace(1e-18, 1021, 3000), np.linspace(-2, 1, 1095), [-1100.0]])
        y = torch.zeros(4096, dtype=torch.float64, device=device)
        exponentials[(1,)](torch.tensor(x, device=device), y, 4096)
        truth, found = np.exp2(long(x)), y.cpu().numpy()
        assert found[-1] == np.finfo(float).tiny
        assert (abs(found - truth)[:-1] <= 2 * 2.0**-52 * truth[:-1]).all()


class TestSixDigits:
    @pytest.mark.parametrize(
        ("kernel", "p", "dot"),
        [(Gaussian(3.0), 3, True), (Gaussian(9.0), 40, True), (Gaussian(0.3), 3, False), (Matern(1.0, 2.5), 3, False)],
        ids=str,
    )
    def test_against_the_matrix(self, kernel, p, dot, device):
        """Columns of any size, and entries of V that differ by orders of magnitude."""
        n = 150
        X = two_groups(n, p, seed=p)
        J, K = operator_of(kernel, X, device), off_diagonal(exact(kernel, X))
        assert J.single_is_accurate
        single = J.single()
        assert J._rough.dot == dot
        V = np.random.default_rng(1).standard_normal((n, 5)) * 10.0 ** np.array([0, -60, 60, -3, 7])
        V[:40] *= 1e-4
        found = single.hollow_kernel_matmat(torch.tensor(V, device=device)).cpu().numpy()
        assert np.linalg.norm((found - K @ V) / abs(V).max(axis=0)) <= 1e-6 * np.linalg.norm(K @ V / abs(V).max(axis=0))

    def test_refused_far_out(self, device):
        X = np.concatenate([two_groups(70), 1e8 + two_groups(5)])
        assert operator_of(Gaussian(1.0), X, device).single() is None


class TestOperator:
    def test_as_on_the_cpu(self, device):
        """Degrees, products with J, sums of squares, bounds on errors."""
        rng, X = np.random.default_rng(0), two_groups(100)
        w, t, v = rng.uniform(0.5, 2, 100), rng.uniform(0.2, 2, 100), rng.uniform(0.1, 1, 100)
        V = rng.standard_normal((100, 3))
        for kernel in (Gaussian(1.5), Laplacian(0.7), Matern(1.0, 2.5)):
            ours, theirs = operator_of(kernel, X, device, w), TiledOperator(kernel, X, w)
            for J in (ours, theirs):
                J.set_row_scale(t)
            np.testing.assert_allclose(ours.m.cpu(), theirs.m, rtol=1e-13)
            np.testing.assert_allclose(
                ours.core_matmat(torch.tensor(V, device=device)).cpu(), theirs.core_matmat(V), rtol=1e-11, atol=1e-13
            )
            assert ours.core_square(torch.tensor(v, device=device)) == pytest.approx(theirs.core_square(v), rel=1e-9)
            assert ours.error_bounds == pytest.approx(theirs.error_bounds, rel=0.5)

    @pytest.mark.slow
    def test_solve(self, device):
        X = two_groups(96)
        ours, theirs = operator_of(Gaussian(2.0), X, device), TiledOperator(Gaussian(2.0), X)
        for J in (ours, theirs):
            J.set_row_scale(np.sqrt(theirs.abar_diagonal()))
        found, expected = solve(ours, polish=True, rng=0), solve(theirs, polish=True, rng=0)
        assert (found.status, found.certificate.grade) == (expected.status, expected.certificate.grade)
        H = found.factor.cpu().numpy()
        np.testing.assert_allclose(H @ H.T, expected.factor @ expected.factor.T, atol=1e-7)

    def test_other_kernels_are_refused(self, device):
        for kernel in (Matern(1.0, 1.2), CallableKernel(lambda X, Y: np.exp(X @ Y.T))):
            with pytest.raises(ValueError, match=r"`kernel` must be Gaussian, Laplacian or Matérn"):
                operator_of(kernel, two_groups(20), device)
