"""The estimator of the paper's second problem: a certified embedding by functions of a Sobolev space."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from .._utils.arrays import Array
from .._utils.checks import check_choice, check_non_negative, check_positive, check_vector
from .._utils.threads import count_threads
from ..kernels.bandwidth import resolve_bandwidth
from ..kernels.base import Kernel
from ..kernels.stationary import LARGEST_NU, Matern
from ..memory.planner import choose_operator
from ..operators import RegularizedOperator, kernel_matrix
from ..operators.matrix import DenseMatrix
from ..theory import constants as theory
from .base import check_sample_weight
from .certified import CertifiedEmbedding, eigenvectors
from .diagonals import CallableDiagonal
from .extension import LinearExtension
from .progress import with_callbacks
from .sample import Sample, distinct_points

# Order of the Matérn kernel by default: functions with one continuous derivative, which is what the theory asks for.
_DEFAULT_NU = 1.5
# regularization="auto": this part of what a unit of trace gains at best; docs/rkhs.md has the evidence.
_PART_OF_GAIN = 0.1
# Where nothing can be gained, as when all points coincide, any regularisation will do.
_NO_GAIN = 1e-12
# Reciprocal condition number of K below which its inverse is rounding.
_SINGULAR = 10 * np.finfo(float).eps


class RKHSEmbedding(CertifiedEmbedding):
    r"""Positive semi-definite embedding in a Sobolev space, with a certificate of optimality.

    The embedding consists of smooth functions: with the kernel k of a Sobolev space :math:`\mathcal H` of order s, a
    direction u of unit norm in it and :math:`\bar K = K - u u^\top`, it is a factor of the solution of

    .. math:: \max_{\mathbb B \succeq 0} \frac1{n^2} \sum_{ij} \bar K_{ij} \langle\phi(x_i), \mathbb B\, \phi(x_j)\rangle
              - \lambda \operatorname{Tr} \mathbb B
              \quad\text{subject to}\quad \langle\phi(x_i), \mathbb B\, \phi(x_i)\rangle = d(x_i),

    over operators :math:`\mathbb B` on :math:`\mathcal H`. By a representer theorem this is the finite problem

    .. math:: \max_{B' \succeq 0} \operatorname{Tr}\big((\bar K - \lambda n^2 K^{-1}) B'\big)
              \quad\text{subject to}\quad B'_{ii} = d(x_i), \qquad B'_{ij} = \langle\phi(x_i), \mathbb B\, \phi(x_j)\rangle,

    whose optimal value is what ``certificate_`` bounds. :math:`K^{-1}` is never formed.

    Parameters
    ----------
    n_components : int or None
        Columns of the embedding. None: the rank of the optimum.
    smoothness : float or None
        Order s > p/2 of the Sobolev space: the kernel is the Matérn kernel with ν = s - p/2. None: s = (p + 3)/2.
    length_scale : float or {"auto", "knn", "median"}
        Of the Matérn kernel, as in scikit-learn; or the rule that chooses it. ``"auto"`` is ``"median"``, the median
        distance between points: functions on the whole of the data are wanted.
    regularization : float or {"auto", "theory"}
        λ > 0. Large values put all points in one place, for that has the least trace; small ones let functions become rough
        between the points. ``"auto"``: :math:`0.1\,(\lambda_{\max}(\bar K)/n)^2`, a tenth of what a unit of trace can gain,
        which never put all points in one place on the data of ``docs/rkhs.md``. ``"theory"``: :math:`2 C_{n,\delta}`, what
        Theorem 3 of the paper asks for, and so large that it usually does.
    diagonal : {"constant"}, array or callable
        d > 0. ``"constant"``: 1. The theory wants a sum of squares of functions of the Sobolev space.
    direction : {"mean"} or callable
        u. ``"mean"``: the mean element :math:`\sum_i k(x, x_i)`, normalised. A callable maps rows to positive values; the
        function of least norm that takes these values on the sample is normalised.
    jitter : float
        Added to the diagonal of K. The constraints then hold up to an error of this order. Where K is numerically singular
        without, ``fit`` says so.
    delta : float
        δ of ``regularization="theory"``: the guarantee holds with probability at least 1 - 2δ.
    normalize : {None, "unit"}
        ``"unit"``: rows, after truncation to ``n_components``, are projected to the unit sphere.
    rank, tol, max_iter, random_state, n_jobs, verbose
        As for :class:`~elliptope.SDPEmbedding`.

    Attributes
    ----------
    embedding_ : (n, k) array, k = ``n_components_``
        :math:`\Xi` with :math:`\Xi\,\Xi^\top = B'`; the same as ``transform`` of the training points.
    eigenvalues_ : (rank,) array
        Non-zero eigenvalues of B' on L²(w), descending.
    trace_ : float
        :math:`\operatorname{Tr} \mathbb B`.
    regularization_, length_scale_, smoothness_ : float
        As used.
    certificate_ : Certificate
        Its ``gain``, the denominator of ``relative_gap``, is the objective plus :math:`2\lambda n^2` times the trace of the
        solution that puts all points in one place.
    n_components_, status_, n_iter_, n_products_, n_features_in_, feature_names_in_
        As for :class:`~elliptope.SDPEmbedding`.

    Notes
    -----
    Equal rows are one point that was seen more than once, and its weights add up: functions of x cannot tell them apart.
    With sample weights w, sums over points become weighted sums, and n becomes Σw.

    Far from all training points the embedding tends to zero, as all functions of the space do.

    References
    ----------
    Fanuel, Aspeel, Delvenne and Suykens. Positive semi-definite embedding for dimensionality reduction and out-of-sample
    extensions. SIAM Journal on Mathematics of Data Science 4(1), 2022; Sections 1.2.2 and 4.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        smoothness: float | None = None,
        length_scale: float | str = "auto",
        regularization: float | str = "auto",
        diagonal: str | Array | Callable = "constant",
        direction: str | Callable = "mean",
        jitter: float = 0.0,
        delta: float = 0.05,
        normalize: str | None = None,
        rank: int | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.smoothness = smoothness
        self.length_scale = length_scale
        self.regularization = regularization
        self.diagonal = diagonal
        self.direction = direction
        self.jitter = jitter
        self.delta = delta
        self.normalize = normalize
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> RKHSEmbedding:
        """Solve the problem on the rows of ``X``.

        A point of weight zero has no influence, and its constraint is not imposed.
        """
        self._check_solver_parameters()
        check_choice("normalize", self.normalize, (None, "unit"))
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        sample = distinct_points(X, check_sample_weight(sample_weight, len(X)))
        choose_operator(*sample.points.shape, estimator="RKHSEmbedding", rank=self.rank)  # refuses what would not fit
        kernel = self._make_kernel(sample.points)
        d = self._diagonal_on(X, sample)
        K, R = self._kernel_matrix(kernel, sample)
        u, w = self._direction_on(sample, K, R), sample.w
        self.regularization_ = self._resolve_regularization(sample, K, u)
        self._program = Program(d, u, float(self.jitter), sample.place)
        solution = self._solve(regularized_cost(K, R, u, w, d, self.regularization_))
        Xi, self.eigenvalues_ = eigenvectors(solution.factor, d, w)
        self._set_components(Xi.shape[1])
        alpha, _ = dpotrs(R, Xi)
        self.trace_ = float(np.vdot(Xi, alpha))
        self._extension = LinearExtension(kernel, sample.points, alpha, w)
        self.embedding_ = self._finish(self._extension(X))
        if self.verbose:
            print(f"{self.status_}: {solution.message}")
        if self.status_ != "optimal":
            warnings.warn(
                f"RKHSEmbedding ended with status {self.status_!r}: {solution.message}. With a larger `regularization` the "
                "problem is better conditioned, and rounding, which grows like its inverse, leaves less unproved.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def transform(self, X: Array) -> Array:
        r"""Embed new rows: :math:`\chi(x) = k(x)^\top K^{-1} \chi`, a linear formula."""
        return self._finish(self._extension_of(X))

    def score_samples(self, X: Array) -> Array:
        r"""Log density of the training points at each row, up to a constant: :math:`\log \sum_i w_i k(x, x_i)`."""
        return self._score_rows(self._check_new(X))

    def _embed_rows(self, X: Array, *, first: int = 0) -> Array:
        return self._extension(X)

    def _score_rows(self, X: Array, *, first: int = 0) -> Array:
        return self._extension.log_mass(X)

    def _make_kernel(self, points: Array) -> Matern:
        p = points.shape[1]
        self.length_scale_ = resolve_bandwidth(
            "median" if self.length_scale == "auto" else self.length_scale, points, "length_scale"
        )
        s = p / 2 + _DEFAULT_NU if self.smoothness is None else check_positive("smoothness", self.smoothness)
        if not p / 2 < s <= p / 2 + LARGEST_NU:
            raise ValueError(
                f"`smoothness` must be larger than p/2 = {p / 2:g} for {p} features, for functions of the Sobolev space to "
                f"be continuous, and at most p/2 + {LARGEST_NU}; got {self.smoothness!r}."
            )
        self.smoothness_ = float(s)
        return Matern(self.length_scale_, s - p / 2)

    def _kernel_matrix(self, kernel: Matern, sample: Sample) -> tuple[Array, Array]:
        """K, and its Cholesky factor R, upper triangular with K = RᵀR."""
        jitter = check_non_negative("jitter", self.jitter)
        K, R, reciprocal = factorized_kernel(kernel, sample.points, jitter, count_threads(self.n_jobs))
        if reciprocal < _SINGULAR:
            distance, i, j = sample.closest()
            raise ValueError(
                f"The kernel matrix of {len(K)} points is numerically singular (reciprocal condition number "
                f"{reciprocal:.1e}) for `length_scale`={self.length_scale_:.4g}, `smoothness`={self.smoothness_:g} and "
                f"`jitter`={self.jitter:g}. Decrease `length_scale` or `smoothness`; merge points that almost coincide "
                f"(rows {i} and {j} are the closest, {distance:.2g} apart); or set `jitter`, to 1e-10 or more."
            )
        return K, R

    def _diagonal_on(self, X: Array, sample: Sample) -> Array:
        if callable(self.diagonal):
            return CallableDiagonal(self.diagonal)(sample.points)
        if isinstance(self.diagonal, str):
            if self.diagonal != "constant":
                raise ValueError(f"`diagonal` must be 'constant', an array or a callable, got {self.diagonal!r}.")
            return np.ones(len(sample.points))
        given = check_vector("diagonal", self.diagonal, len(X))
        d = given[sample.first]
        other = np.flatnonzero((sample.place >= 0) & (d[sample.place] != given))
        if len(other):
            row, same = int(other[0]), int(sample.first[sample.place[other[0]]])
            raise ValueError(
                f"`diagonal` must be the same for equal rows of X, got {float(given[same])!r} at row {same} and "
                f"{float(given[row])!r} at row {row}."
            )
        return d

    def _direction_on(self, sample: Sample, K: Array, R: Array) -> Array:
        """u on the sample, of unit norm in the RKHS."""
        if isinstance(self.direction, str):
            check_choice("direction", self.direction, ("mean",))
            Kw = K @ sample.w
            return Kw / np.sqrt(sample.w @ Kw)
        if not callable(self.direction):
            raise ValueError(f"`direction` must be 'mean' or a callable, got {self.direction!r}.")
        u = check_vector("direction", self.direction(sample.points), len(K))
        alpha, _ = dpotrs(R, u)
        return u / np.sqrt(u @ alpha)

    def _resolve_regularization(self, sample: Sample, K: Array, u: Array) -> float:
        if not isinstance(self.regularization, str):
            return check_positive("regularization", self.regularization)
        if self.regularization not in ("auto", "theory"):
            raise ValueError(
                f"`regularization` must be a positive number, 'auto' or 'theory', got {self.regularization!r}."
            )
        root = np.sqrt(sample.w / sample.w.mean())
        weighted = np.outer(root, root) * K
        if self.regularization == "auto":
            gain = theory.top_eigenvalue(weighted - np.outer(root * u, root * u)) ** 2
            return _PART_OF_GAIN * (gain if gain > _NO_GAIN else 1.0)
        if not sample.equal_weights:
            raise ValueError("`regularization` must not be 'theory' when `sample_weight` is not constant.")
        lambda_max = theory.top_eigenvalue(weighted)
        return theory.least_regularization(sample.n, self.delta, lambda_max, float(K.diagonal().max()))


@dataclass(frozen=True)
class Program:
    """What the program was made of beside kernel, points and weights, which its extension holds: enough to pose it again."""

    d: Array  # (n,): the diagonal at the points
    u: Array  # (n,): the direction at the points
    jitter: float
    place: Array  # (N,): which point each row given to ``fit`` is; -1 where its weight is zero


def factorized_kernel(kernel: Kernel, points: Array, jitter: float, n_jobs: int) -> tuple[Array, Array, float]:
    """K, its Cholesky factor R, and the reciprocal of its condition number: 0 where there is no such factor."""
    K = kernel_matrix(kernel, points, n_jobs)
    K[np.diag_indices_from(K)] += jitter
    R, info = dpotrf(K, lower=0, clean=1)
    return K, R, dpocon(R, np.abs(K).sum(axis=1).max())[0] if info == 0 else 0.0


def regularized_cost(K: Array, R: Array, u: Array, w: Array, d: Array, regularization: float) -> RegularizedOperator:
    r"""J in the scaling of the unit diagonal: :math:`\sqrt d\,(w \bar K w - \lambda W^2 K^{-1})\,\sqrt d`, W = Σw.

    Takes over K.
    """
    s = w * np.sqrt(d)
    ceiling = float(s @ K @ s)  # K is non-negative, and |B'_ij| ≤ √(d_i d_j)
    gain = DenseMatrix(K, s, (s * u)[:, None])
    return RegularizedOperator(gain, R / np.sqrt(d), regularization * float(w.sum()) ** 2, ceiling)
