r"""What is known of L before it is tested: at a critical point LH = 0, and near one almost.

Let U be an orthonormal basis of the range of H, in whitened coordinates, and :math:`N = E L E^\top`. With respect to U and
its complement

.. math:: N = \begin{pmatrix} A & C^\top \\ C & D \end{pmatrix}, \qquad
          D \succeq -t \;\Rightarrow\; \lambda_{\min}(N) \ge \lambda_{\min}
          \begin{pmatrix} -a & -\lVert C\rVert \\ -\lVert C\rVert & -t \end{pmatrix} , \qquad A \succeq -a ,

where A and C follow from the residual LH alone and are small. So only D has to be tested, and where the optimum is unique D
is definite: what that takes depends on its smallest eigenvalue, and no longer on how small a shift is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..._utils.arrays import Array, as_numpy, like, row_norms, spectral_norm, transposed_product
from ...operators.metric import Metric
from ..iterate import Iterate
from .probes import Probe, mapped

# Length of a combination of columns of H, relative to the longest, below which nothing is known of its residual.
_SHORTEST = 1e-6


@dataclass(frozen=True)
class AlmostNull:
    """An orthonormal basis U, (n, q); of the blocks of N that belong to it, a is ``inside`` and the norm of C ``across``.

    They are known up to ``amplification`` times the rounding of a product with N: short combinations of the columns of H are
    made long, and what rounding has left in their residual with them. ``values`` are the eigenvalues of A; the columns of U
    belong to them.
    """

    basis: Array
    inside: float
    across: float
    amplification: float = 1.0
    values: Array = field(default_factory=lambda: np.empty(0))

    def project(self, V: Array) -> Array:
        """V less its part in the range of U; what rounding leaves of that goes with the rounding of products."""
        return V - self.basis @ transposed_product(self.basis, V)

    def shift(self, t: float, rounding: float) -> float:
        """s such that N ≥ -s, where D ≥ -t and products with N err by no more than ``rounding``."""
        if not self.basis.shape[1]:
            return t
        error = self.amplification * rounding
        a, c = self.inside + error, self.across + error
        return 0.5 * (a + t) + math.hypot(0.5 * (a - t), c)


def almost_null(iterate: Iterate, metric: Metric, allowed: float, rounding: float) -> AlmostNull:
    """The part of the range of H that N maps to vectors no longer than ``allowed``, direction by direction.

    Combinations of columns that are so short that the ``rounding`` of products shows in them are left out.
    """
    W, R = metric.whiten(iterate.H), metric.whiten_gradient(iterate.residual)
    lengths, V = np.linalg.eigh(as_numpy(W.T @ W))
    shortest = max(rounding / allowed, _SHORTEST) ** 2 * max(float(lengths[-1]), 0.0)
    used = lengths > shortest
    # Directions in which R is long are left out first: those of columns that are about to vanish are short, and what
    # rounding makes of them would count for all.
    used[used] = as_numpy(row_norms((R @ like(R, V[:, used])).T)) <= allowed * np.sqrt(lengths[used])
    if not used.any():
        return AlmostNull(W[:, :0], 0.0, 0.0)
    # Of a product with r columns, rounding row by row is up to √r times what it is of one.
    amplification = math.sqrt(W.shape[1] * float(lengths[-1] / lengths[used][0]))
    W, R = _combine(W, R, V[:, used] / np.sqrt(lengths[used]))
    lengths, V = np.linalg.eigh(as_numpy(W.T @ W))  # twice is enough for orthogonality to rounding
    W, R = _combine(W, R, V / np.sqrt(lengths))
    # Directions in which R is short, rather than columns: a rotation of U is as good a basis.
    squares, V = np.linalg.eigh(as_numpy(R.T @ R))
    U, R = _combine(W, R, V[:, squares <= allowed**2])
    A = as_numpy(U.T @ R)
    values, V = np.linalg.eigh(0.5 * (A + A.T))
    across = spectral_norm(R - U @ like(U, A))
    return AlmostNull(U @ like(U, V), -float(values.min(initial=0.0)), across, amplification, values)


def _combine(W: Array, R: Array, T: Array) -> tuple[Array, Array]:
    T = like(W, T)
    return W @ T, R @ T


def projected(probe: Probe, known: AlmostNull, less: float = 0.0) -> Probe:
    """A probe of N - ``less`` on the complement of what is known, as one that asks for products with N.

    Its vectors belong to the complement.
    """
    return mapped(probe, lambda q: q, lambda q, _, product: known.project(product) - less * q)


def lifted(probe: Probe, known: AlmostNull, value: float) -> Probe:
    """A probe of N with what is known replaced by an eigenvalue ``value``, for vectors of the whole space."""
    return mapped(probe, known.project, lambda q, v, product: known.project(product) + value * (q - v))
