"""J from a sparse matrix on a CUDA device: a kernel matrix, or a cost that users give as a sparse tensor."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import torch
from scipy import sparse

from ..._utils.arrays import Array
from ..base import Operator, ScaledOperator, SingleOperator
from ..sparse import SparseMatrix, SparseOperator, SparseStorage
from .csr import csr_product
from .products import power_of_two

# Columns that one launch takes at most; numbers of a program's sums; entries of a row that it takes at a time.
_WIDEST, _SUMS, _ENTRIES = 64, 512, 32


class DeviceStorage(SparseStorage):
    """A sparse symmetric matrix, hollow, on a device.

    Products are the same bits at every run. Proofs by factorisation, up to n = 10 000, are made on the CPU.
    """

    _device: Any

    def _store(self, K: sparse.csr_array, n_jobs: int = 1) -> None:
        super()._store(K, n_jobs)
        parts = ((self._K.indptr, torch.int64), (self._K.indices, torch.int32), (self._K.data, torch.float64))
        self._starts, self._indices, self._values = (torch.tensor(x, dtype=dtype, device=self._device) for x, dtype in parts)
        self._diagonal_of_K = torch.tensor(self._diagonal_of_K, device=self._device)

    def hollow_kernel_matmat(self, V: Array) -> Array:
        return self._product(self._values, V)

    def core_matmat(self, V: Array) -> Array:
        return ScaledOperator.core_matmat(self, V)

    def deflated(self, Q: Array) -> Self:
        J = ScaledOperator.deflated(self, Q)
        J._squares = None
        return J

    def float32(self) -> None:
        """Products of six digits are what the solver uses instead."""

    def single(self) -> Operator | None:
        return SingleOperator(self, self._single_product)

    @property
    def single_after(self) -> int:
        return 0

    @property
    def single_is_accurate(self) -> bool:
        """Sums of a row are short."""
        return True

    @property
    def block_width(self) -> int:
        """Indices are read once for all columns."""
        return 8

    @cached_property
    def _single_values(self) -> Any:
        return self._values.float()

    def _single_product(self, V: Any) -> Any:
        """In float32, with columns scaled to its range."""
        _, exponents = torch.frexp(V.abs().amax(dim=0))
        P = self._product(self._single_values, (V * power_of_two(-exponents)).float())
        return P.double() * power_of_two(exponents)

    def _product(self, values: Any, V: Any) -> Any:
        r = V.shape[1]
        if r > _WIDEST:
            return torch.cat([self._product(values, V[:, k : k + _WIDEST]) for k in range(0, r, _WIDEST)], dim=1)
        V, out = V.contiguous(), torch.empty((self.n, r), dtype=values.dtype, device=values.device)
        width = max(1 << (r - 1).bit_length(), 2)
        csr_product[(self.n,)](
            self._starts, self._indices, values, V, out, r, R=width, CHUNK=min(_SUMS // width, _ENTRIES), num_warps=1
        )
        return out


class CudaSparseOperator(DeviceStorage, SparseOperator):
    """J from a sparse symmetric kernel matrix ``K`` of SciPy, with products on a ``device``."""

    def __init__(self, K: sparse.csr_array, device: Any, sample_weight: Array | None = None) -> None:
        self._device = device
        super().__init__(K, sample_weight)


class CudaSparseMatrix(DeviceStorage, SparseMatrix):
    """J = Diag(s) C Diag(s) for the symmetric part of a sparse matrix C of SciPy, with products on a ``device``."""

    def __init__(self, C: sparse.csr_array, row_scale: Array, device: Any) -> None:
        self._device = device
        super().__init__(C, row_scale)
        self._s = torch.tensor(row_scale, device=device)
        self._Q = torch.empty((self.n, 0), dtype=torch.float64, device=device)
