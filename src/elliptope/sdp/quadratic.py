r"""The quadratic term :math:`\tfrac12 \sum_{ij} e_i e_j Z_{ij}^2` of a program, at :math:`Z = H H^\top`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from .._utils.arrays import Array, inner, largest, namespace
from .._utils.rounding import UNIT


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""The term at one H, (n, r), for weights e, (n,): with E = Diag(e) and :math:`G = H^\top E H`,

    .. math:: \sum_{ij} e_i e_j Z_{ij}^2 = \lVert G\rVert_F^2, \qquad
              \tfrac12 \nabla \Big(\tfrac12 \lVert G\rVert_F^2\Big) = E H G .
    """

    e: Array
    H: Array
    mu: Array  # (n,): ‖B‖² is Σ μ_i μ_j Z_ij²
    uncoupled: bool = False  # whether J has nothing off its diagonal

    @cached_property
    def EH(self) -> Array:
        return self.e[:, None] * self.H

    @cached_property
    def G(self) -> Array:
        return self.H.T @ self.EH

    @cached_property
    def square(self) -> float:
        r""":math:`\sum_{ij} e_i e_j Z_{ij}^2`."""
        return inner(self.G, self.G)

    @cached_property
    def own(self) -> float:
        r"""Its part on the diagonal, :math:`\sum_i e_i^2`, the same for all Z."""
        return float(self.e @ self.e)

    @cached_property
    def lengths(self) -> Array:
        """diag(G), (r,): Σ_i e_i h_ik², never negative."""
        return namespace(self.G).linalg.diagonal(self.G)

    def off_diagonal(self, V: Array) -> Array:
        """(E Z E - Diag(e²)) V, (n, r)."""
        return self.EH @ (self.EH.T @ V) - (self.e**2)[:, None] * V

    def subtract_gradient(self, P: Array) -> Array:
        """P less (E Z E - Diag(e²)) H, (n, r); P is overwritten."""
        P -= self.EH @ self.G
        P += self.e[:, None] * self.EH
        return P

    def hessian(self, D: Array) -> Array:
        r""":math:`(EZE - E^2) D + E (D G + H D^\top E H)`: the change of :math:`(EZE - E^2) H` along a tangent D."""
        T = self.EH.T @ D
        return self.EH @ (T + T.T) + self.e[:, None] * (D @ self.G) - (self.e**2)[:, None] * D

    def distance_bound(self, gap: float) -> float:
        r"""Bound on :math:`\lVert B - B_\star\rVert_F / \lVert B\rVert_F` over the rows with e_i > 0.

        With :math:`\Delta = Z_\star - Z` and f the objective, the gap of the linearised problem at Z bounds
        :math:`\langle\nabla f(Z), \Delta\rangle = f_\star - f(Z) + \tfrac12 \sum_{ij} e_i e_j \Delta_{ij}^2`. As Z_⋆ is
        optimal, :math:`f_\star - f(Z)` is at least as large as the last term. Hence

        .. math:: \sum_{ij} e_i e_j \Delta_{ij}^2 \le \text{gap}, \qquad
                  \sum_{ij} \mu_i \mu_j \Delta_{ij}^2 \le \max_i (\mu_i/e_i)^2\, \text{gap} .

        With the paper's d all μ_i/e_i are :math:`s^{-1/2}`.
        """
        xp, used = namespace(self.e), self.e > 0
        mu = xp.where(used, self.mu, 0.0 * self.mu)
        ratio = largest(mu / xp.where(used, self.e, xp.ones_like(self.e)))
        gram = self.H.T @ (mu[:, None] * self.H)
        rounding = 1 + 4 * len(self.e) * UNIT
        return rounding * ratio * math.sqrt(gap) / math.sqrt(inner(gram, gram))
