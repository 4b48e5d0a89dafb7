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
# Rows whose neighbours are counted before the whole matrix is built.
_SAMPLE = 200
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


def expected_entries(kernel: Kernel, X: Array, cutoff: float = CUTOFF) -> float:
    """About how many entries the truncated matrix will have, from a sample of rows."""
    rows = X[:: max(1, len(X) // _SAMPLE)]
    radius = reach(kernel, cutoff)
    counts = [int((kernel.log_block(row[None], X) >= np.log(cutoff)).sum()) for row in rows]
    return len(X) * float(np.mean(counts)) if radius > 0 else float(len(X))


def truncated_matrix(kernel: Kernel, X: Array, cutoff: float, n_jobs: int = 1) -> sparse.csr_array:
    """K with the entries below ``cutoff`` left out, (n, n); exactly symmetric."""
    centred = X - np.median(X, axis=0)
    search = NearestNeighbors(radius=_SLACK * reach(kernel, cutoff), n_jobs=n_jobs).fit(centred)
    graph = search.radius_neighbors_graph(centred, mode="connectivity")
    i, j = sparse.triu(graph, k=1).nonzero()
    values = np.exp(kernel.log_block(np.zeros((1, 1)), pair_distances(X, X, i, j)[:, None])[0])
    kept = values >= cutoff
    half = sparse.coo_array((values[kept], (i[kept], j[kept])), shape=graph.shape)
    return sparse.csr_array(half + half.T + sparse.diags_array(kernel.diagonal(X)))
