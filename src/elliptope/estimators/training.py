"""What a fitted estimator keeps of the data that it was fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array
from ..sdp import Certificate
from .diagonals import SampledDiagonal, SpreadDirections
from .extension import Extension, LinearExtension
from .groups import Groups


@dataclass(frozen=True, eq=False)
class Training:
    """The n points of the program, and what embeds new ones. Read it, and change nothing in it."""

    rows: Array  # (n,): the row of X, or the first of equal rows, that each point is; in any order
    normalize: str | None  # as it was in ``fit``
    extension: Extension | LinearExtension

    def in_order(self, values: Array) -> Array:
        """Values at the points, in the order of their rows."""
        return values[np.argsort(self.rows)]

    @property
    def points(self) -> Array | None:
        """(n, p); None where ``fit`` was given a kernel matrix or a graph of distances."""
        return self.extension.kernel.points

    @property
    def weights(self) -> Array:
        """(n,): those of the program."""
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
    components: Array  # (n, r): Ξ at the points
    spread: SpreadDirections | None = None  # the rule for directions, where the program has a quadratic term
    diffusion_time: int = 1


@dataclass(frozen=True, eq=False)
class Scale:
    """A fitted part of a :class:`~elliptope.MultiscaleEmbedding`."""

    diffusion_time: int
    spread: float  # s, the weight of the quadratic term
    weight: float  # ω, the length of its rows
    certificate: Certificate
    status: str
    eigenvalues: Array  # (r,): of B* on L²(w), descending
    n_iter: int
    n_products: int
    components: Array  # (n, r): Ξ at the points
    directions: SpreadDirections | None  # the rule for directions, where there is a quadratic term


@dataclass(frozen=True, eq=False)
class MultiscaleTraining(Training):
    """Of a :class:`~elliptope.MultiscaleEmbedding`: the extension has the columns of all scales, one after the other."""

    extension: Extension
    scales: tuple[Scale, ...]
    groups: Groups | None  # the scale of infinite time, where the graph of the kernel is not connected
    axes: Array  # (c, a): eigenvectors of the learned kernel, in the columns of all scales

    def __post_init__(self) -> None:
        columns = sum(scale.components.shape[1] for scale in self.scales)
        if columns != self.extension.F.shape[1]:
            raise ValueError(f"the extension has {self.extension.F.shape[1]} columns and the scales have {columns}")

    def parts(self) -> Iterator[tuple[Scale, slice]]:
        """Every scale with its columns."""
        start = 0
        for scale in self.scales:
            end = start + scale.components.shape[1]
            yield scale, slice(start, end)
            start = end


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
