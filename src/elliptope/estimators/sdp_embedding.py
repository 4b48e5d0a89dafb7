"""The estimator of the paper's first problem: a certified embedding with its out-of-sample extension."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.checks import check_choice, check_factor, check_integer, name_rows
from .._utils.threads import count_threads
from ..kernels.base import Kernel
from ..kernels.choice import BUILT_IN, unknown_kernel
from ..kernels.neighbors import neighbor_rule
from ..memory.planner import OPERATORS, choose_operator
from ..operators import KernelOperator, NystroemOperator, SparseOperator, TiledOperator, TruncatedOperator
from ..sdp import METHODS, Solution
from .base import KernelEmbedding, Posed
from .certified import CertifiedEmbedding, eigenvectors
from .diagonals import resolve_diagonal
from .extension import Attention, Diagonal
from .progress import with_callbacks
from .starts import truncated_start

# 1 - m²/(k M) below this leaves fewer digits of the embedding than its extension must agree with.
_SMALL_CONTRAST = 1e-6
# Mass from other points, relative to a point's own, below which the kernel is the identity for this purpose.
_IDENTITY_KERNEL = 1e-12
# Points for which the problem is solved first where products are dear, and the gap to which.
_COARSE_ROWS = 4000
_COARSE_TOL = 1e-3
# Log of a length that stands for all larger ones where rows are brought to unit length afterwards.
_ANY_LOG_LENGTH = 300.0


class SDPEmbedding(CertifiedEmbedding, KernelEmbedding):
    r"""Positive semi-definite embedding with a certificate of optimality.

    A kernel matrix K is normalised as in diffusion maps and its trivial top eigenvector removed,
    :math:`\bar A = K_{ij}/\sqrt{m_i m_j} - v_0 v_0^\top`. The embedding consists of the eigenvectors of the solution of

    .. math:: \max_{B \succeq 0} \sum_{ij} w_i w_j \bar A_{ij} B_{ij} \quad\text{subject to}\quad B_{ii} \le d_i ,

    scaled so that :math:`B_\star = \Xi\,\Xi^\top`: row i has length :math:`\sqrt{d_i}`, so that no outlier can take over.

    Parameters
    ----------
    n_components : int or None
        Columns of the embedding. None: the rank of the optimum. An int keeps the leading ones; columns beyond the rank
        are zero.
    kernel : {"gaussian", "laplacian", "matern", "neighbors", "precomputed"}, Kernel, Neighbors or callable
        ``"neighbors"``: every point has its own scale, the distance to its ``n_neighbors``-th nearest point, and sees only
        its surroundings; see :mod:`elliptope.kernels.neighbors`. Use it for large data or clusters. ``fit`` also takes a
        sparse graph of distances, such as ``KNeighborsTransformer`` makes, and ``transform`` then rows of the same kind, in
        which a distance of zero marks a training point.
        ``"precomputed"``: ``fit`` takes the kernel matrix, ``transform`` the cross-kernel block. A callable
        ``k(X, Y) -> (n, m)`` must be symmetric, non-negative and psd. A :class:`~elliptope.kernels.Kernel` carries its own
        bandwidth.
    bandwidth : float or {"auto", "knn", "median"}
        σ in :math:`\exp(-\lVert x-y\rVert^2/\sigma^2)`, or the rule that chooses it. Not used with the
        neighbour kernel, nor with a precomputed or callable one.
    diagonal : {"kernel", "constant"}, array or callable
        d. ``"kernel"``: :math:`d(x) = k(x,x)/m(x) - m(x)/M`, as in the paper. ``"constant"``: 1. An array holds d on the
        training points; a new point, and one of weight zero, takes the value of the training point of positive weight
        that it is most similar to. A callable maps rows to d.
    normalize : {None, "unit"}
        ``"unit"``: rows, after truncation to ``n_components``, are projected to the unit sphere.
    n_neighbors : int
        For ``kernel="neighbors"``, at least 2, a point counting itself; has no effect on the other kernels, nor on the
        bandwidth rules.
    operator : {"auto", "dense", "tiled", "nystroem", "sparse"}
        How the kernel is applied. ``"dense"`` stores it, which allows a proof. ``"tiled"`` recomputes it at every product;
        the certificate is then proved at wide bandwidths, and probabilistic at others. ``"nystroem"`` replaces it by one of
        low rank: the certificate is that of the surrogate, and its ``exact_interval`` says what follows for the exact
        problem. ``"sparse"`` leaves out what is negligible (Gaussian kernels) or zero (``kernel="neighbors"``). ``"auto"``:
        dense as long as it fits, then tiled; a fit that does not fit into memory is refused before it starts.
    n_landmarks : int
        For ``operator="nystroem"``.
    solver : {"auto", "power"}
        ``"power"`` is Algorithm 1 of the paper.
    rank : int or "auto"
        Columns of the starting factor.
    tol : float
        Certified relative gap to reach.
    max_iter : int
        Iterations of the solver.
    random_state : int, RandomState or None
        Starting point of the solver. The optimum does not depend on it.
    n_jobs : int or None
        Threads that compute the kernel.
    verbose : bool
        Print a line per iteration: products, objective, bound, gap and rank. Callbacks set with ``set_callbacks``
        (scikit-learn 1.9 or later) see the same.

    Attributes
    ----------
    embedding_ : (n, k) array, k = ``n_components_``
    eigenvalues_ : (rank,) array
        Non-zero eigenvalues of B* on L²(w), descending.
    n_components_ : int
    bandwidth_ : float or None
    certificate_ : Certificate
        Objective, upper bound, gap and their grade.
    status_ : {"optimal", "degenerate", "max_iter", "interrupted"}
        ``"degenerate"``: the objective is proved, but other embeddings are as good, to working precision. ``"max_iter"``:
        ``tol`` was not reached within ``max_iter`` iterations, or there was no further progress before; the warning says
        which. ``"interrupted"``: stopped by Ctrl-C or a callback, with the best iterate so far.
    n_iter_, n_products_ : int
        Iterations, and block products with J (the unit of work).
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Fanuel, Aspeel, Delvenne and Suykens. Positive semi-definite embedding for dimensionality reduction and out-of-sample
    extensions. SIAM Journal on Mathematics of Data Science 4(1), 2022.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Callable = "gaussian",
        bandwidth: float | str = "auto",
        diagonal: str | Array | Callable = "kernel",
        normalize: str | None = None,
        n_neighbors: int = 15,
        operator: str = "auto",
        n_landmarks: int = 1000,
        solver: str = "auto",
        rank: int | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.diagonal = diagonal
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.operator = operator
        self.n_landmarks = n_landmarks
        self.solver = solver
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None, start: Array | None = None) -> SDPEmbedding:
        """Solve the SDP on the rows of ``X`` (or on the kernel matrix ``X`` when precomputed).

        ``sample_weight`` are quadrature weights w: a weight of two is a point given twice; a point of weight zero has no
        influence and is embedded by the extension. ``start`` (n, r) is an embedding for the solver to start from instead of
        a random one, such as that of the same rows at a nearby bandwidth; only the directions of its rows count. The optimum
        does not depend on it.
        """
        self._check_parameters()
        posed = self._prepare(X, sample_weight)
        J, n_rows = posed.operator, len(posed.place)
        self._warn_of_parts(J)
        if start is not None:
            start = check_factor("start", start, n_rows)[self._support]
        self._diagonal = resolve_diagonal(self.diagonal, self._support, n_rows, posed.kernel, J)
        d = self._diagonal.on_sample(posed.X[self._support], J)
        row_scale = J.w * np.sqrt(d)
        J.set_row_scale(row_scale)
        interrupted = False
        if start is None:
            start, interrupted = self._coarse_start(posed, row_scale)
        solution = self._solve(J, self.solver, start, interrupted)
        self._warn_of_hubs(J, d, solution.dual)
        Xi, self.eigenvalues_ = eigenvectors(solution.factor, d, J.w)
        self._set_components(Xi.shape[1])
        constant = float(np.median(J.contrast())) < _SMALL_CONTRAST
        if constant and self.status_ == "optimal":
            self.status_ = "degenerate"
        self._extension = self._extend(posed, Xi)
        self.embedding_ = self._finish(posed.all_rows(Xi, self._embed_rows))
        if self.verbose:
            print(f"{self.status_}: {solution.message}")
        if self.status_ != "optimal":
            warnings.warn(self._advice(solution, J, d, constant), ConvergenceWarning, stacklevel=3)
        return self

    def _plan(self, size: tuple[int, int] | None, n_jobs: int) -> str:
        if size is None:
            return "dense"
        neighbors = neighbor_rule(self.kernel) is not None
        return choose_operator(
            *size,
            kernel="neighbors" if neighbors else self.kernel,
            operator=self.operator,
            n_threads=n_jobs,
            verbose=bool(self.verbose),
            rank=self.rank,
            n_landmarks=self.n_landmarks,
            n_neighbors=self.n_neighbors,
        )

    def _build(self, operator: str, kernel: Kernel, X: Array, w: Array, n_jobs: int) -> KernelOperator:
        if operator == "dense":
            return super()._build(operator, kernel, X, w, n_jobs)
        tiled = TiledOperator(kernel, X, w, n_jobs=n_jobs)
        if operator == "tiled":
            return tiled
        degrees, error = tiled.m, float(tiled.degree_error.max())
        del tiled  # the tiles are not needed any more
        if operator == "sparse":
            return TruncatedOperator(kernel, X, degrees, w, degree_error=error, n_jobs=n_jobs)
        k, seed = self.n_landmarks, self._seed()
        return NystroemOperator(kernel, X, k, w, degrees=degrees, degree_error=error, rng=seed, n_jobs=n_jobs)

    def _coarse_start(self, posed: Posed, row_scale: Array) -> tuple[Array | None, bool]:
        """Where products are dear, the solution of a cheaper problem, if it is a good start; and if that was interrupted.

        The kernel cut off, where that leaves most of it and not many entries; else a sample of the points.
        """
        J, X = posed.operator, posed.X[self._support]
        if not isinstance(J, TiledOperator) or J.n <= _COARSE_ROWS:
            return None, False
        solution = truncated_start(J, posed.kernel, X, row_scale, self.rank, self._seed())
        if solution is None:
            return self._sample_start(posed.kernel, X, J.w)
        if self.verbose:
            print(f"start from the kernel cut off: {solution.status}, rank {solution.factor.shape[1]}")
        return solution.factor, solution.status == "interrupted"

    def _sample_start(self, kernel: Kernel, X: Array, w: Array) -> tuple[Array, bool]:
        """The solution for a sample of the points, extended to all of them."""
        rows = np.sort(np.random.default_rng(self._seed()).choice(len(X), _COARSE_ROWS, replace=False))
        diagonal = self.diagonal if isinstance(self.diagonal, str) or callable(self.diagonal) else "kernel"
        coarse = SDPEmbedding(kernel=kernel, diagonal=diagonal, operator="dense", tol=_COARSE_TOL)
        coarse.set_params(random_state=0, n_jobs=self.n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # any start will do
            coarse.fit(X[rows], sample_weight=w[rows])
        if self.verbose:
            print(f"start from {_COARSE_ROWS} of {len(X)} points: {coarse.status_}, rank {len(coarse.eigenvalues_)}")
        return coarse._embed_rows(X), coarse.status_ == "interrupted"

    def transform(self, X: Array) -> Array:
        r"""Embed new rows.

        .. math:: \chi_\ell(x) = \sqrt{d(x)}\,
                  \frac{\bar a_e(x)^\top\chi_\ell}{\sqrt{\bar a_e(x)^\top B_\star \bar a_e(x)}}

        On training points this is the embedding itself, to the accuracy of the optimum. The length :math:`\sqrt{d(x)}` grows
        without bound away from them: a new point that lies where there was no data is embedded far out, in the direction of
        the training points nearest to it. Use ``normalize="unit"`` where only directions should count.
        """
        return self._finish(self._embed_rows(self._check_new(X)))

    def _embed_rows(self, X: Array, *, first: int = 0) -> Array:
        diagonal = _AnyLength(self._diagonal) if self.normalize == "unit" else self._diagonal
        return self._extension.normalized(X, diagonal, first=first, n_jobs=count_threads(self.n_jobs))

    def _extension_of(self, X: Any) -> Array:
        """With lengths, whatever ``normalize`` is: the learned kernel has them."""
        rows = self._check_new(X)
        return self._extension.normalized(rows, self._diagonal, n_jobs=count_threads(self.n_jobs))

    def _check_parameters(self) -> None:
        self._check_solver_parameters()
        names = (*BUILT_IN, "neighbors", "precomputed")
        named = isinstance(self.kernel, str) and self.kernel in names
        if not (named or callable(self.kernel) or neighbor_rule(self.kernel)):
            raise unknown_kernel(self.kernel, names)
        check_choice("operator", self.operator, ("auto", *OPERATORS))
        check_integer("n_landmarks", self.n_landmarks, 1)
        check_choice("solver", self.solver, tuple(METHODS))
        check_integer("n_neighbors", self.n_neighbors, 1)

    @staticmethod
    def _warn_of_parts(J: KernelOperator) -> None:
        parts = J.n_connected() if isinstance(J, SparseOperator) else 1
        if parts > 1:
            warnings.warn(
                f"The graph of neighbours has {parts} connected components, so that the eigenvalue 1 of A repeats: they are "
                f"placed apart, and where there are many their positions may not be unique. A larger `n_neighbors` connects "
                f"them.",
                stacklevel=4,
            )

    def _warn_of_hubs(self, J: KernelOperator, d: Array, y: Array) -> None:
        """Where Abar has a negative diagonal, y may be negative, too; and the extension of a row is y times the row."""
        reversed_ = (y <= 0) & (d > 0) & (J.contrast() < 0)
        if reversed_.any():
            rows = self._support[reversed_][:5].tolist()
            warnings.warn(
                f"So many points see those in rows {rows} that `transform` does not return their embedding, but the "
                f"opposite direction. With diagonal='kernel' they are placed at the origin instead.",
                stacklevel=4,
            )

    def _advice(self, solution: Solution, J: KernelOperator, d: Array, constant: bool) -> str:
        ended = f"SDPEmbedding ended with status {self.status_!r}: "
        knob = "`bandwidth`" if neighbor_rule(self.kernel) is None else "`n_neighbors`"
        if constant:
            return (
                f"{ended}the kernel is so close to constant that rounding shows: decrease {knob}, or check that the points "
                f"differ."
            )
        remedy = ""
        if not d.all():
            rows = name_rows(self._support[d == 0])
            remedy = f" The diagonal vanishes to rounding at {rows}, which outweigh all others."
            if (J.contrast() < 0).any():  # not with a psd kernel
                remedy = f" So many points see those in {rows} that d(x) is not positive there: they are at the origin."
        elif (J.m <= (1 + _IDENTITY_KERNEL) * J.w * J.kernel_diagonal()).all():
            remedy = f" No point has a neighbour within the bandwidth (K is the identity to rounding): increase {knob}."
        elif self.status_ == "degenerate":
            remedy = f" Other embeddings are as good; {self._against_others(knob)}."
        return f"{ended}{solution.message}.{remedy}"

    def _against_others(self, knob: str) -> str:
        null = self.certificate_.null_space
        if null is not None and null.strict and not null.unique:
            return f"a larger {knob} helps where groups of points hardly see each other, but not against symmetric points"
        return f"a larger {knob} usually makes the optimum unique"


@dataclass(frozen=True)
class _AnyLength:
    """A bound d(x) for rows of which only the direction is kept: no length overflows, and those that vanish still do."""

    diagonal: Diagonal

    def log_radius(self, attention: Attention) -> Array:
        return np.minimum(self.diagonal.log_radius(attention), _ANY_LOG_LENGTH)
