"""Two numbers that a kernel matrix says about λ before anything is solved."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from elliptope.kernels import Matern
from elliptope.kernels.bandwidth import resolve_bandwidth


def matern_matrix(X: np.ndarray, nu: float, length_scale: float | str) -> np.ndarray:
    return Matern(resolve_bandwidth(length_scale, X, "length_scale"), nu).block(X, X)


def gain_scale(K: np.ndarray) -> float:
    r""":math:`g = (\lambda_{\max}(\bar K)/n)^2` for the mean direction u: what a unit of trace gains at its best place.

    :math:`f_n(\mathbb B) = \operatorname{Tr}(A\, S_n^*S_n\, \mathbb B\, S_n^*S_n)` with :math:`A = I - u \otimes u`. For a
    projector :math:`\mathbb B` on an eigenfunction of :math:`A\,S_n^*S_n\,A`, which has the non-zero eigenvalues of
    :math:`\bar K/n`, that is the square of its eigenvalue; λ is what the same unit of trace costs.
    """
    n = len(K)
    u = K.sum(axis=1) / math.sqrt(K.sum())
    return float(eigh(K - np.outer(u, u), eigvals_only=True, subset_by_index=[n - 1, n - 1])[0] / n) ** 2


def collapse_threshold(K: np.ndarray) -> float:
    r"""The λ from which on the optimum puts all points in one place, for d ≡ 1 and the mean direction u; infinite if none.

    B' = 11ᵀ has :math:`\bar K 1 = 0`, hence the certificate :math:`\lambda n^2 (K^{-1} - \operatorname{Diag}(K^{-1} 1)) -
    \bar K`, and is optimal if and only if that is psd. With :math:`K = C C^\top` and :math:`v = C^{-1} 1`, which both
    matrices below send to zero, the threshold is the largest generalised eigenvalue in

    .. math:: C^\top \bar K C\, q = \lambda_c\, n^2\, \big(I - C^\top \operatorname{Diag}(K^{-1} 1)\, C\big)\, q .
    """
    n, ones = len(K), np.ones(len(K))
    C = cholesky(K, lower=True)
    v = solve_triangular(C, ones, lower=True)
    alpha = solve_triangular(C, v, lower=True, trans=1)
    S = np.eye(n) - C.T @ (alpha[:, None] * C) + np.outer(v, v) / (v @ v)  # the last term removes the null space
    Cu = C.T @ K.sum(axis=1) / math.sqrt(K.sum())
    G = C.T @ C
    try:
        top = eigh(G @ G - np.outer(Cu, Cu), S, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]
    except LinAlgError:  # S is not positive definite: some other solution has a smaller trace than one place for all
        return math.inf
    return float(top) / n**2
