"""The content of a report, before it becomes a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.callers import describe
from .._utils.checks import check_integer
from .._utils.versions import versions
from ..estimators.certified import CertifiedEmbedding
from ..estimators.multiscale import MultiscaleEmbedding
from ..estimators.outliers import outlier_scores
from ..plotting.targets import Classes, Target, check_target
from ..plotting.view import Options, Picture, picture
from .fields import Fields, check_labels, embedded_fields, given_fields, texts
from .fits import Fit, axis_names, fits_of, has_neighbors, shown_rows, training_rows

# Components that the page offers as axes; later ones carry little, and every one adds to the file.
_MAX_AXES = 6


@dataclass(frozen=True)
class Column:
    """Name and range of a column of the data; NaN for one of classes, of which there are ``n_classes``.

    ``dates``: the numbers are days since 1970-01-01.
    """

    name: str
    low: float
    median: float
    high: float
    n_classes: int = 0
    dates: bool = False


@dataclass(frozen=True)
class Report:
    """Everything on the page.

    Attributes
    ----------
    estimator : str
        Name of its class.
    rows : (n,) array
        Numbers of the rows shown, in the order of the data.
    first_row : int
        The number of the first row of the data.
    n_equal : int
        Rows shown that a kernel of neighbours takes as one with an earlier row, which they equal; they lie at its place.
    n_left_out : int
        Rows of weight zero.
    row_names : tuple of str or None
    target : Classes, Values or None
        By which the points are coloured.
    target_name : str or None
    labels : tuple of str or None
        A label for every row, where it is not the name of its class.
    status : str
        Of the estimator.
    fits : tuple of Fit
        One, or one for every scale.
    n_points : int
        Points of each of them.
    tol : float
    symbol : str or None
        Symbol of the kernel's scale: σ, ℓ, k, or None where it has none.
    scale : float
        Bandwidth, length scale or number of neighbours; NaN where there is none.
    n_dimensions : int
        Of the embedding.
    shares : (r,) array
        Its eigenvalues, as parts of their sum.
    coordinates : (n, k) array
        The leading ones.
    axes : tuple of k str
        Names of the coordinates.
    up : int
        The coordinate that is drawn upwards, beside the first.
    picture : Picture or None
        What the page opens with, where the coordinates themselves are not the best picture.
    scores : (n,) array
        Outlier scores of the rows.
    columns : tuple of Column or None
        That were embedded; None for a kernel matrix or a graph.
    table : tuple of Column
        That the page describes: those that the user gives, which may be in other units, or else the embedded ones.
    fields : tuple of pairs
        Names, and Classes or Values, of columns by which rows are coloured, compared and described, beside the target.
    preparation : str or None
        A sentence on how the columns were prepared.
    parameters, versions : dict
    """

    title: str
    estimator: str
    rows: Array
    first_row: int
    n_equal: int
    n_left_out: int
    row_names: tuple[str, ...] | None
    target: Target | None
    target_name: str | None
    labels: tuple[str, ...] | None
    status: str
    fits: tuple[Fit, ...]
    n_points: int
    tol: float
    symbol: str | None
    scale: float
    n_dimensions: int
    shares: Array
    coordinates: Array
    axes: tuple[str, ...]
    up: int
    picture: Picture | None
    scores: Array
    columns: tuple[Column, ...] | None
    table: tuple[Column, ...]
    fields: Fields
    preparation: str | None
    parameters: dict[str, str]
    versions: dict[str, str]


def fitted(X_or_estimator: Any, random_state: Any) -> CertifiedEmbedding:
    """The given estimator, the last step of the given pipeline, or an estimator fitted to the given table."""
    given = X_or_estimator
    if not isinstance(given, BaseEstimator):
        return MultiscaleEmbedding(random_state=random_state).fit(given)
    while isinstance(given, Pipeline):
        given = given.steps[-1][1]
    if not isinstance(given, CertifiedEmbedding):
        raise TypeError(
            "`X_or_estimator` must be a table, a fitted MultiscaleEmbedding, SDPEmbedding or RKHSEmbedding, or a pipeline "
            f"that ends in one, got {given!r}."
        )
    check_is_fitted(given)
    return given


def earlier_steps(X_or_estimator: Any) -> str | None:
    """A sentence on the steps of a pipeline before its last."""
    names: list[str] = []
    while isinstance(X_or_estimator, Pipeline):
        *earlier, (_, last) = X_or_estimator.steps
        names += [type(step).__name__ for _, step in earlier if step not in (None, "passthrough")]
        X_or_estimator = last
    return f"Prepared by {', '.join(names)}, of which these columns are the result." if names else None


def collect(
    estimator: CertifiedEmbedding,
    *,
    y: Any = None,
    y_name: str | None = None,
    labels: Mapping | Sequence | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence | None = None,
    first_row: int = 0,
    row_numbers: Array | None = None,
    columns: Any = None,
    title: str | None = None,
    preparation: str | None = None,
) -> Report:
    """Check the arguments, and gather everything that the page shows.

    ``row_numbers`` are those of the rows where ``first_row`` does not tell them, because some rows were left out before.
    """
    _check_texts(title=title, preparation=preparation, y_name=y_name)
    check_integer("first_row", first_row, 0)
    n = len(estimator.embedding_)
    own = training_rows(estimator)
    rows, place = shown_rows(estimator)
    names = None if row_names is None else texts(check_target("row_names", row_names, n)[rows])
    target, per_row = check_labels(y, labels, n, rows)
    points = estimator.training_.points
    points = None if points is None else points[place]
    embedded = None if points is None else _columns(points, feature_names, estimator, first_row)
    if columns is not None:
        fields = given_fields(columns, n, rows)
    else:
        fields = () if embedded is None else embedded_fields(points, [column.name for column in embedded])
    return Report(
        title="Embedding report" if title is None else title,
        rows=rows + first_row if row_numbers is None else row_numbers[rows],
        first_row=first_row,
        n_equal=len(rows) - len(own),
        n_left_out=n - len(rows),
        row_names=names,
        target=target,
        target_name=_name_of(y) if y_name is None else y_name,
        labels=per_row,
        columns=embedded,
        table=embedded or () if columns is None else tuple(_described(*field) for field in fields),
        fields=fields,
        preparation=preparation,
        **_about_estimator(estimator),
        **_about_embedding(estimator, own, place),
    )


def _check_texts(**texts: Any) -> None:
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise TypeError(f"`{name}` must be a string, got {text!r}.")


def _about_estimator(estimator: Any) -> dict[str, Any]:
    """The fields of a report that depend on parameters and eigenvalues alone."""
    symbol, scale = _scale(estimator)
    total = estimator.eigenvalues_.sum()
    return {
        "estimator": type(estimator).__name__,
        "status": estimator.status_,
        "fits": fits_of(estimator),
        "tol": float(estimator.tol),
        "symbol": symbol,
        "scale": scale,
        # The sum vanishes for a constant kernel, which has no spectrum.
        "shares": estimator.eigenvalues_ / (total if total > 0 else 1.0),
        "parameters": {name: describe(value) for name, value in sorted(estimator.get_params(deep=False).items())},
        "versions": {"Python" if name == "python" else name: v or "unknown" for name, v in versions().items()},
    }


def _about_embedding(estimator: Any, rows: Array, place: Array) -> dict[str, Any]:
    """The fields of a report about coordinates. ``rows``: those of the points. ``place``: the point that each row is."""
    embedding = np.asarray(estimator.embedding_)[rows]
    coordinates = embedding[:, :_MAX_AXES]
    count = coordinates.shape[1]
    drawn = _picture(embedding)
    return {
        "n_points": len(rows),
        "n_dimensions": embedding.shape[1],
        "coordinates": coordinates[place],
        "axes": axis_names(count),
        "up": 1,
        "picture": None if drawn is None else replace(drawn, positions=drawn.positions[place]),
        "scores": outlier_scores(estimator)[place],
    }


def _picture(embedding: Array) -> Picture | None:
    """The picture of an embedding; None where the coordinates themselves are best.

    A sphere, which would have to be turned to be seen, gives way to a layout.
    """
    options = Options(len(embedding), embedding)
    drawn = picture(embedding, options)
    if drawn.view == "sphere":
        drawn = picture(embedding, options, "layout")
    if drawn.note is None or (drawn.view != "layout" and (len(drawn.columns) == 1 or max(drawn.columns) >= _MAX_AXES)):
        return None
    return drawn


def _columns(points: Array, given: Sequence[str] | None, estimator: CertifiedEmbedding, first: int) -> tuple[Column, ...]:
    """Name and range of every column. Columns without names are numbered from ``first``, as rows are."""
    p = points.shape[1]
    names = getattr(estimator, "feature_names_in_", [f"column {first + j}" for j in range(p)]) if given is None else given
    if len(names) != p:
        raise ValueError(f"`feature_names` must name {p} columns, got {len(names)} names.")
    low, median, high = _ranges(points)
    return tuple(
        Column(str(name), *values) for name, *values in zip(names, low.tolist(), median.tolist(), high.tolist(), strict=True)
    )


def _described(name: str, values: Target) -> Column:
    """A column that the user gives."""
    if isinstance(values, Classes):
        return Column(name, np.nan, np.nan, np.nan, len(values.names) - bool(values.rest) + values.rest)
    known = values.values[np.isfinite(values.values)]
    low, median, high = (known.min(), np.median(known), known.max()) if len(known) else [np.nan] * 3
    return Column(name, float(low), float(median), float(high), dates=values.dates)


def _ranges(points: Any) -> tuple[Array, Array, Array]:
    """The lowest, the median and the highest value of every column."""
    if not sparse.issparse(points):
        return points.min(axis=0), np.median(points, axis=0), points.max(axis=0)
    low, high = (np.asarray(values.toarray()).ravel() for values in (points.min(axis=0), points.max(axis=0)))
    below, above = (np.asarray((side).sum(axis=0)).ravel() for side in (points < 0, points > 0))
    half = points.shape[0] / 2
    median = np.zeros(points.shape[1])
    few = np.flatnonzero((below >= half) | (above >= half))  # the median of the others is zero
    for part in blocks(0, len(few), rows_per_block(points.shape[0])):
        median[few[part]] = np.median(points[:, few[part]].toarray(), axis=0)
    return low, median, high


def _name_of(y: Any) -> str | None:
    """The name of a pandas series."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else None


def _scale(estimator: Any) -> tuple[str | None, float]:
    """Symbol and value of the kernel's scale."""
    if getattr(estimator, "bandwidth_", None) is not None:
        return "σ", estimator.bandwidth_
    if has_neighbors(estimator):
        return "k", estimator.n_neighbors_
    return ("ℓ", estimator.length_scale_) if hasattr(estimator, "length_scale_") else (None, math.nan)
