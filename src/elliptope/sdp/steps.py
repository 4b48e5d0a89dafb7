"""What every step of an ascent computes of its rows: by one call to C where that was compiled, else by several.

The compiled steps (``_steps.c``) are for small factors in NumPy. They change how long a small problem takes, and nothing but
rounding beside.
"""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import numpy as np

from .._utils.arrays import (
    Array,
    all_nonzero,
    columnwise,
    is_rowwise,
    like,
    namespace,
    row_dots,
    row_norms,
    totals,
)
from .._utils.rounding import TINY

compiled: Any
_why_not = ""
try:
    from . import _steps as compiled
except ImportError as error:
    compiled, _why_not = None, str(error)

# Entries of a factor up to which compiled steps, which have one thread and sum from left to right, are used.
_LARGEST = 50_000
_DOUBLE = np.dtype(np.float64)


def compiled_status() -> str:
    """Whether compiled steps are in use, and why not, in words."""
    if compiled is not None:
        return "in use"
    if importlib.util.find_spec(f"{__package__}._steps") is None:
        return "not in use: not built (there was no C compiler when elliptope was installed, or the build failed)"
    return f"not in use: {_why_not}"


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
    if can_compile(H, P):
        slack, residual, inverse = np.empty(H.shape[0]), np.empty(H.shape, order="F"), np.empty(H.shape[0])
        return Rows(slack, residual, inverse, *compiled.measure(H, P, slack, residual, inverse))
    slack, inverse = row_dots(H, P), 1 / (row_norms(P) + TINY)
    residual = slack[:, None] * H - P
    return Rows(slack, residual, inverse, *totals(slack, abs(slack), inverse * row_dots(residual, residual)))


def retract(H: Array, D: Array, step: float, rng: np.random.Generator) -> Array:
    """H + step D with rows normalised, in the order in which H is."""
    if can_compile(H, D):
        V = np.empty(H.shape, order="F")
        if compiled.move(H, D, V, step) > 0:
            return V
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


def can_compile(U: Array, V: Array) -> bool:
    """Whether there are compiled steps, and both factors are what they take: float64, in Fortran order and not large."""
    return (
        compiled is not None
        and isinstance(U, np.ndarray)
        and isinstance(V, np.ndarray)
        and U.size <= _LARGEST
        and U.flags.f_contiguous
        and V.flags.f_contiguous
        and U.dtype == V.dtype == _DOUBLE
    )
