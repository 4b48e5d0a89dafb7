r"""The neighbour kernel: every point has its own scale, and k vanishes beyond it.

With s(x) the distance from x to the k-th nearest distinct training point (a training point counts itself), or to the last
one before a jump of distances (:func:`~elliptope.kernels.pairs.reaches`),

.. math:: k(x, y) = \exp\Big(-\frac{d(x, y)^2}{s(x)\, s(y)}\Big)
          \quad\text{where}\quad d(x, y) \le \max(s(x), s(y)), \qquad 0 \text{ elsewhere.}

A function of two points: the row of a new point is defined as that of a training point is, and the extension is exact on the
sample. Sparse and symmetric, but not positive semi-definite, which nothing in this package needs it to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .neighborhoods import NeighborhoodKernel, NeighborhoodRule, NeighborKernel


@dataclass(frozen=True)
class Neighbors(NeighborhoodRule):
    """The neighbour kernel, for ``SDPEmbedding(kernel=...)``: ``kernel="neighbors"`` is ``Neighbors()``.

    Parameters
    ----------
    metric : str, callable or None
        As the parameter ``metric`` of the estimator, which is used where this is None.
    metric_params : dict or None
        ``p`` and ``w`` of "minkowski", ``V`` of "seuclidean", ``VI`` of "mahalanobis"; for a callable, keyword arguments.
    """

    def seen_by(
        self, kernel: NeighborKernel, X: Any, neighbors: sparse.csr_array, scales: Array
    ) -> tuple[Array, Array, Array]:
        return kernel.search.within(X, kernel.scales, scales)

    def logarithms(self, rows: sparse.csr_array, scales: Array, training: NeighborhoodKernel) -> sparse.csr_array:
        """-d²/(s(x) s(y)), in place; quotients first, so that nothing overflows."""
        i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        rows.data = -(rows.data / scales[i]) * (rows.data / training.scales[rows.indices])
        return rows
