"""Limited-memory BFGS on the product of spheres: the workhorse far from the optimum."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._arrays import inner, matrix, namespace, vector
from ...operators.base import Array
from ..problem import Iterate, Problem
from .line_search import line_search, project

# More pairs cost time at every step and save a few products: worth it where a product is the larger cost.
_MEMORY = 4
_LARGE_MEMORY = 12
_LARGE = 2000
# A curvature pair is kept only if its vectors are not almost orthogonal.
_CURVATURE = 1e-8


@dataclass(frozen=True)
class _Pair:
    """Step and change of gradient, as vectors, with their inner product."""

    step: Array
    change: Array
    product: float


def quasi_newton(problem: Problem, iterate: Iterate, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""L-BFGS with the metric of the pulls :math:`v_i = \lVert\sum_{j\ne i} J_{ij} h_j\rVert`.

    The initial inverse Hessian is :math:`\operatorname{Diag}(1/v)` (times the usual scalar): at an optimum v is diag(L), so
    that rows that are held weakly, such as outliers, move as readily as the others. Works for any symmetric J; ends when no
    step increases the objective beyond rounding.
    """
    pairs: deque[_Pair] = deque(maxlen=_LARGE_MEMORY if problem.n >= _LARGE else _MEMORY)
    while True:
        D = _direction(iterate, pairs)
        slope = -2 * inner(iterate.residual, D)
        if not slope > 0:  # the memory has gone stale
            pairs.clear()
            D = _direction(iterate, pairs)
            slope = -2 * inner(iterate.residual, D)
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
    shape, weights = iterate.residual.shape, []
    q = namespace(iterate.residual).asarray(vector(iterate.residual), copy=True)
    for pair in reversed(pairs):
        a = float(pair.step @ q) / pair.product
        q -= a * pair.change
        weights.append(a)
    q = vector(iterate.metric.solve(matrix(q, shape)))
    if pairs:
        last = pairs[-1]
        change = matrix(last.change, shape)
        q *= last.product / inner(change, iterate.metric.solve(change))
    for pair, a in zip(pairs, reversed(weights), strict=True):
        q += (a - float(pair.change @ q) / pair.product) * pair.step
    return -project(matrix(q, shape), iterate.H)


def _remember(pairs: deque[_Pair], old: Iterate, new: Iterate, step: Array) -> None:
    s, y = vector(step), vector(new.residual - project(old.residual, new.H))
    product = float(s @ y)
    if product > _CURVATURE * math.sqrt(float(s @ s) * float(y @ y)):
        pairs.append(_Pair(s, y, product))
