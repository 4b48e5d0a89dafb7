r"""A kernel that decreases with distance, cut off where it is negligible: sparse, and the dropped mass is accounted for.

Let :math:`R \ge 0` be what is dropped of K, with row masses :math:`\varepsilon = R w`. The degrees m are those of the whole
kernel, so that the cost is wrong by :math:`S R S` only, where S = Diag(s) and :math:`s = t/\sqrt m`. For any Z of the
elliptope :math:`|Z_{ij}| \le 1`, and :math:`2 s_i s_j \le s_i^2 w_j/w_i + s_j^2 w_i/w_j`, so that

.. math:: |\operatorname{Tr}(S R S Z)| \le \sum_{ij} s_i R_{ij} s_j \le \sum_i \frac{s_i^2}{w_i}\,\varepsilon_i
          = \sum_i w_i d_i \frac{\varepsilon_i}{m_i} \quad\text{for } t = w\sqrt d .
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from sklearn.neighbors import NearestNeighbors

from ..kernels import Array, Kernel
from ..search import pair_distances
from .sparse import SparseOperator

# Values of the kernel below this are dropped.
CUTOFF = 1e-6
# Rows that are looked at before the whole matrix is built.
_SAMPLE = 200
# Rows that are looked for at a time, and the part of all pairs beyond which no tree is of use.
_ROWS = 4096
_MANY = 1e-3
# Relative error of a squared distance beyond which differences have to be formed first.
_SEARCH_ERROR = 1e-9
# Distances that are looked for beyond the cut, so that rounding of the search drops none.
_SLACK = 1 + 1e-9


class TruncatedOperator(SparseOperator):
    """J from a kernel cut off below ``cutoff``; ``degrees`` are those of all of it, to ``degree_error`` of themselves."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        degrees: Array,
        sample_weight: Array | None = None,
        cutoff: float = CUTOFF,
        degree_error: float = 0.0,
        n_jobs: int = 1,
    ) -> None:
        self._whole_degrees, self._degree_error = degrees, degree_error
        super().__init__(truncated_matrix(kernel, X, cutoff, n_jobs), sample_weight, n_jobs)
        kept = super().degrees()
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
    while excess(far) < 0 and far > np.finfo(float).tiny:
        far /= 2
    return float(brentq(excess, far, 2 * far, xtol=1e-12 * far))


def cutoff_for(kernel: Kernel, X: Array, entries: float) -> tuple[float, float]:
    """Where to cut off for about so many entries, and the part of the mass of the kernel that is dropped; from a sample."""
    rows = X[:: max(1, len(X) // _SAMPLE)]
    values = np.concatenate([kernel.block(row[None], X)[0] for row in rows])
    kept = min(max(round(len(values) * entries / len(X) ** 2), 1), len(values))
    values.partition(len(values) - kept)
    return max(float(values[-kept]), CUTOFF), 1 - float(values[-kept:].sum() / values.sum())


def truncated_matrix(kernel: Kernel, X: Array, cutoff: float, n_jobs: int = 1) -> sparse.csr_array:
    """K with the entries below ``cutoff`` left out, (n, n); exactly symmetric."""
    n, radius = len(X), _SLACK * reach(kernel, cutoff)
    centred = X - np.median(X, axis=0)
    search = NearestNeighbors(radius=radius, algorithm=_algorithm(centred, radius), n_jobs=n_jobs).fit(centred)
    ends, columns, entries = [np.zeros(1, dtype=np.int64)], [], []
    for start in range(0, n, _ROWS):
        near = search.radius_neighbors(centred[start : start + _ROWS], return_distance=False)
        i = np.repeat(np.arange(start, start + len(near)), [len(row) for row in near])
        j = np.concatenate(near)
        i, j = i[i <= j], j[i <= j]
        values = np.exp(kernel.log_block(np.zeros((1, 1)), pair_distances(X, X, i, j)[:, None])[0])
        values[i == j] = 0.5 * kernel.diagonal(X[i[i == j]])  # of which there will be two halves
        kept = (values >= cutoff) | (i == j)
        ends.append(ends[-1][-1] + np.cumsum(np.bincount(i[kept] - start, minlength=len(near))))
        columns.append(j[kept].astype(np.int32))
        entries.append(values[kept])
    index = np.int32 if ends[-1][-1] < 2**30 else np.int64  # twice as many have to be counted
    half = sparse.csr_array(
        (np.concatenate(entries), np.concatenate(columns), np.concatenate(ends).astype(index)), shape=(n, n)
    )
    del columns, entries
    return sparse.csr_array(half + half.T)


def _algorithm(X: Array, radius: float) -> str:
    """Trees are for few neighbours; where many are near, distances to all are faster, if squares may be expanded."""
    rounding = np.finfo(float).eps * np.einsum("ij,ij->i", X, X).max()
    if not rounding <= _SEARCH_ERROR * radius**2:
        return "ball_tree"
    rows = X[:: max(1, len(X) // _SAMPLE)]
    share = float(np.mean([(np.square(X - row).sum(axis=1) <= radius**2).mean() for row in rows]))
    return "brute" if share > _MANY else "auto"
