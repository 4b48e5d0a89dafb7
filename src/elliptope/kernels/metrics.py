r"""Distances of rows, by the names that scikit-learn's neighbours have for them.

Most are increasing functions of a Minkowski distance of prepared rows, and are searched for as such:

============== ======================================= ==================================
metric         prepared row u                          d(x, y)
============== ======================================= ==================================
euclidean      x                                       ‖u - v‖
sqeuclidean    x                                       ‖u - v‖²
seuclidean     x / √V, entry by entry                  ‖u - v‖
mahalanobis    Rx with RᵀR = VI                        ‖u - v‖
cosine         x / ‖x‖                                 ½ ‖u - v‖²
correlation    x less its mean, to unit length         ½ ‖u - v‖²
haversine      (latitude, longitude) on the sphere     2 arcsin(½ ‖u - v‖)
manhattan      x                                       ‖u - v‖₁
chebyshev      x                                       ‖u - v‖_∞
minkowski      w^(1/p) x, entry by entry               ‖u - v‖_p
============== ======================================= ==================================

Of the others, functions of the user's among them, nothing is known but their values. Distances of pairs are formed in one
way only, whatever other pairs are asked for and in whichever order the two rows are given: comparisons do not depend on
rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sklearn
from scipy import sparse

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.checks import check_factor, check_vector, name_rows

# Entries of rows compared at a time: differences stay in a core's cache.
_CACHED = 2**16
_NO_DIRECTION = (
    "`X` must have no rows without a direction: of zeros for metric='cosine', of equal numbers for 'correlation'. "
    "Leave out {}."
)
_NO_PLACE = (
    "`X` must hold latitudes from -π/2 to π/2 and longitudes from -2π to 2π, in radians, for metric='haversine', got "
    "{latitude:.6g} and {longitude:.6g}, in {{}}. Convert degrees by numpy.radians."
)
# Largest latitude and longitude, either way; both conventions for longitudes, and the rounding of single precision.
_SPHERE = np.array([0.5 * np.pi, 2 * np.pi]) * (1 + 1e-6)
# Rows on which a user's function is tried out.
_TRIED = 64

Rows = Any  # (n, p): an array, or a sparse matrix in compressed rows


class RowError(ValueError):
    """Rows that a metric cannot take. The ``message`` has a place for them; whoever has cut X into parts names them anew."""

    def __init__(self, message: str, rows: Array) -> None:
        super().__init__(message.format(name_rows(rows)))
        self.message, self.rows = message, rows

    def __reduce__(self) -> tuple[type, tuple[str, Array]]:
        return type(self), (self.message, self.rows)


class Metric(ABC):
    """d(x, y) = value(c(prepare(x), prepare(y))), increasing in c, which searches compare; ``radius`` inverts ``value``."""

    takes_sparse = False

    def prepare(self, X: Rows) -> Rows:
        return X if sparse.issparse(X) else np.ascontiguousarray(X)

    def value(self, c: Array) -> Array:
        return c

    def radius(self, d: Array) -> Array:
        return d

    @abstractmethod
    def between(self, X: Rows, Y: Rows, i: Array, j: Array) -> Array:
        """c(x_i, y_j) for pairs (i, j) of prepared rows: the same bits in any company, and for (j, i)."""


@dataclass(frozen=True)
class Minkowski(Metric):
    """c is a Minkowski distance of that order."""

    order: float = 2.0

    def between(self, X: Rows, Y: Rows, i: Array, j: Array) -> Array:
        if sparse.issparse(X):
            width, lengths = max(1, X.nnz // X.shape[0]), self._lengths_of_sparse
        else:
            width, lengths = X.shape[1], self._lengths
        out = np.empty(len(i))
        for part in blocks(0, len(i), rows_per_block(width, most=_CACHED)):
            out[part] = lengths(X[i[part]] - Y[j[part]])
        return out

    def _lengths(self, D: Array) -> Array:
        if self.order == 2:
            return np.sqrt(np.einsum("ij,ij->i", D, D))
        np.abs(D, out=D)
        if math.isinf(self.order):
            return D.max(axis=1)
        return D.sum(axis=1) if self.order == 1 else (D**self.order).sum(axis=1) ** (1 / self.order)

    def _lengths_of_sparse(self, D: sparse.csr_array) -> Array:
        total, some = np.zeros(D.shape[0]), np.diff(D.indptr) > 0
        if some.any():
            entries = np.abs(D.data) if self.order == 1 else D.data**2
            total[some] = np.add.reduceat(entries, D.indptr[:-1][some])
        return total if self.order == 1 else np.sqrt(total)


class Euclidean(Minkowski):
    takes_sparse = True


class SquaredEuclidean(Euclidean):
    def value(self, c: Array) -> Array:
        return c * c

    def radius(self, d: Array) -> Array:
        return np.sqrt(d)


class Manhattan(Minkowski):
    takes_sparse = True


@dataclass(frozen=True)
class Weighted(Minkowski):
    """Columns have scales of their own, or are mixed by a matrix R (p, p) first."""

    columns: Array | None = None

    def prepare(self, X: Rows) -> Rows:
        X = np.ascontiguousarray(X)
        if self.columns is None:
            return X
        # Not by BLAS, which may round a row by what other rows there are.
        return X * self.columns if self.columns.ndim == 1 else np.einsum("ij,kj->ik", X, self.columns)


class Cosine(Euclidean):
    def prepare(self, X: Rows) -> Rows:
        return _unit(super().prepare(X))

    def value(self, c: Array) -> Array:
        return 0.5 * (c * c)

    def radius(self, d: Array) -> Array:
        return np.sqrt(2 * d)


class Correlation(Cosine):
    takes_sparse = False

    def prepare(self, X: Rows) -> Rows:
        X = np.ascontiguousarray(X)
        means = X.mean(axis=1, keepdims=True)
        # A row of equal numbers has exactly these as its mean, and no direction.
        return super().prepare(X - np.where(np.ptp(X, axis=1, keepdims=True) == 0, X[:, :1], means))


class Haversine(Minkowski):
    def prepare(self, X: Rows) -> Rows:
        if len(off := np.flatnonzero((np.abs(X) > _SPHERE).any(axis=1))):
            latitude, longitude = X[off[0]]
            raise RowError(_NO_PLACE.format(latitude=latitude, longitude=longitude), off)
        latitude, longitude = np.ascontiguousarray(X[:, 0]), np.ascontiguousarray(X[:, 1])
        across = np.cos(latitude)
        return np.column_stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])

    def value(self, c: Array) -> Array:
        return 2 * np.arcsin(np.minimum(0.5 * c, 1.0))

    def radius(self, d: Array) -> Array:
        return 2 * np.sin(0.5 * d)


@dataclass(frozen=True)
class Ordered:
    """A user's function with its parameters. Rows in one order, for rounding may make d(x, y) differ from d(y, x)."""

    function: Callable[..., float]
    parameters: dict[str, Any]

    def __call__(self, x: Array, y: Array) -> float:
        apart = np.flatnonzero(x != y)
        if len(apart) and x[apart[0]] > y[apart[0]]:
            x, y = y, x
        d = float(self.function(x, y, **self.parameters))
        if not 0 <= d < math.inf:  # a tree would lose NaN without a word
            raise ValueError(f"`metric` must give finite numbers of at least 0, got {d!r} from {self.name!r}.")
        return d

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


@dataclass(frozen=True)
class OtherMetric(Metric):
    """Of which only the values are known: one that scikit-learn computes, or a user's function."""

    name: str
    function: Ordered | None = None

    @cached_property
    def distance(self) -> sklearn.metrics.DistanceMetric:
        if self.function is not None:
            return sklearn.metrics.DistanceMetric.get_metric("pyfunc", func=self.function)
        return sklearn.metrics.DistanceMetric.get_metric(self.name)

    def between(self, X: Rows, Y: Rows, i: Array, j: Array) -> Array:
        out, order = np.empty(len(i)), np.argsort(i, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(i[order])) + 1) if len(i) else []:
            row = i[part[0]]
            out[part] = self.distance.pairwise(X[row : row + 1], Y[j[part]])[0]
        return out

    def try_out(self, X: Rows) -> None:
        """Raise unless equal rows are at distance zero."""
        rows = np.arange(min(_TRIED, X.shape[0]))
        d = self.between(X, X, rows, rows)
        if d.any():
            raise ValueError(f"`metric` must be 0 between equal rows, got {float(d.max())!r} from {self.name!r}.")


def _unit(X: Rows) -> Rows:
    """Rows of length 1, by sums whose rounding does not depend on the other rows; one of zeros has no direction."""
    size = abs(X).max(axis=1).toarray().ravel() if sparse.issparse(X) else np.abs(X).max(axis=1)
    if not size.all():
        raise RowError(_NO_DIRECTION, np.flatnonzero(size == 0))
    X = _divided(X, size)  # squares neither overflow nor vanish
    lengths = Euclidean()._lengths_of_sparse(X) if sparse.issparse(X) else Euclidean()._lengths(X)
    return _divided(X, lengths)


def _divided(X: Rows, lengths: Array) -> Rows:
    if not sparse.issparse(X):
        return X / lengths[:, None]
    return sparse.csr_array((X.data / np.repeat(lengths, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def _haversine(p: int) -> Metric:
    if p != 2:
        raise ValueError(f"`X` must have 2 columns, latitude and longitude in radians, for metric='haversine', got {p}.")
    return Haversine()


def _seuclidean(p: int, V: Any = None) -> Metric:
    if V is None:
        raise ValueError("`metric_params` must hold 'V', the variances of the columns, for metric='seuclidean'.")
    return Weighted(2.0, 1 / np.sqrt(check_vector("V", V, p)))


def _mahalanobis(p: int, VI: Any = None) -> Metric:
    if VI is None:
        raise ValueError("`metric_params` must hold 'VI', an inverse covariance matrix, for metric='mahalanobis'.")
    VI = check_factor("VI", VI, p)
    try:
        R = np.linalg.cholesky(VI).T
        if not np.allclose(R.T @ R, VI):  # of a matrix that is not symmetric one half is not looked at
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise ValueError(f"`VI` must be symmetric positive definite, of shape ({p}, {p}); it is not.") from None
    return Weighted(2.0, np.ascontiguousarray(R))


def _minkowski(columns: int, p: Any = 2.0, w: Any = None) -> Metric:
    if isinstance(p, bool) or not isinstance(p, int | float) or not p >= 1:
        raise ValueError(f"`p` must be a number of at least 1 for metric='minkowski', got {p!r}.")
    if w is None:
        return Weighted(float(p))
    w = check_vector("w", w, columns, zero=True)
    return Weighted(float(p), np.where(w > 0, w ** (1 / float(p)), 0.0))


# By name: what makes the metric for rows with p columns, and the parameters that it may have.
_MADE: dict[str, tuple[Callable[..., Metric], tuple[str, ...]]] = {
    "euclidean": (lambda p: Euclidean(), ()),
    "sqeuclidean": (lambda p: SquaredEuclidean(), ()),
    "seuclidean": (_seuclidean, ("V",)),
    "mahalanobis": (_mahalanobis, ("VI",)),
    "cosine": (lambda p: Cosine(), ()),
    "correlation": (lambda p: Correlation(), ()),
    "haversine": (_haversine, ()),
    "manhattan": (lambda p: Manhattan(1.0), ()),
    "chebyshev": (lambda p: Minkowski(math.inf), ()),
    "minkowski": (_minkowski, ("p", "w")),
}
_ALIASES = {"l2": "euclidean", "cityblock": "manhattan", "l1": "manhattan", "infinity": "chebyshev"}
# Those that scikit-learn computes.
_OTHERS = ("braycurtis", "canberra", "dice", "hamming", "jaccard", "rogerstanimoto", "sokalmichener", "sokalsneath")
# X holds the distances themselves.
PRECOMPUTED = "precomputed"
METRICS = tuple(sorted({*_MADE, *_ALIASES, *_OTHERS, PRECOMPUTED}))


def check_metric(metric: Any) -> None:
    if not callable(metric) and not (isinstance(metric, str) and metric in METRICS):
        raise ValueError(f"`metric` must be one of {', '.join(map(repr, METRICS))}, or a callable d(x, y), got {metric!r}.")


def make_metric(metric: Any, parameters: Mapping[str, Any] | None, p: int) -> Metric:
    """The metric that ``metric`` and ``metric_params`` mean, for rows with p columns."""
    check_metric(metric)
    if isinstance(metric, str) and metric == PRECOMPUTED:
        raise ValueError("`metric` must be that of rows of features here, got 'precomputed'.")
    given = dict(parameters or {})
    if callable(metric):
        function = Ordered(metric, given)
        return OtherMetric(function.name, function)
    name = _ALIASES.get(metric, metric)
    make, known = _MADE.get(name, (None, ()))
    if unknown := sorted(set(given) - set(known)):
        allowed = ", ".join(map(repr, known)) or "nothing"
        raise ValueError(f"`metric_params` may hold {allowed} for metric={metric!r}, got {', '.join(map(repr, unknown))}.")
    return OtherMetric(name) if make is None else make(p, **given)
