r"""The kernel matrix recomputed at every product on a CUDA device, by fused kernels: nothing n × n is ever stored.

**Precision.** Products are in float64. Their entries come from one matrix product per tile where the Gaussian is wide enough
for that (see :mod:`~elliptope.operators.tiled.gaussian`, whose bound holds here, too), else from differences of coordinates.
The operator offers the solver products that are good to about six digits and several times as fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch

from ..._utils.arrays import Array
from ...kernels.base import Kernel
from ..base import Operator, SingleOperator
from ..recomputed import RecomputedOperator, TileErrors
from .errors import gaussian_errors, single_difference_error, single_dot_error
from .products import DoubleProducts, Products, Profile, SingleProducts

# Bound on the relative error of an entry up to which tiles in float64 come from a matrix product, as on the CPU.
_DOUBLE_ERROR = 1e-9
# The same for the faster grade, for entries of typical points; computed ones err by a tenth of that. They are the entries
# of one symmetric matrix, so that steps converge as they do with the exact one, to an optimum next to its own.
_SINGLE_DOT_ERROR = 1e-4
# Error of typical entries up to which most steps of a solve may rely on the faster grade; and of any entry, beyond which it
# is of no use.
_ACCURATE = 1e-4
_USABLE = 1e-2


class CudaOperator(RecomputedOperator):
    r"""J from a kernel and points on a CUDA device, without the kernel matrix.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Matern
        Matérn kernels with ν = 1/2, 3/2, … 21/2.
    X : (n, p) tensor on the device
    sample_weight : (n,) array, optional
        Positive; 1 by default.

    Attributes
    ----------
    relative_error, degree_error
        As for :class:`~elliptope.operators.TiledOperator`.
    """

    def __init__(self, kernel: Kernel, X: Any, sample_weight: Array | None = None) -> None:
        X = X.detach().to(torch.float64)
        self._profile = Profile.of(kernel)
        self._ones = torch.ones(len(X), dtype=torch.float64, device=X.device)
        Z = (X - X.mean(dim=0)) * (math.sqrt(2) * self._profile.scale)  # log2 k = -½‖z - z'‖² for the Gaussian
        errors = TileErrors(torch.zeros_like(self._ones), 0.0)
        dot = False
        if self._profile.is_gaussian:
            bounds = gaussian_errors(Z)
            dot = bounds.largest_entry <= _DOUBLE_ERROR
        if dot:
            self._products = self._make(DoubleProducts, Z, self._profile, True)
            errors = TileErrors(bounds.entry, self._products.grid.sum_error)
        else:
            # Scaled by a power of two, which is exact, so that squares neither overflow nor underflow.
            unit = math.ldexp(1.0, math.frexp(self._profile.scale)[1])
            self._products = self._make(DoubleProducts, X * unit, self._profile.rescaled(1 / unit), False)
        self._Z = Z
        sizes = torch.linalg.vecdot(Z, Z)
        typical = single_dot_error(float(sizes.mean()), Z.shape[1])
        self._rough_dot = self._profile.is_gaussian and typical <= _SINGLE_DOT_ERROR
        self._rough_errors = tuple(self._rough_error(float(size)) for size in (sizes.mean(), sizes.max()))
        super().__init__(len(X), errors, sample_weight)

    def _make(self, kind: Callable[[Any, Profile, bool], Products], Z: Any, profile: Profile, dot: bool) -> Any:
        return kind(Z, profile, dot)

    def product(self, V: Array, squared: bool = False) -> Array:
        return self._products.hollow_matmat(V, squared)

    def kernel_diagonal(self) -> Array:
        return self._ones

    def single(self) -> Operator | None:
        if not self._rough_errors[1] <= _USABLE:
            return None
        return SingleOperator(self, self._rough.hollow_matmat)

    @property
    def single_is_accurate(self) -> bool:
        return self._rough_errors[0] <= _ACCURATE and self._rough_errors[1] <= _USABLE

    def _rough_error(self, size: float) -> float:
        return single_dot_error(size, self._Z.shape[1]) if self._rough_dot else single_difference_error(size)

    @cached_property
    def _rough(self) -> Any:
        """Made when it is needed first, and then kept: it takes little more memory than the points."""
        if self._rough_dot:
            return self._make(SingleProducts, self._Z, self._profile, True)
        profile = self._profile.rescaled(1 / (math.sqrt(2) * self._profile.scale))
        return self._make(SingleProducts, self._Z, profile, False)
