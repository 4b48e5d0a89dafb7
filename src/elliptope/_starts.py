"""Where a product goes through all pairs, most of the way is made on a surrogate whose products cost next to nothing."""

from __future__ import annotations

import numpy as np

from .kernels import Array, Gaussian, Kernel
from .operators import TiledOperator, TruncatedOperator
from .operators.sparse import LARGEST_DENSE
from .operators.truncated import cutoff_for
from .sdp import Solution, solve

# Entries of the surrogate: at most so many (0.6 GB, twice that while it is built), and at most one for so many pairs.
_MOST_ENTRIES = 50_000_000
_PAIRS_PER_ENTRY = 32
# Part of the mass of the kernel that may be dropped: with a fifth of it the start is better than that from a sample of 4 000
# points, with two fifths it is worse.
_MOST_DROPPED = 0.25
# Relative gap to which the surrogate is solved; it errs by more.
_TOL = 1e-2


def start_entries(n: int) -> int:
    """Entries of the surrogate; none where it would be made dense, which whoever asks for tiles does not want."""
    return 0 if n <= LARGEST_DENSE else min(_MOST_ENTRIES, n**2 // _PAIRS_PER_ENTRY)


def truncated_start(
    J: TiledOperator, kernel: Kernel, X: Array, row_scale: Array, rank: int | str, seed: int
) -> Solution | None:
    """The solution for the kernel cut off where it is small; None where that would drop much of it, or is not worth while.

    Degrees are those of J: neither they nor the diagonal change.
    """
    entries = start_entries(J.n)
    if not isinstance(kernel, Gaussian) or not entries:
        return None
    cutoff, dropped = cutoff_for(kernel, X, entries)
    if dropped > _MOST_DROPPED:
        return None
    surrogate = TruncatedOperator(kernel, X, J.m, J.w, cutoff, n_jobs=J.n_jobs)
    surrogate.set_row_scale(row_scale)
    return solve(surrogate, rank=rank, tol=_TOL, rng=np.random.default_rng(seed))
