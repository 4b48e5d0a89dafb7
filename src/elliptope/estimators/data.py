"""Rows and weights that users give: converted to numbers, and refused where that would lose something in silence.

Which of the rows are points of the program, and with what weights, is said by a :class:`Sample`.

scikit-learn converts and checks shapes. What it would take for numbers (masked entries, dates) is refused before, and to its
errors about single entries their places are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._utils.arrays import Array
from .._utils.callers import warn
from .._utils.checks import as_real, check_vector
from ..kernels.pairs import distinct_rows

# What scikit-learn is asked for: it says that there is an entry that is not finite, and not where.
ANY_NUMBER = {"dtype": np.float64, "ensure_all_finite": False}
# Range of the largest weight: degrees, and the bound d(x), which is their inverse, are then finite.
_LARGEST_WEIGHT = 1e300


@dataclass(frozen=True)
class Rows:
    """Rows and weights, validated; and the fitted attributes that describe the columns."""

    X: Any  # (N, p), dense or sparse, or distances (N, N)
    w: Array  # (N,)
    columns: dict[str, Any]


def validate_rows(
    X: Any, sample_weight: Array | None, estimator: Any, *, accept_sparse: bool = False, pairwise: bool = False
) -> Rows:
    """Rows and weights as ``fit`` takes them; ``pairwise``, if X is a matrix of kernel values or distances."""
    refuse_no_numbers(X)
    checked = copy(estimator)  # scikit-learn sets attributes, and a fit that fails must leave the estimator as it is
    with entries_named(X):
        X = validate_data(checked, X, ensure_min_samples=2, accept_sparse="csr" if accept_sparse else False, **ANY_NUMBER)
    check_finite(checked, X)
    if not pairwise:
        _warn_of_distances(X)
    names = ("n_features_in_", "feature_names_in_")
    columns = {name: getattr(checked, name) for name in names if hasattr(checked, name)}
    return Rows(X, check_sample_weight(sample_weight, X.shape[0]), columns)


def check_sample_weight(sample_weight: Array | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    w = as_real("sample_weight", sample_weight)
    w = check_vector("sample_weight", np.full(n, float(w)) if w.ndim == 0 else w, n, zero=True)
    largest = float(w.max())
    if largest and not 1 / _LARGEST_WEIGHT <= largest <= _LARGEST_WEIGHT:
        raise ValueError(
            f"`sample_weight` must have its largest value between {1 / _LARGEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}, got "
            f"{largest!r}; multiply all weights by a constant."
        )
    return w


def refuse_no_numbers(X: Any) -> None:
    """Raise where scikit-learn would use what is masked, count dates in their unit, or complain of another thing."""
    if X is None or (isinstance(X, dict | str) and not sparse.issparse(X)):  # one kind of sparse matrix is a dict
        raise ValueError(f"`X` must be an array or a data frame, got {'None' if X is None else type(X).__name__}.")
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("`X` must be an array without a mask, got a MaskedArray; fill it, or leave out its masked rows.")
    for where, dtype in _dtypes(X):
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise ValueError(f"`X` must hold numbers, got dates or times, dtype {dtype}{where}; convert them to numbers.")


def _dtypes(X: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(X, "dtype"):
        yield "", X.dtype
    elif hasattr(X, "iloc"):
        yield from ((f", in column {name!r}", dtype) for name, dtype in X.dtypes.items())
    elif hasattr(X, "columns"):
        yield from ((f", in column {name!r}", np.asarray(X[name][:1]).dtype) for name in X.columns)


@contextmanager
def entries_named(X: Any, first: int = 0) -> Iterator[None]:
    """Add to an error about an entry of X that is no number where it stands; rows count from ``first``."""
    try:
        yield
    except (TypeError, ValueError) as error:
        place = _place_of(str(error), X)
        if place is None:
            raise
        row, column = place
        name = repr(X.columns[column]) if hasattr(X, "columns") else column
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`X` must hold numbers; at row {first + row}, column {name}: {error}") from error


def _place_of(error: str, X: Any) -> tuple[int, int] | None:
    """Row and column of the first entry that is no number and that an error speaks of; None where there is none."""
    try:
        entries = np.asarray(X, dtype=object)
    except (TypeError, ValueError):
        return None
    if entries.ndim != 2:
        return None
    places = ((i, j) for i, row in enumerate(entries) for j, value in enumerate(row) if _is_meant(value, error))
    return next(places, None)


def _is_meant(value: Any, error: str) -> bool:
    """NumPy names text by its value, and all else by its type."""
    try:
        complex(value)
    except (TypeError, ValueError):
        return (str(value) if isinstance(value, str) else type(value).__name__) in error
    return False


def check_finite(estimator: Any, X: Any, first: int = 0) -> None:
    """Raise where X, dense or sparse, is not finite, with row, column and remedy; rows count from ``first``."""
    entries = X.data if sparse.issparse(X) else X
    finite = np.isfinite(entries)
    if finite.all():
        return
    if sparse.issparse(X):
        k = int(np.argmin(finite))
        i, j, value = int(np.searchsorted(X.indptr, k, side="right")) - 1, int(X.indices[k]), X.data[k]
    else:
        i, j = (int(k) for k in np.argwhere(~finite)[0])
        value = X[i, j]
    kind = "NaN" if np.isnan(value) else "infinity"
    names = getattr(estimator, "feature_names_in_", None)
    column = j if names is None else repr(names[j])
    taker = type(estimator).__name__
    raise ValueError(
        f"Input X contains {kind} at row {first + i}, column {column}. {taker} takes finite numbers only. "
        f"{np.count_nonzero(~finite)} of {finite.size} entries looked at are not: leave out their rows or columns, or fill "
        "them in (sklearn.impute.SimpleImputer)."
    )


def _warn_of_distances(X: Any) -> None:
    """Where dense rows of features look like a matrix of distances."""
    if sparse.issparse(X) or X.shape[0] != X.shape[1] or X.diagonal().any():
        return
    if (X >= 0).all() and np.allclose(X, X.T):
        warn(
            "`X` is square and symmetric with zeros on the diagonal, like a matrix of distances, but its rows are taken for "
            "features. To use distances, fit with kernel='neighbors' or 'overlap' and metric='precomputed'."
        )


@dataclass(frozen=True)
class Sample:
    """The n points among N rows."""

    w: Array  # (n,): the weight of a point, that of all rows that equal it where these are one point
    rows: Array  # (n,): the row of X, or the first of equal rows, that each point is
    place: Array  # (N,): which point each row is; -1 where its weight is zero
    n_weighted: int  # rows of positive weight
    equal_weights: bool

    def reordered(self, order: Array) -> Sample:
        """The same points in another order."""
        number = np.empty(len(order), dtype=self.place.dtype)
        number[order] = np.arange(len(order))
        place = np.where(self.place < 0, -1, number[self.place])
        return replace(self, w=self.w[order], rows=self.rows[order], place=place)


def weighted_rows(w: Array) -> Sample:
    """Every row of positive weight is a point."""
    rows = np.flatnonzero(w > 0)
    place = np.full(len(w), -1)
    place[rows] = np.arange(len(rows))
    return Sample(w[rows], rows, place, len(rows), bool(np.ptp(w[rows]) == 0))


def distinct_points(X: Any, w: Array) -> Sample:
    """Rows of positive weight that are equal are one point, in the order in which they were given."""
    support = np.flatnonzero(w > 0)
    if len(support) == 0:
        raise ValueError(f"`sample_weight` must be positive for at least 1 sample: the weight is zero for all {len(w)}.")
    first, inverse = distinct_rows(X[support])
    place = np.full(len(w), -1)
    place[support] = inverse
    weights = np.bincount(inverse, weights=w[support])
    return Sample(weights, support[first], place, len(support), bool(np.ptp(w[support]) == 0))


def closest_pair(points: Array) -> tuple[float, int, int]:
    """The distance of the closest two points, and their numbers."""
    distances, neighbours = sklearn.neighbors.NearestNeighbors(n_neighbors=1).fit(points).kneighbors()
    i = int(distances[:, 0].argmin())
    return float(distances[i, 0]), i, int(neighbours[i, 0])
