r"""The factorised problem: maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..operators.base import Array, Operator


def row_dots(U: Array, V: Array) -> Array:
    return np.einsum("ij,ij->i", U, V)


def row_norms(V: Array) -> Array:
    return np.sqrt(row_dots(V, V))


def normalize_rows(V: Array, rng: np.random.Generator) -> Array:
    """Rows of unit length; a zero row has no direction and is drawn at random, as in the paper."""
    norms = row_norms(V)
    if not norms.all():
        dead = norms == 0
        V = np.where(dead[:, None], rng.standard_normal(V.shape), V)
        norms = row_norms(V)
    return V / norms[:, None]


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
    diagonal: Array = field(repr=False)

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
        return self.gain + float(self.diagonal.sum())

    @cached_property
    def residual(self) -> Array:
        """LH, minus half the Riemannian gradient; shape (n, r)."""
        return self.slack[:, None] * self.H - self.P

    @cached_property
    def pull(self) -> Array:
        """Length of p_i: how strongly the other rows hold row i, diag(L) at an optimum, and the natural scale of row i."""
        return row_norms(self.P)

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
        self.n_products = 0
        self._hollow: Array | None = None

    def product(self, V: Array) -> Array:
        """Product with the hollow J."""
        self.n_products += 1
        return self.operator.hollow_matmat(V)

    def evaluate(self, H: Array) -> Iterate:
        return Iterate(H, self.product(H), self.diagonal)

    def hollow_matrix(self) -> Array:
        """The hollow J itself, (n, n), for methods that factorise; made once."""
        if self._hollow is None:
            with self.operator.triangle(np.ones(self.n)) as T:
                self._hollow = -np.tril(T, -1)
            self._hollow += self._hollow.T
        return self._hollow
