"""What the kernel estimators share: checking input, building the operator, scikit-learn conventions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from .._utils.arrays import Array
from .._utils.checks import check_choice, check_integer, check_vector
from .._utils.threads import count_threads
from ..kernels.bandwidth import resolve_bandwidth
from ..kernels.base import Kernel
from ..kernels.choice import BUILT_IN, make_kernel
from ..kernels.given import Precomputed
from ..kernels.neighbors import Neighbors, SparseKernel, graph_kernel, neighbor_rule
from ..memory.planner import choose_operator, size_of
from ..operators import DenseOperator, KernelOperator, SparseOperator, kernel_matrix
from ..persistence import save
from .extension import Extension
from .sample import distinct_points
from .streaming import Streaming

# Asymmetry and negative eigenvalues, relative to the diagonal, that a precomputed kernel may owe to rounding.
_KERNEL_ROUNDING = 1e-8
# Rows on which a user's kernel is tried out before the whole matrix is built.
_KERNEL_SAMPLE = 256


class Embedding(Streaming, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators: scikit-learn's conventions for dense rows in and columns out."""

    normalize: str | None
    n_components_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Write the fitted estimator to a file, for :func:`elliptope.load`: arrays and JSON with a checksum, no pickle.

        An existing file is replaced only with ``overwrite``, and in one step: never is there half a file. Functions given
        as parameters cannot be stored.
        """
        save(self, path, overwrite=overwrite)

    def _finish(self, Xi: Array) -> Array:
        """Truncate (or pad with the zero eigenvectors) to ``n_components_`` columns; then rows to the sphere if asked."""
        k = self.n_components_
        Z = Xi[:, :k]
        if Z.shape[1] < k:
            Z = np.hstack([Z, np.zeros((len(Z), k - Z.shape[1]))])
        if self.normalize == "unit":
            norms = np.linalg.norm(Z, axis=1, keepdims=True)
            return np.divide(Z, norms, out=np.zeros_like(Z), where=norms > 0)
        return Z.copy()


@dataclass(frozen=True)
class Posed:
    """What ``fit`` has made of its input: the program, and which of its points every row is."""

    X: Any  # (N, p), or a sparse graph (N, N)
    kernel: Kernel
    operator: KernelOperator
    place: Array  # (N,): the point that a row is; -1 where its weight is zero

    def all_rows(self, F: Array, extend: Callable[[Any], Array]) -> Array:
        """Values F at the points of the program, (n, r), at all rows: those without weight are extended."""
        if len(F) == len(self.place):
            return F
        full = np.empty((len(self.place), F.shape[1]))
        rest = self.place < 0
        full[~rest] = F[self.place[~rest]]
        if rest.any():
            full[rest] = extend(self.X[rest])
        return full


class KernelEmbedding(Embedding):
    """Base of the estimators that live on a normalised kernel."""

    kernel: str | Callable
    bandwidth: float | str
    n_jobs: int | None
    _extension: Extension

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @property
    def _accept_sparse(self) -> str | bool:
        """A graph of distances, for the neighbour kernel."""
        return "csr" if neighbor_rule(self.kernel) is not None else False

    def score_samples(self, X: Array) -> Array:
        r"""Log density of the training points at each row, up to a constant: :math:`\log m_e(x)`.

        Low for outliers. A training point counts itself, so that its score is at least the log of its own weight; scores of
        training points and of new ones are not on one scale. For ``kernel="precomputed"``, X is the cross-kernel block.
        """
        return self._score_rows(self._check_new(X))

    def _score_rows(self, X: Array, *, first: int = 0) -> Array:
        return self._extension.log_mass(X, first=first, n_jobs=count_threads(self.n_jobs))

    def _prepare(self, X: Array, sample_weight: Array | None) -> Posed:
        """Validate, choose the kernel, and build the operator on the points of the program, which stand in ``_support``."""
        check_choice("normalize", self.normalize, (None, "unit"))
        n_jobs = count_threads(self.n_jobs)
        neighbors = neighbor_rule(self.kernel)
        operator = self._plan(size_of(X, None if self.kernel == "precomputed" else sample_weight), n_jobs)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2, accept_sparse=self._accept_sparse)
        w = check_sample_weight(sample_weight, X.shape[0])
        self._support = np.flatnonzero(w > 0)
        if len(self._support) < 2:
            raise ValueError(
                "`sample_weight` must be positive for at least 2 samples: "
                f"the weight is zero for {len(w) - len(self._support)} of {len(w)}."
            )
        self.bandwidth_ = None
        if neighbors is not None and not sparse.issparse(X):
            return self._pose_distinct(neighbors, X, w, n_jobs)
        place = np.full(len(w), -1)
        place[self._support] = np.arange(len(self._support))
        w = w[self._support]
        if neighbors is not None:
            graph = graph_kernel(X, self._n_neighbors(), self._support)
            return Posed(X, graph, SparseOperator(graph.matrix(), w, n_jobs), place)
        if self.kernel == "precomputed":
            K = check_kernel_matrix(X)[np.ix_(self._support, self._support)]
            same = np.ptp(K.diagonal()) <= _KERNEL_ROUNDING * K.diagonal().max()
            kernel: Kernel = Precomputed(float(K.diagonal().mean()) if same else None, self._support)
            return Posed(X, kernel, DenseOperator(K, w), place)
        X_support = X[self._support]
        if isinstance(self.kernel, str) and self.kernel in BUILT_IN:
            self.bandwidth_ = resolve_bandwidth(self.bandwidth, X_support)
            kernel = make_kernel(self.kernel, self.bandwidth_)
        else:
            kernel = make_kernel(self.kernel, None)
            self.bandwidth_ = getattr(kernel, "bandwidth", None)
            check_callable_kernel(kernel, X_support)
        return Posed(X, kernel, self._build(operator, kernel, X_support, w, n_jobs), place)

    def _plan(self, size: tuple[int, int] | None, n_jobs: int) -> str:
        """The operator that ``fit`` will use, for rows and columns that are known from the shape; refused if too large."""
        return "dense" if size is None else choose_operator(*size, kernel=self.kernel, estimator=type(self).__name__)

    def _build(self, operator: str, kernel: Kernel, X: Array, w: Array, n_jobs: int) -> KernelOperator:
        """The operator of that name on the points of the program."""
        return DenseOperator(kernel_matrix(kernel, X, n_jobs), w)

    def _rows_together(self) -> int:
        return self._extension.rows_together(self.n_features_in_)

    def _pose_distinct(self, neighbors: Neighbors, X: Array, w: Array, n_jobs: int) -> Posed:
        """Rows that are equal become one point: how often a point was seen says nothing about its surroundings."""
        sample = distinct_points(X, w)
        self._support = sample.first
        kernel, K = neighbors.fit(sample.points, self._n_neighbors(), n_jobs)
        return Posed(X, kernel, SparseOperator(K, sample.w, n_jobs), sample.place)

    def _n_neighbors(self) -> int:
        return check_integer("n_neighbors", getattr(self, "n_neighbors", None), 2)

    def _extend(self, posed: Posed, F: Array) -> Extension:
        kernel, operator = posed.kernel, posed.operator
        # A kernel that knows its training points, or is precomputed, would only keep them twice.
        known = isinstance(kernel, Precomputed | SparseKernel)
        points = np.empty((operator.n, 0)) if known else posed.X[self._support]
        return Extension(kernel, points, operator.w, operator.m, operator.M, operator.kernel_diagonal(), F)


def fix_signs(F: Array) -> Array:
    """Make the first of the largest entries of every column positive, so that signs do not depend on rounding."""
    size = np.abs(F)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    signs = np.sign(F[first, np.arange(F.shape[1])])
    return F * np.where(signs == 0, 1.0, signs)


def check_sample_weight(sample_weight: Array | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    w = np.asarray(sample_weight, dtype=np.float64)
    return check_vector("sample_weight", np.full(n, float(w)) if w.ndim == 0 else w, n, zero=True)


def check_callable_kernel(kernel: Kernel, X: Array) -> None:
    """What a user's kernel must satisfy, tried on rows spread over ``X``."""
    rows = X[:: max(1, len(X) // _KERNEL_SAMPLE)]
    check_kernel_matrix(kernel.block(rows, rows), "`kernel` must be {}")


def check_kernel_matrix(K: Array, message: str = "`X` must be {} for kernel='precomputed'") -> Array:
    """A symmetric positive semi-definite copy of a kernel matrix, or an error that says what it is not."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{message.format('a square kernel matrix')}, got shape {K.shape}.")
    diagonal = K.diagonal()
    if not (diagonal > 0).all():
        raise ValueError(f"{message.format('positive on the diagonal')}, got a minimum of {diagonal.min():.6g}.")
    size = float(diagonal.max())
    asymmetry = float(np.abs(K - K.T).max())
    if asymmetry > _KERNEL_ROUNDING * size:
        raise ValueError(f"{message.format('symmetric')}, got max|K - K.T| = {asymmetry:.3g}.")
    if K.min() < -_KERNEL_ROUNDING * size:
        raise ValueError(f"{message.format('non-negative')}, got a minimum of {K.min():.6g}.")
    K = np.maximum(0.5 * (K + K.T), 0.0)
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += len(K) * _KERNEL_ROUNDING * size
    if dpotrf(shifted, overwrite_a=1)[1] != 0:
        smallest = float(np.linalg.eigvalsh(K)[0])
        raise ValueError(f"{message.format('positive semi-definite')}, got a smallest eigenvalue of {smallest:.6g}.")
    return K
