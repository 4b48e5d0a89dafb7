"""Time to a certified gap: ours, the factor methods and CSDP, under one set of rules.

A peer neither certifies nor knows which of its own tolerances will do. A search walks down a ladder of them and takes the
first iterate that the library's certificate accepts: the cheapest run that could have been asked for. Runs that stop there
are then timed. Our own time includes the proof; the peers' does not.
"""

from __future__ import annotations

import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import conic
import numpy as np
from instance import Clock, Instance, OutOfTime, Product
from peers import Peer

from elliptope._utils.arrays import Array
from elliptope.sdp import solve

OURS = "elliptope"
# The ladder of gradient norms, of a cost whose mean absolute row sum is 1.
_LADDER_TOP = 0.1
_LADDER_STEP = 10**-0.25
# Runs are repeated until they have taken this long together: a single millisecond is hard to time.
_LEAST_SECONDS = 0.1
# Runs longer than this are not repeated, neither to be timed once more nor to measure their memory.
LONG = 10.0


@dataclass(frozen=True)
class Result:
    """One solver on one case; ``seconds`` to the certified gap, or spent in vain.

    ``stop`` is the tolerance (for Algorithm 1 the number of iterations) of a peer. ``proof_seconds``, only ours: the time of
    one proof of the optimum, which is part of our time.
    """

    case: str
    n: int
    solver: str
    solved: bool
    status: str
    seconds: float
    products: int | None
    relative_gap: float
    grade: str
    gain: float
    stop: float | None = None
    proof_seconds: float = float("nan")
    peak_mb: float = float("nan")


@dataclass(frozen=True)
class Rules:
    """Repetitions, limits, and the case's name."""

    case: str
    repeats: int
    limit: float


def ours(instance: Instance, rules: Rules) -> Result:
    """The library's solver with its defaults, proof included."""

    def run() -> Any:
        with _interrupted_after(rules.limit):
            return solve(instance.J, tol=instance.tol, rng=instance.seed)

    before = perf_counter()
    solution = run()
    first = perf_counter() - before
    peak = _peak_mb(run, first)
    seconds = first if first > LONG else _best(lambda: _timed(run), rules)
    certificate = solution.certificate
    proof = _best(lambda: _timed(lambda: instance.attempt(solution.factor)), rules)
    return Result(
        case=rules.case,
        n=instance.n,
        solver=OURS,
        solved=instance.accepts(certificate),
        status=solution.status,
        seconds=seconds,
        products=solution.n_products,
        relative_gap=certificate.relative_gap,
        grade=certificate.grade,
        gain=certificate.gain,
        proof_seconds=proof,
        peak_mb=peak,
    )


def factor_peer(name: str, peer: Peer, instance: Instance, rules: Rules) -> Result:
    """A method that moves H: search for the tolerance that certifies, then time it."""
    matrix = instance.J if peer.psd else instance.A
    search = _Search(instance, rules.limit)
    product = Product(matrix, search.clock)
    stop = None
    try:
        H = peer.method(product, instance.start, peer.never, search)
        status, stop = "stalled", peer.never
    except OutOfTime:
        H, status = search.H, "limit"
    except _Reached:
        H, status, stop = search.H, "solved", search.stop
    seconds, products, peak = search.clock.seconds, product.count, float("nan")
    certificate = instance.prove(H)
    solved = instance.accepts(certificate)
    if solved and stop is not None:
        status = "solved"
    if status == "solved" and seconds <= LONG:

        def run() -> tuple[Array, int]:
            product = Product(matrix, Clock(20 * rules.limit))
            return peer.method(product, instance.start, stop, None), product.count

        peak = _peak_mb(run, seconds)
        H, products = run()
        certificate = instance.prove(H)
        solved = instance.accepts(certificate)
        seconds = _best(lambda: _timed(run), rules)
    return Result(
        case=rules.case,
        n=instance.n,
        solver=name,
        solved=solved,
        status=status,
        seconds=seconds,
        products=products,
        relative_gap=certificate.relative_gap,
        grade=certificate.grade,
        gain=certificate.gain,
        stop=stop,
        peak_mb=peak,
    )


def conic_peer(instance: Instance, rules: Rules) -> Result:
    """A method that moves X: one run per tolerance until one certifies, and that one repeated."""

    def run(tol: float) -> conic.Matrix:
        return conic.csdp(instance.A, tol, rules.limit)

    found, certificate, stop, status = conic.Matrix("not run"), None, None, "stalled"
    for tol in conic.TOLERANCES:
        attempt = run(tol)
        if attempt.X is None:
            status = attempt.status
            break
        found, certificate, stop = attempt, instance.prove_matrix(attempt.X), tol
        if instance.accepts(certificate):
            status = "solved"
            break
        if attempt.status != "done":
            status = "limit" if attempt.seconds >= rules.limit else attempt.status
            break
    solved = status == "solved"
    seconds = found.seconds
    if solved:
        seconds = min(seconds, _best(lambda: run(stop).seconds, rules, done=1))
    return Result(
        case=rules.case,
        n=instance.n,
        solver=conic.NAMES[0],
        solved=solved,
        status=status,
        seconds=seconds,
        products=None,
        relative_gap=np.inf if certificate is None else certificate.relative_gap,
        grade="none" if certificate is None else certificate.grade,
        gain=found.objective * instance.scale,
        stop=stop,
    )


class _Reached(Exception):
    """An iterate certifies."""


class _Search:
    """Sees the iterates of a method and certifies one, off the clock, whenever its gradient norm passes a rung."""

    def __init__(self, instance: Instance, limit: float) -> None:
        self.instance = instance
        self.H = instance.start
        self.stop = 0.0
        self._rung = _LADDER_TOP
        self.clock = Clock(limit)

    def __call__(self, H: Array, measure: float, stop: float | None = None) -> None:
        self.H = H
        if measure > self._rung:
            return
        with self.clock.stopped():
            if self.instance.accepts(self.instance.check(H)):
                self.stop = self._rung if stop is None else stop
                raise _Reached
        while 0 < measure <= self._rung:
            self._rung *= _LADDER_STEP


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C by the clock: a solve keeps what it has, and says that it was interrupted."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _timed(run: Callable[[], Any]) -> float:
    before = perf_counter()
    run()
    return perf_counter() - before


def _best(timed_run: Callable[[], float], rules: Rules, done: int = 0) -> float:
    """Smallest of ``repeats`` times; more of them while they are short, fewer once they have taken the limit."""
    times: list[float] = []
    while sum(times) < rules.limit and (len(times) + done < rules.repeats or sum(times) < _LEAST_SECONDS):
        times.append(timed_run())
    return min(times, default=np.inf)


def _peak_mb(run: Callable[[], Any], seconds: float) -> float:
    """Peak of what one run allocates through NumPy and Python, in MB."""
    if seconds > LONG:
        return float("nan")
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
