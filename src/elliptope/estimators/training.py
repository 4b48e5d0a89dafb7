"""What a fitted estimator keeps of the data that it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass

from .._utils.arrays import Array
from .diagonals import SampledDiagonal
from .extension import Extension, LinearExtension


@dataclass(frozen=True, eq=False)
class Training:
    """The n points of the program, and what embeds new ones. Read it, and change nothing in it."""

    rows: Array  # (n,): the row of X, or the first of equal rows, that each point is
    normalize: str | None  # as it was in ``fit``
    extension: Extension | LinearExtension

    @property
    def points(self) -> Array | None:
        """(n, p); None where ``fit`` was given a kernel matrix or a graph of distances."""
        return self.extension.kernel.points

    @property
    def weights(self) -> Array:
        """(n,)."""
        return self.extension.w

    @property
    def log_density(self) -> Array:
        """``score_samples`` at the points, (n,)."""
        return self.extension.log_density()


@dataclass(frozen=True, eq=False)
class SDPTraining(Training):
    """Of an :class:`~elliptope.SDPEmbedding`."""

    extension: Extension
    diagonal: SampledDiagonal  # the rule for d


@dataclass(frozen=True, eq=False)
class DiffusionTraining(Training):
    """Of a :class:`~elliptope.DiffusionMap`."""

    extension: Extension
    factor: Array  # (k,): λ^t


@dataclass(frozen=True, eq=False)
class RKHSTraining(Training):
    """Of an :class:`~elliptope.RKHSEmbedding`: also what its program is made of."""

    extension: LinearExtension
    d: Array  # (n,): the diagonal at the points
    u: Array  # (n,): the direction at the points
    jitter: float
    place: Array  # (N,): which point each row given to ``fit`` is; -1 where its weight is zero
