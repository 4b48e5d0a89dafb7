"""The loop: ascend, certify, escape from what is not optimal, and say how it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._utils.arrays import Array, hstack, largest, like
from .._utils.checks import check_bool, check_callable, check_choice, check_factor, check_integer, check_positive, check_rng
from .._utils.rounding import round_up
from .._utils.threads import ONE_THREAD, one_blas_thread
from ..operators import as_operator
from .ascent import METHODS, Method
from .certificates.certificate import NATURAL, Certificate, no_bound
from .certificates.certify import certify
from .certificates.moments import expects_proof
from .certificates.probable import MAX_FAILURES, certify_by, estimate_gap, riding_test
from .certificates.probes import Passenger, share
from .problem import Goal, Iterate, OutOfProducts, Problem, check_size, drop_columns, random_start
from .steps import normalize_rows
from .verdict import POLISH, Ended, verdict

# Optimal ranks seen on data are 1 to 4; too small a rank is repaired by the certificate. A dense product with four columns
# costs a third less than one with five. In a metric of the operator's own, where products cost other things too, five save
# more steps than they cost.
_DEFAULT_RANK = 4
_RANK_IN_METRIC = 5
# Iteration of the first estimate of the bound; the next ones come when their number has doubled.
_FIRST_ESTIMATE = 8
# Defect, relative to the tolerance, at which a failed proof means a saddle; before, it means go on, by this factor.
_CONVERGED = 1e-3
_REFINE = 0.2
# Defect, relative to the tolerance, at which a proof is first attempted.
_FIRST_ATTEMPT = 4.0
# ... and the least gap, relative to the tolerance.
_WORTH_A_PROOF = 0.8
_SMALLEST_ESCAPE = 1e-5
# Columns that a product must take for the price of one if others are to ride along, and the defect, relative to the
# tolerance, at which a dual vector is good enough to be tested.
_COMPANY = 8
_BOARDING = 0.01
_SMALLEST_STATIONARITY = 1e-14
# Largest entry of a column that is dropped to get past a stall.
_TRIM = 3e-3


class Progress(NamedTuple):
    """What a callback sees after every iteration.

    ``bound`` is the certified upper bound once there is one. Before, while somebody looks, it is an estimate from a short
    Lanczos run, refreshed whenever the number of iterations has doubled; otherwise infinite. ``defect`` is the relative
    residual of LH = 0, of the size of the gap.
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


@dataclass(frozen=True)
class Solution:
    r"""Outcome of :func:`solve`.

    Attributes
    ----------
    factor : (n, r) array
        H with unit rows, an array of the library of the cost; the optimum is :math:`B = D^{1/2} H H^\top D^{1/2}`.
    dual : (n,) array
        :math:`y_i = (J H H^\top)_{ii}`.
    certificate : Certificate
    status : {"optimal", "degenerate", "max_iter", "interrupted"}
    message : str
        Why, and what to change.
    n_iter, n_products : int
    history : list of Progress
        One entry per iteration, and a last one with the certified bound.
    """

    factor: Array
    dual: Array
    certificate: Certificate
    status: str
    message: str
    n_iter: int
    n_products: int
    history: list[Progress]

    def __repr__(self) -> str:
        n, r = self.factor.shape
        return f"Solution({self.status}: n={n}, {r} columns, {self.n_products} products, {self.certificate!r})"


def solve(
    cost: Any,
    diagonal: Array | None = None,
    *,
    method: str = "auto",
    rank: int | str = "auto",
    tol: float = 1e-6,
    polish: bool = False,
    max_iter: int = 5000,
    max_products: int | None = None,
    rng: np.random.Generator | int | None = None,
    start: Array | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Solution:
    r"""Maximise :math:`\operatorname{Tr}(C B)` over :math:`B \succeq 0` with :math:`\operatorname{diag}(B) = d`.

    Parameters
    ----------
    cost : (n, n) array, sparse matrix, LinearOperator or Operator
        Symmetric C, psd or not. Sparse matrices are made dense for the proof up to n = 10 000; beyond that, and for linear
        operators, the certificate is probabilistic.
        An array of another library of the array API standard is solved in that library, on its device.
    diagonal : (n,) array, optional
        d, positive; 1 by default.
    method : {"auto", "power"}
        ``"power"`` is Algorithm 1 of the paper and needs a psd cost.
    rank : int or "auto"
        Columns of the starting factor, at most n; the certificate adds more when they are needed.
    tol : float
        Certified ``relative_gap`` to reach.
    polish : bool
        The objective is of second order in the error of the factor. True: go on until the factor itself, and not only its
        objective, is accurate to ``tol``.
    max_iter : int
        Iterations, over all phases.
    max_products : int, optional
        Block products, which are what a solve costs. One that has spent them ends as with ``max_iter``, with a probabilistic
        bound instead of a proof, whose products come on top.
    rng : Generator, int or None
        For the random start, and for what else is left to chance.
    start : (n, r) array, optional
        Warm start; rows are normalised.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; a true return value stops the solve ("interrupted").

    Returns
    -------
    Solution
        Look at its ``status``: nothing is raised, and nobody is warned, when it is not ``"optimal"``.
    """
    check_choice("method", method, tuple(METHODS))
    tol, max_iter = check_positive("tol", tol), check_integer("max_iter", max_iter, 1)
    check_callable("callback", callback)
    polish, rng = check_bool("polish", polish), check_rng(rng)
    problem = Problem(as_operator(cost, diagonal))
    if max_products is not None:
        problem.max_products = check_integer("max_products", max_products, 1, "None or ")
    loop = _Loop(problem, METHODS[method], tol, polish, max_iter, rng, callback)
    with one_blas_thread() if problem.n <= ONE_THREAD else nullcontext():
        return loop.run(like(problem.offset, _start(problem, rank, start, rng)))


def _start(problem: Problem, rank: int | str, start: Array | None, rng: np.random.Generator) -> Array:
    n = problem.n
    if start is not None:
        start = check_factor("start", start, n)
        _, exponents = np.frexp(np.abs(start).max(axis=1))  # no length is to overflow or underflow
        return normalize_rows(np.ldexp(start, -exponents[:, None]), rng)
    if rank == "auto":
        rank = _DEFAULT_RANK if problem.metric is None else _RANK_IN_METRIC
    return random_start(n, min(check_integer("rank", rank, 1, "'auto' or "), n), rng)


def _improves(new: Iterate, old: Iterate) -> bool:
    """By its gain, or by its defect where gains differ by rounding alone."""
    difference = new.gain - old.gain
    return difference > old.rounding or (difference >= -old.rounding and new.defect < old.defect)


class _Loop:
    """State shared between the phases of one solve."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        tol: float,
        polish: bool,
        max_iter: int,
        rng: np.random.Generator,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem, self.method, self.tol, self.polish = problem, method, tol, polish
        self.max_iter, self.rng, self.callback = max_iter, rng, callback
        # A problem and a stream of their own, so that looking at a solve does not change it.
        seed = rng.integers(2**63)
        if callback is not None:
            self.display = (Problem(problem.operator), np.random.default_rng(seed))
        self.history: list[Progress] = []
        self.last: Iterate | None = None
        self.best: Iterate | None = None  # of the largest gain: warm-up and widening may descend
        self.estimate = self.certified = math.inf  # bounds on the gain
        self.stop: str | None = None
        # The parameter to increase, should the solve come to its limit, and what was spent then.
        self.limit, self.spent = "max_iter", f"{max_iter} iterations"
        self.witness: Iterate | None = None  # whose dual vector is tested while the ascent goes on
        self.passenger: Passenger | None = None
        self.expects_proof: bool | None = None  # without a factorisation, so that nothing has to be tested

    def run(self, H: Array) -> Solution:
        certificate: Certificate | None = None
        try:
            certificate = self._ascend_until_certified(H)
        except KeyboardInterrupt:
            if self.last is None:
                raise
            self.stop = "interrupted"
        except OutOfProducts:
            self.stop, self.limit, self.spent = "max_iter", "max_products", f"{self.problem.n_products} products"
        if certificate is None:
            # Who interrupts, or sets a limit to what is spent, does not want to wait for a proof.
            exhausted = self.problem.n_products >= self.problem.max_products
            effort = "lanczos" if exhausted or self.stop == "interrupted" else "proof"
            self.problem.max_products = math.inf
            self.problem.use_double_precision()
            self.problem.take_along(None)
            assert self.best is not None
            self.last = self.problem.evaluate(self.best.H)
            try:
                certificate, _ = certify(self.problem, self._last, self.rng, self.tol, effort)
            except KeyboardInterrupt:
                self.stop, certificate = "interrupted", no_bound(self._last)
        return self._solution(certificate)

    @property
    def _last(self) -> Iterate:
        assert self.last is not None
        return self.last

    def _ascend_until_certified(self, H: Array) -> Certificate | None:
        self.level, self.target = _FIRST_ATTEMPT * self.tol, POLISH * self.tol
        iterates = self.method(self.problem, H, self.rng)
        for _ in range(MAX_FAILURES):
            stalled = self._ascend(iterates)
            if self.stop is not None:
                return None
            converged = stalled or self.polish or self._last.defect <= _CONVERGED * self.tol
            effort = "estimate" if converged else "attempt"
            if self.problem.in_single_precision:
                self.problem.use_double_precision()
                self.last = self.problem.evaluate(self._last.H)
            certificate, direction = self._certify(effort)
            if certificate.grade != "estimate":
                self.certified = min(self.certified, self._last.gain + certificate.gap)
            if certificate.relative_gap <= self.tol and certificate.grade != "estimate":
                needed = self._needed_stationarity(certificate)
                if certificate.stationarity <= needed:
                    return certificate
                self.target = needed
                if not stalled:
                    continue
                # A column that is almost zero is almost free to move; without it the rest may settle.
                trimmed = drop_columns(self._last.H, _TRIM, self.rng)
                if trimmed.shape[1] == self._last.H.shape[1]:
                    return certificate
                iterates = self.method(self.problem, trimmed, self.rng)
                continue
            escaped = self._escape(direction) if converged else None
            if escaped is not None:
                iterates = self.method(self.problem, escaped, self.rng)
            elif stalled:
                return None
            else:
                self.level, self.target = _REFINE * self.level, _REFINE * self.target
        return None

    def _certify(self, effort: str) -> tuple[Certificate, Array | None]:
        """By the test that rode along, if there is one and it suffices."""
        witness, passenger = self.witness, self.passenger
        self.witness, self.passenger = None, self.problem.take_along(None)
        if witness is not None and passenger is not None:
            while passenger.wanted is not None:
                share(self.problem.product, [passenger])
            found = certify_by(self.problem, witness, passenger.result, self._last)
            if found.relative_gap <= self.tol:
                return found, None
        return certify(self.problem, self._last, self.rng, self.tol, effort)

    def _board(self, iterate: Iterate) -> None:
        """Where columns are cheap, the test of the certificate rides along with the last part of the ascent."""
        operator = self.problem.operator
        cheap = operator.block_width >= _COMPANY and not operator.can_factor and not self.problem.in_single_precision
        if cheap and self.witness is None and iterate.gain > 0 and iterate.defect <= _BOARDING * self.tol:
            if self.expects_proof is None:
                self.expects_proof = expects_proof(self.problem, iterate)
            if self.expects_proof:
                return
            self.witness = iterate
            self.passenger = self.problem.take_along(riding_test(self.problem, iterate, self.rng, self.tol))

    def _needed_stationarity(self, certificate: Certificate) -> float:
        """B* moves by about the stationarity over the spectral gap of L: what it takes for B* to be well within ``tol``."""
        null = certificate.null_space
        if not self.polish or certificate.weights not in NATURAL or (null is not None and not null.unique):
            return math.inf
        gap = 1.0 if null is None else null.spectral_gap
        return max(POLISH * self.tol * gap, _SMALLEST_STATIONARITY)

    def _ascend(self, iterates: Iterator[Iterate]) -> bool:
        """Go on until a proof is worth an attempt; True when the method ended by itself before that."""
        if self.polish:
            self.problem.goal = goal = Goal(stationarity=self.target, aim=0.01 * self.target)
        else:
            self.problem.goal = goal = Goal(defect=self.level, gap=_WORTH_A_PROOF * self.tol, aim=0.25 * self.level)
        for iterate in iterates:
            if self.last is None or not iterate.rows.absolute < math.inf:
                check_size(iterate)
            self.last = iterate
            if self.best is None or _improves(iterate, self.best):
                self.best = iterate
            self._report(iterate)
            self._board(iterate)
            if goal.reached(iterate) or self.stop is not None:
                return False
            if len(self.history) >= self.max_iter:
                self.stop = "max_iter"
                return False
        return True

    def _report(self, iterate: Iterate) -> None:
        count = len(self.history) + 1
        if self.callback is not None and count >= _FIRST_ESTIMATE and count & (count - 1) == 0:
            self.estimate = iterate.gain + estimate_gap(self.display[0], iterate, self.display[1])
        progress = self._progress(iterate, count)
        self.history.append(progress)
        if self.callback is not None and self.callback(progress):
            self.stop = "interrupted"

    def _progress(self, iterate: Iterate, iteration: int) -> Progress:
        certified, gain = self.certified < math.inf, iterate.gain
        bound = self.certified if certified else self.estimate
        if bound < gain:  # an estimate that has been proved wrong
            bound = math.inf
        return Progress(
            iteration,
            self.problem.n_products,
            iterate.objective,
            iterate.objective + (bound - gain),
            (bound - gain) / gain if gain > 0 else math.inf,
            iterate.defect,
            iterate.H.shape[1],
            certified,
        )

    def _escape(self, direction: Array | None) -> Array | None:
        """Append a direction of negative curvature of L as a new column, as far as that ascends."""
        if direction is None:
            return None
        iterate = self._last
        z = direction / largest(abs(direction))
        step = 0.5
        while step > _SMALLEST_ESCAPE:
            H = normalize_rows(hstack([iterate.H, step * z[:, None]]), self.rng)
            if self.problem.evaluate(H).gain > iterate.gain:
                return H
            step *= 0.5
        return None

    def _solution(self, certificate: Certificate) -> Solution:
        self.certified = self._last.gain + certificate.gap
        last = self._progress(self._last, len(self.history))
        self.history.append(last._replace(bound=certificate.upper_bound, relative_gap=certificate.relative_gap))
        ended = Ended(self.stop, self.spent, self.limit, len(self.history) - 1)
        status, message = verdict(certificate, ended, self.tol, self.polish)
        return Solution(
            factor=self._last.H,
            dual=self._last.y,
            certificate=certificate,
            status=status,
            message=message,
            n_iter=len(self.history) - 1,
            n_products=self.problem.n_products,
            history=self.history,
        )
