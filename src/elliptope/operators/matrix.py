"""Costs that users bring to the solver themselves: arrays, sparse matrices, linear operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from .._arrays import all_nonzero, is_foreign, is_sparse, largest, like, namespace, owned, total
from .._checks import check_vector
from .base import Array, Operator
from .dense import DenseStorage
from .metric import Metric
from .sparse import SparseMatrix

# Asymmetry, relative to the largest entry, that is put down to rounding.
_SYMMETRY = 1e-10
# Rows that are compared with columns at a time.
_PANEL = 64


class DenseMatrix(DenseStorage):
    r"""J = Diag(s) C Diag(s) - Q Qᵀ for a symmetric array C, which the operator takes over, and a thin Q."""

    def __init__(self, C: Array, row_scale: Array, deflation: Array | None = None) -> None:
        self.n = C.shape[0]
        self._s, self._unscaled = like(C, row_scale), bool((row_scale == 1).all())
        self._Q = like(C, np.empty((self.n, 0)) if deflation is None else deflation)
        self._store(C)


class MatrixFree(Operator):
    r"""J = Diag(s) C Diag(s) for a ``LinearOperator``, whose diagonal is asked for or read off products."""

    # Identity columns per product when the diagonal has to be probed.
    _PROBE = 256

    def __init__(self, C: LinearOperator, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._C = C
        self._s = row_scale
        self._diagonal = row_scale**2 * self._diagonal_of_C()
        self._check_symmetric()

    def _check_symmetric(self) -> None:
        """xᵀCy = yᵀCx for a random pair: an asymmetric C passes with probability zero."""
        V = np.random.default_rng(0).standard_normal((self.n, 2))
        G = V.T @ self._C.matmat(V)
        if abs(G[0, 1] - G[1, 0]) > _SYMMETRY * self.n * np.abs(G).max():
            raise ValueError(f"`cost` must be symmetric, got x'Cy = {G[0, 1]:.6g} and y'Cx = {G[1, 0]:.6g}.")

    def _diagonal_of_C(self) -> Array:
        if hasattr(self._C, "diagonal"):
            return np.asarray(self._C.diagonal(), dtype=np.float64)
        found = np.empty(self.n)
        for start in range(0, self.n, self._PROBE):
            rows = np.arange(start, min(start + self._PROBE, self.n))
            E = np.zeros((self.n, len(rows)))
            E[rows, rows - start] = 1.0
            found[rows] = self._C.matmat(E)[rows, rows - start]
        return found

    def core_matmat(self, V: Array) -> Array:
        s = self._s[:, None]
        return np.asfortranarray(s * self._C.matmat(s * V) - self._diagonal[:, None] * V)

    def offset(self) -> Array:
        return self._diagonal

    def rounding_in(self, metric: Metric, upper: float) -> float:
        # The diagonal is taken off the product.
        return self.product_error * (upper + 2 * largest(metric.solve(abs(self._diagonal)[:, None])))


def as_operator(cost: Any, diagonal: Array | None = None) -> Operator:
    r"""Wrap a symmetric cost so that :math:`B_{ii} = d_i` becomes a unit diagonal: :math:`J = D^{1/2} C D^{1/2}`."""
    if isinstance(cost, Operator):
        if diagonal is not None:
            raise ValueError("`diagonal` must be None when `cost` is an Operator: scale the operator instead.")
        return cost
    if is_sparse(cost):
        raise ValueError(f"`cost` must be a dense tensor or a SciPy sparse matrix, got a tensor of layout {cost.layout}.")
    if not (isinstance(cost, LinearOperator) or sparse.issparse(cost) or is_foreign(cost)):
        cost = np.asarray(cost)
    if _is_complex(cost):
        raise ValueError(f"`cost` must be real, got dtype {cost.dtype}.")
    if len(cost.shape) != 2 or cost.shape[0] != cost.shape[1] or cost.shape[0] == 0:
        raise ValueError(f"`cost` must be a square symmetric matrix, got shape {cost.shape}.")
    n = cost.shape[0]
    s = np.ones(n) if diagonal is None else np.sqrt(check_vector("diagonal", diagonal, n))
    if isinstance(cost, LinearOperator):
        return MatrixFree(cost, s)
    if sparse.issparse(cost):
        cost = sparse.csr_array(cost, dtype=np.float64)
        _check_finite(cost.data)
        _check_symmetric(abs(cost - cost.T).max(), abs(cost).max())
        return SparseMatrix(cost, s)
    cost = owned(cost)
    _check_finite(cost)
    if not _is_symmetric(cost):
        _check_symmetric(largest(abs(cost - cost.T)), largest(abs(cost)))
        cost = 0.5 * (cost + cost.T)
    return DenseMatrix(cost, s)


def _is_complex(cost: Any) -> bool:
    if is_foreign(cost):
        return namespace(cost).isdtype(cost.dtype, "complex floating")
    return np.issubdtype(cost.dtype, np.complexfloating)


def _check_finite(entries: Array) -> None:
    # A sum is finite only if its terms are; where it is not, it may still have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = math.isfinite(total(entries))
    if not finite and not all_nonzero(namespace(entries).isfinite(entries)):
        raise ValueError("`cost` must be finite, got NaN or infinity.")


def _is_symmetric(C: Array) -> bool:
    """Whether C equals its transpose, panel by panel: both stay in cache."""
    n = C.shape[0]
    panels = [(start, min(start + _PANEL, n)) for start in range(0, n, _PANEL)]
    return all(all_nonzero(C[a:b, a:] == C[a:, a:b].T) for a, b in panels)


def _check_symmetric(asymmetry: float, size: float) -> None:
    if asymmetry > _SYMMETRY * size:
        raise ValueError(f"`cost` must be symmetric, got max|C - C.T| = {asymmetry:.3g} with max|C| = {size:.3g}.")
