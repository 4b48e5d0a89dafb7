"""The loop of a solve: ascend, certify, escape from what is not optimal, until a certificate meets the tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._utils.arrays import Array, hstack, in_precision_of, is_single, namespace
from .._utils.rounding import UNIT, round_up
from .ascent import Method
from .ascent.concave import missing_columns
from .ascent.dual_newton import can_use_dual, dual_newton, dual_start
from .certificates.certificate import NATURAL, Certificate, carried_over, needed_stationarity, no_bound
from .certificates.certifier import attempt_proof, certify_converged, prove, quick_bound
from .certificates.probabilistic import MAX_FAILURES, estimate_gap
from .certificates.uniqueness import ZERO
from .extension import extended
from .factors import SMALL_COLUMN, drop_columns
from .goal import Goal
from .iterate import Iterate, check_size
from .problem import Meter, OutOfProducts
from .steps import normalize_rows

# A proof is tried where it may succeed: the least gap that it could show is at most this part of the tolerance.
_PROVABLE = 0.8
# Part of the absolute slacks by which gains by products of six digits and by exact ones may differ.
_ROUGH_DIFFERENCE = 1e-6
# A solve ends where, over so many tests, the gain changes by less than this part of the tolerance and the bound tightens by
# less than a factor of two: neither smaller defects nor more columns help.
_TESTS = 3
_SETTLED_GAIN = 0.1


class Progress(NamedTuple):
    """What a callback sees after every iteration.

    ``bound`` is the certified upper bound once there is one. Before, where there is a callback, it is an estimate from a
    short Lanczos run, refreshed whenever the number of iterations has doubled; otherwise infinite. ``defect`` is the
    relative residual of LH = 0, of the size of the gap.
    """

    iteration: int
    n_products: int
    objective: float
    bound: float
    relative_gap: float
    defect: float
    rank: int
    certified: bool

    def __str__(self) -> str:
        bound = ""
        if self.certified or self.objective < self.bound < math.inf:  # an estimate that says nothing is not shown
            bound = f"bound {'≤' if self.certified else '≈'} {self.bound:.10g}  gap {round_up(self.relative_gap)}  "
        return (
            f"iteration {self.iteration:5d}  products {self.n_products:6d}  objective {self.objective:.10g}  {bound}"
            f"defect {self.defect:.1e}  rank {self.rank}"
        )


class Loop:
    """State shared between the phases of one solve.

    After :meth:`run`, ``last`` is the iterate that was certified, ``stop`` what ended the ascent early, if something did
    ("interrupted", "max_iter"), and ``history`` has an entry per iteration.
    """

    def __init__(
        self,
        meter: Meter,
        method: Method,
        tol: float,
        polish: bool,
        max_iter: int,
        rng: np.random.Generator,
        callback: Callable[[Progress], Any] | None,
        extend: bool = False,
    ) -> None:
        self.extend = extend
        self.meter, self.problem, self.tuning = meter, meter.problem, meter.problem.tuning
        self.method, self.tol, self.polish, self.max_iter, self.rng = method, tol, polish, max_iter, rng
        # Deflation, on which tests rely where nothing can be factorised, works only if the rows of H are accurate.
        self.accurate = polish or not self.problem.operator.can_factor
        # How stationary rows have to be, relative to the tolerance, for B to be accurate.
        self.settled = self.tuning.concave_polish if self.problem.spread else self.tuning.polish
        self.callback = callback
        # A meter and a stream of their own, so that a callback does not change the solve.
        seed = rng.integers(2**63)
        self.display = (Meter(self.problem), np.random.default_rng(seed))
        self.history: list[Progress] = []
        self.iterate: Iterate | None = None
        self.source: Iterate | None = None  # whose extension `iterate` is, once that is certified
        self.best: Iterate | None = None  # of the largest gain: warm-up and added columns may descend
        self.estimate = self.certified = math.inf  # bounds on the gain
        self.tested: list[tuple[float, float]] = []  # gain and gap of tests that missed the tolerance
        self.stop: str | None = None
        self.out_of_products = False
        # Products for a last bound are kept back.
        self.limit = meter.limit
        meter.limit = max(self.limit - self.tuning.lanczos_steps - 1, 0.5 * self.limit)

    def run(self, H: Array) -> Certificate:
        """The certificate of the last iterate, whatever ended the solve."""
        certificate: Certificate | None = None
        try:
            certificate = self._ascend_until_certified(H)
        except KeyboardInterrupt:
            if self.iterate is None:
                raise
            self.stop = "interrupted"
        except OutOfProducts:
            self.stop, self.out_of_products = "max_iter", True
        return self._final_certificate() if certificate is None else certificate

    def _final_certificate(self) -> Certificate:
        """Of the best iterate: a proof, unless the user interrupts or the products are spent."""
        self.meter.use_double_precision()
        best, limit = self.best, self.meter.limit
        assert best is not None
        self.meter.limit, self.iterate = self.limit, best
        try:
            if self.meter.left >= 1:  # in double precision; a solve of one product has never left that
                self.iterate = self._in_double(best)
            self._extend()
            if self.stop != "interrupted" and not self.out_of_products:
                try:
                    self.meter.limit = limit
                    return prove(self.meter, self.iterate, self.rng, self.tol)
                except OutOfProducts:
                    self.out_of_products = True
                    self.meter.limit = self.limit
            return quick_bound(self.meter, self.iterate, self.rng)
        except KeyboardInterrupt:
            self.stop = "interrupted"
            return no_bound(self.iterate, self.problem.operator)

    def _in_double(self, iterate: Iterate, meter: Meter | None = None) -> Iterate:
        """An iterate that may be in single precision, evaluated in double."""
        H = iterate.H
        H = normalize_rows(in_precision_of(self.problem.offset, H), self.rng) if is_single(H) else H
        return (meter or self.meter).evaluate(H)

    @property
    def last(self) -> Iterate:
        assert self.iterate is not None
        return self.iterate

    def _ascend_until_certified(self, H: Array) -> Certificate | None:
        """The certificate that ends the solve; None where no further progress is possible."""
        if self.problem.uncoupled:  # an optimum is known
            self._ascend(iter([self.meter.evaluate(self.problem.uncoupled_optimum(H))]), Goal())
            return None if self.stop is not None else self._certify(stalled=True)[0]
        level, goal = self._first_level(), Goal()
        target = math.inf if self._rows_follow else self.settled * self.tol
        iterates = self.method(self.meter, H, goal, self.rng)
        rescued = False  # whether the dual was turned to, which does not depend on the columns of H
        held: tuple[Certificate, Iterate] | None = None  # a certificate that meets the tolerance, and its iterate
        for _ in range(MAX_FAILURES):
            self._set(goal, level, target)
            stalled = self._ascend(iterates, goal)
            if self.stop is not None:
                return None
            if held is not None:  # the bound stands; only the rows had to settle
                self._extend()
                certificate, direction, converged = carried_over(*held, self.last), None, True
            if held is None or certificate.relative_gap > self.tol:
                certificate, direction, converged = self._certify(stalled)
            held = None
            if certificate.relative_gap <= self.tol and certificate.grade != "estimate":
                target = self._needed_stationarity(certificate)
                if certificate.stationarity <= target:
                    return certificate
                if not stalled:
                    # Where the next eigenvalue or the curvature is small, a better iterate may tell another null space.
                    null = certificate.null_space
                    clear = null is not None and min(null.spectral_gap, null.curvature) > 100 * ZERO
                    # With a quadratic term it would be the certificate of another linearised problem.
                    held = (certificate, self.last) if clear and not self.problem.spread else None
                    continue
                if self.problem.spread:  # which holds every column, and the method has found out which ones there are
                    return certificate
                # A column that is almost zero is almost free to move; without it the rest may settle.
                trimmed = drop_columns(self.last.H, 10 * SMALL_COLUMN, self.rng)
                if trimmed.shape[1] == self.last.H.shape[1]:
                    return certificate
                iterates = self.method(self.meter, trimmed, goal, self.rng)
                continue
            if self._bound_stalls(certificate):
                return None
            escaped = self._escape(direction) if converged else None
            if escaped is not None:
                iterates = self.method(self.meter, escaped, goal, self.rng)
            elif stalled and not rescued and can_use_dual(self.meter):
                iterates, rescued = dual_newton(self.meter, dual_start(self.meter, self.last), self.rng), True
            elif stalled:
                return None
            if escaped is None or self._rows_follow:  # a column that hardly ascends may be what the defect hides
                level, target = 0.2 * level, 0.2 * target
        return None

    def _first_level(self) -> float:
        """The defect at which a proof is first tried."""
        if self.problem.spread and not self.problem.operator.can_factor:
            # Of the residual of H, a test feels the square: see the module docstring of certificates.deflation.
            return min(self.tuning.first_test * math.sqrt(self.tol), 0.3 * self.tol, self.tuning.basin)
        return self.tuning.first_attempt * self.tol

    def _set(self, goal: Goal, level: float, target: float) -> None:
        if self.problem.spread:
            goal.defect, goal.aim = level, 0.25 * level
            goal.stationarity = target if self.polish else math.inf
            goal.gap = _PROVABLE * self.tol if self.problem.operator.can_factor else math.inf
        elif self.accurate:
            goal.stationarity, goal.aim = target, 0.01 * target
        else:
            goal.defect, goal.gap, goal.aim = level, _PROVABLE * self.tol, 0.25 * level

    def _ascend(self, iterates: Iterator[Iterate], goal: Goal) -> bool:
        """Go on until a proof may succeed; True when the method ended by itself before that."""
        while len(self.history) < self.max_iter:
            iterate = next(iterates, None)
            if iterate is None:
                return True
            if self.iterate is None or not iterate.absolute < math.inf:
                check_size(iterate)
            self.iterate = iterate
            if self.best is None or _improves(iterate, self.best):
                self.best = iterate
            self._report(iterate)
            if goal.reached(iterate) or self.stop is not None:
                return False
        self.stop = "max_iter"
        return False

    def _certify(self, stalled: bool) -> tuple[Certificate, Array | None, bool]:
        """A certificate, a direction of negative curvature if one was met, and whether H was taken to have converged."""
        if self.meter.in_single_precision or is_single(self.last.H):
            self.meter.use_double_precision()
            self.iterate = self._in_double(self.last)
        self._extend()
        converged = stalled or self.accurate
        how = certify_converged if converged else attempt_proof
        certificate, direction = how(self.meter, self.last, self.rng, self.tol)
        if certificate.grade != "estimate":
            self.certified = min(self.certified, self.last.gain + certificate.gap)
        return certificate, direction, converged

    def _bound_stalls(self, certificate: Certificate) -> bool:
        """Whether the gain has settled and the bounds of the last tests are no tighter."""
        if certificate.grade != "probabilistic":
            return False
        gain = self.last.gain
        self.tested.append((gain, certificate.gap))
        if len(self.tested) < _TESTS:
            return False
        before, gap = self.tested[-_TESTS]
        return abs(gain - before) <= _SETTLED_GAIN * self.tol * gain and certificate.gap >= 0.5 * gap

    @property
    def _rows_follow(self) -> bool:
        """Whether T(H), and not H, is what users see, and the gap bounds its distance to the optimum."""
        return self.extend and self.problem.spread > 0

    def _extend(self) -> None:
        """From H to T(H), where that was asked for: what the extension makes of H is certified and returned."""
        self.source = self.last
        if self.extend and self.meter.left >= 1:
            self.iterate = self.meter.evaluate(extended(self.source))

    def _needed_stationarity(self, certificate: Certificate) -> float:
        """What it takes for B to be within ``tol`` of B*, well within where that is cheap: no less than the verdict asks."""
        null = certificate.null_space
        if self._rows_follow:
            return math.inf
        if not self.polish or certificate.weights not in NATURAL or (null is not None and not null.unique):
            return math.inf
        return max(needed_stationarity(certificate, self.tol, self.settled), 100 * UNIT)  # rounding leaves no less

    def _escape(self, direction: Array | None) -> Array | None:
        """Append a direction of negative curvature of L as a new column, as far as that ascends.

        With a quadratic term there may be many, and all that are found are appended.
        """
        if direction is None:
            return None
        iterate, Z = self.last, direction[:, None]
        if self.problem.spread and iterate.H.shape[1] <= self.problem.n:
            found = missing_columns(self.meter, iterate, direction, self.rng)
            Z = found if found.shape[1] else Z
        Z = Z / namespace(Z).max(abs(Z), axis=0)
        step = 0.5 / math.sqrt(Z.shape[1])
        while step > 1e-5:  # the curvature of shorter ones is lost in rounding
            H = normalize_rows(hstack([iterate.H, step * Z]), self.rng)
            if self.meter.evaluate(H).gain > iterate.gain:
                return H
            step *= 0.5
        return None

    def _report(self, iterate: Iterate) -> None:
        """Record an iteration, and show it to the callback, which may stop the solve."""
        count = len(self.history) + 1
        if self.callback is not None and count >= 8 and count & (count - 1) == 0:  # 8, 16, 32, …
            meter, rng = self.display
            shown = self._in_double(iterate, meter) if is_single(iterate.H) else iterate
            self.estimate = iterate.gain + estimate_gap(meter, shown, rng)
        progress = self.progress(iterate, count)
        self.history.append(progress)
        if self.callback is not None and self.callback(progress):
            self.stop = "interrupted"

    def progress(self, iterate: Iterate, iteration: int) -> Progress:
        certified, gain = self.certified < math.inf, iterate.gain
        bound = self.certified if certified else self.estimate
        if bound < gain:  # an estimate that has been proved wrong
            bound = math.inf
        return Progress(
            iteration,
            self.meter.count,
            iterate.objective,
            iterate.objective + (bound - gain),
            (bound - gain) / gain if gain > 0 else math.inf,
            iterate.defect,
            iterate.H.shape[1],
            certified,
        )


def _improves(new: Iterate, old: Iterate) -> bool:
    """By its gain, or by its defect where gains differ by rounding alone."""
    difference = new.gain - old.gain
    rounding = old.rounding if new.rough == old.rough else _ROUGH_DIFFERENCE * old.absolute
    return difference > rounding or (difference >= -rounding and new.defect < old.defect)
