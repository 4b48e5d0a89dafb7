r"""Ascent methods: generators that walk over feasible points of one problem.

A method takes ``(problem, H, rng)`` and yields iterates; the loop in :mod:`elliptope.sdp.solve` decides when to stop. A new
method is a new generator and an entry in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem, normalize_rows
from .newton import newton
from .power import power
from .quasi_newton import quasi_newton

Method = Callable[[Problem, Array, np.random.Generator], Iterator[Iterate]]

# Stationarity below which Newton's method takes over.
_NEWTON_BASIN = 1e-3
# A column is dropped when no row has more than this of its length in it; the certificate repairs an error.
_COMPRESSION = 0.05


def compress(H: Array, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns that no row uses."""
    _, V = np.linalg.eigh(H.T @ H)
    H = H @ V[:, ::-1]
    used = np.abs(H).max(axis=0) > _COMPRESSION
    return normalize_rows(H[:, used], rng) if used.any() else H


def auto(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    """Quasi-Newton until the basin of the optimum, then Newton on the compressed factor."""
    for iterate in quasi_newton(problem, H, rng):
        yield iterate
        H = iterate.H
        if iterate.stationarity < _NEWTON_BASIN:
            break
    yield from newton(problem, compress(H, rng), rng)


METHODS: dict[str, Method] = {"auto": auto, "power": power}

__all__ = ["METHODS", "Method", "compress"]
