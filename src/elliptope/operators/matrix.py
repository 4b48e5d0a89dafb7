"""Costs that users bring to the solver themselves: arrays, sparse matrices, linear operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from .base import Array, Operator

# Asymmetry, relative to the largest entry, that is put down to rounding.
_SYMMETRY = 1e-10


class MatrixOperator(Operator):
    r"""J = Diag(t) C Diag(t) for a symmetric array or sparse matrix C."""

    def __init__(self, C: Any, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._C = C
        self._t = row_scale

    def matmat(self, V: Array) -> Array:
        t = self._t[:, None]
        return t * (self._C @ (t * V))

    def diagonal(self) -> Array:
        return self._t**2 * self._C.diagonal()

    @property
    def can_factor(self) -> bool:
        return True

    def entry_scale(self) -> Array:
        return self._t**2 * abs(self._C).max()

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        T = self._C.toarray() if sparse.issparse(self._C) else self._C.copy()
        T *= -(c * self._t)[:, None]
        T *= c * self._t
        yield T


class MatrixFreeOperator(Operator):
    r"""J = Diag(t) C Diag(t) for a ``LinearOperator``, whose diagonal must be given or is read off products."""

    # Identity columns per product when the diagonal has to be probed.
    _PROBE = 256

    def __init__(self, C: LinearOperator, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._C = C
        self._t = row_scale
        self._diagonal = row_scale**2 * self._probe()

    def _probe(self) -> Array:
        if hasattr(self._C, "diagonal"):
            return np.asarray(self._C.diagonal(), dtype=np.float64)
        found = np.empty(self.n)
        for start in range(0, self.n, self._PROBE):
            rows = np.arange(start, min(start + self._PROBE, self.n))
            E = np.zeros((self.n, len(rows)))
            E[rows, rows - start] = 1.0
            found[rows] = self._C.matmat(E)[rows, rows - start]
        return found

    def matmat(self, V: Array) -> Array:
        t = self._t[:, None]
        return t * self._C.matmat(t * V)

    def diagonal(self) -> Array:
        return self._diagonal


def as_operator(cost: Any, diagonal: Array | None = None) -> Operator:
    r"""Wrap a symmetric cost so that :math:`B_{ii} = d_i` becomes a unit diagonal: :math:`J = D^{1/2} C D^{1/2}`."""
    if isinstance(cost, Operator):
        if diagonal is not None:
            raise ValueError("`diagonal` must be None when `cost` is an Operator: scale the operator instead.")
        return cost
    if not (isinstance(cost, LinearOperator) or sparse.issparse(cost)):
        cost = np.asarray(cost, dtype=np.float64)
    if len(cost.shape) != 2 or cost.shape[0] != cost.shape[1] or cost.shape[0] == 0:
        raise ValueError(f"`cost` must be a square symmetric matrix, got shape {cost.shape}.")
    t = np.sqrt(_check_diagonal(diagonal, cost.shape[0]))
    if isinstance(cost, LinearOperator):
        return MatrixFreeOperator(cost, t)
    C = sparse.csr_array(cost, dtype=np.float64) if sparse.issparse(cost) else cost
    entries = C.data if sparse.issparse(C) else C
    if not np.isfinite(entries).all():
        raise ValueError("`cost` must be finite, got NaN or infinity.")
    asymmetry, size = abs(C - C.T).max(), abs(C).max()
    if asymmetry > _SYMMETRY * size:
        raise ValueError(f"`cost` must be symmetric, got max|C - C.T| = {asymmetry:.3g} with max|C| = {size:.3g}.")
    return MatrixOperator(C, t)


def _check_diagonal(diagonal: Array | None, n: int) -> Array:
    if diagonal is None:
        return np.ones(n)
    d = np.asarray(diagonal, dtype=np.float64)
    if d.shape != (n,):
        raise ValueError(f"`diagonal` must have shape ({n},), got {d.shape}.")
    if not ((d > 0) & np.isfinite(d)).all():
        raise ValueError(f"`diagonal` must be positive and finite, got a minimum of {d.min()!r}.")
    return d
