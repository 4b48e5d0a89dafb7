"""The estimator of the paper's first problem: a certified embedding with its out-of-sample extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._utils.arrays import Array, as_numpy, row_norms
from .._utils.callers import underflows_to_zero
from .._utils.checks import check_choice, check_factor, check_integer
from .._utils.threads import count_threads
from ..distributed.fit import DASK
from ..kernels.choice import KERNEL_NAMES, find_kernel, unknown_kernel
from ..memory.device import device_errors
from ..memory.planner import OPERATORS
from ..sdp import METHODS
from ..sdp.spread import spread_weights
from .advice import judge, warn_of_parts
from .base import KernelEmbedding, finish
from .certified import CertifiedEmbedding, eigenvectors, needed_columns, outcome
from .diagonals import ConstantDiagonal, resolve_diagonal
from .extension import Diagonal, Numbers
from .lazy import takes_dask
from .pose import Posed, check_time, pose
from .progress import begin_callbacks, with_callbacks
from .training import SDPTraining

# Log of the length that replaces all larger ones where rows are scaled to unit length afterwards.
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
    kernel : {"gaussian", "laplacian", "matern", "neighbors", "overlap", "precomputed"}, Kernel, rule or callable
        ``"neighbors"``: every point has its own scale, the distance to its ``n_neighbors``-th nearest point, beyond which
        the kernel is zero; see :mod:`elliptope.kernels.neighbors`. ``"overlap"``: points are similar as far as they have the
        same neighbours; see :mod:`elliptope.kernels.overlap`. Use one of them for large data or clusters. They take any
        ``metric``, and sparse X.
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
        For the kernels ``"neighbors"`` and ``"overlap"``, at least 2, a point counting itself; has no effect on the others,
        nor on the bandwidth rules. Where X has no more distinct rows than that, a third of them, with a warning.
    metric : str or callable
        Distance by which these two kernels find neighbours: a name that scikit-learn's neighbours take, such as "cosine",
        "manhattan" or "haversine", or a function d(x, y) of two rows. ``"precomputed"``: ``fit`` takes the distances
        between all points, or a sparse graph of some of them, such as ``KNeighborsTransformer`` makes; ``transform`` takes
        rows of the same kind, in which a distance of zero marks a training point. With the default metric, too, a square
        sparse X with an empty diagonal is such a graph; any other sparse X holds rows of features, for "euclidean",
        "cosine" and "manhattan". Other kernels have no choice of metric.
    diffusion_time : int
        t, 1 or even. The cost is that of t steps of diffusion, :math:`q(A) - v_0 v_0^\top` instead of
        :math:`A - v_0 v_0^\top`: a larger t blurs detail within groups, and shows what holds them together.
        :math:`q(\lambda) = (1 - s)\, p(\lambda) + s \lambda`, with s as in ``spread`` and a polynomial p ≥ 0 that follows
        :math:`\lambda^t` (see :func:`elliptope.operators.polynomial.power`); program, certificate and ``transform`` are
        exact for this q. The bound d on the diagonal stays as it is. For t > 1 the kernel must be stored: a kernel of
        neighbours, or ``operator="dense"``.
    spread : float
        η ≥ 0, or infinite. 0: the paper's program. η > 0: the strictly concave program
        :math:`\max \operatorname{Tr}(\bar A B) - \frac s2 \lVert B\rVert_F^2` with the same constraints (with weights, and
        another d, rows weigh accordingly; see :func:`elliptope.sdp.solve`), where s = ``spread_`` is
        :math:`\min(1, \eta\, \lambda_1(J)/\operatorname{Tr} J)`, with J before s enters its q. Equal rows are then one
        point, with any kernel of rows. The optimum is unique, the certificate bounds the distance of B to it, and the rank
        grows with η: 0.05 to 0.3 changes little but that, 1 gives tens of columns, and infinity the kernel of diffusion
        maps, B = Abar.
    operator : {"auto", "dense", "tiled", "dask"}
        How the kernel is applied. ``"dense"`` stores it, which allows a proof. ``"tiled"`` recomputes it at every product;
        the certificate is then proved at wide bandwidths, and probabilistic at others. ``"dask"`` is ``"tiled"``, or the
        kernel of neighbours, on a Dask cluster (:mod:`elliptope.distributed`), as dask arrays are by default. ``"auto"``:
        dense as long as it fits, then tiled; a fit that does not fit into memory is refused before it starts. A kernel of
        neighbours is always stored as a sparse matrix.
    solver : {"auto", "power"}
        ``"power"`` is Algorithm 1 of the paper.
    rank : int or "auto"
        Columns of the starting factor.
    tol : float
        Certified relative gap to reach, below 1.
    max_iter : int
        Iterations of the solver.
    random_state : int, RandomState or None
        Starting point of the solver; None: always the same. The optimum does not depend on it.
    n_jobs : int or None
        Threads that compute the kernel.
    device : {None, "cpu", "cuda", "cuda:1", …, "auto"}
        Where the fit, and what is asked of it later, is computed. A CUDA device needs the extra ``gpu``. None: where X is,
        if it is a tensor, else on the CPU. ``"auto"``: on a device, if there is one and enough rows are given for it to be
        faster. The fitted model holds arrays of NumPy, and is of use on machines without a device, too. A tensor given to
        ``transform`` comes back as one.
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
    n_neighbors_ : int or None
        The number in use; None for kernels without neighbours.
    certificate_ : Certificate
        Objective, upper bound, gap and their grade.
    status_ : {"optimal", "degenerate", "unconfirmed", "max_iter", "interrupted"}
        ``"degenerate"``: the objective is optimal, but other embeddings are as good, to working precision.
        ``"unconfirmed"``: it is optimal, and whether others are as good could not be established. ``"max_iter"``:
        ``tol`` was not reached within ``max_iter`` iterations, or there was no further progress before; the warning says
        which. ``"interrupted"``: stopped by Ctrl-C or a callback, with the best iterate so far.
    spread_ : float
        s, the weight of the quadratic term, to two digits.
    n_outside_ : int
        Points with d ≤ 0, as kernels that are not psd may have: they are outside the program. ``embedding_`` has them at the
        origin, or with ``normalize="unit"`` in the direction that the extension gives.
    n_iter_, n_products_ : int
        Iterations, and block products with J (the unit of work).
    training_ : Training
        The points of the program: ``points`` (n, p), which ``rows`` of X they are, and their ``weights``.
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
        metric: str | Callable = "euclidean",
        diffusion_time: int = 1,
        spread: float = 0.0,
        operator: str = "auto",
        solver: str = "auto",
        rank: int | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.diagonal = diagonal
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.diffusion_time = diffusion_time
        self.spread = spread
        self.operator = operator
        self.solver = solver
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @with_callbacks
    @underflows_to_zero
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None, start: Array | None = None) -> SDPEmbedding:
        """Solve the SDP on the rows of ``X`` (or on the kernel matrix ``X`` when precomputed).

        ``sample_weight`` are quadrature weights w: a weight of two is a point given twice; a point of weight zero, or below
        1e-100 of the largest, has no influence and is embedded by the extension. Multiplying all weights by a constant
        changes lengths, by way of d(x), and nothing else. Where the largest is beyond 2^±100, ``certificate_`` is that of
        the weights divided by a power of two. ``start`` (n, r) is an embedding for the solver to start from instead of a
        random one, such as that of the same rows at a nearby bandwidth; only the directions of its rows count. The optimum
        does not depend on it.

        X may be an array or a data frame of Dask; see :mod:`elliptope.distributed`.
        """
        self._check_parameters()
        begin_callbacks(self)
        posed = pose(X, sample_weight, self, merge=bool(self.spread))  # a strictly concave program treats equal rows alike
        with device_errors(posed.device):
            return self._fit_posed(posed, start)._follow(X)

    def _fit_posed(self, posed: Posed, start: Array | None) -> SDPEmbedding:
        """Solve a program that :func:`pose` has made for these parameters, and keep what follows."""
        self._check_width(len(posed.given.w))
        A, t = posed.operator, int(self.diffusion_time)
        if not self.spread:
            warn_of_parts(A, posed.rule.scale_parameter)
        diagonal = resolve_diagonal(self.diagonal, posed.sample, posed.kernel, A)
        d = diagonal.on_sample(posed.point_rows, posed.sample.rows, A)
        J, spread = posed.cost(d, t, self.spread)
        s = spread.s
        if start is not None:
            start = check_factor("start", start, len(posed.given.w))[posed.sample.rows]
        solution = self._solve(J, self.solver, start, spread)
        status = judge(solution, posed, d, "SDPEmbedding", verbose=bool(self.verbose))

        w, radius = posed.sample.w, np.sqrt(d * diagonal.factor(A.unit))
        e = as_numpy(spread_weights(J, s))
        solved = posed.extended(needed_columns(solution.source, w * d, s), d, e, t, s)
        V, eigenvalues = eigenvectors(radius[:, None] * solved.U, w)
        solved = solved.turned(V)
        Xi, width = radius[:, None] * solved.U, self._width(solved.U.shape[1])
        extension = posed.extension(solved.F)
        training = SDPTraining(posed.sample.rows, self.normalize, extension, diagonal, Xi, solved.directions, t)
        Z = posed.at_all_rows(
            solved.U if self.normalize == "unit" else Xi,
            lambda X, numbers: _embed(training, X, numbers, self.normalize, self.n_jobs, posed.device),
        )
        return self._keep(
            **posed.given.columns,
            **outcome(solution, status),
            bandwidth_=posed.kernel.bandwidth,
            embedding_=finish(Z, width, self.normalize),
            eigenvalues_=eigenvalues,
            n_components_=width,
            training_=training,
            spread_=s,
            n_outside_=int((d <= 0).sum()),
        )

    @takes_dask
    def transform(self, X: Array) -> Array:
        r"""Embed new rows.

        .. math:: \chi_\ell(x) = \sqrt{d(x)}\,
                  \frac{\bar a_e(x)^\top\chi_\ell}{\sqrt{\bar a_e(x)^\top B_\star \bar a_e(x)}}

        On training points this is ``embedding_``, to rounding at every ``tol``: both are T(H), what the extension makes of
        the last iterate H, and the certificate is that of T(H). The length :math:`\sqrt{d(x)}` grows
        without bound away from them: a new point that lies where there was no data is embedded far out, in the direction of
        the training points nearest to it. Use ``normalize="unit"`` where only directions should count.
        """
        return self._transform(X)

    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        numbers = range(first, first + X.shape[0])
        return _embed(self.training_, X, numbers, self.training_.normalize, self.n_jobs, device)

    def _extension_of(self, X: Any) -> Array:
        """With lengths, whatever ``normalize`` is: the learned kernel has them."""
        rows = self._check_new(X)
        return _embed(self.training_, rows, None, None, self.n_jobs, self._device_for(X))

    def _check_parameters(self) -> None:
        self._check_solver_parameters()
        if find_kernel(self.kernel) is None:
            raise unknown_kernel(self.kernel, KERNEL_NAMES)
        check_choice("operator", self.operator, ("auto", *OPERATORS, DASK))
        check_choice("solver", self.solver, tuple(METHODS))
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_time("diffusion_time", self.diffusion_time)


def _embed(
    training: SDPTraining,
    X: Array,
    numbers: Numbers | None,
    normalize: str | None,
    n_jobs: int | None,
    device: Any | None,
) -> Array:
    """All components at rows X of these numbers."""
    diagonal: Diagonal = training.diagonal
    how: dict[str, Any] = {"numbers": numbers, "n_jobs": count_threads(n_jobs), "device": device}
    if normalize == "unit":
        diagonal = ConstantDiagonal()  # rows without a length have a direction
    elif largest := float(row_norms(training.components).max()):  # zero where the kernel is constant
        how["largest"] = largest
    with device_errors(device):
        return training.extension.normalized(X, diagonal, training.spread, **how)
