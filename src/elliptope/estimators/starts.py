"""A start for costs whose products go through all pairs: the solution of a cheaper problem."""

from __future__ import annotations

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
# Relative gap to which the surrogate is solved, which itself errs by more; and the products that it may take.
_TOL = 1e-2
_MOST_PRODUCTS = 1000


def truncated_start(
    J: TiledOperator, kernel: FittedFormula, row_scale: Array, rank: int | str, seed: int
) -> Solution | None:
    """The solution for the Gaussian kernel cut off where it is small.

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
    return solve(surrogate, rank=rank, tol=_TOL, max_products=_MOST_PRODUCTS, rng=np.random.default_rng(seed))


def start_entries(n: int) -> int:
    """Entries that the surrogate of n points may have; 0 where there is none."""
    return 0 if n <= _FEWEST_ROWS else min(_MOST_ENTRIES, n**2 // _PAIRS_PER_ENTRY)
