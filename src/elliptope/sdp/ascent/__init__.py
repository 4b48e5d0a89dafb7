"""Ascent methods: generators of iterates.

A method takes ``(meter, H, goal, rng)`` and yields iterates; the loop in :mod:`elliptope.sdp.loop` decides when to stop. A
new method is a new generator and an entry in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._utils.arrays import Array
from ..goal import Goal
from ..iterate import Iterate
from ..problem import Meter
from .power import power
from .schedule import auto

Method = Callable[[Meter, Array, Goal, np.random.Generator], Iterator[Iterate]]

METHODS: dict[str, Method] = {"auto": auto, "power": power}

__all__ = ["METHODS", "Method"]
