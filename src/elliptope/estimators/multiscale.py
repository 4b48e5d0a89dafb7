"""Two scales on one kernel: which group a row belongs to, and where in it the row lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array, as_numpy
from .._utils.callers import underflows_to_zero
from .._utils.checks import check_integer, check_non_negative, check_positive
from .._utils.threads import count_threads
from ..kernels.choice import KERNEL_NAMES, find_kernel, unknown_kernel
from ..memory.device import device_errors
from ..sdp import Certificate
from ..sdp.spread import spread_weights
from .advice import judge, warn_of_parts
from .base import KernelEmbedding
from .certified import CertifiedEmbedding, eigenvectors
from .diagonals import KernelDiagonal
from .extension import Numbers, unit_rows
from .lazy import takes_dask
from .pose import Posed, pose
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
    with a small spread shows groups, a short time with a large spread what is within them. The embedding is
    :math:`[\omega_1 H_1, \omega_2 H_2, \ldots]` with rows of H of unit length. The search for neighbours is made once, and
    so is that of ``transform``, which is exact on the training rows.

    Parameters
    ----------
    n_components : int or None
        Columns of the embedding: the leading ones of each scale in turn. None: all of them.
    kernel, n_neighbors, metric
        As for :class:`~elliptope.SDPEmbedding`.
    diffusion_times, spreads, weights : sequences of the same length
        t, η and ω of every scale. ``spreads="auto"``: 0.1 for the longest time; for all others 2000/n, n being the number of
        points, but at most 1. The rank grows with √(ηn), so that with a constant η time and memory would be out of
        proportion for many points.
    density : float
        β: points weigh :math:`m_i^\beta` times their ``sample_weight``, m being the degrees of the kernel. 0: as they are
        given; 1: dense regions, where groups have their cores, count for more, and outliers for less.
    tol : float
        Certified relative gap of every scale.
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
    certificates_ : tuple of Certificate
        One per scale.
    certificate_ : Certificate
        The one with the largest gap.
    status_ : str
        The worst of all scales; see :class:`~elliptope.SDPEmbedding`.
    eigenvalues_ : (r,) array
        Eigenvalues of B* of every scale, in the order of the columns; r is the rank of all scales together. Those of a scale
        have the same sum, whatever the scale.
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
        tol: float = 1e-5,
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
        posed = pose(X, sample_weight, self)
        with device_errors(posed.device):
            return self._fit(posed, *settings)._follow(X)

    def _fit(self, posed: Posed, times: list[int], spreads: list[float] | None, weights: list[float]) -> MultiscaleEmbedding:
        posed = posed.weighted_by_density(float(self.density))
        self._check_width(len(posed.given.w))
        A = posed.operator
        spreads = _spreads(times, A.n) if spreads is None else spreads
        if not all(spreads):
            warn_of_parts(A, posed.rule.scale_parameter)
        diagonal = KernelDiagonal(posed.kernel, A.M)
        d = diagonal.on_sample(posed.point_rows, posed.sample.rows, A)
        scales: tuple[Scale, ...] = ()
        values: list[Array] = []
        for setting in zip(times, spreads, weights, strict=True):
            # Ctrl-C ends the scales that follow, too: each is returned as it starts, with its bound.
            interrupted = any(scale.status == "interrupted" for scale in scales)
            scale, value = self._fit_scale(posed, d, *setting, interrupted)
            scales, values = (*scales, scale), [*values, value]
        extension = posed.extension(np.hstack(values))
        training = MultiscaleTraining(posed.sample.rows, None, extension, scales)
        Z = np.hstack([scale.weight * unit_rows(scale.components) for scale in scales])
        Z = posed.at_all_rows(Z, lambda X, numbers: _embed(training, X, numbers, self.n_jobs, posed.device))
        width = self._width(Z.shape[1])
        return self._keep(
            **posed.given.columns,
            bandwidth_=posed.kernel.bandwidth,
            embedding_=_leading(Z, scales, width),
            n_components_=width,
            training_=training,
        )

    def _fit_scale(
        self, posed: Posed, d: Array, t: int, spread: float, weight: float, interrupted: bool
    ) -> tuple[Scale, Array]:
        """One scale, and the values at the points that its extension is made of."""
        J, A = posed.cost(d, t), posed.operator
        solution = self._solve(J, spread=spread, interrupted=interrupted)
        s = solution.spread.s
        e = as_numpy(spread_weights(J, s))
        status = judge(solution, posed, d, e, f"MultiscaleEmbedding, at diffusion time {t},", verbose=bool(self.verbose))
        Xi, eigenvalues = eigenvectors(solution.factor, d / A.unit, posed.sample.w, s)
        directions = posed.directions(s, Xi, e / np.sqrt(A.unit))
        outcome = solution.certificate, status, eigenvalues, solution.n_iter, solution.n_products
        return Scale(t, s, weight, *outcome, Xi, directions), posed.diffused(Xi, t)

    @takes_dask
    def transform(self, X: Array) -> Array:
        """Embed new rows: every scale as :meth:`elliptope.SDPEmbedding.transform` does, from one pass over the kernel."""
        return self._transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns: ``scale2_3`` is component 3 of scale 2, and ``zero1`` a column beyond the last component."""
        check_is_fitted(self)
        names = [f"scale{scale + 1}_{component + 1}" for scale, component in in_turn(self.scales_)]
        names += [f"zero{k + 1}" for k in range(self.n_components_ - len(names))]
        return np.array(names[: self.n_components_], dtype=object)

    @property
    def scales_(self) -> tuple[Scale, ...]:
        return self.training_.scales

    @property
    def certificates_(self) -> tuple[Certificate, ...]:
        return tuple(scale.certificate for scale in self.scales_)

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        return max(self.certificates_, key=lambda certificate: certificate.relative_gap)

    @property
    def status_(self) -> str:  # type: ignore[override]
        return max((scale.status for scale in self.scales_), key=_STATUSES.index)

    @property
    def eigenvalues_(self) -> Array:
        return np.array([self.scales_[scale].eigenvalues[component] for scale, component in in_turn(self.scales_)])

    @property
    def n_iter_(self) -> int:  # type: ignore[override]
        return sum(scale.n_iter for scale in self.scales_)

    @property
    def n_products_(self) -> int:  # type: ignore[override]
        return sum(scale.n_products for scale in self.scales_)

    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        return _embed(self.training_, X, range(first, first + X.shape[0]), self.n_jobs, device)

    def _finish(self, Xi: Array) -> Array:
        return _leading(Xi, self.scales_, self.n_components_)

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
        times = [check_integer("diffusion_times", one, 1) for one in _sequence("diffusion_times", self.diffusion_times)]
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
    """Rows of all scales, side by side."""
    extension = training.extension
    out = np.empty((X.shape[0], extension.F.shape[1]))
    with device_errors(device):
        for part, attention in extension.attend(X, numbers=numbers, n_jobs=count_threads(n_jobs), device=device):
            for scale, columns in training.parts():
                own = replace(attention, mean=attention.mean[:, columns])
                H = unit_rows(own.mean) if scale.directions is None else scale.directions.directions(own)
                out[part, columns] = scale.weight * H
    return out


def in_turn(scales: Sequence[Any]) -> list[tuple[int, int]]:
    """Scale and component, both from 0, of every column: the first of each scale, the second of each, and so on.

    A scale is anything that has ``eigenvalues``.
    """
    ranks = [len(scale.eigenvalues) for scale in scales]
    return [(k, column) for column in range(max(ranks)) for k, rank in enumerate(ranks) if column < rank]


def _leading(Z: Array, scales: tuple[Scale, ...], width: int) -> Array:
    """The first ``width`` columns of Z, which has the scales side by side, in turn; zeros beyond the last."""
    starts = np.cumsum([0, *(len(scale.eigenvalues) for scale in scales)])
    found = Z[:, [starts[k] + column for k, column in in_turn(scales)[:width]]]
    return np.hstack([found, np.zeros((len(Z), width - found.shape[1]))])
