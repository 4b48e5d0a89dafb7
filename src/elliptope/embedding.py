"""The estimator of the paper's first problem: a certified embedding with its out-of-sample extension."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._base import KernelEmbedding
from ._certified import CertifiedEmbedding, eigenvectors
from ._checks import check_choice, check_factor, check_integer, name_rows
from ._progress import with_callbacks
from .diagonals import resolve_diagonal
from .kernels import Array
from .operators import KernelOperator, SparseOperator
from .sdp import METHODS, Solution

# 1 - m²/(k M) below this leaves fewer digits of the embedding than its extension must agree with.
_SMALL_CONTRAST = 1e-6
# Mass from other points, relative to a point's own, below which the kernel is the identity for this purpose.
_IDENTITY_KERNEL = 1e-12


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
        its surroundings; see :mod:`elliptope.neighbors`. The way to large data and to clusters. ``fit`` also takes a sparse
        graph of distances, such as ``KNeighborsTransformer`` makes, and ``transform`` then rows of the same kind.
        ``"precomputed"``: ``fit`` takes the kernel matrix, ``transform`` the cross-kernel block. A callable
        ``k(X, Y) -> (n, m)`` must be symmetric, non-negative and psd. A :class:`~elliptope.kernels.Kernel` carries its own
        bandwidth.
    bandwidth : float or {"auto", "knn", "median"}
        σ in :math:`\exp(-\lVert x-y\rVert^2/\sigma^2)`, or the rule that chooses it. Not used with a precomputed or
        callable kernel.
    diagonal : {"kernel", "constant"}, array or callable
        d. ``"kernel"``: :math:`d(x) = k(x,x)/m(x) - m(x)/M`, as in the paper. ``"constant"``: 1. An array holds d on the
        training points; a new point, and one of weight zero, takes the value of the training point of positive weight
        that it is most similar to. A callable maps rows to d.
    normalize : {None, "unit"}
        ``"unit"``: rows, after truncation to ``n_components``, are projected to the unit sphere.
    n_neighbors : int
        For ``kernel="neighbors"``, at least 2, a point counting itself; has no effect on the other kernels, nor on the
        bandwidth rules.
    operator : {"auto", "dense"}
        How the kernel is stored.
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
        if isinstance(J, SparseOperator) and J.n_connected() > 1:
            warnings.warn(
                f"The graph of neighbours has {J.n_connected()} connected components, so that the eigenvalue 1 of A "
                f"repeats: they are placed apart, and where there are many their positions may not be unique. A larger "
                f"`n_neighbors` connects them.",
                stacklevel=3,
            )
        start = None if start is None else check_factor("start", start, n_rows)[self._support]
        self._diagonal = resolve_diagonal(self.diagonal, self._support, n_rows, posed.kernel, J)
        d = self._diagonal.on_sample(posed.X[self._support], J)
        J.set_row_scale(J.w * np.sqrt(d))
        solution = self._solve(J, self.solver, start)
        Xi, self.eigenvalues_ = eigenvectors(solution.factor, d, J.w)
        self._set_components(Xi.shape[1])
        constant = float(np.median(J.contrast())) < _SMALL_CONTRAST
        if constant and self.status_ == "optimal":
            self.status_ = "degenerate"
        self._extension = self._extend(posed, Xi)
        extend = partial(self._extension.normalized, diagonal=self._diagonal)
        self.embedding_ = self._finish(posed.all_rows(Xi, extend))
        if self.verbose:
            print(f"{self.status_}: {solution.message}")
        if self.status_ != "optimal":
            warnings.warn(self._advice(solution, J, d, constant), ConvergenceWarning, stacklevel=3)
        return self

    def transform(self, X: Array) -> Array:
        r"""Embed new rows.

        .. math:: \chi_\ell(x) = \sqrt{d(x)}\,
                  \frac{\bar a_e(x)^\top\chi_\ell}{\sqrt{\bar a_e(x)^\top B_\star \bar a_e(x)}}

        On training points this is the embedding itself, to the accuracy of the optimum. The length :math:`\sqrt{d(x)}` grows
        without bound away from them: a new point that lies where there was no data is embedded far out, in the direction of
        the training points nearest to it. Use ``normalize="unit"`` where only directions should count.
        """
        return self._finish(self._extension_of(X))

    def _extension_of(self, X: Array) -> Array:
        X = self._check_new(X)
        return self._extension.normalized(X, self._diagonal)

    def _check_parameters(self) -> None:
        self._check_solver_parameters()
        check_choice("operator", self.operator, ("auto", "dense"))
        check_choice("solver", self.solver, tuple(METHODS))
        check_integer("n_neighbors", self.n_neighbors, 1)

    def _advice(self, solution: Solution, J: KernelOperator, d: Array, constant: bool) -> str:
        ended = f"SDPEmbedding ended with status {self.status_!r}: "
        if constant:
            return (
                f"{ended}the kernel is so close to constant that rounding shows: decrease `bandwidth`, or check that the "
                f"points differ."
            )
        remedy = ""
        if not d.all():
            remedy = f" The diagonal vanishes to rounding at {name_rows(self._support[d == 0])}, which outweigh all others."
        elif (J.m <= (1 + _IDENTITY_KERNEL) * J.w * J.kernel_diagonal()).all():
            remedy = " No point has a neighbour within the bandwidth (K is the identity to rounding): increase `bandwidth`."
        elif self.status_ == "degenerate":
            scale = "n_neighbors" if isinstance(J, SparseOperator) else "bandwidth"
            remedy = f" Other embeddings are as good; a larger `{scale}` usually makes the optimum unique."
        return f"{ended}{solution.message}.{remedy}"
