"""What a report says, before it becomes a page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._certified import CertifiedEmbedding
from .._checkpoint import describe
from .._checks import Array
from .._records import PathRecord
from .._target import Target, check_target
from ..embedding import SDPEmbedding
from .frames import other_bandwidths, path_around, turned_frames
from .labels import check_labels, texts

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "plotly")


@dataclass(frozen=True)
class Column:
    """A column of the data, in a few numbers."""

    name: str
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Report:
    """Everything on the page.

    Attributes
    ----------
    estimator : str
        Name of its class.
    rows : (n,) array
        Numbers of the rows shown, in the order of the data.
    n_left_out : int
        Rows of weight zero, or, with a neighbour kernel, equal to one that is shown.
    row_names : tuple of str or None
    target : Classes, Values or None
        What colours the points.
    labels : tuple of str or None
        A label for every row, where it is not the name of its class.
    fits : tuple of PathRecord
        In ascending order of bandwidth; ``fits[chosen]`` is the estimator itself.
    frames : (m, n, k) array
        Embeddings for all fits, turned so that rows move as little as possible from one to the next.
    spectra : (m, r) array
        Eigenvalues of all fits, as parts of their sum.
    symbol : str or None
        What the scale of the kernel is called: σ, ℓ, or None where it has none.
    tol : float
    scores : (n,) array
        Log density of the rows: low for outliers.
    columns : tuple of Column or None
        None for a kernel matrix or a graph.
    parameters, versions : dict
    """

    title: str
    estimator: str
    rows: Array
    n_left_out: int
    row_names: tuple[str, ...] | None
    target: Target | None
    labels: tuple[str, ...] | None
    fits: tuple[PathRecord, ...]
    chosen: int
    frames: Array
    spectra: Array
    symbol: str | None
    tol: float
    scores: Array
    columns: tuple[Column, ...] | None
    parameters: dict[str, str]
    versions: dict[str, str]


def fitted(X_or_estimator: Any, random_state: Any) -> CertifiedEmbedding:
    """The estimator, or the last step of the pipeline, that was given; or one fitted to the table that was given."""
    given = X_or_estimator
    if not isinstance(given, BaseEstimator):
        return SDPEmbedding(random_state=random_state).fit(given)
    while isinstance(given, Pipeline):
        given = given.steps[-1][1]
    if not isinstance(given, CertifiedEmbedding):
        raise TypeError(
            "`X_or_estimator` must be a table, a fitted SDPEmbedding or RKHSEmbedding, or a pipeline that ends in one, got "
            f"{given!r}."
        )
    check_is_fitted(given)
    return given


def collect(
    estimator: CertifiedEmbedding,
    *,
    y: Any = None,
    labels: Mapping | Sequence | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence | None = None,
    bandwidths: str | Iterable[float] | None = "auto",
    title: str | None = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> Report:
    """Check what was given, fit the path, and gather."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"`title` must be a string, got {title!r}.")
    n = len(estimator.embedding_)
    points, rows = _training_rows(estimator)
    names = None if row_names is None else texts(check_target("row_names", row_names, n)[rows])
    target, per_row = check_labels(y, labels, n, rows)
    columns = None if points is None else _columns(points, _feature_names(feature_names, estimator, points.shape[1]))
    path, chosen = path_around(
        estimator, points, rows, other_bandwidths(bandwidths, estimator), random_state=random_state, verbose=verbose
    )
    return Report(
        title="Embedding report" if title is None else title,
        estimator=type(estimator).__name__,
        rows=rows,
        n_left_out=n - len(rows),
        row_names=names,
        target=target,
        labels=per_row,
        fits=path.records,
        chosen=chosen,
        frames=turned_frames(path, chosen),
        spectra=path.spectra,
        symbol=_symbol(estimator),
        tol=float(estimator.tol),
        scores=_scores(estimator),
        columns=columns,
        parameters={name: describe(value) for name, value in sorted(estimator.get_params(deep=False).items())},
        versions=_versions(),
    )


def _training_rows(estimator: Any) -> tuple[Array | None, Array]:
    """Points that the estimator was fitted to (None for a kernel matrix or a graph), and the rows at which they stand."""
    extension, n = estimator._extension, len(estimator.embedding_)
    points, rows = extension.X, np.arange(n)
    if isinstance(estimator, SDPEmbedding):
        points, rows = extension.points, estimator._support
    if len(rows) != len(points):
        raise ValueError(
            f"`X_or_estimator` must have kept all rows, got {len(points)} points for {n} rows: it has merged equal rows, or "
            "left out rows of weight zero. Fit it to distinct rows with positive weights."
        )
    return (None if points.shape[1] == 0 else points), rows


def _scores(estimator: Any) -> Array:
    """``score_samples`` of the training points, of which an SDPEmbedding has kept the degrees."""
    extension = estimator._extension
    return np.log(extension.m) if isinstance(estimator, SDPEmbedding) else extension.log_mass(extension.X)


def _feature_names(given: Sequence[str] | None, estimator: CertifiedEmbedding, p: int) -> list[str]:
    if given is None:
        return [str(name) for name in getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(p)])]
    names = [str(name) for name in given]
    if len(names) != p:
        raise ValueError(f"`feature_names` must name {p} columns, got {len(names)} names.")
    return names


def _columns(points: Array, names: list[str]) -> tuple[Column, ...]:
    low, median, high = points.min(axis=0), np.median(points, axis=0), points.max(axis=0)
    return tuple(Column(*entry) for entry in zip(names, low.tolist(), median.tolist(), high.tolist(), strict=True))


def _symbol(estimator: CertifiedEmbedding) -> str | None:
    if getattr(estimator, "bandwidth_", None) is not None:
        return "σ"
    return "ℓ" if hasattr(estimator, "length_scale_") else None


def _versions() -> dict[str, str]:
    from .. import __version__  # not yet there when this module is imported

    found = {"elliptope": __version__, "Python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # installed by other means
            found[library] = "unknown"
    return found
