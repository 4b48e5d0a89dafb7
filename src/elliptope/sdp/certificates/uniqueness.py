r"""Is the optimum the only one?

Every optimal B has its range in the null space of L: with a basis N (n, k) of it, :math:`B = N S N^\top` where S is psd and
:math:`\operatorname{diag}(N S N^\top)` is prescribed. If the linear map :math:`S \mapsto \operatorname{diag}(N S N^\top)` is
injective on symmetric k × k matrices, there is one such B and no other (Alizadeh, Haeberly and Overton 1997).

Rows count in that map by their pull. Where S moves by δ, row i has to be stretched by about half of
:math:`a_i = n_i^\top \delta n_i`, where n_i is its row of N at unit length. That costs, up to a factor,
:math:`\sum_i \text{pull}_i a_i^2`: if only rows that are hardly held tell S from others, the objective hardly does.

With a quadratic term the optimum is the only one whatever the null space of L, and nothing is asked or told of that: all
functions return None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import (
    Array,
    all_zero,
    as_numpy,
    largest,
    like,
    namespace,
    row_norms,
    select_columns,
    take_rows,
)
from ..._utils.blocks import blocks
from ..._utils.rounding import TINY
from ...operators.factorization import Factorization
from ...operators.metric import Metric
from ..factors import SMALL_COLUMN, count_columns
from ..iterate import Iterate

# Eigenvalues of L, scaled to unit diagonal or in the operator's metric, that count as zero. B* moves by the residual over
# the smallest of the others; a residual of 1e-12 is about what double precision attains, so that below 1e-6 not even six
# digits of B* are determined. So it is with the curvature within the null space.
ZERO = 1e-6
# Eigenvalues, and singular values of the map, that may be zero where H has not converged: as a multiple of its error.
_DOUBT = 10.0
# A basis that inverse iteration has refined has no error to speak of where rows are stationary to this, and else none that
# eigenvalues below the second number would amplify.
_SETTLED = 1e-7
_LEAST_AMPLIFYING = 1e-3
# Unknowns beyond which injectivity is not tested, and uniqueness therefore not shown.
_MAX_UNKNOWNS = 2000
# Products of two entries of a row that are held at a time.
_PRODUCTS = 2**28


@dataclass(frozen=True)
class NullSpace:
    """What is known of the null space of the scaled L.

    ``nullity`` is its dimension to working precision (a lower bound where it is large), ``spectral_gap`` the next
    eigenvalue (by moments at least a bound on it or a Ritz value, by a factorisation a Rayleigh quotient), ``rank`` that of
    H to the same precision, and ``unique`` whether it was shown that only one feasible B has its range in it. ``curvature``
    says how firmly that B is held against others of the same range: the least of the objective's, relative to its largest.
    """

    nullity: int
    spectral_gap: float
    rank: int
    unique: bool
    curvature: float

    @property
    def strict(self) -> bool:
        """Strict complementarity. Where it fails, B may move into the null space of L at a cost that does not show."""
        return self.nullity <= self.rank


def null_space(factor: Factorization, iterate: Iterate, metric: Metric) -> NullSpace | None:
    r"""The null space of L in the metric, from the factorisation of L + sM.

    Meaningful once H has converged, for an s well below the spectral gap. Inverse iteration on H and a few random vectors:
    the null space dominates the inverse by the factor 1/s, so that one iteration finds it and the Rayleigh quotients of a
    second measure it.
    """
    if iterate.quadratic is not None:
        return None
    n, r = iterate.H.shape
    start = as_numpy(metric.whiten(iterate.H))
    rng = np.random.default_rng(0)  # the probe decides nothing but how soon the null space is found
    width = min(r + 2, n)
    while True:
        Q = np.hstack([start, rng.standard_normal((n, max(width - r, 0)))])
        Q, _ = np.linalg.qr(factor.solve(Q))
        inverse, U = np.linalg.eigh(Q.T @ factor.solve(Q))
        values = 1 / inverse - factor.added
        k = int((values <= perhaps_null(iterate)).sum())
        if k < width or width == n or k * (k + 1) // 2 > min(n, _MAX_UNKNOWNS):
            break
        width = min(2 * width, n)
    return null_space_among(like(iterate.H, Q @ U), values, np.inf, iterate, metric, iterate.stationarity <= _SETTLED)


def null_space_among(
    basis: Array, values: Array, beyond: float, iterate: Iterate, metric: Metric, exact: bool = False
) -> NullSpace | None:
    """The null space among directions, (n, k), with their eigenvalues; others are ``beyond``. In whitened coordinates.

    Uniqueness is shown by all directions that may belong to it, which are at least those that do, and disproved by those
    that do for certain. None where H has not converged so far that one or the other succeeds. Rows of the basis are off from
    those of the null space at the optimum by the displacement of rows of H over the next eigenvalue, unless it is ``exact``.
    """
    if iterate.quadratic is not None:
        return None
    N, pull = metric.unwhiten(basis), iterate.pull
    perhaps, certainly = values <= perhaps_null(iterate), values <= ZERO
    following = max(float(values[~perhaps].min(initial=beyond)), _LEAST_AMPLIFYING)
    noise = 0.0 if exact else _DOUBT * iterate.stationarity / following
    curvature = _least_curvature(select_columns(N, perhaps), pull)
    unique = curvature > max(ZERO, noise**2)  # the square of a singular value, which is off by the noise
    if not unique:
        if certainly.sum() < perhaps.sum():
            curvature = _least_curvature(select_columns(N, certainly), pull)
        if curvature > ZERO or not certainly.any():
            return None
    null = perhaps if unique else certainly
    gap = float(values[~null].min(initial=beyond))
    return NullSpace(int(null.sum()), gap, count_columns(iterate.H, SMALL_COLUMN), unique, curvature)


def larger_null_space(values: Array, lowest: float, iterate: Iterate) -> NullSpace | None:
    """The null space where, beside eigenvalues in the range of H, one beyond it is zero to working precision, too."""
    if iterate.quadratic is not None:
        return None
    nullity = int((values <= perhaps_null(iterate)).sum()) + 1
    return NullSpace(nullity, lowest, count_columns(iterate.H, SMALL_COLUMN), False, 0.0)


def null_space_of_zero(iterate: Iterate) -> NullSpace | None:
    """The null space of L = 0: every B is optimal, and with one row there is only one."""
    if iterate.quadratic is not None:
        return None
    n, rank = iterate.H.shape[0], count_columns(iterate.H, SMALL_COLUMN)
    return NullSpace(n, np.inf, rank, n == 1, float(n == 1))


def perhaps_null(iterate: Iterate) -> float:
    """Eigenvalues up to this may be zero at the optimum that H approaches."""
    return max(ZERO, _DOUBT * iterate.defect)


def _least_curvature(N: Array, pull: Array) -> float:
    """The square of the smallest singular value of S ↦ diag(N S Nᵀ), relative to the largest; 0 where it is not known.

    On symmetric matrices, with unit rows of N, which count by their pull.
    """
    n, k = N.shape
    if k * (k + 1) // 2 > min(n, _MAX_UNKNOWNS):
        return 0.0
    # Rows of no length say nothing. A product of two columns takes the root of the pull; where J is diagonal there is none.
    root = namespace(pull).ones_like(pull) if all_zero(pull) else (pull / largest(pull)) ** 0.25
    columns = (root[:, None] * N / (row_norms(N) + TINY)[:, None]).T
    i, j = np.triu_indices(k)
    gram = np.zeros((len(i), len(i)))
    for part in blocks(0, n, max(_PRODUCTS // max(len(i), 1), 1)):
        A = take_rows(columns[:, part], i) * take_rows(columns[:, part], j)
        gram += as_numpy(A @ A.T)
    squares = np.linalg.eigvalsh(gram)
    return float(max(squares[0], 0.0) / squares[-1]) if k and squares[-1] > 0 else 0.0
