r"""Metrics: how lengths of directions, residuals and negative eigenvalues are measured.

A metric is a positive definite M, given through a root: :math:`M^{-1} = E^\top E`. Whitened coordinates q stand for the
direction :math:`E^\top q`, so that :math:`E L E^\top` has the eigenvalues of the pencil (L, M).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from .._utils.arrays import Array, largest, namespace, total


class Metric(ABC):
    """A positive definite n × n matrix M."""

    largest: float  # a bound on the largest eigenvalue of M

    @abstractmethod
    def solve(self, V: Array) -> Array:
        r""":math:`M^{-1} V`, shape (n, r)."""

    @abstractmethod
    def whiten(self, V: Array) -> Array:
        r""":math:`E^{-\top} V`: directions in whitened coordinates."""

    @abstractmethod
    def unwhiten(self, Q: Array) -> Array:
        r""":math:`E^\top Q`: whitened coordinates back to directions."""

    @abstractmethod
    def whiten_gradient(self, G: Array) -> Array:
        r""":math:`E G`, for what pairs with directions."""

    @abstractmethod
    def total(self, objective: float) -> float:
        r"""A bound on :math:`\langle M, Z\rangle` over the Z of the elliptope that attain ``objective`` or more."""

    def diagonal(self) -> Array:
        """v, shape (n,), where M = Diag(v)."""
        raise TypeError(f"{type(self).__name__} is not diagonal.")


class DiagonalMetric(Metric):
    """M = Diag(v), v positive: every row has its own unit of length."""

    def __init__(self, v: Array) -> None:
        self.v = v
        self._inverse = (1 / v)[:, None]

    @property
    def largest(self) -> float:  # type: ignore[override]
        return largest(self.v)

    @property
    def _root(self) -> Array:
        return namespace(self.v).sqrt(self.v)

    def solve(self, V: Array) -> Array:
        return self._inverse * V

    def whiten(self, V: Array) -> Array:
        return self._root[:, None] * V

    def unwhiten(self, Q: Array) -> Array:
        return Q / self._root[:, None]

    def whiten_gradient(self, G: Array) -> Array:
        return self.unwhiten(G)

    def total(self, objective: float) -> float:
        return total(self.v)

    def diagonal(self) -> Array:
        return self.v
