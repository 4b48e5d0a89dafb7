"""The method of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..._utils.arrays import Array, absolute_total
from ..._utils.rounding import UNIT
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from ..steps import normalize_rows


def power(meter: Meter, H: Array, goal: Goal, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""The projected power method (Algorithm 1 of Fanuel et al.).

    .. math:: h_i \leftarrow (JH)_i / \lVert (JH)_i \rVert

    The objective never decreases when J is positive semi-definite; a decrease beyond rounding is an error.
    """
    highest = -math.inf
    while True:
        iterate = meter.evaluate(H)
        rounding = 16 * meter.problem.n * UNIT * absolute_total(iterate.y)
        if iterate.objective < highest - rounding:
            raise ValueError("`cost` must be positive semi-definite for the power method, which just descended; use 'auto'.")
        highest = max(highest, iterate.objective)
        yield iterate
        # A zero row has no direction of ascent; the paper restarts it at random.
        H = normalize_rows(iterate.P + iterate.offset[:, None] * iterate.H, rng)
