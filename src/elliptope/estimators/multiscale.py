"""Two scales on one kernel: which group a row belongs to, and where in it the row lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .._utils.arrays import Array, as_numpy
from .._utils.callers import underflows_to_zero
from .._utils.checks import check_integer, check_non_negative, check_positive
from .._utils.threads import count_threads
from ..kernels.choice import KERNEL_NAMES, find_kernel, unknown_kernel
from ..memory.device import device_errors
from ..sdp import Certificate
from ..sdp.spread import spread_weights
from .advice import judge
from .base import KernelEmbedding, finish
from .certified import CertifiedEmbedding, eigenvectors, needed_columns
from .diagonals import KernelDiagonal
from .extension import Numbers, unit_directions
from .groups import find_groups
from .lazy import takes_dask
from .pose import Extended, Posed, check_time, pose
from .progress import begin_callbacks, with_callbacks
from .training import MultiscaleTraining, Scale

# Larger exponents would leave a few points all of the weight.
_MOST_DENSITY = 4
# Automatic spreads: that of the longest time, and those of the others times the number of points.
_COARSE, _FINE = 0.1, 2000.0
# From good to bad.
_STATUSES = ("optimal", "unconfirmed", "degenerate", "max_iter", "interrupted")


class MultiscaleEmbedding(CertifiedEmbedding, KernelEmbedding):
    r"""Several programs on one kernel, side by side: groups of rows, and detail within them.

    For every scale, :math:`\max \operatorname{Tr}((q(A) - v_0 v_0^\top) B) - \frac s2 \lVert B\rVert_F^2` subject to
    :math:`B \succeq 0`, diag(B) = d is solved and certified, as by ``SDPEmbedding(diffusion_time=t, spread=η)``. A long time
    with a small spread shows groups, a short time with a large spread what is within them. The connected components of the
    graph of the kernel, where there are several, are a further scale, of infinite time and length 2. The embedding consists
    of the eigenvectors of the learned kernel :math:`\sum \omega^2 b` on L²(w), the sum over all scales of
    :math:`b = H H^\top` with rows of H of unit length. The search for neighbours is made once, and so is that of
    ``transform``, which is exact on the training rows.

    Parameters
    ----------
    n_components : int or None
        Columns of the embedding, those of the largest eigenvalues. None: all of them.
    kernel, n_neighbors, metric
        As for :class:`~elliptope.SDPEmbedding`.
    diffusion_times, spreads, weights : sequences of the same length
        t, which is 1 or even, η and ω of every scale. ``spreads="auto"``: 0.1 for the longest time; for all others 2000/n,
        n being the number of points, but at most 1. The rank grows with √(ηn), so that with a constant η time and memory
        would be out of proportion for many points.
    density : float
        β: points weigh :math:`w_i (\sum_j k_{ij})^\beta`, with w their ``sample_weight`` and the sum over distinct points.
        0: as they are given; 1: dense regions, where groups have their cores, count for more, and outliers for less.
    tol : float
        Certified relative gap of every scale, below 1.
    max_iter : int
        Iterations of the solver, for every scale.
    random_state, n_jobs, device, verbose
        As for :class:`~elliptope.SDPEmbedding`.

    Attributes
    ----------
    embedding_ : (n, k) array, k = ``n_components_``
    scales_ : tuple of Scale
        The fitted parts: ``diffusion_time``, ``spread`` (the weight s in use), ``weight``, ``certificate``, ``status``,
        ``eigenvalues``, ``n_iter`` and ``n_products`` of each, and its ``components`` at the points.
    n_groups_ : int
        Connected components of the graph of the kernel. They have one column fewer than there are; more than 33 have 32
        columns, by a fixed random projection.
    groups_ : (n,) array of int
        The component of every row, 0 being the largest.
    n_outside_ : int
        Points with d ≤ 0, which are outside the program and are placed by the extension, as new rows are.
    certificates_ : tuple of Certificate
        One per scale, and one for the components, where there are several; their optimum is known, and its gap is 0.
    certificate_ : Certificate
        The one with the largest gap.
    status_ : str
        The worst of all scales; see :class:`~elliptope.SDPEmbedding`.
    eigenvalues_ : (r,) array
        Eigenvalues of the learned kernel on L²(w), descending: one for every column, and for those that ``n_components``
        leaves out.
    n_iter_, n_products_ : int
        Of all scales together.
    n_components_, bandwidth_, n_neighbors_, training_, n_features_in_, feature_names_in_
        As for :class:`~elliptope.SDPEmbedding`.
    """

    # What a program is posed with that this estimator has no parameters for.
    normalize = None
    bandwidth = "auto"
    operator = "auto"
    rank = "auto"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Callable = "overlap",
        n_neighbors: int = 15,
        metric: str | Callable = "euclidean",
        diffusion_times: Sequence[int] = (32, 1),
        spreads: str | Sequence[float] = "auto",
        weights: Sequence[float] = (1.0, 1.0),
        density: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.diffusion_times = diffusion_times
        self.spreads = spreads
        self.weights = weights
        self.density = density
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @with_callbacks
    @underflows_to_zero
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> MultiscaleEmbedding:
        """Solve the programs of all scales on the rows of ``X``; ``sample_weight`` as for ``SDPEmbedding``."""
        settings = self._check_parameters()
        begin_callbacks(self, len(settings[0]))
        posed = pose(X, sample_weight, self, merge=True)
        with device_errors(posed.device):
            return self._fit(posed, *settings)._follow(X)

    def _fit(self, posed: Posed, times: list[int], spreads: list[float] | None, weights: list[float]) -> MultiscaleEmbedding:
        given, posed = posed.sample.w, posed.weighted_by_density(float(self.density))
        self._check_width(len(posed.given.w))
        A = posed.operator
        spreads = _spreads(times, A.n) if spreads is None else spreads
        d = KernelDiagonal(A.M).on_sample(posed.point_rows, posed.sample.rows, A)
        scales: list[Scale] = []
        solved: list[Extended] = []
        for t, spread, weight in zip(times, spreads, weights, strict=True):
            # Ctrl-C ends the scales that follow, too: each is returned as it starts, with its bound.
            interrupted = any(scale.status == "interrupted" for scale in scales)
            scale, one = self._fit_scale(posed, d, t, spread, weight, interrupted)
            scales, solved = [*scales, scale], [*solved, one]
        groups = find_groups(A)
        Z = np.hstack([scale.weight * one.U for scale, one in zip(scales, solved, strict=True)])
        if groups is not None:
            Z = np.hstack([Z, groups.embed(np.arange(A.n))])
        axes, eigenvalues = eigenvectors(Z, given)
        extension = posed.extension(np.hstack([one.F for one in solved]))
        training = MultiscaleTraining(posed.sample.rows, None, extension, tuple(scales), groups, axes)
        Z = posed.at_all_rows(Z @ axes, lambda X, numbers: _embed(training, X, numbers, self.n_jobs, posed.device))
        width = self._width(Z.shape[1])
        labels = np.zeros((A.n, 1)) if groups is None else groups.labels[:, None]
        labels = posed.at_all_rows(
            labels, lambda X, numbers: _groups_of(training, X, numbers, self.n_jobs, posed.device)[:, None]
        )
        return self._keep(
            **posed.given.columns,
            bandwidth_=posed.kernel.bandwidth,
            embedding_=finish(Z, width, None),
            eigenvalues_=eigenvalues,
            groups_=labels[:, 0].astype(np.intp),
            n_components_=width,
            n_outside_=int((d <= 0).sum()),
            training_=training,
        )

    def _fit_scale(
        self, posed: Posed, d: Array, t: int, spread: float, weight: float, interrupted: bool
    ) -> tuple[Scale, Extended]:
        """One scale, and its rows with what extends them."""
        J, resolved = posed.cost(d, t, spread)
        s, w = resolved.s, posed.sample.w
        solution = self._solve(J, spread=resolved, interrupted=interrupted)
        status = judge(solution, posed, d, f"MultiscaleEmbedding, at diffusion time {t},", verbose=bool(self.verbose))
        e = as_numpy(spread_weights(J, s))
        solved = posed.extended(needed_columns(solution.source, w * d, s), d, e, t, s)
        radius = np.sqrt(d / posed.operator.unit)[:, None]
        V, eigenvalues = eigenvectors(radius * solved.U, w)
        solved = solved.turned(V)
        outcome = solution.certificate, status, eigenvalues, solution.n_iter, solution.n_products
        return Scale(t, s, weight, *outcome, radius * solved.U, solved.directions), solved

    @takes_dask
    def transform(self, X: Array) -> Array:
        """Embed new rows: every scale as :meth:`elliptope.SDPEmbedding.transform` does, from one pass over the kernel."""
        return self._transform(X)

    def predict_groups(self, X: Array) -> Array:
        """The group of every row of X, (len(X),): that of the most similar training point; see ``groups_``."""
        rows = self._check_new(X)
        return _groups_of(self.training_, rows, range(rows.shape[0]), self.n_jobs, self._device_for(X))

    @property
    def scales_(self) -> tuple[Scale, ...]:
        return self.training_.scales

    @property
    def certificates_(self) -> tuple[Certificate, ...]:
        groups = self.training_.groups
        return tuple(scale.certificate for scale in self.scales_) + (() if groups is None else (groups.certificate,))

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        return max(self.certificates_, key=lambda certificate: certificate.relative_gap)

    @property
    def status_(self) -> str:  # type: ignore[override]
        return max((scale.status for scale in self.scales_), key=_STATUSES.index)

    @property
    def n_groups_(self) -> int:
        groups = self.training_.groups
        return 1 if groups is None else len(groups.rows)

    @property
    def n_iter_(self) -> int:  # type: ignore[override]
        return sum(scale.n_iter for scale in self.scales_)

    @property
    def n_products_(self) -> int:  # type: ignore[override]
        return sum(scale.n_products for scale in self.scales_)

    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        return _embed(self.training_, X, range(first, first + X.shape[0]), self.n_jobs, device)

    def _finish(self, Xi: Array) -> Array:
        return finish(Xi, self.n_components_, None)

    def _check_parameters(self) -> tuple[list[int], list[float] | None, list[float]]:
        """t, η and ω of every scale; None for automatic spreads."""
        self._check_solver_parameters()
        if find_kernel(self.kernel) is None:
            raise unknown_kernel(self.kernel, KERNEL_NAMES)
        check_integer("n_neighbors", self.n_neighbors, 1)
        if not isinstance(self.density, Real) or isinstance(self.density, bool) or not abs(self.density) <= _MOST_DENSITY:
            raise ValueError(
                f"`density` must be a number between -{_MOST_DENSITY} and {_MOST_DENSITY}, got {self.density!r}."
            )
        times = [check_time("diffusion_times", one) for one in _sequence("diffusion_times", self.diffusion_times)]
        auto = isinstance(self.spreads, str) and self.spreads == "auto"
        spreads = None if auto else [_check_spread("spreads", one) for one in _sequence("spreads", self.spreads)]
        weights = [check_positive("weights", one) for one in _sequence("weights", self.weights)]
        lengths = {
            "diffusion_times": len(times),
            **({} if spreads is None else {"spreads": len(spreads)}),
            "weights": len(weights),
        }
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{count} {name}" for name, count in lengths.items())
            raise ValueError(f"`diffusion_times`, `spreads` and `weights` must have the same length, got {found}.")
        return times, spreads, weights


def _spreads(times: list[int], n: int) -> list[float]:
    """η for times of diffusion, of n points."""
    return [_COARSE if t == max(times) else min(1.0, _FINE / n) for t in times]


def _sequence(name: str, value: Any) -> list[Any]:
    found = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(found, list | tuple) or not found:
        also = "'auto' or " if name == "spreads" else ""
        raise ValueError(f"`{name}` must be {also}a sequence with an entry for every scale, got {value!r}.")
    return list(found)


def _check_spread(name: str, value: Any) -> float:
    return math.inf if value == math.inf else check_non_negative(name, value)


def _embed(training: MultiscaleTraining, X: Array, numbers: Numbers | None, n_jobs: int | None, device: Any | None) -> Array:
    """Rows of all scales, turned to the eigenvectors of the learned kernel."""
    out = np.empty((X.shape[0], training.axes.shape[1]))
    with device_errors(device):
        for part, attention in training.extension.attend(X, numbers=numbers, n_jobs=count_threads(n_jobs), device=device):
            blocks = [
                scale.weight * unit_directions(attention.columns(columns), scale.directions)
                for scale, columns in training.parts()
            ]
            if training.groups is not None:
                blocks.append(training.groups.embed(attention.nearest))
            out[part] = np.hstack(blocks) @ training.axes
    return out


def _groups_of(training: MultiscaleTraining, X: Any, numbers: Numbers, n_jobs: int | None, device: Any | None) -> Array:
    """The group of every row: that of the most similar training point."""
    out = np.zeros(X.shape[0], dtype=np.intp)
    if training.groups is not None:
        for part, attention in training.extension.attend(X, numbers=numbers, n_jobs=count_threads(n_jobs), device=device):
            out[part] = training.groups.labels[attention.nearest]
    return out
