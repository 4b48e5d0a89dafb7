"""What an iterate has to attain before a proof is tried."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .iterate import Iterate


@dataclass
class Goal:
    """The loop of a solve writes it, and tightens it when a proof fails; the methods of ascent read it.

    An iterate reaches it when its defect, its stationarity and the least gap that a proof could show are small enough.
    ``aim`` is a defect below which no method needs to go.
    """

    defect: float = math.inf
    stationarity: float = math.inf
    gap: float = math.inf
    aim: float = 0.0

    def reached(self, iterate: Iterate) -> bool:
        # A defect far below the gap says by itself that the gap is within reach.
        return (
            iterate.defect <= self.defect
            and (self.stationarity == math.inf or iterate.stationarity <= self.stationarity)
            and (self.gap == math.inf or iterate.defect <= 0.1 * self.gap or not iterate.least_gap > self.gap)
        )
