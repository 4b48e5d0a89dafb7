r"""The contract that solver, certificate and spectral code use: apply a symmetric J to a thin matrix.

Normalisation, weights and deflation of a kernel are written here once, for every way of storing or recomputing K.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

Array = np.ndarray


class Operator(ABC):
    """A symmetric n × n matrix J that can be applied to thin matrices."""

    n: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n, self.n)

    @abstractmethod
    def matmat(self, V: Array) -> Array:
        """J V, shape (n, r)."""

    def __matmul__(self, V: Array) -> Array:
        return self.matmat(V)

    @abstractmethod
    def diagonal(self) -> Array:
        """diag(J), shape (n,)."""

    @property
    def error_bound(self) -> float:
        r"""Bound on :math:`|\operatorname{Tr}((J - J_{exact}) Z)|` over the elliptope; 0 when J is exact up to rounding."""
        return 0.0

    @property
    def can_factor(self) -> bool:
        """Whether :meth:`triangle` is available, so that optimality can be proved by a factorisation."""
        return False

    def entry_scale(self) -> Array:
        r"""a² such that an entry of :meth:`triangle` is formed with an error of at most 8u :math:`c_i a_i a_j c_j`, (n,)."""
        raise TypeError(f"{type(self).__name__} cannot be factorised.")

    @contextmanager
    def triangle(self, c: Array) -> Iterator[Array]:
        r"""Lend :math:`-\operatorname{Diag}(c) J \operatorname{Diag}(c)`: an (n, n) C-contiguous float64 array.

        The lower triangle may be overwritten freely; the strict upper triangle belongs to the operator.
        """
        raise TypeError(f"{type(self).__name__} cannot be factorised.")
        yield  # pragma: no cover


class KernelOperator(Operator):
    r"""A kernel matrix, normalised as in diffusion maps, deflated, and scaled row by row.

    With degrees :math:`m = K w` and total mass :math:`M = w^\top m`,

    .. math:: \bar A_{ij} = \frac{K_{ij}}{\sqrt{m_i m_j}} - (v_0 v_0^\top)_{ij}, \quad v_0 = \sqrt{m/M},
              \qquad J = \operatorname{Diag}(t)\, \bar A\, \operatorname{Diag}(t).

    The row scale t is :math:`w\sqrt d` for the SDP and :math:`\sqrt w` for the spectrum of Abar on L²(w). J is applied as
    :math:`\operatorname{Diag}(s) K \operatorname{Diag}(s) - Q Q^\top` with a thin deflation basis Q whose first column is
    :math:`t v_0`; neither :math:`v_0 v_0^\top` nor J is stored. Subclasses provide products with the raw kernel.
    """

    def __init__(self, n: int, sample_weight: Array | None = None) -> None:
        self.n = n
        self.w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.m = self.kernel_matmat(self.w[:, None])[:, 0]
        if not (self.m > 0).all():
            raise ValueError(f"`kernel` must have positive row sums, got a minimum of {self.m.min():.6g}.")
        self.M = float(self.w @ self.m)
        self.set_row_scale(np.ones(n))

    @abstractmethod
    def kernel_matmat(self, V: Array) -> Array:
        """K V for the raw kernel, shape (n, r)."""

    @abstractmethod
    def kernel_diagonal(self) -> Array:
        """diag(K), shape (n,)."""

    def set_row_scale(self, t: Array) -> None:
        """Scale rows and columns of Abar by ``t``."""
        self._s = t / np.sqrt(self.m)  # (n,)
        self._Q = (t * np.sqrt(self.m / self.M))[:, None]  # (n, 1): more columns where more directions are deflated

    def matmat(self, V: Array) -> Array:
        s = self._s[:, None]
        G = self.kernel_matmat(s * V)
        G *= s
        G -= self._Q @ (self._Q.T @ V)
        return G

    def diagonal(self) -> Array:
        return self._s**2 * self.kernel_diagonal() - np.einsum("ij,ij->i", self._Q, self._Q)

    def entry_scale(self) -> Array:
        return self._s**2 * self.kernel_diagonal() + np.einsum("ij,ij->i", self._Q, self._Q)

    def abar_diagonal(self) -> Array:
        r""":math:`\operatorname{diag}(\bar A)_i = K_{ii}/m_i - m_i/M`, whatever the row scale."""
        return self.kernel_diagonal() / self.m - self.m / self.M
