"""Probes of a spectrum: computations that ask for products, so that several of them can share one block product.

A probe is a generator. It yields a thin matrix V, is sent the product of the matrix under test with V, and returns what it
has found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..._utils.arrays import Array, hstack

Probe = Generator[Array, Array, Any]


def mapped(probe: Probe, ask: Callable[[Array], Array], answer: Callable[[Array, Array, Array], Array]) -> Probe:
    """A probe in other coordinates: where it asks for q, v = ask(q) is asked for, and it is sent answer(q, v, product)."""
    try:
        q = next(probe)
        while True:
            v = ask(q)
            q = probe.send(answer(q, v, (yield v)))
    except StopIteration as end:
        return end.value


class _Running:
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
    running = [_Running(probe) for probe in probes]
    while True:
        waiting = [(probe, probe.wanted) for probe in running if probe.wanted is not None]
        if not waiting:
            return [probe.result for probe in running]
        blocks = [wanted for _, wanted in waiting]
        product = apply(blocks[0] if len(blocks) == 1 else hstack(blocks))
        end = 0
        for probe, block in waiting:
            begin, end = end, end + block.shape[1]
            probe.send(product[:, begin:end])
