"""A feasible H with its product by J, and everything that follows from these two."""

from __future__ import annotations

import math
from functools import cached_property

from scipy.linalg.lapack import dsygv

from .._utils.arrays import Array, all_zero, as_numpy, inner, is_single, largest, namespace, row_norms, smallest, total
from ..operators.metric import DiagonalMetric, Metric
from .quadratic import Quadratic
from .steps import measure

# Products and diagonals up to this size, and products from its inverse on, have squares that neither overflow nor underflow,
# summed over as many rows as there may be.
_LARGEST = 1e140
# 1/‖p_i‖ beyond this means that p_i is zero.
_FREE = 1e300
# Part of the absolute slacks that rounding may make of their sum; in single precision, of which the sum is a double. Where
# products have six digits, over the root of n, as the errors of rows have random signs.
_ROUNDING = 1e-14
_ROUNDING_SINGLE = 1e-7


class Iterate:
    r"""A feasible H, (n, r), with its product P by the core :math:`J_0 = J - \operatorname{Diag}(e)`.

    .. math:: p_i = (J_0 H)_i, \qquad \text{slack}_i = h_i \cdot p_i, \qquad y = \text{slack} + e, \qquad
              \text{residual}_i = (LH)_i = (h_i \cdot p_i)\, h_i - p_i .

    Where the core is hollow, the slack is diag(L). Nothing but ``y`` and ``objective`` involves the offset e, so that
    nothing else suffers from its rounding. ``gain`` is the objective less Σe: where the core is hollow, what is won over
    B = Diag(d), whatever diagonal J carries. The ``defect`` is of the size of the gap,

    .. math:: \big(\langle LH, M^{-1} LH\rangle / \text{gain}\big)^{1/2} .

    Rows count by how much the gain depends on them, so that a few weak ones do not hide that the gap is closed.

    With a ``quadratic`` term P and the offset are those of :math:`J - EZE`, the cost of the linear program that Z solves if
    it is optimal, and so are slack, y and residual; gain and objective are those of the program itself:
    :math:`\text{gain} = \sum_i \text{slack}_i + \tfrac12 \sum_{i \ne j} e_i e_j Z_{ij}^2`, what is won over Z = I.

    A ``rough`` iterate has a product of six digits only.
    """

    def __init__(
        self,
        H: Array,
        P: Array,
        offset: Array,
        own_metric: Metric | None = None,
        quadratic: Quadratic | None = None,
        *,
        rough: bool = False,
    ) -> None:
        self.H, self.P, self.offset, self.own_metric, self.quadratic = H, P, offset, own_metric, quadratic
        self.rough = rough
        rows = measure(H, P)
        self.slack, self.residual, self.inverse_pull = rows.slack, rows.residual, rows.inverse
        if largest(rows.inverse) > _FREE:  # a row that no other holds has no scale: that of the strongest will do
            free = rows.inverse > _FREE
            self.inverse_pull = namespace(P).where(free, smallest(rows.inverse), rows.inverse)
        self.gain, self.absolute = rows.total, rows.absolute
        square = rows.square
        if quadratic is not None:
            self.gain += 0.5 * (quadratic.square - quadratic.own)
            self.absolute += 0.5 * (quadratic.square + quadratic.own)
        if own_metric is not None or quadratic is not None:
            square = inner(self.residual, self.displacement)
        size = self.gain if self.gain > 0 else self.absolute
        self.defect = 0.0 if size == 0 else math.sqrt(max(square, 0.0) / size)

    @cached_property
    def y(self) -> Array:
        return self.slack + self.offset

    @cached_property
    def objective(self) -> float:
        return self.gain + total(self.offset) + (0.5 * self.quadratic.own if self.quadratic is not None else 0.0)

    @property
    def rounding(self) -> float:
        """Changes of the gain up to this are put down to rounding."""
        if self.rough:
            return _ROUNDING_SINGLE / math.sqrt(self.H.shape[0]) * self.absolute
        return (_ROUNDING_SINGLE if is_single(self.H) else _ROUNDING) * self.absolute

    @cached_property
    def pull(self) -> Array:
        """Length of p_i: how strongly the other rows hold row i, the slack at an optimum, and the natural scale of row i."""
        return row_norms(self.P)

    @cached_property
    def scale(self) -> Array:
        """The pulls, except of rows that no other holds, which have the largest one."""
        return 1 / self.inverse_pull

    @cached_property
    def metric(self) -> Metric:
        """The operator's own metric; or else the diagonal of pulls."""
        return self.own_metric or DiagonalMetric(self.scale)

    @cached_property
    def displacement(self) -> Array:
        r""":math:`M^{-1} L H`: how far rows are from where they ought to be; shape (n, r)."""
        return self.precondition(self.residual)

    def precondition(self, V: Array) -> Array:
        r""":math:`M^{-1} V`; with a quadratic term :math:`V_{ik} / (v_i + e_i G_{kk})`, v being the pulls.

        The part of the Hessian that belongs to row i alone is :math:`v_i + e_i G` near an optimum; G is almost diagonal
        where the columns of H are its principal axes (:func:`~elliptope.sdp.factors.principal_axes`).
        """
        return self.metric.solve(V) if self.quadratic is None else self._inverse_curvature * V

    @cached_property
    def _inverse_curvature(self) -> Array:
        assert self.quadratic is not None
        return 1 / (self.scale[:, None] + self.quadratic.e[:, None] * self.quadratic.lengths)

    @cached_property
    def stationarity(self) -> float:
        """The farthest displacement of a row: zero exactly at critical points."""
        return largest(row_norms(self.displacement))

    @cached_property
    def least_gap(self) -> float:
        r"""The relative gap that no proof in this metric can undercut; NaN where rounding leaves nothing to tell.

        :math:`L + sM \succeq 0` only if it is so on the range of H, where :math:`H^\top L H` is small but need not be psd.
        Near an optimum the pulls are the slacks, in which proofs are made.
        """
        W = self.metric.whiten(self.H)
        values, _, info = dsygv(as_numpy(self.H.T @ self.residual), as_numpy(W.T @ W), jobz="N")
        if info or not self.gain > 0:
            return math.nan
        return -float(values[0]) * self.metric.total(self.objective) / self.gain

    @cached_property
    def isolated(self) -> bool:
        """Whether no row is held by any other, which is so where J is diagonal."""
        return all_zero(self.P) if self.quadratic is None else self.quadratic.uncoupled


def check_size(iterate: Iterate) -> None:
    """Refuse a cost whose products are not finite, or so large or small that their squares overflow or underflow."""
    size, diagonal, least = largest(abs(iterate.P)), largest(abs(iterate.offset)), 1 / _LARGEST
    if not (size == 0 or least <= size <= _LARGEST) or not diagonal <= _LARGEST:
        raise ValueError(
            f"`cost`, scaled by `diagonal`, must have a diagonal of at most {_LARGEST:g}, and products with vectors of size "
            f"1 between {least:g} and {_LARGEST:g}, got {diagonal:.3g} and {size:.3g}; multiply it by a constant."
        )
