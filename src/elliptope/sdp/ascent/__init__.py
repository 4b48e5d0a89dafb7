r"""Ascent methods: generators that walk over feasible points of one problem.

A method takes ``(problem, H, rng)`` and yields iterates; the loop in :mod:`elliptope.sdp.solve` decides when to stop. A new
method is a new generator and an entry in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._utils.arrays import Array
from ..problem import Iterate, Problem
from .power import power
from .schedule import auto

Method = Callable[[Problem, Array, np.random.Generator], Iterator[Iterate]]

METHODS: dict[str, Method] = {"auto": auto, "power": power}

__all__ = ["METHODS", "Method"]
