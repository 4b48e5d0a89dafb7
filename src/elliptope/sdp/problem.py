r"""The factorised problem: maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dsygv

from .._utils.arrays import Array, as_numpy, columnwise, hstack, inner, largest, like, namespace, row_norms, total
from .._utils.lazy import lazy
from ..operators.base import Operator
from ..operators.metric import DiagonalMetric, Metric
from .certificates.probes import Passenger, Probe
from .steps import Rows, measure, normalize_rows

# A column of H with no entry beyond this holds a negligible part (1e-7) of the squared length of every row.
SMALL_COLUMN = 3e-4
# Sizes of a product, and of a diagonal, of whose squares none overflows or underflows, summed over as many rows as one may
# have.
_LARGEST, _SMALLEST = 1e140, 1e-140
# Part of the absolute slacks that rounding may make of their sum.
_ROUNDING = 1e-14
# Defect, relative to a gap, at which the range of H is not in its way, whatever is left of short columns.
_CLEAR = 0.1


def drop_columns(H: Array, threshold: float, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns in which no row has more than ``threshold`` of its length."""
    H, _ = _principal(H, H)
    return _keep(H, _lengths(H) > threshold, rng)


def count_columns(H: Array, threshold: float) -> int:
    """Principal axes of H along which some row has more than ``threshold`` of its length."""
    return int((_lengths(_principal(H, H)[0]) > threshold).sum())


def drop_light_columns(H: Array, weights: Array, share: float, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes, rows counting by ``weights``, and drop columns with less than ``share`` of all."""
    H, squares = _principal(H, weights[:, None] * H)
    return _keep(H, squares > share * squares.sum(), rng)


def _principal(H: Array, weighted: Array) -> tuple[Array, Array]:
    squares, V = np.linalg.eigh(as_numpy(H.T @ weighted))
    return H @ like(H, V[:, ::-1]), squares[::-1]


def _lengths(H: Array) -> Array:
    return as_numpy(namespace(H).max(abs(H), axis=0))


def _keep(H: Array, used: Array, rng: np.random.Generator) -> Array:
    columns = [H[:, k : k + 1] for k in np.flatnonzero(used).tolist()]
    return normalize_rows(hstack(columns), rng) if columns else H


def random_start(n: int, rank: int, rng: np.random.Generator) -> Array:
    """The paper's starting point: independent entries uniform in [-1, 1], rows normalised."""
    return normalize_rows(rng.uniform(-1.0, 1.0, (n, rank)), rng)


@dataclass(frozen=True)
class Iterate:
    r"""A feasible H with its product P by the core :math:`J_0 = J - \operatorname{Diag}(e)`, of which all else follows.

    .. math:: p_i = (J_0 H)_i, \qquad \text{slack}_i = h_i \cdot p_i, \qquad y = \text{slack} + e, \qquad
              (LH)_i = (h_i \cdot p_i)\, h_i - p_i .

    Where the core is hollow, the slack is diag(L). Nothing but ``y`` and ``objective`` involves the offset e, so that none
    of it is lost to its rounding.
    """

    H: Array
    P: Array
    offset: Array
    coupling: Metric | None = None  # the operator's own metric, where it has one

    @lazy
    def rows(self) -> Rows:
        return measure(self.H, self.P)

    @property
    def slack(self) -> Array:
        """y less the offset; where the core is hollow it is diag(L), non-negative at an optimum."""
        return self.rows.slack

    @property
    def gain(self) -> float:
        """Objective less Σe: where the core is hollow, what is won over B = Diag(d), whatever diagonal J carries."""
        return self.rows.total

    @lazy
    def y(self) -> Array:
        return self.slack + self.offset

    @lazy
    def objective(self) -> float:
        return self.gain + total(self.offset)

    @property
    def rounding(self) -> float:
        """Changes of the gain up to this are put down to rounding."""
        return _ROUNDING * self.rows.absolute

    @property
    def residual(self) -> Array:
        """LH, minus half the Riemannian gradient; shape (n, r)."""
        return self.rows.residual

    @lazy
    def pull(self) -> Array:
        """Length of p_i: how strongly the other rows hold row i, the slack at an optimum, and the natural scale of row i."""
        return row_norms(self.P)

    @lazy
    def defect(self) -> float:
        r""":math:`\big(\langle LH, M^{-1} LH\rangle / \text{gain}\big)^{1/2}`: of the size of the gap.

        Rows count by how much the gain depends on them, so that a few weak ones do not hide that the gap is closed.
        """
        size = self.gain if self.gain > 0 else self.rows.absolute
        square = self.rows.square if self.coupling is None else inner(self.residual, self.displacement)
        return 0.0 if size == 0 else math.sqrt(max(square, 0.0) / size)

    @lazy
    def metric(self) -> Metric:
        """The operator's metric; or else the diagonal of pulls."""
        return self.coupling or DiagonalMetric(self.scale)

    @lazy
    def scale(self) -> Array:
        """The pulls, kept from zero so that one can divide by them; only those of no size are changed."""
        return 1 / self.rows.inverse

    @lazy
    def displacement(self) -> Array:
        r""":math:`M^{-1} L H`: how far rows are from where they ought to be; shape (n, r)."""
        return self.metric.solve(self.residual)

    @lazy
    def stationarity(self) -> float:
        """The farthest displacement of a row: zero exactly at critical points."""
        return largest(row_norms(self.displacement))

    @lazy
    def least_gap(self) -> float:
        r"""The relative gap that no proof in this metric can undercut; NaN where rounding leaves nothing to tell.

        :math:`L + sM \succeq 0` only if it is so on the range of H, where :math:`H^\top L H` is small but need not be psd.
        Near an optimum the pulls are the slacks, in which proofs are made.
        """
        W = self.metric.whiten(self.H)
        values, _, info = dsygv(as_numpy(self.H.T @ self.residual), as_numpy(W.T @ W), jobz="N")
        if info or not self.gain > 0:
            return math.nan
        return -float(values[0]) * self.metric.total(self.objective) / self.gain

    @lazy
    def isolated(self) -> bool:
        """Whether no row is held by any other, which is so where J is diagonal."""
        return not bool(namespace(self.P).any(self.P))


def check_size(iterate: Iterate) -> None:
    """Refuse a cost whose products are not finite, or so large or small that their squares overflow or underflow."""
    size, diagonal = largest(abs(iterate.P)), largest(abs(iterate.offset))
    if not (size == 0 or _SMALLEST <= size <= _LARGEST) or not diagonal <= _LARGEST:
        raise ValueError(
            f"`cost`, scaled by `diagonal`, must have a diagonal of at most {_LARGEST:g}, and products with vectors of size "
            f"1 between {_SMALLEST:g} and {_LARGEST:g}, got {diagonal:.3g} and {size:.3g}; multiply it by a constant."
        )


@dataclass(frozen=True)
class Goal:
    """What an iterate has to attain for the loop to stop there; ``aim`` is a defect beyond which nobody needs to go."""

    defect: float = math.inf
    stationarity: float = math.inf
    gap: float = math.inf
    aim: float = 0.0

    def reached(self, iterate: Iterate) -> bool:
        return (
            iterate.defect <= self.defect
            and (self.stationarity == math.inf or iterate.stationarity <= self.stationarity)
            and (self.gap == math.inf or iterate.defect <= _CLEAR * self.gap or not iterate.least_gap > self.gap)
        )


class OutOfProducts(Exception):
    """All block products that a solve may take have been taken."""


class Problem:
    """An operator seen as the cost of an SDP over the elliptope; counts the block products spent on it."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.n = operator.n
        self.offset = operator.offset()
        if self.offset.dtype != namespace(self.offset).float64:
            # Bounds account for the rounding of double precision.
            raise ValueError(f"`cost` must be an operator in float64, got an offset of dtype {self.offset.dtype}.")
        self.metric = operator.metric()
        self.n_products = 0
        self.max_products = math.inf
        self.goal = Goal()
        self.few_large = True  # whether J may have so few large eigenvalues that a proof can do without a factorisation
        self._single: Operator | None = None
        self._passenger: Passenger | None = None
        self._core: Array | None = None

    @property
    def in_single_precision(self) -> bool:
        return self._single is not None

    def use_single_precision(self) -> None:
        """From now on products may be in single precision, where the operator finds that faster."""
        self._single = self.operator.single()

    def use_double_precision(self) -> None:
        """From now on products are in double precision; the copy in single precision is given up."""
        self._single = None

    def take_along(self, probe: Probe | None) -> Passenger | None:
        """Let a probe have its products made together with those that are asked for from now on; None ends that."""
        self._passenger = None if probe is None else Passenger(probe)
        return self._passenger

    def product(self, V: Array) -> Array:
        """Product with the core of J; one that ``max_products`` does not allow for is not made."""
        if self.n_products >= self.max_products:
            raise OutOfProducts
        self.n_products += 1
        if self._single is not None:
            return self._single.core_matmat(V)
        passenger = self._passenger
        if passenger is None or passenger.wanted is None:
            return self.operator.core_matmat(V)
        both = self.operator.core_matmat(hstack([V, passenger.wanted]))
        passenger.send(both[:, V.shape[1] :])
        return both[:, : V.shape[1]]

    def evaluate(self, H: Array) -> Iterate:
        return Iterate(H, columnwise(self.product(H)), self.offset, self.metric)

    def core_matrix(self) -> Array:
        """The core of J itself, hollow, (n, n), a NumPy array for methods that factorise; made once."""
        if self._core is None:
            with self.operator.triangle(np.ones(self.n)) as T:
                self._core = -np.tril(T, -1)
            self._core += self._core.T
        return self._core
