"""From the data and the parameters of an estimator to its program: validate, choose the kernel, build the operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._utils.arrays import Array, as_numpy, largest, like
from .._utils.callers import warn
from .._utils.checks import check_choice, check_integer
from .._utils.devices import find_device, on_cpu
from .._utils.threads import count_threads
from ..distributed.fit import DASK, check_rule, find_cluster
from ..kernels.base import FittedFormula, FittedKernel, KernelRule
from ..kernels.choice import KERNEL_NAMES, NamedKernel, find_kernel, unknown_kernel
from ..kernels.neighborhoods import few_neighbors
from ..kernels.search import near_rows_together
from ..kernels.stationary import has_profile
from ..memory.device import check_device_memory, device_errors
from ..memory.planner import choose_operator, size_of
from ..operators import DenseOperator, KernelOperator, SparseOperator, TiledOperator
from ..operators.base import Operator
from ..operators.polynomial import PolynomialOperator, diffused_cost, diffused_values
from ..sdp.spread import Spread, resolve_spread
from .data import Rows, Sample, distinct_points, validate_rows, weighted_rows
from .diagonals import SpreadDirections
from .extension import Attention, Extension, unit_directions

# Weights below this part of the largest count as zero: squares of them would.
_NO_WEIGHT = 1e-100
# Points from which on a thin matrix is larger than the cache of a core: where near points have near numbers, products with a
# sparse kernel then take half the time.
_BEYOND_CACHE = 10_000
# Rows from which on device="auto" takes a device, with a kernel of neighbours and with others; docs/gpu.md has the evidence.
_WORTH_A_DEVICE = {"sparse": 50_000, "tiled": 5_000, "dense": 5_000}


@dataclass(frozen=True)
class Posed:
    """A program on a normalised kernel: the rows that were given, the points among them, the kernel and the operator."""

    given: Rows
    sample: Sample
    rule: KernelRule
    kernel: FittedKernel  # the rule, fitted to the points
    operator: KernelOperator
    device: Any | None  # where the operator is; None for the CPU

    def weighted_by_density(self, exponent: float) -> Posed:
        r"""The program with weights :math:`w_i (\sum_j k_{ij})^\beta`, of the same total, for β = ``exponent``.

        The sum is over distinct points, however often they occur: those that w counts would otherwise count twice.
        """
        A, w = self.operator, self.sample.w
        if not exponent:
            return self
        if not A.stored:
            raise ValueError(f"`density` must be 0 unless the kernel is stored, got {exponent!r}.")
        m = as_numpy(A.reweighted(np.ones(A.n)).m)
        scaled = w * (m / m.max()) ** exponent
        scaled *= w.sum() / scaled.sum()
        return replace(self, sample=replace(self.sample, w=scaled), operator=A.reweighted(scaled))

    def cost(self, d: Array, diffusion_time: int = 1, spread: float = 0.0) -> tuple[Operator, Spread]:
        """J for the diagonal d, and the weight s of the quadratic term; see :func:`program`."""
        return program(self.operator, d, diffusion_time, spread)

    def extended(self, H: Array, d: Array, e: Array, diffusion_time: int, s: float) -> Extended:
        """T(H) at the points for a factor H, (n, r), the diagonal d and weights e of rows, with what extends it."""
        F = diffused_values(self.operator, diffusion_time, s, np.sqrt(d)[:, None] * H)
        directions = SpreadDirections.of(s, self.operator.M, H, e) if s else None
        return Extended(unit_directions(at_points(self.operator, self.kernel, F), directions), F, directions)

    @property
    def point_rows(self) -> Any:
        """The rows of X that are points."""
        return self.given.X[self.sample.rows]

    def extension(self, F: Array) -> Extension:
        """The extension of F, (n, r), from the points to new rows."""
        A = self.operator
        return Extension(self.kernel, self.sample.w, as_numpy(A.m), A.M, as_numpy(A.kernel_diagonal()), F)

    def at_all_rows(self, F: Array, extend: Callable[[Any, Array], Array]) -> Array:
        """F, (n, r), at all rows: ``extend`` is called with those of weight zero, and with their numbers."""
        place = self.sample.place
        if len(F) == len(place) and not np.any(np.diff(place) != 1):
            return F
        full = np.empty((len(place), F.shape[1]))
        rest = place < 0
        full[~rest] = F[place[~rest]]
        if rest.any():
            full[rest] = extend(self.given.X[rest], np.flatnonzero(rest))
        return full


@dataclass(frozen=True, eq=False)
class Extended:
    """A solution as users see it: its rows at the points, and what gives those of new ones."""

    U: Array  # (n, r): unit rows, zero where a row has no direction
    F: Array  # (n, r): values at the points, which are extended
    directions: SpreadDirections | None

    def turned(self, V: Array) -> Extended:
        """The same with columns turned by an orthogonal V."""
        return Extended(self.U @ V, self.F @ V, None if self.directions is None else self.directions.turned(V))


def program(A: KernelOperator, d: Array, t: int, spread: float | Spread) -> tuple[Operator, Spread]:
    """J for the kernel A, the diagonal d and the diffusion time t, and the weight s of the quadratic term.

    J may be A itself, scaled, or use it: there is one at a time. The cost of a constant kernel is zero, and has nothing to
    weigh rows by.
    """
    J = diffused_cost(A, d, t)
    s = resolve_spread(J, spread) if largest(J.spread_diagonal()) > 0 else Spread(0.0)
    return (J.mixed(s.s) if isinstance(J, PolynomialOperator) else J), s


def at_points(A: KernelOperator, kernel: FittedKernel, F: Array) -> Attention:
    """What :meth:`Extension.attend` gives at the training points, by one product."""
    root = np.sqrt(as_numpy(A.w))[:, None]
    A.set_row_scale(root[:, 0])
    m = as_numpy(A.m)
    mean = as_numpy(A.matmat(like(A.w, root * F))) / (root * np.sqrt(m)[:, None])
    numbers = np.arange(A.n)
    return Attention(None, numbers, mean, np.log(m), numbers, A.unit, kernel, as_numpy(A.kernel_diagonal()))


def pose(X: Any, sample_weight: Any, estimator: Any, *, only: str | None = None, merge: bool = False) -> Posed:
    """The program of ``estimator``, whose parameters are read and which is left as it is.

    ``only`` names the operator of an estimator that has no choice of operators. With ``merge`` equal rows are one point.
    """
    check_choice("normalize", estimator.normalize, (None, "unit"))
    n_jobs = count_threads(estimator.n_jobs)
    rule = _find_rule(estimator, X)
    asked, k = getattr(estimator, "operator", "auto"), estimator.n_neighbors if "n_neighbors" in rule.parameters else None
    X, sample_weight, remote = find_cluster(X, sample_weight, asked, estimator.device, k)
    if remote is not None:
        check_rule(rule, X, estimator.kernel, remote.device)
        operator, device = DASK, remote.client_device()
    else:
        device = find_device(estimator.device, X)
        X, sample_weight = on_cpu(X), on_cpu(sample_weight)
        size = size_of(X, None if rule.pairwise else sample_weight)
        if device is not None and size is not None:
            operator, device = _plan_on(device, size, rule, estimator)
        if device is None or size is None:
            operator = _plan(size, estimator, only, n_jobs)
    given = validate_rows(X, sample_weight, estimator, accept_sparse=rule.accepts_sparse, pairwise=rule.pairwise)
    sample = _points(given, rule, merge)
    parameters = {name: getattr(estimator, name) for name in rule.parameters}
    if "n_neighbors" in parameters:
        parameters["n_neighbors"] = _n_neighbors(parameters["n_neighbors"], len(sample.w))
    if remote is not None:
        kernel, J = remote.build(rule, given.X, sample.rows, sample.w, parameters)
    else:
        with device_errors(device):
            if rule.uses_device:
                parameters["device"] = device
            kernel = rule.fit(given.X, sample.rows, **parameters)
            J = _build(operator, kernel, sample.w, n_jobs, device)
    return Posed(given, sample, rule, kernel.without_matrix().on(None), J, device)


def _find_rule(estimator: Any, X: Any) -> KernelRule:
    rule = find_kernel(estimator.kernel)
    if rule is None:
        raise unknown_kernel(estimator.kernel, KERNEL_NAMES)
    rule = rule.for_metric(estimator.metric)
    if sparse.issparse(X) and not rule.accepts_sparse:
        raise TypeError(
            f"`X` must be dense for kernel={estimator.kernel!r}, got a sparse matrix; the kernels 'neighbors' and 'overlap' "
            f"take one."
        )
    return rule


def check_time(name: str, value: Any) -> int:
    """A diffusion time: with odd ones beyond 1 the polynomial in place of λ^t could not be at least zero."""
    t = check_integer(name, value, 1)
    if t > 1 and t % 2:
        raise ValueError(f"`{name}` must be 1 or an even number, got {value!r}.")
    return t


def check_seed(random_state: Any) -> np.random.RandomState:
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"`random_state` must be None, an integer from 0 to {2**32 - 1} or a RandomState, got {random_state!r}."
        ) from error


def draw_seed(random_state: Any) -> int:
    """A seed for the solver; always the same for None, as the optimum does not depend on it."""
    return check_seed(0 if random_state is None else random_state).randint(np.iinfo(np.int32).max)


def _plan(size: tuple[int, int] | None, estimator: Any, only: str | None, n_jobs: int) -> str:
    """The operator, for rows and columns that are known from the shape; refused where memory does not suffice."""
    if size is None:
        return "dense"
    if only is not None:
        name = type(estimator).__name__
        return choose_operator(*size, kernel=estimator.kernel, only=only, estimator=name, n_neighbors=estimator.n_neighbors)
    return choose_operator(
        *size,
        kernel=estimator.kernel,
        operator=estimator.operator,
        n_threads=n_jobs,
        verbose=bool(estimator.verbose),
        rank=estimator.rank,
        n_neighbors=estimator.n_neighbors,
    )


def _plan_on(device: Any, size: tuple[int, int], rule: KernelRule, estimator: Any) -> tuple[str, Any | None]:
    """The operator on a device, and the device; None where device="auto" is better off on the CPU.

    Kernels that products on a device know are computed again for every product, whatever n.
    """
    auto, asked = str(estimator.device) == "auto", getattr(estimator, "operator", "auto")
    recomputed = isinstance(rule, NamedKernel) or has_profile(rule)
    of_neighbors = rule.operators == ("sparse",)
    possible = () if of_neighbors else ("tiled", "dense")[not recomputed :]
    if asked not in ("auto", *possible):
        if auto:
            return asked, None
        allowed = ", ".join(map(repr, ("auto", *possible)))
        raise ValueError(f"`operator` must be one of {allowed} on a device, got {asked!r}; use device='cpu'.")
    operator = "sparse" if of_neighbors else possible[0] if asked == "auto" else asked
    if auto and size[0] < _WORTH_A_DEVICE[operator]:
        return operator, None
    check_device_memory(*size, operator, device, estimator.n_neighbors)
    return operator, device


def _points(given: Rows, rule: KernelRule, merge: bool) -> Sample:
    w = np.where(given.w < _NO_WEIGHT * given.w.max(), 0.0, given.w)
    weighted = np.count_nonzero(w)
    if weighted < 2:
        raise ValueError(
            "`sample_weight` must be positive for at least 2 samples: the weight is zero for "
            f"{len(w) - weighted} of {len(w)}, or less than {_NO_WEIGHT:g} of the largest, which counts as zero."
        )
    # How often a point occurs says nothing about its neighbours. Rows of a graph have no coordinates to compare.
    if not (rule.merges_equal_rows or merge) or rule.pairwise or rule.holds_distances(given.X):
        return weighted_rows(w)
    sample = distinct_points(given.X, w)
    if len(sample.w) <= _BEYOND_CACHE or sparse.issparse(given.X):
        return sample
    return sample.reordered(near_rows_together(given.X[sample.rows]))


def _n_neighbors(asked: Any, n: int) -> int:
    """What was asked for, unless all of the n points would be neighbours of each other."""
    k, few = check_integer("n_neighbors", asked, 2), few_neighbors(n)
    if k < n or n < 2 or k <= few:
        return k
    warn(f"`n_neighbors` is {few} in place of {k}: `X` has no more than {n} distinct rows.")
    return few


def _build_on(device: Any, name: str, kernel: FittedKernel, w: Array, n_jobs: int) -> KernelOperator:
    """The same on a device."""
    import torch

    if kernel.is_sparse:
        from ..operators.cuda.sparse import CudaSparseOperator

        return CudaSparseOperator(kernel.matrix(n_jobs), device, w)
    if name == "dense":
        return DenseOperator(torch.tensor(kernel.matrix(n_jobs), device=device), w)
    from ..operators.cuda.operator import CudaOperator

    assert isinstance(kernel, FittedFormula)
    return CudaOperator(kernel.formula, torch.tensor(kernel.points, device=device), w)


def _build(name: str, kernel: FittedKernel, w: Array, n_jobs: int, device: Any | None) -> KernelOperator:
    """The operator of that name on the points of the kernel."""
    if device is not None:
        return _build_on(device, name, kernel, w, n_jobs)
    if kernel.is_sparse:
        return SparseOperator(kernel.matrix(n_jobs), w, n_jobs)
    if name == "dense":
        return DenseOperator(kernel.matrix(n_jobs), w)
    assert isinstance(kernel, FittedFormula)  # no other kernel names this operator
    return TiledOperator(kernel.formula, kernel.points, w, n_jobs=n_jobs)
