r"""Proofs by two moments of a spectrum, where few of its eigenvalues are large: some products instead of a factorisation.

With slack = diag(L), L is :math:`\operatorname{Diag}(\text{slack})^{1/2} (I - B) \operatorname{Diag}(\text{slack})^{1/2}`,
where B has a zero diagonal. Let the columns of Q, (n, k), be orthonormal. With respect to Q
and its complement

.. math:: B = \begin{pmatrix} S & C^\top \\ C & D \end{pmatrix}, \qquad \operatorname{Tr} D = -\operatorname{Tr} S, \qquad
          \lVert D\rVert_F^2 = \lVert B\rVert_F^2 - \lVert S\rVert_F^2 - 2\lVert C\rVert_F^2 .

The n - k eigenvalues of D have a known mean m and sum of squares. The square of :math:`\lambda - m` is one of the terms that
sum to :math:`\lVert D\rVert_F^2 - (n - k)\, m^2`, so that none exceeds τ; and a Schur complement gives the second line:

.. math:: \tau = m + \big(\lVert D\rVert_F^2 - (n - k)\, m^2\big)^{1/2}, \qquad
          \mu \succ S,\; \lVert C(\mu - S)^{-1/2}\rVert^2 \le \mu - \tau \;\Rightarrow\; B \preceq \mu .

The range of H, where B is almost 1, is taken out beforehand (:mod:`~elliptope.sdp.certificates.deflation`). What is left
has to be shown to be less than 1 by some margin, so that coarse bounds suffice. Q is a Krylov space of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array, as_numpy, hstack, inner, like
from ..._utils.rounding import UNIT
from ...operators.metric import DiagonalMetric
from ..iterate import Iterate
from ..problem import Meter, Problem
from ..tuning import Tuning
from .deflation import AlmostNull, almost_null

# Margins below 1 that are too small to be proved.
_LEAST_MARGIN = 1e-3


@dataclass(frozen=True)
class MomentProof:
    """A proof that L + sM ≥ 0 for s = ``shift``.

    Whitened, L is almost zero on the directions that are ``known``, and at least ``margin`` on their complement; ``lowest``
    is the smallest Ritz value there, if there is one, or else that margin.
    """

    shift: float
    known: AlmostNull
    margin: float
    lowest: float


def prove_by_moments(meter: Meter, iterate: Iterate, metric: DiagonalMetric, rng: np.random.Generator) -> MomentProof | None:
    """Prove L + s Diag(slack) ≥ 0 for a small s; None where that fails, or would take too many columns.

    Directions of the range of H on which L almost vanishes are bounded from the residual LH; on their complement L is shown
    to be at least ``margin`` times Diag(slack).
    """
    problem = meter.problem
    squares = meter.core_square(metric.v)
    if _expected_columns(squares - iterate.H.shape[1], problem.tuning) > _most_columns(problem):
        return None
    rounding = _rounding(problem, metric, math.sqrt(squares))
    known = almost_null(iterate, metric, problem.tuning.known, rounding)
    rest = _Rest(meter, metric, known, squares, rounding)
    expected = _expected_columns(rest.squares, problem.tuning)
    # Blocks of 4 to 32 columns, two where that suffices, and no more than twice the columns expected, and 16.
    width, most = min(max(math.ceil(expected / 2), 4), 32), 2 * (expected + 8)
    while (found := rest.margin()) is None:
        if rest.columns + width > most or not rest.extend(width, rng):
            return None
    margin, lowest = found
    return MomentProof(max(known.shift(-margin, rounding), 0.0), known, margin, lowest)


def _most_columns(problem: Problem) -> float:
    """Columns beyond which a factorisation, where there is one, costs less."""
    most = problem.tuning.most_columns
    return min(problem.n / problem.tuning.rows_per_column, most) if problem.operator.can_factor else most


def _expected_columns(squares: float, tuning: Tuning) -> float:
    """Columns to expect, if eigenvalues that were not taken out have that sum of squares."""
    return tuning.columns_per_square * max(squares - 1, 0.0)


def _rounding(problem: Problem, metric: DiagonalMetric, size: float) -> float:
    """Bound on the rounding of products with B, relative to what is multiplied: of entries, and of sums in any order.

    Row by row it is that of a product of |B|, whose norm is at most the Frobenius norm of B, ``size``.
    """
    operator = problem.operator
    least = (problem.n + 16) * UNIT + operator.entry_error
    return operator.rounding_in(metric, size) * max(1.0, least / operator.product_error)


class _Rest:
    """B on the complement of what is known, with a growing Krylov space Q of it, and G = B Q."""

    def __init__(self, meter: Meter, metric: DiagonalMetric, known: AlmostNull, squares: float, rounding: float) -> None:
        self._meter, self._metric, self._known = meter, metric, known
        self._n = meter.problem.n
        self._size, self._rounding = math.sqrt(squares), known.amplification * rounding
        # On the q directions that are known B is 1, but for what was allowed to them.
        q, off = known.basis.shape[1], meter.problem.tuning.known + self._rounding
        self.squares = squares - q * max(1 - off, 0.0) ** 2
        self._trace, self._trace_error = -q, q * off
        self._Q, self._G = known.basis[:, :0], known.basis[:, :0]

    @property
    def columns(self) -> int:
        return self._Q.shape[1]

    def extend(self, width: int, rng: np.random.Generator) -> bool:
        """One more block of the Krylov space: of what B made of the last one, what is new. False where nothing is."""
        new = self._G[:, -width:] if self.columns else like(self._Q, rng.standard_normal((self._n, width)))
        W = _orthonormal(new, hstack([self._known.basis, self._Q]), math.sqrt(UNIT) * self._size)
        if not W.shape[1]:
            return False
        G = self._known.project(self._metric.whiten_gradient(self._meter.product(self._metric.unwhiten(W))))
        self._Q, self._G = hstack([self._Q, W]), hstack([self._G, G])
        return True

    def margin(self) -> tuple[float, float] | None:
        """1 less a proved upper bound on B on the complement of what is known, and 1 less its largest Ritz value.

        None where no bound below 1 is proved yet.
        """
        S, squares = as_numpy(self._Q.T @ self._G), inner(self._G, self._G)
        if self._tail(S, squares, 0.0) > 1 - _LEAST_MARGIN:
            return None
        basis = hstack([self._known.basis, self._Q])
        skew = as_numpy(basis.T @ basis) - np.eye(basis.shape[1])
        # By which S and G may differ from QᵀBQ and BQ in the Frobenius norm: k columns, each with the rounding of a product,
        # with a basis that is not quite orthonormal on either side; four times that is generous.
        skewness = math.sqrt(np.vdot(skew, skew)) + len(skew) * (self._n + 16) * UNIT
        error = 4 * math.sqrt(self.columns + 1) * (self._rounding + skewness * self._size)
        tail = self._tail(S, squares, error)
        if not self.columns:
            return (1 - tail, 1 - tail) if tail < 1 - 0.5 * _LEAST_MARGIN else None
        values, V = np.linalg.eigh(0.5 * (S + S.T))
        top = max(float(values[-1]), tail)
        if top > 1 - _LEAST_MARGIN:
            return None
        GG = V.T @ as_numpy(self._G.T @ self._G) @ V
        for part in (0.5, 0.9):  # of the way from the largest Ritz value, or τ, to 1
            mu = top + part * (1 - top)
            # Sums of squares of S and G have at most eight terms of the size of B times the error.
            if 1 - mu > 2 * error and _is_bound(mu, tail, values, GG, 8 * self._size * error):
                return 1 - mu - error, 1 - float(values[-1])
        return None

    def _tail(self, S: Array, squares_of_G: float, error: float) -> float:
        """An upper bound τ on the eigenvalues of D, where S and G differ from the exact ones by at most ``error``.

        ‖D‖² = ‖B‖² + ‖S‖² - 2‖G‖². Of all that the errors leave open, the largest mean and the smallest mean square count.
        """
        k = self.columns
        dimension = max(self._n - self._known.basis.shape[1] - k, 1)
        trace, off = self._trace - float(S.trace()), self._trace_error + k * error
        squares = self.squares + float(np.vdot(S, S)) - 2 * squares_of_G + 8 * self._size * error
        if error and squares < 0:  # with the errors added: so one of them is larger than it was said to be
            return math.inf
        return (trace + off) / dimension + math.sqrt(max(squares - max(abs(trace) - off, 0.0) ** 2 / dimension, 0.0))


def _is_bound(mu: float, tail: float, values: Array, GG: Array, error: float) -> bool:
    """Whether ‖C(μ - S)^{-1/2}‖² ≤ μ - τ, in the basis of eigenvectors of S; CᵀC = GᵀG - S² is off by ``error``."""
    x = 1 / np.sqrt(mu - values)
    M = x[:, None] * GG * x - np.diag((values * x) ** 2)
    return float(np.linalg.eigvalsh(M)[-1]) + error * float(x[-1]) ** 2 <= mu - tail


def _orthonormal(W: Array, basis: Array, nothing: float) -> Array:
    """An orthonormal basis of what the columns of W add to ``basis``, to rounding; what is that short is left out."""
    for _ in range(2):  # twice is enough
        W = W - basis @ (basis.T @ W)
        lengths, V = np.linalg.eigh(as_numpy(W.T @ W))
        used = lengths > max(nothing**2, UNIT * lengths.max(initial=0.0))
        W = W @ like(W, V[:, used] / np.sqrt(lengths[used]))
    return W
