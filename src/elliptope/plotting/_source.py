"""What displays are made of: from fitted estimators, pipelines that end in one, and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
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
    Z = np.asarray(source.step.embedding_ if X is None else estimator.transform(X))
    return {
        "embedding": Z,
        "y": y,
        "y_name": y_name,
        "new": None if new is None else np.asarray(estimator.transform(new)),
        "new_y": new_y,
        "categorical": categorical,
        "name": source.name if name is None else name,
        "verdict": source.verdict,
        "axis_labels": [source.axis_label(k) for k in range(Z.shape[1])],
        "reference": getattr(source.step, "embedding_", None),
    }


def rows_of_last_step(estimator: Any, X: Any) -> Any:
    """``X`` as the last step of a pipeline sees it."""
    while isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator.steps[-1][1]
    return X


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
