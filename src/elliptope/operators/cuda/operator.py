r"""The kernel matrix recomputed at every product on a CUDA device, by fused kernels: nothing n × n is ever stored.

**Precision.** Products are in float64. Their entries come from one matrix product per tile where the Gaussian is wide enough
for that (see :mod:`~elliptope.operators.tiled.gaussian`, whose bound holds here, too), else from differences of coordinates.
The operator offers the solver products that are good to about six digits and several times as fast.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..._utils.arrays import Array
from ...kernels.base import Kernel
from ..base import Operator, SingleOperator
from ..recomputed import RecomputedOperator, TileErrors
from .errors import gaussian_errors, single_dot_error
from .products import DoubleProducts, Products, Profile, SingleProducts

# Relative error of an entry up to which tiles in float64 come from a matrix product (as on the CPU), and the same for tiles
# of the faster grade: their differences of coordinates cost twice the time.
_DOUBLE_ERROR = 1e-9
_SINGLE_ERROR = 1e-4
# Largest error of entries that are still of use in early steps.
_USABLE_ERROR = 1e-2


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
        Z = (X - X.mean(dim=0)) * (math.sqrt(2) * self._profile.scale)  # of natural size: log2 k is -½|z - z'|² for the Gaussian
        errors = TileErrors(torch.zeros_like(self._ones), 0.0)
        dot = False
        if self._profile.is_gaussian:
            bounds = gaussian_errors(Z)
            dot = bounds.largest_entry <= _DOUBLE_ERROR
        if dot:
            self._products: Products = DoubleProducts(Z, self._profile, True)
            errors = TileErrors(bounds.entry, self._products.sum_error)
        else:
            # Scaled by a power of two, which is exact, so that squares neither overflow nor underflow.
            _, exponent = math.frexp(self._profile.scale)
            scaled = torch.ldexp(X, torch.tensor(exponent, device=X.device))
            self._products = DoubleProducts(scaled, self._profile.rescaled(2.0**-exponent), False)
        self._Z = Z
        super().__init__(len(X), errors, sample_weight)

    def product(self, V: Array, squared: bool = False) -> Array:
        return self._products.hollow_matmat(V, squared)

    def kernel_diagonal(self) -> Array:
        return self._ones

    def single(self) -> Operator | None:
        size = float(torch.linalg.vecdot(self._Z, self._Z).max())
        dot = self._profile.is_gaussian and single_dot_error(size, self._Z.shape[1]) <= _SINGLE_ERROR
        if not dot and 2.0**-22 * math.sqrt(size) > _USABLE_ERROR:
            return None
        if getattr(self, "_single", None) is None:
            profile = self._profile if dot else self._profile.rescaled(1 / (math.sqrt(2) * self._profile.scale))
            self._single = SingleProducts(self._Z, profile, dot)
        return SingleOperator(self, self._single.hollow_matmat)

    @property
    def block_width(self) -> int:
        return 8
