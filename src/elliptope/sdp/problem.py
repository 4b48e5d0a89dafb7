r"""The problem, maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows; and products with J, counted.

With weights :math:`e \ne 0` it is the strictly concave program

.. math:: \max_{Z \succeq 0,\; \operatorname{diag} Z = 1} \operatorname{Tr}(J Z) - \tfrac12 \sum_{ij} e_i e_j Z_{ij}^2 .

Z is optimal if and only if it solves the *linearised* problem, whose cost is :math:`J - EZE` with that Z, E = Diag(e). As
:math:`EZE = (EH)(EH)^\top` is of low rank, this is J with more columns in its deflation basis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._utils.arrays import Array, as_numpy, columnwise, like, namespace, rowwise
from ..operators.base import Operator
from ..operators.metric import Metric
from .iterate import Iterate
from .quadratic import Quadratic
from .spread import spread_weights
from .tuning import TUNING, Tuning


@dataclass(frozen=True)
class Problem:
    """An operator seen as the cost of an SDP over the elliptope, and the tuning it is solved with."""

    operator: Operator
    tuning: Tuning = TUNING
    spread: float = 0.0  # s, the weight of the quadratic term
    rough: bool = False  # in single precision: to ascend, not to prove

    def __post_init__(self) -> None:
        if self.offset.dtype != namespace(self.offset).float64 and not self.rough:
            # Bounds account for the rounding of double precision.
            raise ValueError(f"`cost` must be an operator in float64, got an offset of dtype {self.offset.dtype}.")

    def in_single_precision(self) -> Problem | None:
        """The same with arrays in single precision throughout; None where the operator does not offer that."""
        operator = self.operator.float32()
        return None if operator is None else Problem(operator, self.tuning, self.spread, rough=True)

    @property
    def n(self) -> int:
        return self.operator.n

    @cached_property
    def offset(self) -> Array:
        """The diagonal that the operator keeps apart from its core, (n,)."""
        return self.operator.offset()

    @cached_property
    def metric(self) -> Metric | None:
        """The metric of the operator, where it has one of its own."""
        return self.operator.metric()

    @cached_property
    def weights(self) -> Array | None:
        r""":math:`e_i = \sqrt{s \max(J_{ii}, 0)}`, (n,); None for the linear problem."""
        return spread_weights(self.operator, self.spread) if self.spread else None

    @property
    def excepted(self) -> int | None:
        """Rows that have no part in the quadratic term; None for the linear problem."""
        return None if self.weights is None else int(namespace(self.weights).sum(self.weights == 0))

    @cached_property
    def uncoupled(self) -> bool:
        """Whether J is diagonal."""
        return self.operator.uncoupled

    def uncoupled_optimum(self, H: Array) -> Array:
        r"""An optimum where J is diagonal: any H, such as the one given.

        With a quadratic term :math:`Z_{ij} = 0` where :math:`i \ne j` and :math:`e_i e_j > 0`: each of these rows has a
        column of its own. The others, on which nothing depends, share the first column.
        """
        if self.weights is None:
            return H
        used = as_numpy(self.weights) > 0
        column = np.where(used, np.cumsum(used) - 1, 0)
        return like(self.offset, np.eye(column.max() + 1)[column])

    @cached_property
    def norm_weights(self) -> Array:
        return self.operator.norm_weights()

    @cached_property
    def core_matrix(self) -> Array:
        """The core of J, hollow, (n, n): a NumPy array for methods that factorise."""
        if not self.operator.has_entries:
            return as_numpy(self.operator.core_matmat(like(self.offset, np.eye(self.n))))
        with self.operator.triangle(np.ones(self.n)) as T:
            core = -np.tril(T, -1)
        core += core.T
        return core


class OutOfProducts(Exception):
    """All block products that a solve may take have been taken."""


@dataclass
class Counter:
    number: int = 0


class Meter:
    """Products with the core of J: counted, limited, and in single precision where that was asked for."""

    def __init__(self, problem: Problem, limit: float = math.inf, taken: Counter | None = None) -> None:
        self.problem = problem
        self.limit, self._taken = limit, Counter() if taken is None else taken
        self._single: Operator | None = None

    @property
    def count(self) -> int:
        """Products taken so far."""
        return self._taken.number

    @property
    def left(self) -> float:
        """Products that may still be taken."""
        return max(self.limit - self.count, 0)

    @property
    def in_single_precision(self) -> bool:
        return self._single is not None

    def use_single_precision(self) -> None:
        """From now on products are in single precision, where the operator finds that faster."""
        self._single = self.problem.operator.single()

    def use_double_precision(self) -> None:
        """From now on products are in double precision; the copy in single precision is given up."""
        self._single = None

    def product(self, V: Array) -> Array:
        """(J - Diag(offset)) V, (n, r): one product, however many columns V has.

        Raises :class:`OutOfProducts`, without computing, once the limit is reached.
        """
        if self.count >= self.limit:
            raise OutOfProducts
        self._taken.number += 1
        return (self._single or self.problem.operator).core_matmat(V)

    def rough_product(self, V: Array) -> Array:
        """The same to about six digits, where the operator has products that are faster for it."""
        single = self._single
        if single is None and self.problem.operator.single_is_accurate:
            self.use_single_precision()
        try:
            return self.product(V)
        finally:
            self._single = single

    def core_square(self, v: Array) -> float:
        """:meth:`Operator.core_square`, with the products that it takes counted."""
        operator = self.problem.operator
        if self.count + operator.square_products > self.limit:
            raise OutOfProducts
        self._taken.number += operator.square_products
        return operator.core_square(v)

    def evaluate(self, H: Array) -> Iterate:
        """The iterate at H, for one product."""
        problem = self.problem
        rough = self.in_single_precision and problem.operator.single_is_accurate
        if problem.weights is None:
            return Iterate(H, columnwise(self.product(H)), problem.offset, problem.metric, rough=rough)
        # Factors have many columns here: rows, of which most sums are, should lie together.
        H = rowwise(H)
        P = rowwise(self.product(H))
        quadratic = Quadratic(problem.weights, H, problem.norm_weights, problem.uncoupled)
        P = quadratic.subtract_gradient(P)
        return Iterate(H, P, problem.offset - problem.weights**2, None, quadratic, rough=rough)

    def in_float32(self) -> Meter | None:
        """A meter of the problem in single precision, which counts together with this one; None where there is none."""
        problem = self.problem.in_single_precision()
        return None if problem is None else Meter(problem, self.limit, self._taken)

    def linearized(self, iterate: Iterate) -> Meter:
        """A meter of the problem linearised at an iterate, which counts together with this one; this one if it is linear."""
        if iterate.quadratic is None:
            return self
        problem = self.problem
        return Meter(Problem(problem.operator.deflated(iterate.quadratic.EH), problem.tuning), self.limit, self._taken)
