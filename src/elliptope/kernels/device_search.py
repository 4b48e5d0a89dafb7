r"""Exact search for neighbours on a device of PyTorch, by comparing all distances block by block.

Candidates are the nearest by squared distances in float32, expanded after centring as
:math:`\lVert z\rVert^2 - 2 z\cdot y + \lVert y\rVert^2`. With the rounding of coordinates and of p + 2 terms these err by at
most :math:`\varepsilon = 2^{-23}(p + 4)(\lVert z\rVert^2 + \lVert y\rVert^2)`. Distances are then formed again on the CPU,
as in every search, and rows for which ε leaves open whether a point was missed are searched again in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import blocks
from .metrics import Metric, Minkowski, Rows
from .pairs import EXPANSION, SLACK
from .search import EUCLIDEAN, Search, make_search
from .sparse_search import SparseSearch

# Candidates beyond the k-th: fewer rows have to be searched again where there are more.
_SPARE = 8
# Distances that are on the device at a time, in float32 (2 GB); half as many in float64.
_ENTRIES = 2**29
# Points of which the nearest is found before they are compared with others.
_GROUP = 256
# Distances below it have squares that underflow, and count as zero.
_NOTHING = 1e-153


def search_for(X: Rows, n_neighbors: int, n_jobs: int, metric: Metric, device: Any | None) -> Search | SparseSearch:
    """As :func:`make_search`; on a ``device``, where dense rows are compared by Euclidean distances, all of them."""
    if device is None or sparse.issparse(X) or not (isinstance(metric, Minkowski) and metric.order == 2):
        return make_search(X, n_neighbors, n_jobs, metric)
    return DeviceSearch(X, n_neighbors, n_jobs, device, metric)


class DeviceSearch(Search):
    """All distances are compared on a ``device``; float32 for candidates, float64 where that leaves doubt."""

    def __init__(self, X: Array, n_neighbors: int, n_jobs: int, device: Any, metric: Metric = EUCLIDEAN) -> None:
        super().__init__(X, n_neighbors, n_jobs, metric)
        import torch

        self._torch, self._device = torch, device
        self._asked = min(n_neighbors + _SPARE, len(X))
        self._centre = np.median(X, axis=0)
        # A power of two, so that squares in float32 neither overflow nor, where they matter, underflow.
        self._unit = math.ldexp(1.0, -math.frexp(float(np.abs(X - self._centre).max()) or 1.0)[1])
        self._points = self._moved(X)
        self._single = self._points.float()

    def _candidates(self, X: Array) -> Array:
        torch, n, rows = self._torch, len(self._X), max(_ENTRIES // len(self._X), 1)
        Y = torch.zeros((-(-n // _GROUP) * _GROUP, X.shape[1]), dtype=torch.float32, device=self._device)
        Y[:n] = self._single
        squares = torch.linalg.vecdot(Y, Y)
        squares[n:] = math.inf
        out = torch.empty((len(X), self._asked), dtype=torch.int64, device=self._device)
        for part in blocks(0, len(X), rows):
            Z = self._moved(X[part]).float()
            # ‖z‖² is left out: it does not change the order.
            out[part] = self._smallest(torch.addmm(squares, Z, Y.T, alpha=-2.0))
        return out.cpu().numpy()

    def _smallest(self, D: Any) -> Any:
        """Columns of the k smallest entries of every row.

        They are in those k groups of columns whose smallest entries are smallest: any other group has k groups, and so k
        entries, before it. Of all entries only the smallest of every group are compared.
        """
        topk, k, groups = self._torch.topk, self._asked, D.view(len(D), -1, _GROUP)
        if groups.shape[1] <= k:
            return topk(D, k, largest=False, sorted=False).indices
        best = topk(groups.amin(dim=2), k, largest=False, sorted=False).indices
        near = groups.gather(1, best[:, :, None].expand(-1, -1, _GROUP)).flatten(1)
        at = topk(near, k, largest=False, sorted=False).indices
        return best.gather(1, at // _GROUP) * _GROUP + at % _GROUP

    def _doubtful(self, X: Array, i: Array, d: Array) -> Array:
        r"""Rows for which ``last``, the farthest candidate, is no farther than the k-th nearest may be, but for ε.

        A point within the scale s has ‖y‖ ≤ ‖z‖ + s, and a candidate ‖y‖ ≤ ‖z‖ + last, so that both have
        :math:`\lVert y\rVert^2 \le 2\lVert z\rVert^2 + 2\,\text{last}^2`.
        """
        if self._asked == len(self._X):
            return np.empty(0, dtype=np.intp)
        D = d.reshape(len(X), -1)
        last, scales = D.max(axis=1), np.partition(D, self._k - 1, axis=1)[:, self._k - 1]
        Z = X - self._centre
        error = 2.0**-23 * (X.shape[1] + 4) * (3 * np.einsum("ij,ij->i", Z, Z) + 2 * last**2)
        least = (1e-18 / self._unit) ** 2  # below, squares in float32 are zero
        return np.flatnonzero(last**2 <= (SLACK * scales) ** 2 + 2 * error + least)

    def _search_again(self, X: Array, scales: Array) -> tuple[Array, Array]:
        """All points within the scale, by expanded squares in float64; what these may be wrong by is let through."""
        return self._pairs(X, lambda part: self._squared(SLACK * scales[part])[:, None])

    def _compare_all(self, X: Array, radii: Array) -> tuple[Array, Array]:
        reach = self._squared(radii)
        return self._pairs(X, lambda part: reach)

    def _squared(self, radii: Array) -> Any:
        return self._torch.tensor(self._unit * np.maximum(radii, _NOTHING), device=self._device) ** 2

    def _pairs(self, X: Array, reach: Callable[[slice], Any]) -> tuple[Array, Array]:
        """Pairs whose squared distances are at most those that ``reach`` gives for a part of the rows."""
        torch, Y, rows = self._torch, self._points, max(_ENTRIES // (4 * len(self._X)), 1)
        exact = 1 - EXPANSION * X.shape[1]
        squares = exact * torch.linalg.vecdot(Y, Y)
        found = [(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))]
        for part in blocks(0, len(X), rows):
            Z = self._moved(X[part])
            own = exact * torch.linalg.vecdot(Z, Z)[:, None]
            i, j = torch.nonzero(torch.addmm(squares, Z, Y.T, alpha=-2.0) + own <= reach(part), as_tuple=True)
            found.append((i.cpu().numpy() + part.start, j.cpu().numpy()))
        return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])

    def _moved(self, X: Array) -> Any:
        """Centred, in units that suit float32, on the device."""
        return self._torch.tensor((X - self._centre) * self._unit, device=self._device)
