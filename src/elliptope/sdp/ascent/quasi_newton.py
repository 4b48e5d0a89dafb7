"""Limited-memory BFGS on the product of spheres: the workhorse far from the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..._arrays import Array, as_numpy, inner, like, matrix, namespace, row_dots, vector
from ..problem import Iterate, Problem
from .line_search import line_search, project

# More pairs cost time at every step and save a few products: worth it where a product is the larger cost, and where many
# steps have not sufficed: the memory is doubled when it has been filled so many times, up to so many pairs, or numbers.
_MEMORY = 8
_LARGE_MEMORY = 12
_LARGE = 2000
_FILLED = 4
_LARGEST_MEMORY = 64
_MOST_NUMBERS = 2**25
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
        moved = D if step == 1 else step * D
        pairs.append(vector(moved), vector(new.residual - project(iterate.residual, new.H)))
        iterate = new
        yield iterate


class _Pairs:
    r"""The last steps s and changes of the gradient y, as rows of two matrices whose rows are used in turn.

    ``inverse`` is that of the matrix R with :math:`R_{ij} = s_i \cdot y_j` where pair i is not the younger one, and zero
    elsewhere: a triangular matrix, but for the order of its rows. Without the oldest pair R loses a row and a column, and so
    does its inverse; a new pair borders both.
    """

    def __init__(self, H: Array, size: int) -> None:
        length = H.shape[0] * H.shape[1]
        self.size, self.limit = size, max(size, min(_LARGEST_MEMORY, _MOST_NUMBERS // (2 * length)))
        self.steps = namespace(H).zeros((size, length), dtype=H.dtype, device=H.device)
        self.changes = namespace(H).zeros_like(self.steps)
        self.inverses, self.curvatures = np.zeros((size, size)), np.zeros(size)
        self.clear()

    def clear(self) -> None:
        self.count = 0  # of pairs kept since then, those that have been replaced included
        self.used = self.last = 0

    def append(self, step: Array, change: Array) -> None:
        """Keep a pair, in the place of the oldest, if its curvature is positive."""
        curvature = float(step @ change)
        if not curvature > _CURVATURE * math.sqrt(float(step @ step) * float(change @ change)):
            return
        slot = self.last + 1 if self.count else 0
        if slot == self.size:
            if self.count >= _FILLED * self.size and self.size < self.limit:
                self._grow()
            else:
                slot = 0
        self.last, self.count, self.used = slot, self.count + 1, max(self.used, slot + 1)
        self.steps[slot, :], self.changes[slot, :] = step, change
        self.curvatures[slot] = curvature
        used = self.used
        self.S, self.Y, self.diagonal = self.steps[:used, :], self.changes[:used, :], self.curvatures[:used]
        self.inverse = inverse = self.inverses[:used, :used]
        inverse[slot], inverse[:, slot] = 0.0, 0.0
        inverse[:, slot] = inverse @ as_numpy(self.S @ change) / -curvature
        inverse[slot, slot] = 1 / curvature

    def _grow(self) -> None:
        """Room for twice the pairs; those kept are in the order of their age, so that new ones follow them."""
        more = min(2 * self.size, self.limit) - self.size
        xp = namespace(self.steps)
        room = xp.zeros((more, self.steps.shape[1]), dtype=self.steps.dtype, device=self.steps.device)
        self.steps, self.changes = xp.concat([self.steps, room]), xp.concat([self.changes, room])
        self.inverses, self.curvatures = np.pad(self.inverses, (0, more)), np.pad(self.curvatures, (0, more))
        self.size += more

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
    """The quasi-Newton step from the descent residual LH, projected to the tangent spaces."""
    Z, H = iterate.displacement, iterate.H
    if pairs.count:
        Z = matrix(pairs.apply(iterate), H.shape)
    return row_dots(Z, H)[:, None] * H - Z
