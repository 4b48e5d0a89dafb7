r"""Where new rows are placed: √d(x) from the origin, d being the bound on the diagonal of B, and in which direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._utils.arrays import Array, as_numpy
from .._utils.checks import check_vector
from ..kernels.base import FittedKernel
from ..operators import KernelOperator
from ..sdp.extension import unit_solutions
from .data import Sample
from .extension import Attention, Diagonal

# Contrast below which d(x_i) is what rounding leaves of two equal terms.
_CONSTANT_KERNEL = 1e-12
# Bounds on log ρ(x): beyond them the quadratic term is negligible, or all there is, and squares would overflow.
_LARGEST_LOG = 230.0


@dataclass(frozen=True)
class KernelDiagonal:
    r"""The paper's :math:`d(x) = k(x,x)/m_e(x) - m_e(x)/M`, which on the sample is diag(Abar)."""

    M: float

    def factor(self, unit: float) -> float:
        return 1 / unit

    def on_sample(self, X: Array | None, rows: Array, operator: KernelOperator) -> Array:
        """Entries that are zero to rounding come back as exactly zero."""
        return np.where(as_numpy(operator.contrast()) > _CONSTANT_KERNEL, as_numpy(operator.abar_diagonal()), 0.0)

    def log_radius(self, attention: Attention) -> Array:
        k, log_m = attention.similarity, attention.log_mass
        # d = k/m (1 - m²/(kM)), where m²/(kM) < 1 (Lemma 1 of the paper) up to rounding; in this form nothing overflows.
        with np.errstate(divide="ignore"):
            bracket = np.log1p(-np.minimum(np.exp(2 * log_m - math.log(self.M)) / k, 1.0))
            return 0.5 * (np.log(k) - log_m + bracket - math.log(attention.unit))


class _OwnDiagonal:
    """A bound d(x) that does not depend on weights."""

    def factor(self, unit: float) -> float:
        return 1.0


@dataclass(frozen=True)
class ConstantDiagonal(_OwnDiagonal):
    """d(x) = 1."""

    def on_sample(self, X: Array | None, rows: Array, operator: KernelOperator) -> Array:
        return np.ones(operator.n)

    def log_radius(self, attention: Attention) -> Array:
        return np.zeros(attention.X.shape[0])


@dataclass(frozen=True)
class NearestDiagonal(_OwnDiagonal):
    """d(x) of the training point most similar to x: the given values on the sample, a step function beyond."""

    d: Array

    def on_sample(self, X: Array | None, rows: Array, operator: KernelOperator) -> Array:
        return self.d

    def log_radius(self, attention: Attention) -> Array:
        return 0.5 * np.log(self.d[attention.nearest])


@dataclass(frozen=True)
class CallableDiagonal(_OwnDiagonal):
    """d(x) from a user's function of rows, checked."""

    function: Callable[[Array], Array]

    def __call__(self, X: Array, numbers: Array) -> Array:
        """d at rows of these numbers."""
        return check_vector("diagonal", self.function(X.copy()), X.shape[0], numbers=numbers)  # it may overwrite them

    def on_sample(self, X: Array | None, rows: Array, operator: KernelOperator) -> Array:
        if X is None:
            raise ValueError(
                "`est` must have kept the rows that a callable `diagonal` is applied to, got a model without them."
            )
        return self(X, rows)

    def log_radius(self, attention: Attention) -> Array:
        return 0.5 * np.log(self(attention.X, attention.numbers))


class SampledDiagonal(Diagonal, Protocol):
    """A bound d(x) that is known on the sample, too."""

    def on_sample(self, X: Array | None, rows: Array, operator: KernelOperator) -> Array:
        """d at the points X of the operator, shape (n,), which have the row numbers ``rows``.

        X is None where a model has not kept them. d is that of the operator's weights, which count in a unit: for
        those that were given it is ``factor(unit)`` times as large.
        """

    def factor(self, unit: float) -> float: ...


def resolve_diagonal(
    diagonal: str | Array | Callable, sample: Sample, kernel: FittedKernel, operator: KernelOperator
) -> SampledDiagonal:
    """The rule that gives d."""
    if isinstance(diagonal, str):
        if diagonal == "constant":
            return ConstantDiagonal()
        if diagonal == "kernel":
            return KernelDiagonal(operator.M)
        raise ValueError(f"`diagonal` must be 'kernel', 'constant', an array or a callable, got {diagonal!r}.")
    if callable(diagonal):
        return CallableDiagonal(diagonal)
    return NearestDiagonal(given_diagonal(diagonal, sample, kernel.points))


def given_diagonal(diagonal: Array, sample: Sample, points: Array | None) -> Array:
    """d at the points, (n,), from an array with an entry for every row; equal rows must have equal entries.

    d is a function of x: new points take its values, too. Points that are known by their distances or kernel values alone,
    where ``points`` is None, are not compared.
    """
    given = check_vector("diagonal", diagonal, len(sample.place))
    same = sample.rows  # the first of the rows that are equal to a point
    if points is not None:
        _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
        same = sample.rows[first[inverse.ravel()]]
    other = np.flatnonzero((sample.place >= 0) & (given[same[sample.place]] != given))
    if len(other):
        row, equal = int(other[0]), int(same[sample.place[other[0]]])
        raise ValueError(
            f"`diagonal` must be the same for equal rows of X, got {float(given[equal])!r} at row {equal} and "
            f"{float(given[row])!r} at row {row}."
        )
    return given[sample.rows]


@dataclass(frozen=True, eq=False)
class SpreadDirections:
    r"""Directions for the strictly concave program: that of a row comes from an equation of its own.

    With unit rows h_i, weights :math:`e_i = w_i \sqrt{s\, d_i \bar A_{ii}}` and :math:`\Lambda = \sum_j e_j h_j h_j^\top`, a
    row of the optimum of :math:`\max \operatorname{Tr}(J Z) - \frac12 \sum_{ij} e_i e_j Z_{ij}^2` satisfies

    .. math:: h_i\, (y_i + e_i \Lambda) = (J H)_i , \qquad \lVert h_i\rVert = 1 ,

    with y_i the largest number for which this holds. A new point x has the same equation, with the extended row of J on the
    right. Weights of rows and √d(x) cancel: with the mean of :mod:`elliptope.estimators.extension`, in the basis in which Λ
    is diagonal,

    .. math:: h_\ell(x) = \frac{\rho(x)\, \text{mean}_\ell(x)}{z + \lambda_\ell - \lambda_{\min}} , \qquad
              \rho(x) = \Big(\frac{m_e(x)}{s\, \bar a_e(x, x)}\Big)^{1/2} ,

    where z ≥ 0 is such that :math:`\lVert h(x)\rVert = 1`.
    """

    s: float
    M: float
    values: Array  # (r,): eigenvalues of Λ, ascending
    basis: Array  # (r, r): its eigenvectors

    @classmethod
    def of(cls, s: float, M: float, H: Array, e: Array) -> SpreadDirections:
        """For the factor H, (n, r), and weights e of its rows."""
        values, basis = np.linalg.eigh(H.T @ (e[:, None] * H))
        return cls(s, M, values, basis)

    def turned(self, V: Array) -> SpreadDirections:
        """For the columns H V, V being orthogonal."""
        return replace(self, basis=V.T @ self.basis)

    def directions(self, attention: Attention) -> Array:
        """Unit rows h(x), (b, r); zero where the mean vanishes."""
        # d(x) = diag(Abar), whatever the bound on the diagonal is, of weights in the unit.
        log_radius = KernelDiagonal(self.M).log_radius(attention) + 0.5 * math.log(attention.unit)
        log_rho = 0.5 * (attention.log_mass - math.log(self.s)) - log_radius
        rho = np.exp(np.clip(log_rho, -_LARGEST_LOG, _LARGEST_LOG))
        G = rho[:, None] * (attention.mean @ self.basis)
        return unit_solutions(G, self.values - self.values[0]) @ self.basis.T
