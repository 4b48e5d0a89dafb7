"""Limited-memory BFGS on the product of spheres: for iterates that are far from the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._utils.arrays import Array, as_numpy, inner, like, matrix, namespace, numbers, vector
from ..iterate import Iterate
from ..problem import Meter
from ..steps import project
from ..tuning import Tuning
from .line_search import line_search

# A curvature pair is kept only if its vectors are not almost orthogonal.
_CURVATURE = 1e-8


def quasi_newton(meter: Meter, iterate: Iterate, rng: np.random.Generator, memory: int | None = None) -> Iterator[Iterate]:
    r"""L-BFGS with the metric of the pulls :math:`v_i = \lVert\sum_{j\ne i} J_{ij} h_j\rVert`.

    The initial inverse Hessian is :math:`\operatorname{Diag}(1/v)` (times the usual scalar): at an optimum v is diag(L), so
    that rows that are held weakly, such as outliers, move as readily as the others. Works for any symmetric J; ends when no
    step increases the objective beyond rounding. ``memory``, where given, is the number of pairs for good.
    """
    tuning = meter.problem.tuning
    pairs = Pairs(iterate.H, tuning if memory is None else replace(tuning, memory=memory, memory_columns=0))
    while True:
        D, slope = pairs.direction(iterate)
        if not slope > 0 and pairs.count:  # the pairs no longer describe the curvature here
            pairs.clear()
            D, slope = pairs.direction(iterate)
        found = line_search(meter, iterate, D, slope, rng)
        if found is None:
            if not pairs.count:
                return
            pairs.clear()
            continue
        step, new = found
        pairs.append(step, D, iterate, new)
        iterate = new
        yield iterate


class Pairs:
    r"""The last steps s and changes of the gradient y, as rows of two matrices whose rows are used in turn.

    ``inverse`` is that of the matrix R with :math:`R_{ij} = s_i \cdot y_j` where pair i is not the younger one, and zero
    elsewhere: a triangular matrix, but for the order of its rows. Without the oldest pair R loses a row and a column, and so
    does its inverse; a new pair borders both. More pairs cost time at every step and save products: the memory is doubled
    when it has been filled several times.
    """

    def __init__(self, H: Array, tuning: Tuning) -> None:
        length = H.shape[0] * H.shape[1]
        size = self.size = tuning.memory
        most = min(tuning.memory_columns // H.shape[1], tuning.memory_numbers // (2 * length))
        self.limit, self._growth = max(size, most), tuning.memory_growth
        self.steps = namespace(H).zeros((size, length), dtype=H.dtype, device=H.device)
        self.changes = namespace(H).zeros_like(self.steps)
        self.inverse, self.curvatures = np.zeros((size, size)), np.zeros(size)
        self.clear()

    def clear(self) -> None:
        self.count = 0  # of pairs kept since then, those that have been replaced included
        self.used, self.last = 0, -1

    def append(self, step: float, D: Array, old: Iterate, new: Iterate) -> None:
        """Keep the pair of a step from ``old`` to ``new``, in the place of the oldest, if its curvature is positive."""
        slot = self.last + 1
        if slot == self.size:
            if self.count >= self._growth * self.size and self.size < self.limit:
                self._grow()
            else:
                slot = 0
        if self._write(slot, max(self.used, slot + 1), step, D, old, new):
            self.last, self.count, self.used = slot, self.count + 1, max(self.used, slot + 1)

    def _grow(self) -> None:
        """Room for twice the pairs; those kept are in the order of their age, so that new ones follow them."""
        more = min(2 * self.size, self.limit) - self.size
        xp = namespace(self.steps)
        room = xp.zeros((more, self.steps.shape[1]), dtype=self.steps.dtype, device=self.steps.device)
        self.steps = xp.concat([self.steps, room])
        self.changes = xp.concat([self.changes, room])
        self.inverse, self.curvatures = np.pad(self.inverse, (0, more)), np.pad(self.curvatures, (0, more))
        self.size += more

    def _write(self, slot: int, used: int, step: float, D: Array, old: Iterate, new: Iterate) -> bool:
        """The pair in its place, of ``used``, and the bordered inverse; False, and nothing written, without curvature."""
        s, y = vector(D if step == 1 else step * D), vector(new.residual - project(old.residual, new.H))
        curvature, step_square, change_square = numbers(s @ y, s @ s, y @ y)
        if not curvature > _CURVATURE * math.sqrt(step_square * change_square):
            return False
        self.steps[slot, :], self.changes[slot, :], self.curvatures[slot] = s, y, curvature
        inverse = self.inverse[:used, :used]
        inverse[slot], inverse[:, slot] = 0.0, 0.0
        inverse[:, slot] = inverse @ as_numpy(self.steps[:used, :] @ y) / -curvature
        inverse[slot, slot] = 1 / curvature
        return True

    def direction(self, iterate: Iterate) -> tuple[Array, float]:
        r"""Minus the inverse Hessian times LH, projected to the tangent spaces, and the slope of the objective along it."""
        z = self._apply(iterate) if self.count else iterate.displacement
        D = -project(z, iterate.H)
        return D, -2 * inner(iterate.residual, D)

    def _apply(self, iterate: Iterate) -> Array:
        r"""The two loops of Nocedal are :math:`R u = S q,\; z = \gamma M^{-1}(q - Y^\top u),\;
        R^\top w = \operatorname{diag}(R)\, u - Y z`, and the result is :math:`z + S^\top w`.
        """
        q, model, used = vector(iterate.residual), iterate.residual, self.used
        S, Y = self.steps[:used, :], self.changes[:used, :]
        inverse, diagonal = self.inverse[:used, :used], self.curvatures[:used]
        u = inverse @ as_numpy(S @ q)
        q = q - like(q, u) @ Y
        change = matrix(self.changes[self.last, :], model)
        z = vector(iterate.precondition(matrix(q, model)))
        z *= float(diagonal[self.last]) / inner(change, iterate.precondition(change))
        w = (diagonal * u - as_numpy(Y @ z)) @ inverse
        z += like(q, w) @ S
        return matrix(z, model)
