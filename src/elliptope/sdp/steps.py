"""What every step of an ascent computes of its rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._utils.arrays import Array, all_nonzero, columnwise, is_rowwise, like, namespace, row_dots, row_norms, totals
from .._utils.rounding import TINY


class Rows(NamedTuple):
    r"""Of H and the product :math:`P = J_0 H`:

    .. math:: \text{slack}_i = h_i \cdot p_i, \qquad \text{residual}_i = \text{slack}_i h_i - p_i, \qquad
              \text{inverse}_i = 1/\lVert p_i\rVert,

    and the sums of slack, of its absolute values, and of :math:`\text{inverse}_i \lVert\text{residual}_i\rVert^2`.
    """

    slack: Array
    residual: Array
    inverse: Array
    total: float
    absolute: float
    square: float


def measure(H: Array, P: Array) -> Rows:
    with np.errstate(over="ignore", invalid="ignore"):  # the solver refuses such sizes
        slack, inverse = row_dots(H, P), 1 / (row_norms(P) + TINY)
        residual = slack[:, None] * H - P
        return Rows(slack, residual, inverse, *totals(slack, abs(slack), inverse * row_dots(residual, residual)))


def retract(H: Array, D: Array, step: float, rng: np.random.Generator) -> Array:
    """H + step D with rows normalised, in the order in which H is."""
    V = _normalized(H + (D if step == 1 else step * D), rng)
    return V if is_rowwise(H) else columnwise(V)


def project(Z: Array, H: Array) -> Array:
    """Project the rows of Z onto the tangent spaces of the spheres at H."""
    return Z - row_dots(Z, H)[:, None] * H


def normalize_rows(V: Array, rng: np.random.Generator) -> Array:
    """Rows of unit length; a zero row has no direction and is drawn at random, as in the paper. Columns are contiguous."""
    return columnwise(_normalized(V, rng))


def _normalized(V: Array, rng: np.random.Generator) -> Array:
    norms = row_norms(V)
    if not all_nonzero(norms):
        dead = norms == 0
        V = namespace(V).where(dead[:, None], like(V, rng.standard_normal(V.shape)), V)
        norms = row_norms(V)
    return V / norms[:, None]
