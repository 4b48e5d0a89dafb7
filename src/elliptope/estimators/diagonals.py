r"""The bound d(x) on the diagonal of B: on the sample, and beyond it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_vector
from ..kernels.base import FittedKernel
from ..operators import KernelOperator
from .extension import Attention, Diagonal
from .sample import Sample

# Contrast below which d(x_i) is what rounding leaves of two equal terms.
_CONSTANT_KERNEL = 1e-12


@dataclass(frozen=True)
class KernelDiagonal:
    r"""The paper's :math:`d(x) = k(x,x)/m_e(x) - m_e(x)/M`, which on the sample is diag(Abar)."""

    kernel: FittedKernel
    M: float

    def on_sample(self, X: Array | None, operator: KernelOperator) -> Array:
        """Entries that are zero to rounding come back as exactly zero."""
        return np.where(operator.contrast() > _CONSTANT_KERNEL, operator.abar_diagonal(), 0.0)

    def log_radius(self, attention: Attention) -> Array:
        k, log_m = self.kernel.diagonal(attention.X), attention.log_mass
        # d = k/m (1 - m²/(kM)), where m²/(kM) < 1 (Lemma 1 of the paper) up to rounding; in this form nothing overflows.
        with np.errstate(divide="ignore"):
            bracket = np.log1p(-np.minimum(np.exp(2 * log_m - math.log(self.M)) / k, 1.0))
            return 0.5 * (np.log(k) - log_m + bracket)


@dataclass(frozen=True)
class ConstantDiagonal:
    """d(x) = 1."""

    def on_sample(self, X: Array | None, operator: KernelOperator) -> Array:
        return np.ones(operator.n)

    def log_radius(self, attention: Attention) -> Array:
        return np.zeros(attention.X.shape[0])


@dataclass(frozen=True)
class NearestDiagonal:
    """d(x) of the training point most similar to x: the given values on the sample, a step function beyond."""

    d: Array

    def on_sample(self, X: Array | None, operator: KernelOperator) -> Array:
        return self.d

    def log_radius(self, attention: Attention) -> Array:
        return 0.5 * np.log(self.d[attention.nearest])


@dataclass(frozen=True)
class CallableDiagonal:
    """d(x) from a user's function of rows, checked."""

    function: Callable[[Array], Array]

    def __call__(self, X: Array) -> Array:
        return check_vector("diagonal", self.function(X), X.shape[0])

    def on_sample(self, X: Array | None, operator: KernelOperator) -> Array:
        if X is None:
            raise ValueError(
                "`est` must have kept the rows that a callable `diagonal` is applied to, got a model without them."
            )
        return self(X)

    def log_radius(self, attention: Attention) -> Array:
        return 0.5 * np.log(self(attention.X))


class SampledDiagonal(Diagonal, Protocol):
    """A bound d(x) that is known on the sample, too."""

    def on_sample(self, X: Array | None, operator: KernelOperator) -> Array:
        """d at the points X of the operator, shape (n,). X is None where a model has not kept them."""


def resolve_diagonal(
    diagonal: str | Array | Callable, sample: Sample, kernel: FittedKernel, operator: KernelOperator
) -> SampledDiagonal:
    """The rule that gives d."""
    if isinstance(diagonal, str):
        if diagonal == "constant":
            return ConstantDiagonal()
        if diagonal == "kernel":
            return KernelDiagonal(kernel, operator.M)
        raise ValueError(f"`diagonal` must be 'kernel', 'constant', an array or a callable, got {diagonal!r}.")
    if callable(diagonal):
        return CallableDiagonal(diagonal)
    return NearestDiagonal(check_vector("diagonal", diagonal, len(sample.place))[sample.rows])
