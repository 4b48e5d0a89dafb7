"""A feasible H with its product by J, and everything that follows from these two."""

from __future__ import annotations

import math
from functools import cached_property

from scipy.linalg.lapack import dsygv

from .._utils.arrays import Array, as_numpy, inner, largest, namespace, row_norms, smallest, total
from ..operators.metric import DiagonalMetric, Metric
from .steps import measure

# Products and diagonals up to this size, and products from its inverse on, have squares that neither overflow nor underflow,
# summed over as many rows as there may be.
_LARGEST = 1e140
# 1/‖p_i‖ beyond this means that p_i is zero.
_FREE = 1e300
# Part of the absolute slacks that rounding may make of their sum; where products have six digits, over the root of n, as the
# errors of rows have random signs.
_ROUNDING = 1e-14
_ROUGH_ROUNDING = 1e-7


class Iterate:
    r"""A feasible H, (n, r), with its product P by the core :math:`J_0 = J - \operatorname{Diag}(e)`.

    .. math:: p_i = (J_0 H)_i, \qquad \text{slack}_i = h_i \cdot p_i, \qquad y = \text{slack} + e, \qquad
              \text{residual}_i = (LH)_i = (h_i \cdot p_i)\, h_i - p_i .

    Where the core is hollow, the slack is diag(L). Nothing but ``y`` and ``objective`` involves the offset e, so that
    nothing else suffers from its rounding. ``gain`` is the objective less Σe: where the core is hollow, what is won over
    B = Diag(d), whatever diagonal J carries. The ``defect`` is of the size of the gap,

    .. math:: \big(\langle LH, M^{-1} LH\rangle / \text{gain}\big)^{1/2} .

    Rows count by how much the gain depends on them, so that a few weak ones do not hide that the gap is closed.

    A ``rough`` iterate has a product of six digits only.
    """

    def __init__(
        self, H: Array, P: Array, offset: Array, own_metric: Metric | None = None, *, rough: bool = False
    ) -> None:
        self.H, self.P, self.offset, self.own_metric, self.rough = H, P, offset, own_metric, rough
        rows = measure(H, P)
        self.slack, self.residual, self.inverse_pull = rows.slack, rows.residual, rows.inverse
        if largest(rows.inverse) > _FREE:  # a row that no other holds has no scale: that of the strongest will do
            free = rows.inverse > _FREE
            self.inverse_pull = namespace(P).where(free, smallest(rows.inverse), rows.inverse)
        self.gain, self.absolute = rows.total, rows.absolute
        square = rows.square if own_metric is None else inner(self.residual, self.displacement)
        size = self.gain if self.gain > 0 else self.absolute
        self.defect = 0.0 if size == 0 else math.sqrt(max(square, 0.0) / size)

    @cached_property
    def y(self) -> Array:
        return self.slack + self.offset

    @cached_property
    def objective(self) -> float:
        return self.gain + total(self.offset)

    @property
    def rounding(self) -> float:
        """Changes of the gain up to this are put down to rounding."""
        part = _ROUGH_ROUNDING / math.sqrt(self.H.shape[0]) if self.rough else _ROUNDING
        return part * self.absolute

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
        return self.metric.solve(self.residual)

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
        return not bool(namespace(self.P).any(self.P))


def check_size(iterate: Iterate) -> None:
    """Refuse a cost whose products are not finite, or so large or small that their squares overflow or underflow."""
    size, diagonal, least = largest(abs(iterate.P)), largest(abs(iterate.offset)), 1 / _LARGEST
    if not (size == 0 or least <= size <= _LARGEST) or not diagonal <= _LARGEST:
        raise ValueError(
            f"`cost`, scaled by `diagonal`, must have a diagonal of at most {_LARGEST:g}, and products with vectors of size "
            f"1 between {least:g} and {_LARGEST:g}, got {diagonal:.3g} and {size:.3g}; multiply it by a constant."
        )
