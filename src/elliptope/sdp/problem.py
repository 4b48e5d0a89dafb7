r"""The factorised problem: maximise :math:`\operatorname{Tr}(J H H^\top)` over H with unit rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..operators.base import Array, Operator

# A residual below this part of y_i is what rounding leaves of the two terms of LH.
_RESOLUTION = 1e-5


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
    r"""A feasible H with its product G = JH, from which everything of first order follows.

    .. math:: y_i = (J H H^\top)_{ii}, \qquad \text{objective} = \sum_i y_i, \qquad L H = \operatorname{Diag}(y) H - G .
    """

    H: Array
    G: Array
    diagonal: Array = field(repr=False)

    @cached_property
    def y(self) -> Array:
        return row_dots(self.H, self.G)

    @cached_property
    def objective(self) -> float:
        return float(self.y.sum())

    @cached_property
    def slack(self) -> Array:
        """diag(L) = y - diag(J): unchanged when a diagonal is added to J, non-negative at an optimum."""
        return self.y - self.diagonal

    @cached_property
    def gain(self) -> float:
        """Objective less Tr J: what is won over B = Diag(d), whatever diagonal J carries."""
        return float(self.slack.sum())

    @cached_property
    def residual(self) -> Array:
        """LH, minus half the Riemannian gradient; shape (n, r)."""
        return self.y[:, None] * self.H - self.G

    @cached_property
    def pull(self) -> Array:
        r""":math:`\lVert \sum_{j\ne i} J_{ij} h_j \rVert`: how strongly the other rows hold row i.

        Never negative, equal to diag(L) at an optimum, and the natural scale of row i.
        """
        return row_norms(self.G - self.diagonal[:, None] * self.H)

    @cached_property
    def stationarity(self) -> float:
        """Largest row of LH relative to the pull on that row: zero exactly at critical points."""
        norms = row_norms(self.residual)
        scale = np.maximum(self.pull, _RESOLUTION * np.abs(self.y))
        return float(np.divide(norms, scale, out=np.zeros_like(norms), where=scale > 0).max())


class Problem:
    """An operator seen as the cost of an SDP over the elliptope; counts the block products spent on it."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.n = operator.n
        self.diagonal = operator.diagonal()
        self.n_products = 0

    def product(self, V: Array) -> Array:
        self.n_products += 1
        return self.operator @ V

    def evaluate(self, H: Array) -> Iterate:
        return Iterate(H, self.product(H), self.diagonal)
