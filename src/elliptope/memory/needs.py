r"""What ``fit`` takes of memory at its peak, from shapes alone.

Beside the rows themselves it stores

============= ===========================================================================================
dense         K in double precision, and for a while in single precision: :math:`12 n^2` bytes
precomputed   the checks of the kernel matrix that was given: three arrays, :math:`24 n^2`
regularized   K, its Cholesky factor, the metric and the proof (``RKHSEmbedding``): eight arrays, :math:`64 n^2`
tiled         the rows in single precision, with their scales: :math:`O(np)`
sparse        k neighbours per row, and their union with the transpose while it is formed: :math:`O(nk)`
============= ===========================================================================================

and the solver, whatever the operator, thin matrices of r columns and the basis of a Lanczos run: :math:`O(nr)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.checks import check_choice, check_integer, is_word
from ..sdp.tuning import TUNING

_DOUBLE, _SINGLE, _INDEX = 8, 4, 8
# Thin matrices of the solver: those of an iterate, a line search and a step.
_THIN = 12
# Where convergence is slow, the memory of L-BFGS is copied while it grows: a quarter more, by measurement.
_GROWTH = 1.25
# Vectors of Krylov bases that a proof or a test holds together, and what is computed from them; by measurement.
_BASIS = 200
# Columns of H when two doublings have followed the default rank: measured on data without structure.
WIDTH = 20
# Copies of the rows: converted, without repetitions for the bandwidth, and those that the extension keeps.
_ROW_COPIES = 6
# Blocks of kernel values, and what libraries hold.
_FIXED = 2**26
_PRECOMPUTED_ARRAYS = 3
_REGULARIZED_ARRAYS = 8
# Copies of the stored neighbours that exist together while a graph is made symmetric.
_GRAPH_COPIES = 3


@dataclass(frozen=True)
class Size:
    """What the need of an operator depends on."""

    n: int
    p: int
    width: int
    n_neighbors: int


def _sparse(size: Size) -> int:
    searched = size.n * size.n_neighbors * (_DOUBLE + _INDEX)
    stored = 2 * size.n * size.n_neighbors * (_DOUBLE + _INDEX)  # a neighbour on either side is enough
    return searched + _GRAPH_COPIES * stored


def solver_need(size: Size) -> int:
    """Thin matrices, the memory of L-BFGS, and the basis of a proof or a test."""
    grown = int(_GROWTH * min(2 * TUNING.memory_columns * size.n, TUNING.memory_numbers))
    pairs = max(2 * TUNING.memory * size.n * size.width, grown)
    return _DOUBLE * (size.n * (_THIN * size.width + _BASIS) + pairs)


_STORAGE: dict[str, Callable[[Size], int]] = {
    "dense": lambda size: (_DOUBLE + _SINGLE) * size.n**2,
    "precomputed": lambda size: _PRECOMPUTED_ARRAYS * _DOUBLE * size.n**2,
    "regularized": lambda size: _REGULARIZED_ARRAYS * _DOUBLE * size.n**2,
    "tiled": lambda size: 2 * _SINGLE * size.n * size.p,
    "sparse": _sparse,
}


def estimate_memory(
    n: int,
    p: int,
    *,
    operator: str = "dense",
    dtype: Any = "float64",
    rank: int | str = "auto",
    n_neighbors: int = 15,
) -> int:
    """Bytes that ``fit`` takes at its peak on n rows of p features, beside the rows that it is given.

    Meant to err on the large side, and not by much. One thing is not counted: up to 4000 rows, a dense fit that is ill
    conditioned goes on by factorisations, of some eight n × n arrays, and takes up to 1.1 GB.

    Parameters
    ----------
    n, p : int
        Rows (of positive weight) and features.
    operator : {"dense", "tiled", "sparse", "precomputed", "regularized"}
        How the kernel is held. ``"precomputed"`` is a dense fit to a kernel matrix, ``"regularized"`` that of
        ``RKHSEmbedding``.
    dtype : dtype
        Of the rows; all but float64 are converted.
    rank : int or "auto"
        Columns that the solver starts from.
    n_neighbors : int
        For ``"sparse"``.

    Examples
    --------
    >>> from elliptope import estimate_memory
    >>> print(f"{estimate_memory(100_000, 10) / 1e9:.0f} GB")
    121 GB
    >>> print(f"{estimate_memory(100_000, 10, operator='sparse') / 1e9:.1f} GB")
    1.0 GB
    """
    check_choice("operator", operator, tuple(_STORAGE))
    size = Size(
        check_integer("n", n, 1),
        check_integer("p", p, 1),
        WIDTH if is_word(rank, "auto") else max(WIDTH, check_integer("rank", rank, 1, "'auto' or ")),
        min(check_integer("n_neighbors", n_neighbors, 1), n),
    )
    copies = (0 if operator == "precomputed" else _ROW_COPIES) + (np.dtype(dtype) != np.float64)
    rows = copies * _DOUBLE * size.n * size.p
    return _STORAGE[operator](size) + rows + solver_need(size) + _FIXED
