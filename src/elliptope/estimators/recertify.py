"""A new certificate from what a model holds: for models that were stored, sent or edited since they were fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array, row_norms
from .._utils.callers import underflows_to_zero
from .._utils.checks import as_real
from .._utils.threads import count_threads
from ..kernels.checks import check_kernel_matrix
from ..operators import DenseOperator, KernelOperator, Operator, SparseOperator
from ..sdp import Certificate, Spread, certify
from .diagonals import KernelDiagonal
from .extension import unit_directions
from .multiscale import MultiscaleEmbedding
from .pose import at_points, program
from .pose_rkhs import factorized_kernel, regularized_cost
from .rkhs_embedding import RKHSEmbedding
from .sdp_embedding import SDPEmbedding

# Relative difference of two quantities, computed twice, that may be due to rounding.
_ROUNDING = 1e-8
# Points up to which a sparse kernel is made dense, so that its certificate is proved, however long that takes.
_MOST_FACTORED = 10_000


class InconsistentModelError(ValueError):
    """Parts of a model that do not belong together: there is nothing to certify."""


@underflows_to_zero
def recertify(
    est: SDPEmbedding | RKHSEmbedding | MultiscaleEmbedding, K: Array | None = None
) -> Certificate | tuple[Certificate, ...]:
    r"""Pose the program of a fitted estimator again, put its embedding in, and prove how far it is from the optimum.

    J is built anew from the training points, weights and kernel that the model holds, and
    :math:`H = \operatorname{Diag}(d)^{-1/2}\, \Xi` from its embedding. ``certificate_`` is not used: compare
    with it. Costs what the proof in ``fit`` did: an n × n array and, at most, its factorisation; or, for a neighbour kernel
    on more points than can be factorised, a test with random vectors.

    Parameters
    ----------
    est : SDPEmbedding, MultiscaleEmbedding or RKHSEmbedding
        Fitted, or loaded.
    K : (N, N) array, optional
        The kernel matrix given to ``fit``, for ``kernel="precomputed"`` alone: the model does not keep it.

    Returns
    -------
    Certificate, or a tuple with one for every scale of a MultiscaleEmbedding
        Of the grade "proved", or "probabilistic" where nothing was factorised. An embedding that is feasible but not optimal
        shows in its ``relative_gap``.

    Raises
    ------
    InconsistentModelError
        When training points and degrees, embedding and diagonal, or ``embedding_`` and the extension do not fit together.

    Notes
    -----
    Rows of weight zero are no part of the program, and their embedding is not checked.
    """
    if not isinstance(est, SDPEmbedding | RKHSEmbedding | MultiscaleEmbedding):
        raise TypeError(
            f"`est` must be an SDPEmbedding, a MultiscaleEmbedding or an RKHSEmbedding, got {type(est).__name__}."
        )
    check_is_fitted(est)
    if isinstance(est, RKHSEmbedding):
        J, Xi, d = _rkhs_program(est, K)
        return certify(J, _feasible_factor(Xi, d), tol=est.tol, rng=0)
    A, training = _operator(est, K), est.training_
    kernel = training.extension.kernel
    if isinstance(est, MultiscaleEmbedding):
        d = KernelDiagonal(A.M).on_sample(training.points, training.rows, A)
        parts = [(scale, training.extension.F[:, columns]) for scale, columns in training.parts()]
        rows = [unit_directions(at_points(A, kernel, F), scale.directions) for scale, F in parts]
        blocks = [scale.weight * U for (scale, _), U in zip(parts, rows, strict=True)]
        certificates: tuple[Certificate, ...] = ()
        if training.groups is not None:
            blocks.append(training.groups.embed(np.arange(A.n)))
            certificates = (training.groups.certificate,)
        _check_equal("rows of `embedding_`", est.embedding_[training.rows], est._finish(np.hstack(blocks) @ training.axes))
        times = [(scale.diffusion_time, scale.spread) for scale, _ in parts]
        return (*(_certify(A, d, U, *one, est.tol) for U, one in zip(rows, times, strict=True)), *certificates)
    d = training.diagonal.on_sample(training.points, training.rows, A)
    U = unit_directions(at_points(A, kernel, training.extension.F), training.spread)
    Xi = np.sqrt(d * training.diagonal.factor(A.unit))[:, None] * U
    _check_equal("components", training.components, Xi)
    _check_equal("rows of `embedding_`", est.embedding_[training.rows], est._finish(U if training.normalize else Xi))
    s = training.spread.s if training.spread else 0.0
    return _certify(A, d, U, training.diffusion_time, s, est.tol)


def _certify(A: KernelOperator, d: Array, U: Array, t: int, s: float, tol: float) -> Certificate:
    """The certificate of unit rows U; where one has no direction, B has no entries and any unit vector will do."""
    J, spread = program(A, d, t, Spread(s))
    H = U.copy()
    H[~U.any(axis=1), 0] = 1.0
    return certify(J, H, spread=spread, tol=tol, rng=0)


def _operator(est: SDPEmbedding | MultiscaleEmbedding, K: Array | None) -> KernelOperator:
    """The operator on the kernel fitted again, which must agree with the one that the model holds."""
    training, n_jobs = est.training_, count_threads(est.n_jobs)
    kernel = training.extension.kernel
    if kernel.matrix_is_given:
        K = _check_given(K, len(est.embedding_))
    else:
        _refuse_kernel_matrix(K)
    again = kernel.refit(K, n_jobs)
    for name, held in kernel.fitted_values.items():
        _check_equal(name, held, again.fitted_values[name])
    matrix = again.matrix(n_jobs)
    A: KernelOperator
    if kernel.is_sparse and matrix.shape[0] > _MOST_FACTORED:
        A = SparseOperator(matrix, training.weights)
    else:
        A = DenseOperator(matrix.toarray() if kernel.is_sparse else matrix, training.weights)
    _check_equal("degrees m", training.extension.m, A.m)
    _check_equal("total masses M", training.extension.M, A.M)
    return A


def _check_given(K: Array | None, N: int) -> Array:
    if K is None:
        raise ValueError("`K` must be the kernel matrix given to `fit`, got None: a precomputed kernel is not kept.")
    K = np.asarray(as_real("K", K), dtype=np.float64)
    if K.shape != (N, N):
        raise ValueError(f"`K` must be the kernel matrix given to `fit`, of shape ({N}, {N}), got shape {K.shape}.")
    return check_kernel_matrix(K, "`K` must be {}")


def _rkhs_program(est: RKHSEmbedding, K: Array | None) -> tuple[Operator, Array, Array]:
    r"""J, :math:`\Xi = K\alpha`, and d."""
    _refuse_kernel_matrix(K)
    training, extension = est.training_, est.training_.extension
    K, R, reciprocal = factorized_kernel(extension.kernel, training.jitter, count_threads(est.n_jobs))
    if reciprocal == 0:
        raise InconsistentModelError("The kernel matrix of the training points is singular, which `fit` would have refused.")
    rows = np.flatnonzero(training.place >= 0)
    at_points = est._finish(extension(extension.kernel.points))
    _check_equal("rows of `embedding_`", est.embedding_[rows], at_points[training.place[rows]])
    Xi = K @ extension.alpha
    return regularized_cost(K, R, training.u, training.weights, training.d, est.regularization_), Xi, training.d


def _refuse_kernel_matrix(K: Array | None) -> None:
    if K is not None:
        raise ValueError("`K` must be None unless kernel='precomputed', got an array: the model holds its training points.")


def _feasible_factor(Xi: Array, d: Array) -> Array:
    """H with unit rows; where d vanishes, B has no entries and any unit vector will do."""
    lengths = row_norms(Xi)
    off = np.abs(lengths - np.sqrt(d)) > _ROUNDING * np.sqrt(d)
    if off.any():
        i = int(np.flatnonzero(off)[0])
        raise InconsistentModelError(
            f"The embedding is not feasible: {int(off.sum())} of its rows are not of length √d(x). The first is that of "
            f"training point {i}, with length {lengths[i]:.6g} instead of {np.sqrt(d[i]):.6g}."
        )
    H = np.zeros_like(Xi, order="F")
    H[:, 0] = 1.0
    np.divide(Xi, lengths[:, None], out=H, where=lengths[:, None] > 0)
    return H


def _check_equal(what: str, held: Any, expected: Any) -> None:
    held = np.asarray(held)
    rounding = max(_ROUNDING, float(np.finfo(held.dtype).eps)) if held.dtype.kind == "f" else _ROUNDING
    difference = float(np.max(np.abs(held - expected), initial=0.0))
    size = float(np.max(np.abs(expected), initial=0.0))
    if not difference <= rounding * size:
        raise InconsistentModelError(
            f"The parts of the model do not belong together: {what}, as held and as computed from the rest, differ by "
            f"{difference:.3g} (of {size:.3g})."
        )
