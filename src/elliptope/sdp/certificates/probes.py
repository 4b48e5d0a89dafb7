"""Probes of a spectrum: computations that ask for products and leave it to others when these are made.

A probe is a generator. It yields a thin matrix V, is sent the product of the matrix under test with V, and returns what it
has found. Several of them can thus share the passes over a large operator, and a probe can ride along with a solve.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..._utils.arrays import Array, hstack

Probe = Generator[Array, Array, Any]


def mapped(probe: Probe, ask: Callable[[Array], Array], answer: Callable[[Array, Array], Array]) -> Probe:
    """A probe in other coordinates: where it asks for q, v = ask(q) is asked for, and it is sent answer(v, product)."""
    try:
        q = next(probe)
        while True:
            v = ask(q)
            q = probe.send(answer(v, (yield v)))
    except StopIteration as end:
        return end.value


class Passenger:
    """A probe with what it asks for next, or with its result once it has ended."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.wanted: Array | None = None
        self.result: Any = None
        self._advance(lambda: next(probe))

    def send(self, product: Array) -> None:
        self._advance(lambda: self._probe.send(product))

    def _advance(self, step: Callable[[], Array]) -> None:
        try:
            self.wanted = step()
        except StopIteration as end:
            self.wanted, self.result = None, end.value


def run_together(apply: Callable[[Array], Array], probes: Sequence[Probe]) -> list[Any]:
    """Run probes side by side, with one block product for all of them at a time; their results, in order."""
    passengers = [Passenger(probe) for probe in probes]
    while True:
        riding = [passenger for passenger in passengers if passenger.wanted is not None]
        if not riding:
            return [passenger.result for passenger in passengers]
        share(apply, riding)


def share(apply: Callable[[Array], Array], riding: Sequence[Passenger]) -> None:
    """One product for all."""
    blocks = [passenger.wanted for passenger in riding if passenger.wanted is not None]
    product = apply(blocks[0] if len(blocks) == 1 else hstack(blocks))
    end = 0
    for passenger, block in zip(riding, blocks, strict=True):
        begin, end = end, end + block.shape[1]
        passenger.send(product[:, begin:end])
