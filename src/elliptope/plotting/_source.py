"""What displays are made of: from fitted estimators, pipelines that end in one, rows and data frames."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from ..estimators.diffusion_map import DiffusionMap
from ..kernels.choice import find_kernel
from ..sdp.verdict import one_line

# Parameters that a title names, where the estimator has chosen or taken one.
_SCALES = {"bandwidth_": "σ", "length_scale_": "ℓ"}


@dataclass(frozen=True)
class Source:
    """What is known of the last step of a fitted estimator.

    ``complete``: the eigenvalues are all there are, so that their shares of the sum mean something.
    """

    step: Any
    name: str
    verdict: str | None
    symbol: str | None
    eigenvalues: Array | None
    complete: bool

    def axis_label(self, k: int) -> str:
        """Name of coordinate k, with the share of its eigenvalue."""
        name = f"component {k + 1}" if self.symbol is None else f"${self.symbol}_{{{k + 1}}}$"
        if self.eigenvalues is None:
            return name
        value = float(self.eigenvalues[k]) if k < len(self.eigenvalues) else 0.0
        if not self.complete:
            return f"{name} (λ = {value:.3g})"
        total = float(self.eigenvalues.sum())
        return f"{name} ({value / total if total > 0 else 0.0:.1%})"


def open_estimator(estimator: Any) -> Source:
    """Check that ``estimator`` is fitted, and gather what is known of its last step."""
    step = estimator
    while isinstance(step, Pipeline):
        step = step.steps[-1][1]
    if not hasattr(step, "fit_transform"):
        raise TypeError(f"`estimator` must be an embedding, or a Pipeline that ends in one, got {estimator!r}.")
    check_is_fitted(step)
    certified = hasattr(step, "certificate_")
    eigenvalues = getattr(step, "eigenvalues_", None)
    return Source(
        step=step,
        name=_name(step),
        verdict=one_line(step.status_, *getattr(step, "certificates_", (step.certificate_,))) if certified else None,
        symbol=r"\chi" if certified else r"\psi" if isinstance(step, DiffusionMap) else None,
        eigenvalues=None if eigenvalues is None else np.asarray(eigenvalues),
        complete=certified,
    )


def of_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    y_name: str | None = None,
    new: Any = None,
    new_y: Any = None,
    categorical: bool | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Arguments of the constructor of ``EmbeddingDisplay``, for the parameters of ``EmbeddingDisplay.from_estimator``."""
    source = open_estimator(estimator)
    if X is None and not hasattr(source.step, "embedding_"):
        raise ValueError(f"`X` must be given: {type(source.step).__name__} does not keep its training embedding.")
    if (X is not None or new is not None) and not hasattr(source.step, "transform"):
        raise ValueError(f"`X` and `new` must be left out: {type(source.step).__name__} embeds no rows after `fit`.")
    Z = np.asarray(source.step.embedding_ if X is None else estimator.transform(features(estimator, X)))
    if isinstance(y, str | Integral):
        y_name = column_name(y) if y_name is None else y_name
        new_y = column(estimator, new, y, "new") if new is not None and new_y is None else new_y
        y = column(estimator, X, y, "X")
    return {
        "embedding": Z,
        "y": y,
        "y_name": y_name,
        "new": None if new is None else np.asarray(estimator.transform(features(estimator, new))),
        "new_y": new_y,
        "categorical": categorical,
        "name": source.name if name is None else name,
        "verdict": source.verdict,
        "axis_labels": [source.axis_label(k) for k in range(Z.shape[1])],
        "reference": getattr(source.step, "embedding_", None),
    }


def of_frame(embedding: Any, y: Any) -> tuple[Array, Any]:
    """Coordinates and colours: where y is a string, of a data frame that holds both."""
    if not isinstance(y, str):
        return embedding, y
    names = list(getattr(embedding, "columns", ()))
    if y not in names:
        raise ValueError(f"`y` must be an array, or a column of a data frame `embedding` with one of {names}, got {y!r}.")
    return embedding[[name for name in names if name != y]], embedding[y]


def rows_of_last_step(estimator: Any, X: Any) -> Any:
    """``X`` as the last step of a pipeline sees it."""
    while isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator.steps[-1][1]
    return X


def features(estimator: Any, X: Any) -> Any:
    """Of a data frame, the columns that ``estimator`` was fitted to; all else as it is."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not set(names) <= set(getattr(X, "columns", ())):
        return X
    return X[list(names)]


def column(estimator: Any, X: Any, which: Any, name: str) -> Any:
    """The column ``which``, a name or an index, of the rows X, or their log density; ``name`` is the parameter that X is."""
    if which == "density" and not hasattr(estimator, "score_samples"):
        raise ValueError(f"`y`='density' needs an estimator with `score_samples`, got {estimator!r}.")
    if which == "density" and X is None:
        step = open_estimator(estimator).step
        if len(step.training_.rows) < len(step.embedding_):
            raise ValueError("`X` must be given for `y`='density': there are equal rows, or rows of weight zero.")
        return step.training_.in_order(step.training_.log_density)
    if X is None:
        raise ValueError(f"`X` must be given for `y`={which!r}, a column of it.")
    try:
        if which == "density":
            return estimator.score_samples(features(estimator, X))
        return np.asarray(_safe_indexing(X, which, axis=1))
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"`y` must be an array, 'density', or a column of `{name}`, got {which!r}.") from error


def column_name(which: Any) -> str:
    if which == "density":
        return "log density"
    return which if isinstance(which, str) else f"column {which}"


def _name(step: Any) -> str:
    name = type(step).__name__
    for attribute, symbol in _SCALES.items():
        scale = getattr(step, attribute, None)
        if scale is not None:
            name += f", {symbol} = {scale:.4g}"
    rule = find_kernel(getattr(step, "kernel", None))
    if rule is not None and rule.scale_parameter == "n_neighbors":
        name += f", {step.n_neighbors_} neighbours"
    return name
