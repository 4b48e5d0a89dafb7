r"""The scale of infinite diffusion time: which connected component of the graph of the kernel a row belongs to.

:math:`A^\infty` projects on the indicator functions of the components. With s = 1 the optimum is known,
:math:`B_\star = A^\infty - v_0 v_0^\top`: its rows are the same within a component, and those of two components with shares
π, π' of the total mass are at an angle with

.. math:: \cos = -\sqrt{\frac{\pi \pi'}{(1 - \pi)(1 - \pi')}} .

Its rank is one less than there are components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Array, as_numpy
from ..operators import KernelOperator
from ..sdp import Certificate
from .extension import unit_rows

# Length ω of the rows, beside those of the other scales. With 2, k-means misses some far groups of unequal size; with 3, it
# spends a cluster on a component of four rows.
GROUP_LENGTH = 2.4
# Columns beyond which a fixed random projection takes the place of the simplex.
_MOST_COLUMNS = 32


@dataclass(frozen=True, eq=False)
class Groups:
    """The components, in order of their number of points, the largest first."""

    labels: Array  # (n,): the component of each point
    rows: Array  # (g, r): where each component is, of unit length
    certificate: Certificate

    def embed(self, points: Array) -> Array:
        """Rows of length ω for the numbers of points."""
        return GROUP_LENGTH * self.rows[self.labels[points]]


def find_groups(A: KernelOperator) -> Groups | None:
    """The components of the graph of A; None where there is one."""
    found = A.components()
    sizes = np.bincount(found)
    if len(sizes) == 1:
        return None
    number = np.empty(len(sizes), dtype=np.intp)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    labels = number[found]
    m, w = as_numpy(A.m), as_numpy(A.w)
    share = np.bincount(labels, w * m) / A.M
    odds = np.sqrt(share / (1 - share))
    cosines = -np.outer(odds, odds)
    np.fill_diagonal(cosines, 1.0)
    values, P = np.linalg.eigh(cosines)
    rows = P[:, 1:] * np.sqrt(np.maximum(values[1:], 0.0))
    if rows.shape[1] > _MOST_COLUMNS:
        rows = rows @ np.random.default_rng(0).standard_normal((rows.shape[1], _MOST_COLUMNS))
    # With Abar = A^∞ - v0 v0ᵀ, max Tr(Abar B) - ‖B‖²/2 is attained at B = Abar, a projection.
    objective = 0.5 * (len(sizes) - 1)
    own = w * m * (1 / share[labels] - 1) / A.M  # w_i Abar_ii
    certificate = Certificate(
        objective=objective,
        upper_bound=objective,
        gap=0.0,
        grade="proved",
        failure_probability=0.0,
        min_eigenvalue=0.0,
        stationarity=0.0,
        gain=objective - 0.5 * float(own @ own),
        weights="slack",
        distance_bound=0.0,
    )
    return Groups(labels, unit_rows(rows), certificate)
