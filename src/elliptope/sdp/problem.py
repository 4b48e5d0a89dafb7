r"""The problem, maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows; and products with J, counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._utils.arrays import Array, columnwise, namespace
from ..operators.base import Operator
from ..operators.metric import Metric
from .iterate import Iterate
from .tuning import TUNING, Tuning


@dataclass(frozen=True)
class Problem:
    """An operator seen as the cost of an SDP over the elliptope, and the tuning it is solved with."""

    operator: Operator
    tuning: Tuning = TUNING

    def __post_init__(self) -> None:
        if self.offset.dtype != namespace(self.offset).float64:
            # Bounds account for the rounding of double precision.
            raise ValueError(f"`cost` must be an operator in float64, got an offset of dtype {self.offset.dtype}.")

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
    def core_matrix(self) -> Array:
        """The core of J, hollow, (n, n): a NumPy array for methods that factorise."""
        with self.operator.triangle(np.ones(self.n)) as T:
            core = -np.tril(T, -1)
        core += core.T
        return core


class OutOfProducts(Exception):
    """All block products that a solve may take have been taken."""


class Meter:
    """Products with the core of J: counted, limited, and in single precision where that was asked for."""

    def __init__(self, problem: Problem, limit: float = math.inf) -> None:
        self.problem = problem
        self.count, self.limit = 0, limit
        self._single: Operator | None = None

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
        self.count += 1
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
        self.count += operator.square_products
        return operator.core_square(v)

    def evaluate(self, H: Array) -> Iterate:
        """The iterate at H, for one product."""
        rough = self.in_single_precision and self.problem.operator.single_is_accurate
        return Iterate(H, columnwise(self.product(H)), self.problem.offset, self.problem.metric, rough=rough)
