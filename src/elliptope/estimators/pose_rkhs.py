"""From the data and the parameters of ``RKHSEmbedding`` to its program: the kernel, its factor, and the cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._utils.arrays import Array
from .._utils.checks import check_between, check_non_negative, check_positive, check_vector, is_word
from .._utils.threads import count_threads
from ..kernels.bandwidth import resolve_bandwidth
from ..kernels.base import FittedFormula
from ..kernels.stationary import LARGEST_NU, Matern
from ..memory.planner import choose_operator
from ..operators import RegularizedOperator, weight_unit
from ..operators.matrix import DenseMatrix
from ..theory import constants as theory
from .data import Rows, Sample, closest_pair, distinct_points, validate_rows
from .diagonals import CallableDiagonal, given_diagonal

# Order of the Matérn kernel by default: functions with one continuous derivative, which is what the theory asks for.
_DEFAULT_NU = 1.5
# regularization="auto": this part of what a unit of trace gains at best; docs/rkhs.md has the evidence.
_PART_OF_GAIN = 0.1
# Where nothing can be gained, as when all points coincide, any regularisation will do.
_NO_GAIN = 1e-12
# Reciprocal condition number of K below which its inverse is rounding.
_SINGULAR = 10 * np.finfo(float).eps


@dataclass(frozen=True)
class PosedRKHS:
    """The program: its points, the kernel on them with the Cholesky factor R of K, and the cost."""

    given: Rows
    sample: Sample
    kernel: FittedFormula
    smoothness: float
    d: Array  # (n,): the diagonal
    u: Array  # (n,): the direction
    regularization: float
    R: Array  # (n, n): upper triangular, K = RᵀR
    operator: RegularizedOperator


def pose_rkhs(X: Any, sample_weight: Array | None, estimator: Any) -> PosedRKHS:
    """The program of an ``RKHSEmbedding``, whose parameters are read and which is left as it is."""
    given = validate_rows(X, sample_weight, estimator)
    sample = distinct_points(given.X, given.w)
    points = given.X[sample.rows]
    # Refuses what memory does not hold.
    choose_operator(*points.shape, only="regularized", estimator=type(estimator).__name__, rank=estimator.rank)
    formula, smoothness = _choose_kernel(points, estimator.length_scale, estimator.smoothness)
    kernel = FittedFormula(formula, points)
    d = _diagonal_on(sample, points, estimator.diagonal)
    K, R = _factorize(kernel, sample, smoothness, estimator.jitter, count_threads(estimator.n_jobs))
    u = _direction_on(points, sample, estimator.direction, K, R)
    regularization = _resolve_regularization(estimator.regularization, estimator.delta, sample, K, u)
    operator = regularized_cost(K, R, u, sample.w, d, regularization)
    return PosedRKHS(given, sample, kernel, smoothness, d, u, regularization, R, operator)


def _choose_kernel(points: Array, length_scale: float | str, smoothness: float | None) -> tuple[Matern, float]:
    """The kernel of the Sobolev space, and its order s."""
    p = points.shape[1]
    scale = resolve_bandwidth("median" if is_word(length_scale, "auto") else length_scale, points, "length_scale")
    s = p / 2 + _DEFAULT_NU if smoothness is None else check_positive("smoothness", smoothness)
    if not p / 2 < s <= p / 2 + LARGEST_NU:
        raise ValueError(
            f"`smoothness` must be larger than p/2 = {p / 2:g} for {p} features, for functions of the Sobolev space to "
            f"be continuous, and at most p/2 + {LARGEST_NU}; got {smoothness!r}."
        )
    return Matern(scale, s - p / 2), float(s)


def _diagonal_on(sample: Sample, points: Array, diagonal: Any) -> Array:
    """d at the points."""
    if callable(diagonal):
        return CallableDiagonal(diagonal)(points, sample.rows)
    if isinstance(diagonal, str):
        if diagonal != "constant":
            raise ValueError(f"`diagonal` must be 'constant', an array or a callable, got {diagonal!r}.")
        return np.ones(len(points))
    return given_diagonal(diagonal, sample, points)


def _factorize(kernel: FittedFormula, sample: Sample, smoothness: float, jitter: Any, n_jobs: int) -> tuple[Array, Array]:
    """K, and its Cholesky factor R, upper triangular with K = RᵀR."""
    if check_non_negative("jitter", jitter) > 1:
        raise ValueError(f"`jitter` must be at most 1, which is what k(x, x) is, got {jitter!r}.")
    K, R, reciprocal = factorized_kernel(kernel, float(jitter), n_jobs)
    if reciprocal < _SINGULAR:
        distance, i, j = closest_pair(kernel.points)
        raise ValueError(
            f"The kernel matrix of {len(K)} points is numerically singular (reciprocal condition number "
            f"{reciprocal:.1e}) for `length_scale`={kernel.bandwidth:.4g}, `smoothness`={smoothness:g} and "
            f"`jitter`={jitter:g}. Decrease `length_scale` or `smoothness`; merge points that almost coincide "
            f"(rows {sample.rows[i]} and {sample.rows[j]} are the closest, {distance:.2g} apart); or set `jitter`, to "
            "1e-10 or more."
        )
    return K, R


def _direction_on(points: Array, sample: Sample, direction: Any, K: Array, R: Array) -> Array:
    """u at the points, of unit norm in the RKHS."""
    if is_word(direction, "mean"):
        w = sample.w / weight_unit(sample.w)
        Kw = K @ w
        return Kw / np.sqrt(w @ Kw)
    if not callable(direction):
        raise ValueError(f"`direction` must be 'mean' or a callable, got {direction!r}.")
    u = check_vector("direction", direction(points.copy()), len(K), numbers=sample.rows)  # it may overwrite them
    alpha, _ = dpotrs(R, u)
    return u / np.sqrt(u @ alpha)


def _resolve_regularization(regularization: float | str, delta: float, sample: Sample, K: Array, u: Array) -> float:
    check_between("delta", delta, 0, 1 / 2)
    if not isinstance(regularization, str):
        return check_positive("regularization", regularization)
    if regularization not in ("auto", "theory"):
        raise ValueError(f"`regularization` must be a positive number, 'auto' or 'theory', got {regularization!r}.")
    root = np.sqrt(sample.w / sample.w.mean())
    weighted = np.outer(root, root) * K
    if regularization == "auto":
        gain = theory.top_eigenvalue(weighted - np.outer(root * u, root * u)) ** 2
        return _PART_OF_GAIN * (gain if gain > _NO_GAIN else 1.0)
    if not sample.equal_weights:
        raise ValueError("`regularization` must not be 'theory' when `sample_weight` is not constant.")
    lambda_max = theory.top_eigenvalue(weighted)
    return theory.least_regularization(sample.n_weighted, delta, lambda_max, float(K.diagonal().max()))


def factorized_kernel(kernel: FittedFormula, jitter: float, n_jobs: int) -> tuple[Array, Array, float]:
    """K, its Cholesky factor R, and the reciprocal of its condition number: 0 where there is no such factor."""
    K = kernel.matrix(n_jobs)
    K[np.diag_indices_from(K)] += jitter
    R, info = dpotrf(K, lower=0, clean=1)
    return K, R, dpocon(R, np.abs(K).sum(axis=1).max())[0] if info == 0 else 0.0


def regularized_cost(K: Array, R: Array, u: Array, w: Array, d: Array, regularization: float) -> RegularizedOperator:
    r"""J in the scaling of the unit diagonal: :math:`\sqrt d\,(w \bar K w - \lambda W^2 K^{-1})\,\sqrt d`, W = Σw.

    Weights count in their :func:`~elliptope.operators.weight_unit`. K is used as it is, and overwritten.
    """
    w = w / weight_unit(w)
    s = w * np.sqrt(d)
    ceiling = float(s @ K @ s)  # K is non-negative, and |B'_ij| ≤ √(d_i d_j)
    gain = DenseMatrix(K, s, (s * u)[:, None])
    return RegularizedOperator(gain, R / np.sqrt(d), regularization * float(w.sum()) ** 2, ceiling)
