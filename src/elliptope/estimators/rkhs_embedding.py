"""The estimator of the paper's second problem: a certified embedding by functions of a Sobolev space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.callers import underflows_to_zero, warn
from .._utils.checks import check_choice
from .._utils.devices import as_given, on_cpu, refuse_device
from .base import finish
from .certified import CertifiedEmbedding, eigenvectors, needed_columns, outcome
from .extension import LinearExtension
from .lazy import takes_dask
from .pose_rkhs import pose_rkhs
from .progress import begin_callbacks, with_callbacks
from .training import RKHSTraining


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
        Added to the diagonal of K, at most 1. The constraints then hold up to an error of this order. Where K is numerically
        singular without, ``fit`` says so.
    delta : float
        δ of ``regularization="theory"``: the guarantee holds with probability at least 1 - 2δ.
    normalize : {None, "unit"}
        ``"unit"``: rows, after truncation to ``n_components``, are projected to the unit sphere.
    device : {None, "cpu", "auto"}
        Computed on the CPU: a CUDA device, and tensors that are on one, are refused.
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
    n_components_, status_, n_iter_, n_products_, training_, n_features_in_, feature_names_in_
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
        device: Any = None,
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
        self.device = device
        self.verbose = verbose

    @with_callbacks
    @underflows_to_zero
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> RKHSEmbedding:
        """Solve the problem on the rows of ``X``.

        A point of weight zero has no influence, and its constraint is not imposed. Multiplying all weights by a constant
        does not change the embedding. Where the largest is beyond 2^±100, ``certificate_`` is that of the weights divided by
        a power of two.
        """
        self._check_solver_parameters()
        check_choice("normalize", self.normalize, (None, "unit"))
        refuse_device(self.device, X, "RKHSEmbedding")
        begin_callbacks(self)
        posed = pose_rkhs(on_cpu(X), on_cpu(sample_weight), self)
        self._check_width(len(posed.given.w))

        solution = self._solve(posed.operator, extend=False)
        if self.verbose:
            print(f"{solution.status}: {solution.message}")
        if solution.status != "optimal":
            warn(
                f"RKHSEmbedding ended with status {solution.status!r}: {solution.message}. With a larger `regularization` "
                "the problem is better conditioned, and rounding, which grows like its inverse, leaves less unproved.",
                ConvergenceWarning,
            )

        w = posed.sample.w
        Xi = np.sqrt(posed.d)[:, None] * needed_columns(solution.factor, w * posed.d, 0.0)
        V, eigenvalues = eigenvectors(Xi, w)
        Xi = Xi @ V
        alpha, _ = dpotrs(posed.R, Xi)
        width = self._width(Xi.shape[1])
        extension = LinearExtension(posed.kernel, alpha, posed.sample.w)
        self._keep(
            **posed.given.columns,
            **outcome(solution, solution.status),
            length_scale_=posed.kernel.bandwidth,
            smoothness_=posed.smoothness,
            regularization_=posed.regularization,
            embedding_=finish(extension(posed.given.X), width, self.normalize),
            eigenvalues_=eigenvalues,
            trace_=float(np.vdot(Xi, alpha)),
            n_components_=width,
            training_=RKHSTraining(
                posed.sample.rows, self.normalize, extension, posed.d, posed.u, float(self.jitter), posed.sample.place
            ),
        )
        return self._follow(X)

    @takes_dask
    def transform(self, X: Array) -> Array:
        r"""Embed new rows: :math:`\chi(x) = k(x)^\top K^{-1} \chi`, a linear formula."""
        return self._transform(X)

    @takes_dask
    def score_samples(self, X: Array) -> Array:
        r"""Log density of the training points at each row, up to a constant: :math:`\log \sum_i w_i k(x, x_i)`."""
        return as_given(self._score_rows(self._check_new(X)), X)

    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        return self.training_.extension(X)

    @underflows_to_zero
    def _score_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        return self.training_.extension.log_mass(X, numbers=range(first, first + len(X)))
