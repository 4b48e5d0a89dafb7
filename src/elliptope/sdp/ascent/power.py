"""The method of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..._utils.arrays import Array, absolute_total
from ..problem import Iterate, Problem
from ..steps import normalize_rows

# Decreases below this part of Σ|y| are rounding.
_ROUNDING = 1e-12


def power(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""The projected power method (Algorithm 1 of Fanuel et al.).

    .. math:: h_i \leftarrow (JH)_i / \lVert (JH)_i \rVert

    The objective never decreases when J is positive semi-definite; a decrease is an error.
    """
    highest = -math.inf
    while True:
        iterate = problem.evaluate(H)
        size = absolute_total(iterate.y)
        if iterate.objective < highest - _ROUNDING * size:
            raise ValueError("`cost` must be positive semi-definite for the power method, which just descended; use 'auto'.")
        highest = max(highest, iterate.objective)
        yield iterate
        # A zero row has no direction of ascent; the paper restarts it at random.
        H = normalize_rows(iterate.P + problem.offset[:, None] * iterate.H, rng)
