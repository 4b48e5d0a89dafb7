"""Costs that users bring to the solver themselves: arrays, sparse matrices, linear operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from .._utils.arrays import Array, all_nonzero, as_numpy, hollow, is_foreign, is_sparse, largest, like, namespace, owned
from .._utils.blocks import TILE, blocks
from .._utils.checks import as_real, check_entries, check_real, check_vector
from .._utils.devices import find_device, is_interpreted
from .._utils.rounding import UNIT, gamma
from .._utils.threads import ONE_THREAD, all_blas_threads
from .base import ROUNDINGS, Operator
from .dense import DenseStorage
from .metric import Metric
from .sparse import SparseMatrix

# Asymmetry that is put down to rounding, relative to the largest entry off the diagonal: all else is constant on the
# feasible set.
_SYMMETRY = 1e-10


class DenseMatrix(DenseStorage):
    r"""J = Diag(s) C Diag(s) - Q Qᵀ for a symmetric array C, which the operator takes over, and a thin Q."""

    def __init__(self, C: Array, row_scale: Array, deflation: Array | None = None) -> None:
        self.n = C.shape[0]
        self._s = like(C, row_scale)
        self._Q = like(C, np.empty((self.n, 0)) if deflation is None else deflation)
        self._store(C)

    @property
    def uncoupled(self) -> bool:
        return not self._Q.shape[1] and not self.largest_entry()

    def norm_weights(self) -> Array:
        return self._s**2


class UnscaledMatrix(DenseMatrix):
    """J = C. Products with small matrices take 4 % less time without a multiplication by ones."""

    def __init__(self, C: Array) -> None:
        super().__init__(C, np.ones(C.shape[0]))

    def scaled_matmat(self, V: Array) -> Array:
        return self.hollow_kernel_matmat(V)


class MatrixFree(Operator):
    r"""J = Diag(s) C Diag(s) for a ``LinearOperator``, whose diagonal is asked for or read off products."""

    def __init__(self, C: LinearOperator, row_scale: Array) -> None:
        self.n = C.shape[0]
        self._C = C
        self._s = row_scale
        self._d = self._diagonal_of_C()
        self._uncoupled = self._look_beside(self._d)
        self._diagonal = row_scale**2 * self._d

    def _product(self, V: Array) -> Array:
        """C V, finite; from a copy of V, which the user's operator may overwrite."""
        with all_blas_threads(self.n > ONE_THREAD):
            P = as_real("cost", self._C.matmat(V.copy()), "return")
        if P.shape != V.shape:
            raise ValueError(f"`cost` must return products of shape {V.shape}, got shape {P.shape}.")
        check_entries("cost", P, lambda row, column: f"row {row} of a product")
        return P

    def _look_beside(self, d: Array) -> bool:
        """Whether C has nothing but its diagonal d, (n,); an asymmetric C is refused. One block product for both.

        xᵀCy = yᵀCx for a random pair: an asymmetric C passes with probability zero. More columns are random on the rows
        whose number has a certain bit, and zero on the others, where the rounding of a diagonal does not reach. Any two rows
        differ in some bit, so that each entry off the diagonal shows in one of these columns, however small it is.
        """
        bits = (np.arange(self.n)[:, None] >> np.arange((self.n - 1).bit_length())) & 1
        rng = np.random.default_rng(0)
        V = rng.standard_normal((self.n, 2))
        with np.errstate(over="ignore", invalid="ignore"):  # the solver refuses such sizes
            P = self._product(np.hstack([V, bits * rng.standard_normal(bits.shape)]))
            self._check_symmetric(d, V, P[:, :2])
        return not P[:, 2:][bits == 0].any()

    def _check_symmetric(self, d: Array, V: Array, P: Array) -> None:
        G = V.T @ (P - d[:, None] * V)
        asymmetry = abs(G[0, 1] - G[1, 0])
        # The diagonal is taken off, but not the rounding that it caused.
        rounding = ROUNDINGS * UNIT * math.sqrt(self.n) * np.abs(d * V[:, 0] * V[:, 1]).max()
        if asymmetry > self.n * max(_SYMMETRY * np.abs(G).max(), rounding):
            raise ValueError(f"`cost` must be symmetric, got x'Cy = {G[0, 1]:.6g} and y'Cx = {G[1, 0]:.6g}.")

    def _diagonal_of_C(self) -> Array:
        if hasattr(self._C, "diagonal"):
            d = np.asarray(as_real("cost", self._C.diagonal(), "return"), dtype=np.float64)
            if d.shape != (self.n,):
                raise ValueError(f"`cost` must have a diagonal of shape ({self.n},), got shape {d.shape}.")
            check_entries("cost", d, lambda row: f"row {row} of its diagonal")
            return d
        found = np.empty(self.n)
        for rows in blocks(0, self.n, TILE):
            E = np.eye(self.n, rows.stop - rows.start, -rows.start)  # columns of the identity
            found[rows] = self._product(E)[rows].diagonal()
        return found

    def core_matmat(self, V: Array) -> Array:
        s = self._s[:, None]
        V = s * V
        return np.asfortranarray(s * (self._product(V) - self._d[:, None] * V))

    def offset(self) -> Array:
        return self._diagonal

    def norm_weights(self) -> Array:
        return self._s**2

    @property
    def uncoupled(self) -> bool:
        return self._uncoupled

    def rounding_in(self, metric: Metric, upper: float) -> float:
        return self.product_error * upper + largest(metric.solve(self.diagonal_rounding()[:, None]))

    def diagonal_rounding(self) -> Array:
        r"""The diagonal is taken off products of which it is a part, and which may have been summed in any order.

        A sum of n terms that begins with :math:`J_{ii} v_i` rounds that term up to n times, and scaling, multiplication and
        difference a few times more: :math:`\gamma_{n+8} |J_{ii}| \lVert v_i\rVert`. The diagonal may have been read off a
        product, and then has as large an error. As signs of errors are random, ``product_error`` is enough for any n.
        """
        return 2 * min(gamma(self.n + ROUNDINGS), self.product_error) * abs(self._diagonal)


def as_operator(cost: Any, diagonal: Array | None = None) -> Operator:
    r"""Wrap a symmetric cost so that :math:`B_{ii} = d_i` becomes a unit diagonal: :math:`J = D^{1/2} C D^{1/2}`."""
    if isinstance(cost, Operator):
        if diagonal is not None:
            raise ValueError("`diagonal` must be None when `cost` is an Operator: scale the operator instead.")
        return cost
    device = cost.device if is_sparse(cost) else None
    if device is not None:
        cost = _from_sparse_tensor(cost)
    if isinstance(cost, LinearOperator) or sparse.issparse(cost) or is_foreign(cost):
        check_real("cost", cost)
    else:
        cost = as_real("cost", cost)
    if len(cost.shape) != 2 or cost.shape[0] != cost.shape[1] or cost.shape[0] == 0:
        raise ValueError(f"`cost` must be a square symmetric matrix, got shape {cost.shape}.")
    n = cost.shape[0]
    s = np.ones(n) if diagonal is None else np.sqrt(check_vector("diagonal", diagonal, n))
    if isinstance(cost, LinearOperator):
        return MatrixFree(cost, s)
    if sparse.issparse(cost):
        cost = sparse.csr_array(cost, dtype=np.float64)
        check_entries("cost", cost.data, lambda k: _place_in(cost, k))
        asymmetry = abs(cost - cost.T).max()
        if asymmetry:
            d = cost.diagonal()
            _check_symmetric(n, asymmetry, abs(cost - sparse.diags_array(d)).max(), largest(abs(d)))
        if device is None:
            return SparseMatrix(cost, s)
        from .cuda.sparse import CudaSparseMatrix

        return CudaSparseMatrix(cost, s, device)
    cost = owned(cost)
    check_entries("cost", cost)
    if not _is_symmetric(cost):
        with np.errstate(over="ignore"):
            asymmetry = largest(abs(cost - cost.T))
        _check_symmetric(n, asymmetry, largest(hollow(abs(cost))), largest(abs(namespace(cost).linalg.diagonal(cost))))
        half = 0.5 * cost  # first, or else the sum may overflow
        cost = half + half.T
    return UnscaledMatrix(cost) if diagonal is None else DenseMatrix(cost, s)


def _from_sparse_tensor(cost: Any) -> sparse.csr_array:
    """A sparse tensor on a CUDA device as a matrix of SciPy; others are refused."""
    if find_device(None, cost) is None and not is_interpreted():
        raise ValueError(
            f"`cost` must be a dense tensor, a sparse tensor on a CUDA device or a SciPy sparse matrix, got a tensor of "
            f"layout {cost.layout} on {cost.device}."
        )
    check_real("cost", cost)
    C = cost.detach().to_sparse_csr()
    parts = (as_numpy(part) for part in (C.values(), C.col_indices(), C.crow_indices()))
    return sparse.csr_array(tuple(parts), shape=tuple(cost.shape))


def _place_in(C: sparse.csr_array, k: int) -> str:
    """Where the k-th of the stored entries stands."""
    return f"row {np.searchsorted(C.indptr, k, side='right') - 1}, column {C.indices[k]}"


def _is_symmetric(C: Array) -> bool:
    """Whether C equals its transpose; rows are compared with columns a few at a time, so that both stay in cache."""
    return all(all_nonzero(C[rows, rows.start :] == C[rows.start :, rows].T) for rows in blocks(0, C.shape[0], TILE))


def _check_symmetric(n: int, asymmetry: float, off_diagonal: float, diagonal: float) -> None:
    """Raise unless rounding explains max|C - Cᵀ|, given the largest entries off the diagonal and on it.

    An array like Q Qᵀ, which is the identity and what is left of zeros, has the rounding of its diagonal off the diagonal.
    """
    if asymmetry > max(_SYMMETRY * off_diagonal, gamma(n + ROUNDINGS) * diagonal):
        raise ValueError(
            f"`cost` must be symmetric, got max|C - C.T| = {asymmetry:.3g} with entries of up to {off_diagonal:.3g} "
            f"off the diagonal."
        )
