"""Moving along a tangent direction: what all methods but the power method share."""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array
from ..problem import Iterate, Problem
from ..steps import retract

_ARMIJO = 1e-4
_BACKTRACK = 0.3
_MAX_BACKTRACKS = 20
# A polishing step must reduce the stationarity by this factor.
PROGRESS = 0.8


def line_search(
    problem: Problem, iterate: Iterate, D: Array, slope: float, rng: np.random.Generator
) -> tuple[float, Iterate] | None:
    """Backtrack along the retraction of H + tD until the objective rises by a part of ``slope`` t; None if it cannot."""
    step = 1.0
    allowance = iterate.rounding
    for _ in range(_MAX_BACKTRACKS):
        if not step * slope > allowance:
            return None
        new = problem.evaluate(retract(iterate.H, D, step, rng))
        if new.gain >= iterate.gain + _ARMIJO * step * slope - allowance:
            return step, new
        step *= _BACKTRACK
    return None


def polish_step(problem: Problem, iterate: Iterate, D: Array, rng: np.random.Generator) -> Iterate | None:
    """A full step where the objective is flat to rounding: only the gradient still tells better from worse."""
    new = problem.evaluate(retract(iterate.H, D, 1.0, rng))
    return new if new.stationarity < PROGRESS * iterate.stationarity else None
