"""From estimators, rows and data frames to what an EmbeddingDisplay is made of."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ._source import column, column_name, features, open_estimator


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
    """Arguments of the constructor, for the parameters of ``EmbeddingDisplay.from_estimator``."""
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
