r"""Proofs of definiteness: a Cholesky factorisation of a symmetric matrix, with its rounding accounted for.

If floating-point Cholesky of a matrix A runs to completion, then :math:`\lambda_{\min}(A) \ge -\gamma_{n+1}/(1-\gamma_{n+1})
\operatorname{Tr} A` with :math:`\gamma_k = ku/(1-ku)` (Rump 2006; underflow apart, for conventional matrix products in any
order); twice that covers blocked factorisations that multiply by reciprocals. To it comes the rounding made when the entries
were formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

Array = np.ndarray

UNIT = float(np.finfo(float).eps) / 2


@dataclass(frozen=True)
class Factorization:
    r"""A proof that :math:`L + s M + N \succeq 0`, for the metric M that it was asked for.

    ``shift`` is s, what was added and the rounding; ``solve`` applies the inverse of :math:`E (L + s' M) E^\top` to whitened
    coordinates, s' being what was added. N is psd and stands for rounding that M does not measure well: ``extra`` is a bound
    on :math:`\langle N, Z\rangle` over the elliptope, and so on Tr N.
    """

    shift: float
    added: float
    solve: Callable[[Array], Array]
    extra: float = 0.0


def cholesky_rounding(n: int, trace: float) -> float:
    """How negative an eigenvalue can be that a completed Cholesky factorisation of a matrix of that trace overlooks."""
    gamma = (n + 2) * UNIT / (1 - (n + 2) * UNIT)
    return 2 * gamma / (1 - gamma) * trace


def upper_cholesky(A: Array) -> Array | None:
    """U with UᵀU = A from the upper triangle of a Fortran-ordered A, which is overwritten; None if A is not definite."""
    factor, info = dpotrf(A, lower=0, clean=0, overwrite_a=1)
    return factor if info == 0 else None


def cholesky_solver(U: Array) -> Callable[[Array], Array]:
    """V ↦ (UᵀU)⁻¹ V."""

    def solve(V: Array) -> Array:
        return dpotrs(U, V, lower=0)[0]

    return solve
