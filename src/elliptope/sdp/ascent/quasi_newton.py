"""Limited-memory BFGS on the product of spheres: the workhorse far from the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dtrtri

from ..._arrays import Array, as_numpy, inner, like, matrix, namespace, vector
from ..problem import Iterate, Problem
from .line_search import line_search, project

# More pairs cost time at every step and save a few products: worth it where a product is the larger cost.
_MEMORY = 8
_LARGE_MEMORY = 12
_LARGE = 2000
# A curvature pair is kept only if its vectors are not almost orthogonal.
_CURVATURE = 1e-8


def quasi_newton(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""L-BFGS with the metric of the pulls :math:`v_i = \lVert\sum_{j\ne i} J_{ij} h_j\rVert`.

    The initial inverse Hessian is :math:`\operatorname{Diag}(1/v)` (times the usual scalar): at an optimum v is diag(L), so
    that rows that are held weakly, such as outliers, move as readily as the others. Works for any symmetric J; ends when no
    step increases the objective beyond rounding.
    """
    pairs = _Pairs(iterate.H, _LARGE_MEMORY if problem.n >= _LARGE else _MEMORY)
    while True:
        D = _direction(iterate, pairs)
        slope = -2 * inner(iterate.residual, D)
        if not slope > 0:  # the memory has gone stale
            pairs.clear()
            D = _direction(iterate, pairs)
            slope = -2 * inner(iterate.residual, D)
        found = line_search(problem, iterate, D, slope, rng)
        if found is None:
            if not pairs.count:
                return
            pairs.clear()
            continue
        step, new = found
        pairs.append(vector(step * D), vector(new.residual - project(iterate.residual, new.H)))
        iterate = new
        yield iterate


class _Pairs:
    r"""The last steps s and changes of the gradient y, as rows of two matrices whose rows are used in turn.

    ``inverse`` is that of the matrix R with :math:`R_{ij} = s_i \cdot y_j` where pair i is not the younger one, and zero
    elsewhere: a triangular matrix, but for the order of its rows.
    """

    def __init__(self, H: Array, size: int) -> None:
        xp = namespace(H)
        self.size = size
        self.steps = xp.zeros((size, H.shape[0] * H.shape[1]), dtype=H.dtype, device=H.device)
        self.changes = xp.zeros_like(self.steps)
        self.products = np.zeros((size, size))
        self.clear()

    def clear(self) -> None:
        self.count = self.last = 0

    def append(self, step: Array, change: Array) -> None:
        """Keep a pair, in the place of the oldest, if its curvature is positive."""
        product = float(step @ change)
        if not product > _CURVATURE * math.sqrt(float(step @ step) * float(change @ change)):
            return
        slot = self.last = self.count % self.size
        self.steps[slot, :], self.changes[slot, :] = step, change
        self.count += 1
        used = min(self.count, self.size)
        self.S, self.Y = self.steps[:used, :], self.changes[:used, :]
        R = self.products[:used, :used]
        R[slot], R[:, slot] = 0.0, as_numpy(self.S @ change)
        order = (np.arange(used) + slot + 1) % used  # from the oldest to the youngest
        self.inverse = np.empty_like(R)
        self.inverse[order[:, None], order] = dtrtri(R[order[:, None], order])[0]
        self.diagonal = R.diagonal()

    def apply(self, iterate: Iterate) -> Array:
        r"""The inverse Hessian times LH, as a vector.

        The two loops of Nocedal are :math:`R u = S q,\; z = \gamma M^{-1}(q - Y^\top u),\;
        R^\top w = \operatorname{diag}(R)\, u - Y z`, and the result is :math:`z + S^\top w`.
        """
        q, shape = vector(iterate.residual), iterate.residual.shape
        u = self.inverse @ as_numpy(self.S @ q)
        q = q - like(q, u) @ self.Y
        change = matrix(self.changes[self.last, :], shape)
        z = vector(iterate.metric.solve(matrix(q, shape)))
        z *= float(self.diagonal[self.last]) / inner(change, iterate.metric.solve(change))
        w = (self.diagonal * u - as_numpy(self.Y @ z)) @ self.inverse
        z += like(q, w) @ self.S
        return z


def _direction(iterate: Iterate, pairs: _Pairs) -> Array:
    """The quasi-Newton step from the descent residual LH."""
    D = matrix(pairs.apply(iterate), iterate.residual.shape) if pairs.count else iterate.displacement
    return -project(D, iterate.H)
