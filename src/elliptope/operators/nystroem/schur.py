r"""Proofs of definiteness in the small space of a tall factor.

Let z be positive, Q thin and G = [Diag(s) F, U], with a few columns U besides those of the factor. The n × n matrix
:math:`B - G G^\top`, :math:`B = \operatorname{Diag}(z) + Q Q^\top`, is psd if and only if the small matrix
:math:`T = I - G^\top B^{-1} G` is: both are Schur complements of one block matrix. The same block matrix shows what an error
of T means: :math:`T + \delta I \succeq 0` implies :math:`(1 + \delta) B - G G^\top \succeq 0`.

T comes from the Gram matrix P of the columns :math:`\operatorname{Diag}(z)^{-1/2} [G, Q]`, accumulated over blocks of rows:

.. math:: T = I - P_{GG} + P_{GQ} (I + P_{QQ})^{-1} P_{QG}
            \succeq I - P_{GG} + P_{GQ} Y + Y^\top P_{QG} - Y^\top (I + P_{QQ}) Y \quad\text{for any } Y,

with equality for :math:`Y = (I + P_{QQ})^{-1} P_{QG}`. The right-hand side is what is formed, so that how well Y was
computed does not matter. Rounding, the norms being those of computed matrices and 1.01 covering products of roundings:

- An entry of P errs by :math:`\gamma_N \lVert p_j\rVert \lVert p_l\rVert`, for columns p and the N operations that a term
  goes through. As a quadratic form in (x, -Yx) that is at most :math:`\gamma_N (g + \sqrt q\, y)^2 \lVert x\rVert^2`, where
  :math:`g^2 = \operatorname{Tr} P_{GG}`, :math:`y = \lVert D Y\rVert_F` and D² is the diagonal of :math:`I + P_{QQ}`.
- Putting T together costs :math:`\gamma_{2q+8} (1 + g^2 + 2 \sqrt q\, g y + q y^2)`.
- Its Cholesky factorisation adds what is said in :mod:`~elliptope.operators.factorization`.

None of this depends on the scale of z, s and Q. Summed in blocks, N is about 2000 for n = 1e6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._utils.arrays import Array
from ..._utils.rounding import gamma
from ..base import ROUNDINGS
from ..factorization import cholesky, cholesky_rounding, cholesky_solver
from .tall import TallFactor


@dataclass(frozen=True)
class SchurProof:
    r"""A proof that :math:`(1 + \delta) B \succeq G G^\top`.

    ``solve`` applies the inverse of :math:`B - G G^\top`, up to the small multiple of I that was added to T.
    """

    delta: float
    solve: Callable[[Array], Array]


def prove_definite(F: TallFactor, s: Array, U: Array, z: Array, Q: Array) -> SchurProof | None:
    """Factorise T; None where it is not definite."""
    root = 1 / np.sqrt(z)
    P = F.gram(s * root, root[:, None] * np.hstack([U, Q]))
    k, q = F.k + U.shape[1], Q.shape[1]
    X = P[k:, :k]  # (q, k)
    C = np.tril(P[k:, k:]) + np.tril(P[k:, k:], -1).T + np.eye(q)
    Y = np.linalg.solve(C, X)  # (q, k)
    T = X.T @ Y
    T = T + T.T - Y.T @ (C @ Y) - P[:k, :k]  # (k, k); the lower triangle, as P is known there only
    g, y = math.sqrt(P[:k, :k].trace()), float(np.linalg.norm(np.sqrt(C.diagonal())[:, None] * Y))
    # A term of P has two factors s/√z f with at most four roundings each, which are multiplied, besides the additions.
    rounding = gamma(F.gram_additions + 2 * ROUNDINGS) * (g + math.sqrt(q) * y) ** 2
    rounding += gamma(2 * q + 8) * (1 + g**2 + 2 * math.sqrt(q) * g * y + q * y**2)
    rounding = 1.01 * rounding + cholesky_rounding(k, 1.01 * k + float(np.abs(T.diagonal()).sum()))
    added = 2 * rounding  # at an optimum T is singular; then rounding would decide whether it is definite
    T[np.diag_indices(k)] += 1 + added
    L = cholesky(np.asfortranarray(T))
    if L is None:
        return None
    return SchurProof(added + rounding, _inverse(F, s[:, None], U, z[:, None], Q, C, cholesky_solver(L)))


def _inverse(
    F: TallFactor, s: Array, U: Array, z: Array, Q: Array, C: Array, solve_T: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    r""":math:`(B - G G^\top)^{-1} = B^{-1} + B^{-1} G\, T^{-1} G^\top B^{-1}`, and B⁻¹ by the same formula (Woodbury)."""

    def solve_B(V: Array) -> Array:
        V = V / z
        return V - Q / z @ np.linalg.solve(C, Q.T @ V)

    def solve(V: Array) -> Array:
        V = solve_B(V)
        W = solve_T(np.vstack([F.transposed_product(s * V), U.T @ V]))
        return V + solve_B(s * F.product(W[: F.k]) + U @ W[F.k :])

    return solve
