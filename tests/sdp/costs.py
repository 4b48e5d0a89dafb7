"""Costs, factors and operators that the tests of the solver share."""

import numpy as np

from elliptope._utils.arrays import as_numpy
from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, Operator, as_operator, kernel_matrix
from elliptope.sdp import solve
from elliptope.sdp.problem import Meter, Problem


def psd(n, seed=0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return W @ W.T


def indefinite(n, seed=0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return W + W.T


def cycle(n):
    """The adjacency matrix of a cycle."""
    A = np.roll(np.eye(n), 1, axis=0)
    return A + A.T


def two_blocks(m, seed=0):
    """Points of two groups that do not see each other: turning the rows of one changes B, and no value."""
    R = np.random.default_rng(seed).random((m, m))
    return np.kron(np.eye(2), R + R.T)


def linked_groups(m, link):
    """Two groups of m rows, and two rows that link them: one is drawn to both, one to the first and away from the second.

    The optimum is the t = h_i·h_j of the groups that maximises √(2 + 2t) + √(1.49 - 1.4t): 3/14, however weak the links are.
    """
    C = np.zeros((2 * m + 2, 2 * m + 2))
    C[:m, :m] = C[m:-2, m:-2] = 1.0
    C[-2, :-2] = C[-1, :m] = link
    C[-1, m:-2] = -0.7 * link
    return np.tril(C, -1) + np.tril(C, -1).T


def kernel_cost(X, sigma):
    """The paper's J for a Gaussian kernel."""
    J = DenseOperator(kernel_matrix(Gaussian(sigma), X))
    J.set_row_scale(np.sqrt(J.abar_diagonal()))
    return J


def moons(bandwidth, n=200, seed=0):
    """Abar of two moons with n points."""
    return DenseOperator(kernel_matrix(Gaussian(bandwidth), two_moons(n // 2, random_state=seed)[0]))


def core(operator):
    """The core of an operator as a matrix."""
    return operator.core_matmat(np.eye(operator.n))


def unit_rows(V):
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def gram(solution):
    H = as_numpy(solution.factor)
    return H @ H.T


def meter_of(cost):
    return Meter(Problem(as_operator(cost)))


def near_optimum(cost, error, seed=0):
    """A meter, and an iterate that misses the optimal factor by about ``error`` in every entry."""
    rng = np.random.default_rng(seed)
    H = solve(cost, tol=1e-9, polish=True, rng=seed).factor
    meter = meter_of(cost)
    return meter, meter.evaluate(unit_rows(H + error * rng.standard_normal(H.shape)))


def count_calls(operator, name="core_matmat"):
    """A list that grows by the arguments of every call of that method of the operator."""
    plain, calls = getattr(operator, name), []

    def counted(*args):
        calls.append(args)
        return plain(*args)

    setattr(operator, name, counted)
    return calls


class EarlySingle(Operator):
    """A symmetric matrix with a copy in single precision, which is offered from the first step on."""

    single_after = 0

    def __init__(self, J, dtype=np.float64):
        self.n, self._J, self._offset = len(J), J, np.diagonal(J).copy()
        self._core = (J - np.diag(self._offset)).astype(dtype)

    def core_matmat(self, V):
        return np.asarray(self._core @ V.astype(self._core.dtype), dtype=np.float64)

    def offset(self):
        return self._offset

    def single(self):
        return EarlySingle(self._J, np.float32)
