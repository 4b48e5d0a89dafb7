"""Limited-memory BFGS on the product of spheres: the workhorse far from the optimum."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem
from .line_search import line_search, project

_MEMORY = 8
# A curvature pair is kept only if its vectors are not almost orthogonal.
_CURVATURE = 1e-8


@dataclass(frozen=True)
class _Pair:
    """Step and change of gradient, with their inner product."""

    step: Array
    change: Array
    product: float


def quasi_newton(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""L-BFGS with the metric of the pulls :math:`v_i = \lVert\sum_{j\ne i} J_{ij} h_j\rVert`.

    The initial inverse Hessian is :math:`\operatorname{Diag}(1/v)` (times the usual scalar): at an optimum v is diag(L), so
    that rows that are held weakly, such as outliers, move as readily as the others. Works for any symmetric J; ends when no
    step increases the objective beyond rounding.
    """
    iterate = problem.evaluate(H)
    yield iterate
    pairs: deque[_Pair] = deque(maxlen=_MEMORY)
    while True:
        D = _direction(iterate, pairs)
        slope = -2 * np.vdot(iterate.residual, D)
        if not slope > 0:  # the memory has gone stale
            pairs.clear()
            D = _direction(iterate, pairs)
            slope = -2 * np.vdot(iterate.residual, D)
        found = line_search(problem, iterate, D, slope, rng)
        if found is None:
            if not pairs:
                return
            pairs.clear()
            continue
        step, new = found
        _remember(pairs, iterate, new, step * D)
        iterate = new
        yield iterate


def _direction(iterate: Iterate, pairs: deque[_Pair]) -> Array:
    """The two-loop recursion, applied to the descent residual LH."""
    q = iterate.residual.copy()
    inverse_metric = 1 / np.maximum(iterate.pull, np.finfo(float).tiny)[:, None]
    weights = []
    for pair in reversed(pairs):
        a = np.vdot(pair.step, q) / pair.product
        q -= a * pair.change
        weights.append(a)
    q *= inverse_metric
    if pairs:
        last = pairs[-1]
        q *= last.product / np.vdot(last.change, inverse_metric * last.change)
    for pair, a in zip(pairs, reversed(weights), strict=True):
        q += (a - np.vdot(pair.change, q) / pair.product) * pair.step
    return -project(q, iterate.H)


def _remember(pairs: deque[_Pair], old: Iterate, new: Iterate, step: Array) -> None:
    change = new.residual - project(old.residual, new.H)
    product = float(np.vdot(step, change))
    if product > _CURVATURE * np.sqrt(np.vdot(step, step) * np.vdot(change, change)):
        pairs.append(_Pair(step, change, product))
