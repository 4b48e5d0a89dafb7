"""The baseline: diffusion maps, on the same kernel and with the same conventions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array, as_numpy, like, namespace
from .._utils.callers import underflows_to_zero, warn
from .._utils.checks import check_integer, check_non_negative
from .._utils.devices import as_given
from .._utils.rounding import TINY
from .._utils.threads import count_threads
from ..kernels.choice import find_kernel
from ..memory.device import device_errors
from ..operators import KernelOperator, weight_unit
from .advice import NO_NEIGHBOURS, is_identity
from .base import KernelEmbedding, column_signs, finish
from .extension import Extension, Numbers, unit_rows
from .lazy import takes_dask
from .pose import Posed, pose
from .training import DiffusionTraining

# Weight, relative to the largest, below which a point is embedded as if it had none: the entry √w ψ of an eigenvector has
# then lost four digits or more.
_HARDLY_ANY = 1e-8
# Below this size a dense factorisation costs no more than Lanczos.
_DENSE_SIZE = 1000
# Eigenvalues of Abar, which are at most 1, that count as zero; the Nyström formula divides by them.
_ZERO = 1e-13
# A row below this part of the usual length is at the origin, where the data are symmetric: its direction is rounding.
_ORIGIN = 1e-10
# By how much an eigenvalue must exceed the smallest one kept to have been missed.
_REPEATED = 1e-10
# Restarts of Lanczos where there is no other method.
_MOST_RESTARTS = 2000


class DiffusionMap(KernelEmbedding):
    r"""Diffusion maps with Nyström extension.

    With eigenpairs :math:`\bar A \psi_\ell = \lambda_\ell \psi_\ell` on L²(w), :math:`\lVert\psi_\ell\rVert = 1`, the
    coordinates are :math:`\lambda_\ell^t \psi_\ell(i)`; a new point has

    .. math:: \psi_\ell(x) = \frac1{\lambda_\ell} \sum_i w_i\, \bar a_e(x)_i\, \psi_\ell(i) .

    Parameters
    ----------
    n_components : int
        Leading eigenvectors kept, the trivial one not counted; at most n - 1.
    kernel, bandwidth, normalize, n_neighbors, metric, n_jobs, device
        As for :class:`~elliptope.SDPEmbedding`.
    diffusion_time : float
        t ≥ 0; 0 gives the normalised eigenvectors of the paper's figures.

    Attributes
    ----------
    embedding_ : (n, n_components) array
    eigenvalues_ : (n_components,) array
        Leading eigenvalues of Abar, descending.
    bandwidth_, n_neighbors_, n_components_, training_, n_features_in_, feature_names_in_
        As for :class:`~elliptope.SDPEmbedding`.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | Callable = "gaussian",
        bandwidth: float | str = "auto",
        diffusion_time: float = 1,
        normalize: str | None = None,
        n_neighbors: int = 15,
        metric: str | Callable = "euclidean",
        n_jobs: int | None = None,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.diffusion_time = diffusion_time
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_jobs = n_jobs
        self.device = device

    @underflows_to_zero
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> DiffusionMap:
        """Compute the leading eigenvectors on the rows of ``X``; ``sample_weight`` as for ``SDPEmbedding``."""
        k = check_integer("n_components", self.n_components, 1)
        t = check_non_negative("diffusion_time", self.diffusion_time)
        rule = find_kernel(self.kernel)
        only = "sparse" if rule is not None and rule.operators == ("sparse",) else "dense"
        posed = pose(X, sample_weight, self, only=only)
        with device_errors(posed.device):
            return self._fit(posed, k, t)._follow(X)

    def _fit(self, posed: Posed, k: int, t: float) -> DiffusionMap:
        A = posed.operator
        if k > A.n - 1:
            raise ValueError(
                f"`n_components` must be at most n - 1 = {A.n - 1} for {A.n} samples of positive weight, got {k}."
            )
        A.set_row_scale(namespace(A.w).sqrt(A.w))
        values, U = _leading_eigenvectors(A, k)
        eigenvalues = np.maximum(values, 0.0)
        live = eigenvalues > _ZERO
        psi = self._at_points(posed, U / np.sqrt(posed.sample.w)[:, None], eigenvalues, live)
        psi *= column_signs(psi)
        factor = np.where(live, eigenvalues, 0.0) ** t * live
        training = DiffusionTraining(posed.sample.rows, self.normalize, _divided(posed, psi, eigenvalues, live), factor)
        psi = psi * factor if self.normalize is None else _directions(training, psi / np.sqrt(training.extension.m)[:, None])
        psi = posed.at_all_rows(psi, lambda X, numbers: _embed(training, X, numbers, self.n_jobs, posed.device))
        _warn(A, live, posed.rule.scale_parameter)
        _warn_of_time(t, factor[live])
        return self._keep(
            **posed.given.columns,
            bandwidth_=posed.kernel.bandwidth,
            embedding_=finish(psi, k, self.normalize),
            eigenvalues_=eigenvalues,
            n_components_=k,
            training_=training,
        )

    def _at_points(self, posed: Posed, psi: Array, eigenvalues: Array, live: Array) -> Array:
        """ψ (n, k); at points of hardly any weight, where the eigenvectors have no digits left, from the Nyström formula."""
        light = posed.sample.w < _HARDLY_ANY * posed.sample.w.max()
        if light.any():
            extension = _divided(posed, psi, eigenvalues, live)
            numbers, n_jobs = posed.sample.rows[light], count_threads(self.n_jobs)
            psi[light] = extension.nystroem(posed.point_rows[light], numbers=numbers, n_jobs=n_jobs, device=posed.device)
        return psi

    def fit_transform(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> Array:
        """Fit, and return ``embedding_``, in the precision of X; a tensor where X is one."""
        return as_given(self.fit(X, sample_weight=sample_weight).embedding_, X)

    @takes_dask
    def transform(self, X: Array) -> Array:
        """Embed new rows by the Nyström formula; on training points this is the embedding itself."""
        return self._transform(X)

    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        with device_errors(device):
            return _embed(self.training_, X, range(first, first + X.shape[0]), self.n_jobs, device)


def _divided(posed: Posed, psi: Array, eigenvalues: Array, live: Array) -> Extension:
    """The extension of ψ/λ; zero in columns that are not live."""
    return posed.extension(np.divide(psi, eigenvalues, out=np.zeros_like(psi), where=live))


def _warn(A: KernelOperator, live: Array, parameter: str) -> None:
    if not live.all():
        warn(
            f"Abar has only {int(live.sum())} non-zero eigenvalues among the first {len(live)}: the other columns are zero. "
            f"The kernel is close to constant; decrease `{parameter}`.",
            ConvergenceWarning,
        )
    elif is_identity(A):
        warn(f"The eigenvectors are arbitrary. {NO_NEIGHBOURS}: increase `{parameter}`.", ConvergenceWarning)


def _warn_of_time(t: float, factor: Array) -> None:
    """Where λ^t underflows."""
    lost = int((factor < TINY).sum())
    if lost:
        warn(
            f"`diffusion_time`={t:g} is so large that {lost} of {len(factor)} columns are zero, or have lost digits: the "
            f"power λ^t of their eigenvalues underflows. Decrease it."
        )


def _embed(training: DiffusionTraining, X: Array, numbers: Numbers, n_jobs: int | None, device: Any | None) -> Array:
    how: dict[str, Any] = {"numbers": numbers, "n_jobs": count_threads(n_jobs), "device": device}
    if training.normalize is None:
        return training.extension.nystroem(X, **how) * training.factor
    out = np.empty((X.shape[0], len(training.factor)))
    for part, attention in training.extension.attend(X, **how):
        out[part] = _directions(training, attention.mean)
    return out


def _directions(training: DiffusionTraining, means: Array) -> Array:
    r"""Unit rows from ψ/√m, (b, k); zero where nothing but rounding is left of :math:`\lambda^t \psi`.

    The mean of :math:`(\psi/v_0)^2` over the sample, with weights wm/M, is 1: rounding is small beside that.
    """
    rows, extension = means * training.factor, training.extension
    least = _ORIGIN * training.factor.max() / np.sqrt(extension.M * weight_unit(extension.w))
    return unit_rows(np.where(np.abs(rows).max(axis=1, keepdims=True) > least, rows, 0.0))


def _leading_eigenvectors(A: KernelOperator, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, descending, with orthonormal eigenvectors (n, k).

    Outliers, and parts of a graph that are not connected, give eigenvalues that agree with 1 to all digits, and one Krylov
    space holds one copy of each. A second run, orthogonal to what the first one found, tells whether any was missed; the
    dense solver then finds them all, and where the matrix is too large for it, further runs do, one after the other.
    """
    if A.has_entries and (A.n <= _DENSE_SIZE or 2 * k >= A.n):
        return _dense_eigenvectors(A, k)
    rng = np.random.default_rng(0)  # fixed: the result is a function of the data
    restarts = 100 if A.has_entries else _MOST_RESTARTS
    options = {"which": "LA", "ncv": max(4 * k, 40), "maxiter": restarts}
    try:
        values, U = eigsh(_linear(partial(_product, A), A.n), k=k, v0=rng.standard_normal(A.n), **options)
        while True:
            # Another start: what was missed is orthogonal to the first one.
            start = rng.standard_normal(A.n)
            missed, V = eigsh(_linear(partial(_deflated, A, values, U), A.n), k=1, v0=start, **options)
            if missed[0] <= values.min() + _REPEATED:
                break
            if A.has_entries:
                return _dense_eigenvectors(A, k)
            least = values.argmin()
            values[least], U[:, least] = missed[0], V[:, 0]
    except ArpackError as error:
        if A.has_entries:
            return _dense_eigenvectors(A, k)
        raise RuntimeError(
            f"The {k} leading eigenvectors of {A.n} rows were not found in {restarts} restarts of Lanczos: their "
            f"eigenvalues are too close to each other. Lower `n_components`, or raise `n_neighbors`."
        ) from error
    order = np.argsort(values)[::-1]
    return values[order], U[:, order]


def _deflated(A: KernelOperator, values: Array, U: Array, V: Array) -> Array:
    return _product(A, V) - U @ (values[:, None] * (U.T @ V))


def _product(A: KernelOperator, V: Array) -> Array:
    return as_numpy(A.matmat(like(A.m, V)))


def _linear(matmat: Callable[[Array], Array], n: int) -> LinearOperator:
    return LinearOperator((n, n), matvec=lambda q: matmat(q.reshape(-1, 1)), matmat=matmat, dtype=np.float64)


def _dense_eigenvectors(A: KernelOperator, k: int) -> tuple[Array, Array]:
    with A.triangle(np.ones(A.n)) as T:
        # T is minus Abar; `eigh` copies it, and the operator stays as it is.
        values, U = eigh(T, lower=True, subset_by_index=[0, k - 1], check_finite=False)
    return -values, U
