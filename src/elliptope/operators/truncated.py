r"""A kernel that decreases with distance, cut off where it is negligible: sparse, and the dropped mass is accounted for.

Let :math:`R \ge 0` be the part of K that is dropped, with row sums :math:`\varepsilon = R w`. The degrees m are those of the
whole kernel, so that the cost is wrong by :math:`S R S` only, where S = Diag(s) and :math:`s = t/\sqrt m`. For any Z of the
elliptope :math:`|Z_{ij}| \le 1`, and :math:`2 s_i s_j \le s_i^2 w_j/w_i + s_j^2 w_i/w_j`, so that

.. math:: |\operatorname{Tr}(S R S Z)| \le \sum_{ij} s_i R_{ij} s_j \le \sum_i \frac{s_i^2}{w_i}\,\varepsilon_i
          = \sum_i w_i d_i \frac{\varepsilon_i}{m_i} \quad\text{for } t = w\sqrt d .
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from .._utils.arrays import Array
from .._utils.blocks import TILE, blocks
from .._utils.rounding import TINY
from ..kernels.base import Kernel
from ..kernels.search import pairs_within
from .sparse import SparseOperator

# Values of the kernel below this are dropped.
CUTOFF = 1e-6
# Points of the sample from which a cutoff is chosen (64 MB) before the whole matrix is built.
_SAMPLED = 4096
# Pairs are searched for so much farther than the cutoff reaches: rounding of distances then drops nothing.
_SLACK = 1 + 1e-9


class TooManyEntries(Exception):
    """A truncated matrix has more entries than were allowed for."""


class TruncatedOperator(SparseOperator):
    """J from a kernel whose values below ``cutoff`` are set to zero, normalised by the degrees of the full kernel.

    ``degrees`` (n,) are K w of the full kernel, with a relative error of at most ``degree_error``. The attribute ``dropped``
    (n,) bounds the row sums R w of the part R that was set to zero.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        degrees: Array,
        sample_weight: Array | None = None,
        cutoff: float = CUTOFF,
        degree_error: float = 0.0,
        n_jobs: int = 1,
        most_entries: float = math.inf,
    ) -> None:
        self._whole_degrees, self._degree_error = degrees, degree_error  # first: the base class asks for the degrees
        super().__init__(truncated_matrix(kernel, X, cutoff, n_jobs, most_entries), sample_weight, n_jobs)
        kept = super().degrees()
        # What was dropped is a difference of degrees, and so has their error; `error_bounds` adds its effect on J.
        rounding = len(X) * np.finfo(float).eps + degree_error
        self.dropped = np.maximum(self.m - kept, 0.0) + rounding * self.m

    def degrees(self) -> Array:
        return self._whole_degrees

    @property
    def error_bounds(self) -> tuple[float, float]:
        cost = float((self._s**2 / self.w * self.dropped).sum()) + self.cost_of_degrees(self._degree_error)
        return cost, cost


def reach(kernel: Kernel, cutoff: float) -> float:
    """The distance at which a decreasing radial kernel falls to ``cutoff``."""
    level = np.log(cutoff)

    def excess(distance: float) -> float:
        return float(kernel.log_block(np.zeros((1, 1)), np.array([[distance]]))[0, 0]) - level

    far = 1.0
    while excess(far) > 0:
        far *= 2
    while excess(far) < 0 and far > TINY:
        far /= 2
    return float(brentq(excess, far, 2 * far, xtol=1e-12 * far))


def cutoff_for(kernel: Kernel, X: Array, w: Array, entries: float) -> tuple[float, float]:
    """Where to cut off for about so many entries, and what part of the mass off the diagonal is dropped; from a sample."""
    rows = slice(None, None, -(-len(X) // _SAMPLED))
    sample, w = X[rows], w[rows].astype(np.float32)
    values = np.empty((len(sample), len(sample)), dtype=np.float32)
    for part in blocks(0, len(sample), TILE):
        values[part] = kernel.block(sample[part], sample)
    np.fill_diagonal(values, 0.0)
    kept = min(max(round(values.size * entries / len(X) ** 2), 1), values.size)
    cutoff = np.partition(values, values.size - kept, axis=None)[-kept]
    if np.count_nonzero(values >= cutoff) > kept:  # many equal values at the cutoff: keep all or none of them
        cutoff = values[values > cutoff].min(initial=np.float32(np.inf))
    mass = w @ (values @ w)
    values[values < cutoff] = 0.0
    dropped = 1 - w @ (values @ w) / mass if mass > 0 else 0.0
    # It is known to single precision only; rounded down, so that entries at the cutoff are kept.
    return max(float(np.nextafter(cutoff, np.float32(0))), CUTOFF), float(dropped)


def truncated_matrix(
    kernel: Kernel, X: Array, cutoff: float, n_jobs: int = 1, most_entries: float = math.inf
) -> sparse.csr_array:
    """K with the entries below ``cutoff`` left out, (n, n); exactly symmetric."""
    n, count = len(X), 0
    counts, columns, entries = [np.zeros(1, dtype=np.intp)], [], []
    for part, i, j, distances in pairs_within(X, _SLACK * reach(kernel, cutoff), n_jobs):
        values = np.exp(kernel.log_block(np.zeros((1, 1)), distances[:, None])[0])
        values[i == j] = 0.5 * kernel.diagonal(X[part])  # added to its transpose below
        kept = (values >= cutoff) | (i == j)
        counts.append(np.bincount(i[kept] - part.start, minlength=part.stop - part.start))
        columns.append(j[kept].astype(np.int32))
        entries.append(values[kept])
        count += len(columns[-1])
        if 2 * count > most_entries:
            raise TooManyEntries
    index = np.int32 if 2 * count < 2**31 else np.int64
    ends = np.cumsum(np.concatenate(counts), dtype=index)
    half = sparse.csr_array((np.concatenate(entries), np.concatenate(columns), ends), shape=(n, n))
    del columns, entries
    return sparse.csr_array(half + half.T)
