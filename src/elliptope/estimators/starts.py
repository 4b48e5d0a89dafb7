"""A start for costs whose products go through all pairs: the solution of a cheaper problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._utils.arrays import Array
from ..kernels.base import FittedFormula
from ..memory.available import available_memory
from ..operators import TiledOperator, TruncatedOperator
from ..operators.truncated import TooManyEntries, cutoff_for
from ..sdp import Solution, solve

# Rows up to which there is no surrogate: smaller matrices would be made dense for a proof.
_FEWEST_ROWS = 10_000
# Entries of the surrogate: at most so many, and at most one for so many pairs; and how wrong a sample may be about them.
_MOST_ENTRIES = 50_000_000
_PAIRS_PER_ENTRY = 32
_SAMPLING = 1.5
# Bytes per entry at the peak: value and index, three times while the matrix is stored.
_BYTES = 3 * (8 + 4)
# Part of the mass of the kernel that may be dropped: with much more of it a sample of the points is the better start.
_MOST_DROPPED = 0.25
# Relative gap to which the surrogate is solved, which itself errs by more.
_TOL = 1e-2
# Products that a start may take.
_MOST_PRODUCTS = 1000


@dataclass(frozen=True)
class Start:
    """Where a solve starts from, and what it took to get there: nothing, and a random factor, by default."""

    factor: Array | None = None
    n_iter: int = 0
    n_products: int = 0
    interrupted: bool = False


NO_START = Start()


class Limits(NamedTuple):
    """What a start may take."""

    max_iter: int
    max_products: int


def truncated_start(J: TiledOperator, kernel: FittedFormula, row_scale: Array, limits: Limits, seed: int) -> Solution | None:
    """The solution for the Gaussian kernel cut off where it is small, within ``limits``.

    Degrees are those of J: neither they nor the diagonal change. None where most of the kernel would be dropped, where there
    are few rows or too little memory, and for kernels that cannot be cut off.
    """
    entries = start_entries(J.n)
    memory = available_memory().bytes
    formula, X = kernel.formula, kernel.points
    if "sparse" not in formula.operators or not entries or (memory is not None and memory < _SAMPLING * _BYTES * entries):
        return None
    cutoff, dropped = cutoff_for(formula, X, J.w, entries)
    if dropped > _MOST_DROPPED or not cutoff < 1:
        return None
    try:
        surrogate = TruncatedOperator(formula, X, J.m, J.w, cutoff, n_jobs=J.n_jobs, most_entries=_SAMPLING * entries)
    except TooManyEntries:
        return None
    surrogate.set_row_scale(row_scale)
    max_iter, max_products = limits
    return solve(surrogate, tol=_TOL, max_iter=max_iter, max_products=max_products, rng=np.random.default_rng(seed))


def start_limits(max_iter: int, max_products: int | None) -> Limits:
    """At most half of what a fit may take."""
    return Limits(max_iter // 2, min(_MOST_PRODUCTS, (max_products or 2 * _MOST_PRODUCTS) // 2))


def start_entries(n: int) -> int:
    """Entries that the surrogate of n points may have; 0 where there is none."""
    return 0 if n <= _FEWEST_ROWS else min(_MOST_ENTRIES, n**2 // _PAIRS_PER_ENTRY)
