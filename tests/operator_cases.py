"""Operators, each beside the plain matrix that it stands for, in extended precision."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import dask_cluster
from elliptope.kernels import CallableKernel, Gaussian, Laplacian
from elliptope.kernels.neighbors import Neighbors
from elliptope.operators import (
    DenseOperator,
    Operator,
    RegularizedOperator,
    SparseOperator,
    TiledOperator,
    as_operator,
    kernel_matrix,
)
from elliptope.operators.matrix import DenseMatrix
from neighborhoods import NaiveNeighbors

# Two tiles, of which the second is not full.
N, P = 150, 3
WIDE, NARROW, LAPLACIAN = Gaussian(1.5), Gaussian(0.05), Laplacian(0.7)


def long(a):
    return np.asarray(a, dtype=np.longdouble)


def points(n=N, p=P, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def two_groups(n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + rng.choice([0.0, 3.0], (n, 1))


def off_diagonal(K):
    return K - np.diag(K.diagonal())


def exact_kernel(kernel, X):
    """K in extended precision, (n, n); by its own formula where the kernel is Gaussian."""
    if not isinstance(kernel, Gaussian):
        return long(kernel_matrix(kernel, X))
    return np.exp(-((long(X)[:, None, :] - long(X)) ** 2).sum(axis=-1) / long(kernel.bandwidth) ** 2)


def cost_terms(K, m, M, t):
    """The two terms of Diag(t) (K / √(m mᵀ) - √(m mᵀ)/M) Diag(t), in extended precision."""
    root, tt = np.sqrt(long(m)[:, None] * long(m)), long(t)[:, None] * long(t)
    return tt * K / root, tt * root / long(M)


@dataclass(frozen=True)
class Case:
    """An operator, the matrix J that it must be, and the sizes of the terms that are summed in products with it."""

    operator: Operator
    J: np.ndarray
    size: np.ndarray
    core: np.ndarray  # J without the diagonal that the operator keeps apart
    core_size: np.ndarray


@dataclass(frozen=True)
class KernelCase(Case):
    """With its kernel matrix, and what J is made of."""

    K: np.ndarray = field(kw_only=True)
    w: np.ndarray = field(kw_only=True)
    t: np.ndarray = field(kw_only=True)

    @property
    def m(self):
        """Degrees of the kernel."""
        return (self.K * self.w).sum(axis=1)

    def exact(self, t):
        """J with the row scale t."""
        A, top = cost_terms(self.K, self.m, (self.w * self.m).sum(), t)
        return A - top


def dense(kernel):
    def build(X, w, n_jobs):
        K = exact_kernel(kernel, X)
        return DenseOperator(kernel_matrix(kernel, X, n_jobs), w), K

    return build


def tiled(kernel):
    def build(X, w, n_jobs):
        K = exact_kernel(kernel, X)
        return TiledOperator(kernel, X, w, n_jobs=n_jobs), K

    return build


def distributed(kernel):
    def build(X, w, n_jobs):
        cluster = dask_cluster.in_this_process()
        from elliptope.distributed.exact import DistributedOperator

        K = exact_kernel(kernel, X)
        return DistributedOperator(kernel, X, w, cluster=cluster, block_rows=64), K

    return build


def neighbors(X, w, n_jobs):
    K = Neighbors().fit(X, n_neighbors=9, n_jobs=n_jobs).matrix()
    return SparseOperator(K, w, n_jobs), long(NaiveNeighbors(X, 9).K)


KERNELS = {
    "dense": dense(WIDE),
    "dense-narrow": dense(NARROW),
    "dense-laplacian": dense(LAPLACIAN),
    "dense-callable": dense(CallableKernel(lambda X, Y: (4 + X @ Y.T) ** 2)),
    "neighbors": neighbors,
    "tiled": tiled(WIDE),
    "tiled-laplacian": tiled(LAPLACIAN),
    "dask": distributed(WIDE),
    "dask-laplacian": distributed(LAPLACIAN),
}


def kernel_case(name, weights, n_jobs=1, seed=0, build=None):
    rng = np.random.default_rng(seed)
    w = 10 ** rng.uniform(-1, 1, N) if weights else None
    operator, K = (build or KERNELS[name])(two_groups(seed=seed), w, n_jobs)
    w = np.ones(N) if w is None else w
    t = rng.uniform(0.2, 2, N)
    operator.set_row_scale(t)
    m = (K * long(w)).sum(axis=1)
    A, top = cost_terms(K, m, (w * m).sum(), t)
    size = abs(A) + top
    core_size = size - np.diag((A - top).diagonal())  # of the diagonal twice (t v0)² is left
    J = A - top
    return KernelCase(operator, J, size, off_diagonal(J), core_size, K=K, w=w, t=t)


def deflated_case(case, columns=11):
    """J - QQᵀ for a random Q whose rows are of very different lengths."""
    rng = np.random.default_rng(7)
    Q = rng.standard_normal((N, columns)) * 10 ** rng.uniform(-3, 0.5, (N, 1)) / np.sqrt(columns)
    QQ, size = long(Q) @ long(Q).T, long(abs(Q)) @ long(abs(Q)).T
    core = case.core - off_diagonal(QQ)
    return Case(case.operator.deflated(Q), case.J - QQ, case.size + size, core, case.core_size + size)


class WithDiagonal(LinearOperator):
    """A linear operator that knows its diagonal, and whose products with single columns are refused."""

    def __init__(self, C):
        super().__init__(C.dtype, C.shape)
        self.C = C

    def _matvec(self, x):
        raise AssertionError("one column at a time is slow")

    def _matmat(self, X):
        return self.C @ X

    def diagonal(self):
        return self.C.diagonal()


def symmetric(n=N):
    C = np.random.default_rng(2).standard_normal((n, n))
    return C + C.T


def matrix_case(build, scaled=True):
    C = symmetric()
    C[abs(C) < 1] = 0
    C[3, 3] = 0.0
    d = np.random.default_rng(3).uniform(0.1, 5, N) if scaled else np.ones(N)
    J = np.sqrt(np.outer(long(d), long(d))) * C
    operator = as_operator(build(C), d if scaled else None)
    linear = issubclass(build, LinearOperator) if isinstance(build, type) else build is aslinearoperator
    core = off_diagonal(J)
    return Case(operator, J, abs(J), core, abs(J) if linear else abs(core))


def regularized_case():
    rng = np.random.default_rng(7)
    F = np.linalg.cholesky(kernel_matrix(WIDE, points()) + 0.1 * np.eye(N)).T
    s, q, C = rng.uniform(0.5, 1.5, N), rng.uniform(0, 0.2, (N, 1)), abs(symmetric())
    inverse = np.linalg.inv(F)
    gain, loss = np.outer(s, s) * C - q @ q.T, 3.0 * inverse @ inverse.T
    operator = RegularizedOperator(DenseMatrix(C.copy(), s, q), F, 3.0, float(s @ C @ s))
    # Products come from triangular solves, which err by the norm of all and not entry by entry.
    size = np.full((N, N), np.linalg.norm(loss, 2) + np.linalg.norm(gain, 2))
    J = gain - loss
    return Case(operator, J, size, J - np.diag(operator.offset()), size)


MATRICES = {
    "array": lambda: matrix_case(np.array, scaled=False),
    "array-scaled": lambda: matrix_case(np.array),
    "fortran": lambda: matrix_case(np.asfortranarray),
    "list": lambda: matrix_case(np.ndarray.tolist),
    "csr": lambda: matrix_case(sparse.csr_array),
    "coo": lambda: matrix_case(sparse.coo_matrix, scaled=False),
    "linear": lambda: matrix_case(aslinearoperator),
    "linear-with-diagonal": lambda: matrix_case(WithDiagonal),
    "regularized": regularized_case,
}
