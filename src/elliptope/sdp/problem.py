r"""The factorised problem: maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..operators.base import Array, Operator

# A column of H with no entry beyond this holds a negligible part (1e-7) of the squared length of every row.
SMALL_COLUMN = 3e-4


def row_dots(U: Array, V: Array) -> Array:
    return np.einsum("ij,ij->i", U, V)


def inner(U: Array, V: Array) -> float:
    """Σ_ij U_ij V_ij. Factors are Fortran-ordered, so that their transposes are read as they lie in memory."""
    return float(np.vdot(U.T, V.T))


def row_norms(V: Array) -> Array:
    return np.sqrt(row_dots(V, V))


def vector(V: Array) -> Array:
    """A Fortran-ordered matrix as one vector, column by column, without a copy."""
    return V.reshape(-1, order="F")


def normalize_rows(V: Array, rng: np.random.Generator) -> Array:
    """Rows of unit length; a zero row has no direction and is drawn at random, as in the paper."""
    norms = row_norms(V)
    if not norms.all():
        dead = norms == 0
        V = np.where(dead[:, None], rng.standard_normal(V.shape), V)
        norms = row_norms(V)
    return np.asfortranarray(V / norms[:, None])


def drop_columns(H: Array, threshold: float, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns in which no row has more than ``threshold`` of its length."""
    _, V = np.linalg.eigh(H.T @ H)
    H = H @ V[:, ::-1]
    used = np.abs(H).max(axis=0) > threshold
    return normalize_rows(H[:, used], rng) if used.any() else H


def random_start(n: int, rank: int, rng: np.random.Generator) -> Array:
    """The paper's starting point: independent entries uniform in [-1, 1], rows normalised."""
    return normalize_rows(rng.uniform(-1.0, 1.0, (n, rank)), rng)


@dataclass(frozen=True)
class Iterate:
    r"""A feasible H with its product P by the hollow J, from which everything of first order follows.

    .. math:: p_i = \sum_{j \ne i} J_{ij} h_j, \qquad \operatorname{diag}(L)_i = h_i \cdot p_i, \qquad
              y = \operatorname{diag}(L) + \operatorname{diag}(J), \qquad (LH)_i = (h_i \cdot p_i)\, h_i - p_i .

    Nothing but ``y`` and ``objective`` involves the diagonal of J, so that none of it is lost to its rounding.
    """

    H: Array
    P: Array
    diagonal: Array
    trace: float

    @cached_property
    def slack(self) -> Array:
        """diag(L): non-negative at an optimum, and unchanged when a diagonal is added to J."""
        return row_dots(self.H, self.P)

    @cached_property
    def gain(self) -> float:
        """Objective less Tr J: what is won over B = Diag(d), whatever diagonal J carries."""
        return float(self.slack.sum())

    @cached_property
    def y(self) -> Array:
        return self.slack + self.diagonal

    @cached_property
    def objective(self) -> float:
        return self.gain + self.trace

    @cached_property
    def residual(self) -> Array:
        """LH, minus half the Riemannian gradient; shape (n, r)."""
        return self.slack[:, None] * self.H - self.P

    @cached_property
    def pull(self) -> Array:
        """Length of p_i: how strongly the other rows hold row i, diag(L) at an optimum, and the natural scale of row i."""
        return row_norms(self.P)

    @cached_property
    def defect(self) -> float:
        r""":math:`\big(\sum_i \lVert (LH)_i\rVert^2 / \lVert p_i\rVert / \text{gain}\big)^{1/2}`: of the size of the gap.

        Rows count by how much the gain depends on them, so that a few weak ones do not hide that the gap is closed.
        """
        squares = row_dots(self.residual, self.residual)
        size = float(np.abs(self.slack).sum())
        return math.sqrt(float(squares @ self.inverse_metric) / size) if size > 0 else 0.0

    @cached_property
    def inverse_metric(self) -> Array:
        """1/pull, the inverse of the natural metric; finite even for rows that nothing pulls."""
        return 1 / np.maximum(self.pull, np.finfo(float).tiny)

    @cached_property
    def stationarity(self) -> float:
        """Largest row of LH relative to the pull on that row: zero exactly at critical points."""
        norms = row_norms(self.residual)
        return float(np.divide(norms, self.pull, out=np.zeros_like(norms), where=self.pull > 0).max())


class Problem:
    """An operator seen as the cost of an SDP over the elliptope; counts the block products spent on it."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.n = operator.n
        self.diagonal = operator.diagonal()
        self.trace = float(self.diagonal.sum())
        self.n_products = 0
        self.goal = 0.0  # defect at which the loop will stop; methods need not go further
        self._single: Operator | None = None
        self._hollow: Array | None = None

    @property
    def in_single_precision(self) -> bool:
        return self._single is not None

    def use_single_precision(self) -> None:
        """From now on products may be in single precision, where the operator finds that faster."""
        self._single = self.operator.single()

    def use_double_precision(self) -> None:
        """From now on products are in double precision; the copy in single precision is given up."""
        self._single = None

    def product(self, V: Array) -> Array:
        """Product with the hollow J."""
        self.n_products += 1
        return (self._single or self.operator).hollow_matmat(V)

    def evaluate(self, H: Array) -> Iterate:
        return Iterate(H, self.product(H), self.diagonal, self.trace)

    def hollow_matrix(self) -> Array:
        """The hollow J itself, (n, n), for methods that factorise; made once."""
        if self._hollow is None:
            with self.operator.triangle(np.ones(self.n)) as T:
                self._hollow = -np.tril(T, -1)
            self._hollow += self._hollow.T
        return self._hollow
