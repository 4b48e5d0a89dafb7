"""J from a sparse matrix on a CUDA device: a kernel matrix, or a cost that users give as a sparse tensor.

Programs with a quadratic term, whose factors have many columns, ascend in single precision; other products are in float64.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import torch
from scipy import sparse

from ..._utils.arrays import Array, row_dots
from ..base import ScaledOperator, Series
from ..sparse import SparseMatrix, SparseOperator, SparseStorage
from .csr import csr_product
from .recording import Recording

# Columns that one launch takes at most; numbers of a program's sums; entries of a row that it takes at a time.
_WIDEST, _SUMS, _ENTRIES = 64, 512, 32


class DeviceStorage(SparseStorage):
    """A sparse symmetric matrix, hollow, on a device.

    Products are the same bits at every run. Proofs by factorisation, up to n = 10 000, are made on the CPU.
    """

    _device: Any
    _scaled_values: Any = None
    _whole_diagonal: Any = None

    def _store(self, K: sparse.csr_array, n_jobs: int = 1) -> None:
        super()._store(K, n_jobs)
        parts = ((self._K.indptr, torch.int64), (self._K.indices, torch.int32), (self._K.data, torch.float64))
        self._starts, self._indices, self._values = (torch.tensor(x, dtype=dtype, device=self._device) for x, dtype in parts)
        self._rows_of_entries = torch.repeat_interleave(torch.diff(self._starts))
        self._diagonal_of_K = torch.tensor(self._diagonal_of_K, device=self._device)
        self._nothing = torch.zeros_like(self._diagonal_of_K)
        self._recording = Recording()

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._product(self._values, self._nothing, V)

    def core_matmat(self, V: Array) -> Array:
        return self._with_diagonal(self._own(), V)

    def matmat(self, V: Array) -> Array:
        return self._with_diagonal(self._scaled_diagonal(), V)

    def deflated(self, Q: Array) -> Self:
        self._scale_values()  # for both
        J = ScaledOperator.deflated(self, Q)
        J._squares, J._recording = None, Recording()
        return J

    def float32(self) -> Self:
        J = copy(self)
        J._scaled_values = self._scale_values()
        for name in ("_scaled_values", "_s", "_Q", "_diagonal_of_K", "_nothing"):
            setattr(J, name, getattr(J, name).to(torch.float32))
        J._squares = J._whole_diagonal = None
        J._recording = Recording()
        return J

    def polynomial(self, q: Series, V: Array) -> Array:
        return self._recording.play(lambda W: q.apply(self.matmat, W), V, q.coefficients)

    @property
    def block_width(self) -> int:
        """Indices are read once for all columns."""
        return 8

    def _with_diagonal(self, diagonal: Any, V: Any) -> Any:
        """Diag(s) K Diag(s) V with another diagonal, less QQᵀV."""
        P = self._product(self._scale_values(), diagonal, V)
        return P.addmm_(self._Q, self._Q.T @ V, alpha=-1.0) if self._Q.shape[1] else P

    def _scale_values(self) -> Any:
        if self._scaled_values is None:
            self._scaled_values = self._values * self._s[self._rows_of_entries] * self._s[self._indices]
        return self._scaled_values

    def _scaled_diagonal(self) -> Any:
        if self._whole_diagonal is None:
            self._whole_diagonal = self._s**2 * self._diagonal_of_K
        return self._whole_diagonal

    def _own(self) -> Any:
        if self._squares is None:
            self._squares = row_dots(self._Q, self._Q) if self._Q.shape[1] else self._nothing
        return self._squares

    def _product(self, values: Any, diagonal: Any, V: Any) -> Any:
        r = V.shape[1]
        if r > _WIDEST:
            parts = [self._product(values, diagonal, V[:, k : k + _WIDEST]) for k in range(0, r, _WIDEST)]
            return torch.cat(parts, dim=1)
        V, out = V.contiguous(), torch.empty((self.n, r), dtype=values.dtype, device=values.device)
        width = max(1 << (r - 1).bit_length(), 2)
        chunk = min(_SUMS // width, _ENTRIES)
        csr_product[(self.n,)](self._starts, self._indices, values, diagonal, V, out, r, R=width, CHUNK=chunk, num_warps=1)
        return out


class CudaSparseOperator(DeviceStorage, SparseOperator):
    """J from a sparse symmetric kernel matrix ``K`` of SciPy, with products on a ``device``."""

    def __init__(self, K: sparse.csr_array, device: Any, sample_weight: Array | None = None) -> None:
        self._device = device
        super().__init__(K, sample_weight)

    def set_row_scale(self, t: Array) -> None:
        super().set_row_scale(t)
        self._scaled_values = self._whole_diagonal = None
        self._recording = Recording()


class CudaSparseMatrix(DeviceStorage, SparseMatrix):
    """J = Diag(s) C Diag(s) for the symmetric part of a sparse matrix C of SciPy, with products on a ``device``."""

    def __init__(self, C: sparse.csr_array, row_scale: Array, device: Any) -> None:
        self._device = device
        super().__init__(C, row_scale)
        self._s = torch.tensor(row_scale, device=device)
        self._Q = torch.empty((self.n, 0), dtype=torch.float64, device=device)
