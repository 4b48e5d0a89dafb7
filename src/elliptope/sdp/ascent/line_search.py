"""Moving along a tangent direction: what all methods but the power method share."""

from __future__ import annotations

import numpy as np

from ..._utils.arrays import Array, is_single
from ..iterate import Iterate
from ..problem import Meter
from ..steps import retract

# Part of the slope that a step must realise, and the factor by which a step that does not is shortened (Armijo).
_ARMIJO = 1e-4
_BACKTRACK = 0.3


def line_search(
    meter: Meter, iterate: Iterate, D: Array, slope: float, rng: np.random.Generator
) -> tuple[float, Iterate] | None:
    """Backtrack along the retraction of H + tD until the objective rises by a part of ``slope`` t.

    Returns t and the new iterate; None where the rise would be lost in rounding.
    """
    step, allowance = 1.0, iterate.rounding
    # In single precision the objective is flat long before the gradient is small: a full step is always tried.
    while step * slope > allowance or (step == 1 and slope > 0 and is_single(D)):
        new = meter.evaluate(retract(iterate.H, D, step, rng))
        if new.gain >= iterate.gain + _ARMIJO * step * slope - allowance:
            return step, new
        step *= _BACKTRACK
    return None


def flat_step(meter: Meter, iterate: Iterate, D: Array, rng: np.random.Generator) -> Iterate | None:
    """A full step where the objective is flat to rounding: only the gradient still tells better from worse."""
    new = meter.evaluate(retract(iterate.H, D, 1.0, rng))
    return new if settles(new, iterate) else None


def settles(new: Iterate, old: Iterate) -> bool:
    """Whether rows are clearly closer to where they ought to be."""
    return new.stationarity < 0.8 * old.stationarity
