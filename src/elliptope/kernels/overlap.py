r"""The overlap kernel: points are similar as far as they have the same neighbours.

With s(x) the distance from x to the k-th nearest distinct training point (a training point counts itself), or to the last
one before a jump of distances (:func:`~elliptope.kernels.pairs.reaches`), and N(x) the training points within s(x),

.. math:: k(x, y) = \Big(\frac{|N(x) \cap N(y)|}{|N(x) \cup N(y)|}\Big)^e
          \quad\text{where}\quad d(x, y) \le \max(s(x), s(y)), \qquad 0 \text{ elsewhere.}

Distinct points are counted, whatever their weights, as for the scales: a point of weight two is a point given twice. A
function of two points, sparse and symmetric, as the kernel of :mod:`neighbors` is, and equal to one where x = y; but
distances only decide which points are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import BLOCK_ENTRIES, blocks, rows_per_block
from .._utils.checks import check_positive
from .neighborhoods import NeighborhoodKernel, NeighborhoodRule, NeighborKernel, neighborhoods
from .pairs import RIM, entries

# Neighbours up to which rows are compared on a device, each with each; and such comparisons that are made at a time.
_SHORT = 64
_COMPARED = 2**28


@dataclass(frozen=True)
class Overlap(NeighborhoodRule):
    """The overlap kernel, for ``SDPEmbedding(kernel=...)``: ``kernel="overlap"`` is ``Overlap()``.

    Parameters
    ----------
    metric, metric_params
        As for :class:`~elliptope.kernels.Neighbors`.
    exponent : float
        e > 0. Larger values tell near points more sharply from those that are less near.
    """

    exponent: float = 2.0

    needs_graph = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("exponent", self.exponent)

    def row_entries(self, n_neighbors: int) -> int:
        # A point has k neighbours, and each of them is, on average, the neighbour of k points.
        return max(super().row_entries(n_neighbors), n_neighbors**2)

    def seen_by(
        self, kernel: NeighborKernel, X: Any, neighbors: sparse.csr_array, scales: Array
    ) -> tuple[Array, Array, Array]:
        """Those of the pairs that have a neighbour in common; without one the kernel vanishes."""
        found = [(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
        training = sparse.csr_array(kernel.neighborhoods.T)  # the points that each point is a neighbour of
        N = neighborhoods(neighbors, scales)
        for part in _rows_of_size(N @ np.diff(training.indptr)):
            i, j, _ = entries(N[part] @ training)
            i = i + part.start
            d = kernel.metric.value(kernel.metric.between(X, kernel.prepared, i, j))
            within = d <= RIM * kernel.scales[j]
            found.append((i[within], j[within], d[within]))
        i, j, d = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return i, j, d

    def logarithms(self, rows: sparse.csr_array, scales: Array, training: NeighborhoodKernel) -> sparse.csr_array:
        N, T = neighborhoods(rows, scales), training.neighborhoods
        i, j, _ = entries(rows)
        sizes, training_sizes = np.diff(N.indptr), np.diff(T.indptr)
        common = count_common(N, T, i, j, training.device)
        some = common > 0
        rows.data = common / (sizes[i] + training_sizes[j] - common)
        if not some.all():
            rows.eliminate_zeros()
        rows.data = self.exponent * np.log(rows.data)
        return rows


def count_common(N: sparse.csr_array, T: sparse.csr_array, i: Array, j: Array, device: Any | None) -> Array:
    """|N(x) ∩ N(y)| for pairs of rows of two matrices of ones, on a device where rows are short."""
    width = max(np.diff(N.indptr).max(initial=1), np.diff(T.indptr).max(initial=1))
    if device is not None and width <= _SHORT:
        return _count_on(device, _padded(N, width, -1), _padded(T, width, -2), i, j)
    common = np.empty(len(i), dtype=np.intp)
    for part in blocks(0, len(i), rows_per_block(width)):
        common[part] = np.diff(N[i[part]].multiply(T[j[part]]).indptr)
    return common


def _count_on(device: Any, N: Array, T: Array, i: Array, j: Array) -> Array:
    import torch

    left, right = torch.tensor(N, device=device), torch.tensor(T, device=device)
    common = np.empty(len(i), dtype=np.intp)
    for part in blocks(0, len(i), _COMPARED // N.shape[1] ** 2):
        a, b = (rows[torch.tensor(k[part], device=device)] for rows, k in ((left, i), (right, j)))
        common[part] = (a[:, :, None] == b[:, None, :]).sum(dim=(1, 2)).cpu().numpy()
    return common


def _padded(N: sparse.csr_array, width: int, fill: int) -> Array:
    """The columns that every row has, (n, width), and ``fill`` where it has no more."""
    out = np.full((N.shape[0], width), fill, dtype=np.int32)
    counts = np.diff(N.indptr)
    i = np.repeat(np.arange(N.shape[0]), counts)
    out[i, np.arange(N.nnz) - N.indptr[i]] = N.indices
    return out


def _rows_of_size(sizes: Array) -> Iterator[slice]:
    """Rows cut into parts with no more than ``BLOCK_ENTRIES`` together, or one row each."""
    start, total = 0, 0
    for row, size in enumerate(sizes.tolist()):
        if total + size > BLOCK_ENTRIES and row > start:
            yield slice(start, row)
            start, total = row, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
