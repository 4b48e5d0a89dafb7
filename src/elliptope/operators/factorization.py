r"""Proofs of definiteness: a Cholesky factorisation of a symmetric matrix, with its rounding accounted for.

If floating-point Cholesky of a matrix A runs to completion, then :math:`\lambda_{\min}(A) \ge -\gamma_{n+1}/(1-\gamma_{n+1})
\operatorname{Tr} A` with :math:`\gamma_k = ku/(1-ku)` (Rump 2006; underflow apart, for conventional matrix products in any
order); twice that covers blocked factorisations that multiply by reciprocals. The rounding made when the entries were formed
comes on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs

from .._utils.arrays import Array
from .._utils.blocks import ROWS, blocks
from .._utils.rounding import gamma
from .._utils.threads import ONE_THREAD_FACTORIZES, all_blas_threads

# OpenBLAS's own parallel factorisation overruns its buffers where matrices are large: n = 16 000 on two threads ends in a
# segmentation fault (0.3.30, SkylakeX). Larger matrices are factorised by panels.
_LARGEST_WHOLE = 12_800


@dataclass(frozen=True)
class Factorization:
    r"""A proof that :math:`L + s M \succeq 0`, for the metric M that it was asked for.

    ``shift`` is s, what was added and the rounding; ``solve`` applies the inverse of :math:`E (L + s' M) E^\top` to whitened
    coordinates, s' being what was added.
    """

    shift: float
    added: float
    solve: Callable[[Array], Array]


def cholesky_rounding(n: int, trace: float) -> float:
    """How negative an eigenvalue can be that a completed Cholesky factorisation of a matrix of that trace overlooks."""
    error = gamma(n + 2)
    return 2 * error / (1 - error) * trace


def cholesky(A: Array, largest_whole: int = _LARGEST_WHOLE, panel: int = ROWS) -> Array | None:
    """L with LLᵀ = A from the lower triangle of a Fortran-ordered A, which is overwritten; None if A is not definite.

    The strict upper triangle is neither read nor written. Matrices beyond ``largest_whole`` go by panels of so many columns.
    """
    with all_blas_threads(len(A) > ONE_THREAD_FACTORIZES):
        if len(A) > largest_whole:
            return _cholesky_by_panels(A, panel)
        L, info = dpotrf(A, lower=1, clean=0, overwrite_a=1)
    return L if completed(L, info) else None


def completed(factor: Array, info: int) -> bool:
    """Whether LAPACK's Cholesky factorisation ran to completion: OpenBLAS's does not notice NaN, which ends up in pivots."""
    return info == 0 and bool(np.isfinite(factor.diagonal()).all())


def _cholesky_by_panels(A: Array, panel: int) -> Array | None:
    """For each panel: factorise its diagonal block, solve for the rows below, and subtract their products from the rest."""
    n = len(A)
    for columns in blocks(0, n, panel):
        below = columns.stop
        L, info = dpotrf(np.asfortranarray(A[columns, columns]), lower=1, clean=0, overwrite_a=1)
        if not completed(L, info):
            return None
        _write_lower(A[columns, columns], L)
        P = dtrsm(1.0, L, np.asfortranarray(A[below:, columns]), side=1, lower=1, trans_a=1, overwrite_b=1)
        A[below:, columns] = P
        for block in blocks(below, n, panel):
            size = block.stop - block.start
            left = P[block.start - below :]
            S = (left[:size] @ left.T).T  # (n - block.start, size), in memory as A is
            _write_lower(A[block, block], A[block, block] - S[:size])
            A[block.stop :, block] -= S[size:]
    return A


def _write_lower(A: Array, L: Array) -> None:
    np.copyto(A, L, where=np.tri(len(A), dtype=bool))


def cholesky_solver(L: Array) -> Callable[[Array], Array]:
    """V ↦ (LLᵀ)⁻¹ V."""

    def solve(V: Array) -> Array:
        return dpotrs(L, V, lower=1)[0]

    return solve
