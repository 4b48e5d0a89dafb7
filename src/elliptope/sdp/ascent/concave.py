"""The method for the program with a quadratic term: L-BFGS with as many columns as the optimum turns out to have."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array, as_numpy, hstack, in_precision_of, inner, largest, like, namespace, row_dots
from ..factors import keep_columns, principal_axes
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows
from .dual_newton import can_use_dual, dual_newton, dual_start
from .newton import newton
from .quasi_newton import quasi_newton

# A defect that only random starts have.
_RANDOM = 0.3
# Entries of a factor beyond which steps in single precision are faster, and sizes of entries that it can square.
_LARGE = 50_000
_SIZES = 1e10
# Products by which random columns are made smooth.
_SMOOTHING = 6

Steps = Generator[Iterate, None, Iterate]


def concave(meter: Meter, H: Array, goal: Goal, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Ascend with L-BFGS; or, where J is small, or the optimum has many columns, or the ascent is slow, solve the dual.

    Large factors ascend in single precision first.
    """
    tuning, n = meter.problem.tuning, meter.problem.n
    iterate = yield from warm_up(meter, H, rng)
    yield iterate  # it may be critical already
    by_dual = can_use_dual(meter)
    limits = _Limits(n // 8, tuning.columns_per_row * n) if by_dual else _Limits(n, math.inf)
    if not by_dual or (n > tuning.small and meter.problem.spread < tuning.large_spread):
        single = _in_single_precision(meter, iterate)
        iterate, slow = yield from _by_columns(meter, single, iterate, limits, rng)
        if not by_dual or not slow:
            iterate, _ = yield from newton(meter, iterate, goal, rng, 10 * tuning.patience, single)
            yield from quasi_newton(meter, iterate, rng)
            return
    yield from dual_newton(meter, dual_start(meter, iterate) if iterate.defect < tuning.wide else None, rng)


def _by_columns(
    meter: Meter, single: Meter | None, iterate: Iterate, limits: _Limits, rng: np.random.Generator
) -> Generator[Iterate, None, tuple[Iterate, bool]]:
    """The ascent of :func:`_settle`, in single precision first; and whether it exceeded its limits."""
    tuning = meter.problem.tuning
    state = _State(iterate, spare=iterate.defect < tuning.wide)  # no random start, and what is missing the certificate tells
    if single is not None and not state.spare:
        state.iterate = single.evaluate(normalize_rows(in_precision_of(single.problem.offset, iterate.H), rng))
        yield from _settle(single, state, tuning.single_defect, limits, rng)
        state.iterate = meter.evaluate(normalize_rows(in_precision_of(meter.problem.offset, state.iterate.H), rng))
    yield from _settle(meter, state, tuning.concave_basin, limits, rng)
    return state.iterate, state.slow


@dataclass
class _Limits:
    """Columns that H may have, and that may be multiplied by J one after the other."""

    columns: int
    in_all: float


@dataclass
class _State:
    """The last iterate; whether H was seen to have a column to spare; columns multiplied; whether limits were exceeded."""

    iterate: Iterate
    spare: bool
    columns: int = 0
    slow: bool = False


def _settle(meter: Meter, state: _State, last: float, limits: _Limits, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""Ascend to ever smaller defects; in between widen H as long as all columns are needed, then drop those that are not.

    The rank of the optimum grows with the quadratic term, up to n. At a second-order critical point with a column to spare Z
    is optimal. Such a column vanishes with the square of the defect. Ends when the defect is below ``last``, or no step
    ascends, or limits are exceeded.
    """
    tuning, level = meter.problem.tuning, meter.problem.tuning.wide
    while state.iterate.defect > last and not state.slow:
        yield from _approach(meter, state, level, limits.in_all, rng)
        iterate = state.iterate
        if state.slow or iterate.defect > level:
            return
        U, lengths = principal_axes(iterate.H, _weights(meter))
        r, H = len(lengths), iterate.H @ U
        # Along a column h, L is hᵀLh, and that is positive along one that will vanish.
        positive = as_numpy(row_dots(H.T, (iterate.residual @ U).T)) > 0
        vanishing = positive & (lengths < tuning.vanishing * iterate.defect**2 * lengths[0])
        first = level == tuning.wide  # where columns that will vanish cannot be told from those that grow
        state.spare = state.spare or r >= meter.problem.n or (bool(vanishing.any()) and not first)
        if not state.spare and (not first or lengths[-1] > tuning.spare * lengths[0]):
            state.slow = r >= limits.columns
            state.iterate = _widened(meter, iterate, min(r, meter.problem.n - r), rng)
            continue
        state.iterate = _without(meter, iterate, H, vanishing & (level < 0.1 * tuning.wide), rng)
        level = max(0.1 * min(level, iterate.defect), last)


def warm_up(meter: Meter, H: Array, rng: np.random.Generator) -> Steps:
    r"""From a random start, a few steps :math:`h_i \leftarrow p_i/\lVert p_i\rVert`, each for one product.

    Where the operator has a metric, a random H is smoothed by it instead: rough rows are too far from anything good.
    """
    metric = meter.problem.metric
    for _ in range(4):  # more are never needed
        iterate = meter.evaluate(H)
        if iterate.defect < _RANDOM:
            return iterate
        yield iterate
        H = normalize_rows(iterate.P if metric is None else metric.solve(H), rng)
    return meter.evaluate(H)


def _approach(meter: Meter, state: _State, level: float, most: float, rng: np.random.Generator) -> Iterator[Iterate]:
    """L-BFGS until the defect is below ``level``, or so many columns have been multiplied."""
    yield state.iterate
    for iterate in quasi_newton(meter, state.iterate, rng, meter.problem.tuning.concave_memory):
        state.iterate, state.columns = iterate, state.columns + iterate.H.shape[1]
        yield iterate
        state.slow = state.columns > most
        if iterate.defect < level or state.slow:
            return


def _widened(meter: Meter, iterate: Iterate, more: int, rng: np.random.Generator) -> Iterate:
    r"""H with so many columns more, along which L is most negative as far as a few products tell.

    They are what :math:`(\tfrac12 + M^{-1}(J - EZE))^k` makes of random ones, and hold a tenth of the squared length of H.
    """
    H, n = iterate.H, meter.problem.n
    assert iterate.quadratic is not None
    V = like(H, rng.standard_normal((n, more)))
    for _ in range(_SMOOTHING):
        V = iterate.inverse_pull[:, None] * (meter.product(V) - iterate.quadratic.off_diagonal(V)) + 0.5 * V
    V = V * math.sqrt(0.1 * n / inner(V, V))
    return meter.evaluate(normalize_rows(hstack([H, V]), rng))


def missing_columns(meter: Meter, iterate: Iterate, direction: Array, rng: np.random.Generator) -> Array:
    r"""Directions of negative curvature of L, (n, k), orthogonal to each other and to H in the metric M.

    There may be dozens, of which a certificate finds one, the ``direction``. These are the eigenvectors to eigenvalues above
    1 of the pencil (J - EZE, M) on the block Krylov space of that direction and random ones. Its size is a few times that of
    H, and no more than what L-BFGS may keep.
    """
    tuning, (n, rank) = meter.problem.tuning, iterate.H.shape
    root, quadratic = iterate.inverse_pull[:, None] ** 0.5, iterate.quadratic
    assert quadratic is not None
    width = max(min(tuning.escape_block, n - rank), 1)
    most = min(tuning.escape_products * rank, tuning.memory_numbers // n, n - rank)
    W = hstack([direction[:, None] / root, like(root, rng.standard_normal((n, width - 1)))])
    basis, products = _orthonormal(iterate.H / root), []
    for _ in range(max(most // width, 1)):
        for _ in range(2):  # twice is enough
            W = _orthonormal(W - basis @ (basis.T @ W))
        V = root * W
        basis, W = hstack([basis, W]), root * (meter.product(V) - quadratic.off_diagonal(V))
        products.append(as_numpy(basis[:, rank:].T @ W))
    size = basis.shape[1] - rank
    T = np.hstack([np.vstack([block, np.zeros((size - len(block), width))]) for block in products])
    # Each block was multiplied by those before it and by itself: the part above the diagonal, and the diagonal.
    values, U = np.linalg.eigh(np.triu(T) + np.triu(T, 1).T)
    return root * (basis[:, rank:] @ like(root, U[:, values > 1.0]))


def _orthonormal(V: Array) -> Array:
    return namespace(V).linalg.qr(V)[0]


def _without(meter: Meter, iterate: Iterate, H: Array, vanishing: Array, rng: np.random.Generator) -> Iterate:
    """H, the iterate in its principal axes, without those that vanish if that costs no more than is missing of the gain."""
    if vanishing.any():
        fewer = meter.evaluate(keep_columns(H, ~vanishing, rng))
        if fewer.gain >= iterate.gain * (1 - iterate.defect**2):
            return fewer
    return meter.evaluate(normalize_rows(H, rng))


def _in_single_precision(meter: Meter, iterate: Iterate) -> Meter | None:
    """A meter in single precision, for factors so large that it pays and entries that it can hold; else None."""
    size = largest(iterate.pull)
    fits = iterate.H.shape[0] * meter.problem.tuning.concave_rank > _LARGE and 1 / _SIZES < size < _SIZES
    return meter.in_float32() if fits else None


def _weights(meter: Meter) -> Array:
    assert meter.problem.weights is not None
    return meter.problem.weights
