"""The solver as users call it: check what they pass, run the loop, and say how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array, like
from .._utils.callers import underflows_to_zero
from .._utils.checks import (
    check_bool,
    check_callable,
    check_choice,
    check_factor,
    check_integer,
    check_rng,
    check_tol,
    is_word,
)
from .._utils.threads import one_blas_thread
from ..operators import as_operator
from .ascent import METHODS
from .certificates.certificate import Certificate
from .certificates.certifier import prove, quick_bound
from .certificates.uniqueness import ZERO
from .factors import random_start
from .loop import Loop, Progress
from .problem import Meter, OutOfProducts, Problem
from .spread import Spread, resolve_spread
from .steps import normalize_rows
from .tuning import TUNING, Tuning
from .verdict import Ended, verdict

# Products that a solve may take per iteration, on average, where ``max_products`` does not say: solves that end well took up
# to 10, and ``max_iter`` is to bound all that a solve does.
_PRODUCTS_PER_ITERATION = 20


@dataclass(frozen=True)
class Solution:
    r"""Outcome of :func:`solve`.

    Attributes
    ----------
    factor : (n, r) array
        H with unit rows, an array of the library of the cost; the optimum is :math:`B = D^{1/2} H H^\top D^{1/2}`.
    source : (n, r) array
        Where ``extend`` was asked for, the factor whose extension ``factor`` is; else the factor itself.
    dual : (n,) array
        :math:`y_i = (J H H^\top)_{ii}`; with a quadratic term, of the linearised cost:
        :math:`y_i = ((J - E Z E) Z)_{ii}`, so that :math:`(JH)_i = h_i (y_i + e_i H^\top E H)` at the optimum.
    certificate : Certificate
    status : {"optimal", "degenerate", "unconfirmed", "max_iter", "interrupted"}
        ``"degenerate"``: the objective is optimal, but other B attain it, to working precision. ``"unconfirmed"``: it is
        optimal, and whether other B attain it could not be established; only with ``polish``. Without, ``"optimal"`` is said
        of the objective alone: B is accurate to about the root of ``tol``, or less where it is hardly determined.
    message : str
        Why, and what to change.
    n_iter, n_products : int
    history : list of Progress
        One entry per iteration, and a last one with the certified bound.
    spread : Spread
        The weight s of the quadratic term; 0 where there was none.
    """

    factor: Array
    source: Array
    dual: Array
    certificate: Certificate
    status: str
    message: str
    n_iter: int
    n_products: int
    history: list[Progress]
    spread: Spread

    def __repr__(self) -> str:
        n, r = self.factor.shape
        return f"Solution({self.status}: n={n}, {r} columns, {self.n_products} products, {self.certificate!r})"


@underflows_to_zero
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
    spread: float | Spread = 0.0,
    extend: bool = False,
    tuning: Tuning = TUNING,
) -> Solution:
    r"""Maximise :math:`\operatorname{Tr}(C B)` over :math:`B \succeq 0` with :math:`\operatorname{diag}(B) = d`.

    With ``spread`` the objective has a quadratic term as well. In the scaled variables :math:`B = D^{1/2} Z D^{1/2}`,
    :math:`J = D^{1/2} C D^{1/2}` it is

    .. math:: \max_{Z \succeq 0,\; \operatorname{diag} Z = 1}\;
              f(Z) = \operatorname{Tr}(J Z) - \tfrac12 \sum_{ij} e_i e_j Z_{ij}^2, \qquad e_i = \sqrt{s \max(J_{ii}, 0)} .

    For :math:`d = \operatorname{diag}(C)` this is :math:`\operatorname{Tr}(C B) - \tfrac s2 \lVert B\rVert_F^2`: the optimum
    is the feasible B nearest to C/s, and C itself at s = 1 if C is psd. It is unique on the rows with J_ii > 0, and its rank
    grows with s. Z is optimal if and only if it solves the linear program with the cost :math:`J - EZE`, E = Diag(e). The
    gap of that program at Z bounds :math:`f_\star - f(Z)` (Frank and Wolfe), and the distance to the optimum:
    :math:`\sum_{ij} e_i e_j (Z - Z_\star)_{ij}^2 \le \text{gap}`. ``certificate.distance_bound`` follows from that.

    Parameters
    ----------
    cost : (n, n) array, sparse matrix or tensor, LinearOperator or Operator
        Symmetric C, psd or not. Sparse matrices are made dense for the proof up to n = 10 000; beyond that, and for linear
        operators, the certificate is probabilistic.
        An array of another library of the array API standard is solved in that library, on its device.
    diagonal : (n,) array, optional
        d, positive; 1 by default.
    method : {"auto", "power"}
        ``"power"`` is Algorithm 1 of the paper and needs a psd cost and no ``spread``.
    rank : int or "auto"
        Columns of the starting factor, at most n; more are added when they are needed.
    tol : float
        Certified ``relative_gap`` to reach, below 1.
    polish : bool
        The objective is of second order in the error of the factor. True: go on until the factor itself, and not only its
        objective, is accurate to ``tol``, and find out whether the optimum is unique. The estimators do so.
    max_iter : int
        Iterations, over all phases; and, where ``max_products`` is not given, 20 block products for each of them.
    max_products : int, optional
        Block products, which are what a solve costs, its certificate included. One that has spent them ends as with
        ``max_iter``, with a probabilistic bound instead of a proof.
    rng : Generator, int or None
        For the random start, and for what else is left to chance.
    start : (n, r) array, optional
        Warm start; rows are normalised.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; a true return value stops the solve ("interrupted").
    spread : float or Spread
        η ≥ 0, in units of λ₁(J)/Tr J: :math:`s = \min(1, \eta\, \lambda_1(J) / \sum_i \max(J_{ii}, 0))`, from at most 30
        products that are not counted (:func:`resolve_spread`). 0.05 to 0.3 keeps the rank low, and infinity gives s = 1.
        Or s itself, as a :class:`Spread`.
    extend : bool
        Certify and return T(H) in place of the last iterate H: what the equations of the optimum make of it row by row
        (:mod:`elliptope.sdp.extension`), for a cost with a positive diagonal. The estimators do so, because that is how they
        embed new rows.
    tuning : Tuning
        Switching points of the solver, for experiments (:mod:`elliptope.sdp.tuning`).

    Returns
    -------
    Solution
        Look at its ``status``: nothing is raised, and no warning is given, when it is not ``"optimal"``.
    """
    check_choice("method", method, tuple(METHODS))
    tol, max_iter = check_tol(tol), check_integer("max_iter", max_iter, 1)
    if not isinstance(tuning, Tuning):
        raise ValueError(f"`tuning` must be a Tuning, got {tuning!r}.")
    check_callable("callback", callback)
    polish, rng = check_bool("polish", polish), check_rng(rng)
    operator = as_operator(cost, diagonal)
    problem = Problem(operator, tuning, resolve_spread(operator, spread).s)
    if problem.spread and method == "power":
        raise ValueError("`method` must be 'auto' where `spread` is positive, got 'power'.")
    limit = _PRODUCTS_PER_ITERATION * max(max_iter, 20)  # enough for a certificate, however few iterations
    if max_products is not None:
        limit = check_integer("max_products", max_products, 1, "None or ")
    # A factorisation tells whether the optimum is unique only at a factor that is accurate.
    aim = min(tol, ZERO) if polish and operator.can_factor and not problem.spread else tol
    loop = Loop(Meter(problem, limit), METHODS[method], aim, polish, max_iter, rng, callback, extend)
    with one_blas_thread():
        certificate = loop.run(like(problem.offset, _start(problem, rank, start, rng)))
    spent, increase = f"{max_iter} iterations", "max_iter"
    if loop.out_of_products:
        spent, increase = f"{loop.meter.count} products", "max_iter" if max_products is None else "max_products"
    return _solution(loop, certificate, tol, Ended(loop.stop, spent, increase, len(loop.history)))


def _solution(loop: Loop, certificate: Certificate, tol: float, ended: Ended) -> Solution:
    loop.certified = loop.last.gain + certificate.gap
    final = loop.progress(loop.last, ended.iterations)
    final = final._replace(bound=certificate.upper_bound, relative_gap=certificate.relative_gap)
    status, message = verdict(certificate, ended, tol, loop.polish, loop.problem.excepted)
    return Solution(
        factor=loop.last.H,
        source=(loop.source or loop.last).H,
        dual=loop.last.y,
        certificate=certificate,
        status=status,
        message=message,
        n_iter=ended.iterations,
        n_products=loop.meter.count,
        history=[*loop.history, final],
        spread=Spread(loop.problem.spread),
    )


def _start(problem: Problem, rank: int | str, start: Array | None, rng: np.random.Generator) -> Array:
    n = problem.n
    if start is not None:
        start = check_factor("start", start, n)
        _, exponents = np.frexp(np.abs(start).max(axis=1))  # no length is to overflow or underflow
        return normalize_rows(np.ldexp(start, -exponents[:, None]), rng)
    if is_word(rank, "auto"):
        rank = problem.tuning.concave_rank if problem.spread else problem.tuning.rank
    return random_start(n, min(check_integer("rank", rank, 1, "'auto' or "), n), rng)


@underflows_to_zero
def certify(
    cost: Any,
    factor: Array,
    diagonal: Array | None = None,
    *,
    tol: float = 1e-6,
    spread: float | Spread = 0.0,
    max_products: int = 100_000,
    rng: np.random.Generator | int | None = None,
) -> Certificate:
    """Bound how far the objective of a given factor is from the optimum. The factor is not improved.

    The certificate is proved where the cost can be factorised (see ``cost`` in :func:`solve`), or where some products
    suffice; else it is probabilistic.

    Parameters
    ----------
    cost, diagonal, spread
        As for :func:`solve`. To certify one of its solutions pass ``spread=solution.spread``.
    factor : (n, r) array
        H with unit rows, to 1e-8; they are normalised first.
    tol : float
        Relative gap that is aimed at. The bound may be larger, where the factor is no better.
    max_products : int
        Block products, as many as a :func:`solve` may take by default. Where they do not suffice, the bound is larger.
    rng : Generator, int or None
        For tests with random vectors, where J cannot be factorised.
    """
    tol, rng, limit = check_tol(tol), check_rng(rng), check_integer("max_products", max_products, 1)
    operator = as_operator(cost, diagonal)
    meter = Meter(Problem(operator, spread=resolve_spread(operator, spread).s), limit)
    H = check_factor("factor", factor, meter.problem.n)
    lengths = np.linalg.norm(H, axis=1)
    row = int(np.abs(lengths - 1).argmax())
    if abs(lengths[row] - 1) > 1e-8:
        raise ValueError(f"`factor` must have rows of length 1, got {lengths[row]:.6g} in row {row}.")
    with one_blas_thread():
        iterate = meter.evaluate(like(meter.problem.offset, normalize_rows(H, rng)))
        # Products for a last bound are kept back.
        meter.limit = max(limit - meter.problem.tuning.lanczos_steps, 0.5 * limit)
        try:
            return prove(meter, iterate, rng, tol)
        except OutOfProducts:
            meter.limit = limit
            return quick_bound(meter, iterate, rng)
