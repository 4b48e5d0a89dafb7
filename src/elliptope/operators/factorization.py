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
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs

from .._utils.arrays import Array
from .._utils.rounding import gamma

# OpenBLAS's own parallel factorisation overruns its buffers where matrices are large: n = 16 000 on two threads ends in a
# segmentation fault (0.3.30, SkylakeX). Larger matrices are factorised by panels of that many rows.
_LARGEST_WHOLE = 12_800
_PANEL = 2048


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
    error = gamma(n + 2)
    return 2 * error / (1 - error) * trace


def factorize_lower(T: Array) -> Callable[[Array], Array] | None:
    """V ↦ T⁻¹ V by a factorisation of the lower triangle of a contiguous T, which is overwritten; None if T is not definite.

    The strict upper triangle is neither read nor written. Small matrices are factorised faster in Fortran order.
    """
    if T.flags.f_contiguous and len(T) <= _LARGEST_WHOLE:
        factor, info = dpotrf(T, lower=1, clean=0, overwrite_a=1)
        return cholesky_solver(factor, lower=1) if completed(factor, info) else None
    # The lower triangle of a C-ordered array is the upper triangle of its transpose.
    U = upper_cholesky(T.T)
    return None if U is None else cholesky_solver(U)


def upper_cholesky(A: Array) -> Array | None:
    """U with UᵀU = A from the upper triangle of a Fortran-ordered A, which is overwritten; None if A is not definite.

    The strict lower triangle is neither read nor written.
    """
    if len(A) <= _LARGEST_WHOLE:
        factor, info = dpotrf(A, lower=0, clean=0, overwrite_a=1)
        return factor if completed(factor, info) else None
    return _cholesky_by_panels(A)


def completed(factor: Array, info: int) -> bool:
    """Whether LAPACK's Cholesky factorisation ran to completion: OpenBLAS's does not notice NaN, which ends up in pivots."""
    return info == 0 and bool(np.isfinite(factor.diagonal()).all())


def _cholesky_by_panels(A: Array) -> Array | None:
    """The same, rows by rows: a factor of a diagonal block, the panel beside it, and its square off what is left."""
    n = len(A)
    for start in range(0, n, _PANEL):
        rows, rest = slice(start, min(start + _PANEL, n)), slice(min(start + _PANEL, n), n)
        U, info = dpotrf(np.asfortranarray(A[rows, rows]), lower=0, clean=0, overwrite_a=1)
        if not completed(U, info):
            return None
        _write_triangle(A[rows, rows], U)
        P = dtrsm(1.0, U, np.asfortranarray(A[rows, rest]), trans_a=1, overwrite_b=1)
        A[rows, rest] = P
        for first in range(rest.start, n, _PANEL):
            block = slice(first, min(first + _PANEL, n))
            # Transposed, so that it lies in memory as A does.
            S = (P[:, first - rest.start :].T @ P[:, first - rest.start : block.stop - rest.start]).T
            size = block.stop - first
            _write_triangle(A[block, block], A[block, block] - S[:, :size])
            A[block, block.stop :] -= S[:, size:]
    return A


def _write_triangle(A: Array, U: Array) -> None:
    np.copyto(A, U, where=np.tri(len(A), dtype=bool).T)


def cholesky_solver(factor: Array, lower: int = 0) -> Callable[[Array], Array]:
    """V ↦ (UᵀU)⁻¹ V, or (LLᵀ)⁻¹ V of a lower factor."""

    def solve(V: Array) -> Array:
        return dpotrs(factor, V, lower=lower)[0]

    return solve
