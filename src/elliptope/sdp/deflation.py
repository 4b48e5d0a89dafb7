r"""What is known of L before it is tested: at a critical point LH = 0, and near one almost.

Let U be an orthonormal basis of the range of H, in whitened coordinates, and :math:`N = E L E^\top`. With respect to U and
its complement

.. math:: N = \begin{pmatrix} A & C^\top \\ C & D \end{pmatrix}, \qquad
          D \succeq -t \;\Rightarrow\; \lambda_{\min}(N) \ge \lambda_{\min}
          \begin{pmatrix} -\lVert A\rVert & -\lVert C\rVert \\ -\lVert C\rVert & -t \end{pmatrix} ,

where A and C follow from the residual LH alone and are small. So only D has to be tested, and where the optimum is unique D
is definite: what that takes depends on its smallest eigenvalue, and no longer on how small a shift is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, as_numpy, like, spectral_norm
from ..operators.metric import Metric
from .probes import Probe
from .problem import Iterate

# Squared length of a combination of columns, relative to the longest, below which it is rounding.
_DEPENDENT = 1e-12


@dataclass(frozen=True)
class AlmostNull:
    """An orthonormal basis U, (n, q), with the norms of the blocks A and C of N that belong to it."""

    basis: Array
    inside: float
    across: float

    def project(self, V: Array) -> Array:
        """V less its part in the range of U; what rounding leaves of that goes with the rounding of products."""
        return V - self.basis @ (self.basis.T @ V)

    def shift(self, t: float, rounding: float) -> float:
        """s such that N ≥ -s, where D ≥ -t and A and C are known up to ``rounding``."""
        if not self.basis.shape[1]:
            return t
        a, c = self.inside + rounding, self.across + rounding
        return 0.5 * (a + t) + math.hypot(0.5 * (a - t), c)


def almost_null(iterate: Iterate, metric: Metric, allowed: float) -> AlmostNull:
    """The part of the range of H that N maps to vectors no longer than ``allowed``, direction by direction."""
    W, R = metric.whiten(iterate.H), metric.whiten_gradient(iterate.residual)
    for _ in range(2):  # twice is enough for orthogonality to rounding
        lengths, V = np.linalg.eigh(as_numpy(W.T @ W))
        used = lengths > _DEPENDENT * max(float(lengths[-1]), 0.0)
        T = like(iterate.H, V[:, used] / np.sqrt(lengths[used]))
        W, R = W @ T, R @ T
    # Directions in which R is short, rather than columns: a rotation of U is as good a basis.
    squares, V = np.linalg.eigh(as_numpy(R.T @ R))
    V = like(iterate.H, V[:, squares <= allowed**2])
    U, R = W @ V, R @ V
    A = U.T @ R
    return AlmostNull(U, spectral_norm(A), spectral_norm(R - U @ A))


def projected(probe: Probe, known: AlmostNull) -> Generator[Array, Array, Any]:
    """A probe of N on the complement of what is known, to which its vectors belong, as one that asks for products with N."""
    q = next(probe)
    while True:
        product = yield q
        try:
            q = probe.send(known.project(product))
        except StopIteration as end:
            return end.value
