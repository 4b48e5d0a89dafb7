"""How far rows are from all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array

# Weight of the log density beside the log distance. With 0, rows between two groups go unseen; on four data sets 0.25 finds
# these as well as 0.5, up to 0.02 of the area under the ROC curve, and small groups far from all others better.
_SHARE_OF_DENSITY = 0.25


def outlier_scores(est: Any, X: Any = None) -> Array:
    r"""Scores of the rows of X, or of the training points in their order: high for outliers, 0 for the median of these.

    Minus the log density. With a kernel of neighbours :math:`\log s(x) - \frac14 \min(\log m(x), c)`, s being the distance
    to the ``n_neighbors``-th nearest point, m the density and c the median of log m over the training points: the density
    alone does not tell how far the neighbours are, and the distance alone misses rows between two groups. A density above
    the median lowers no score, because it is high in any group whose points share their neighbours, near the others or not.
    """
    training, kernel = est.training_, est.training_.extension.kernel

    def score(log_scales: Any, log_density: Array) -> Array:
        if not kernel.is_sparse:
            return log_scales - log_density
        return log_scales - _SHARE_OF_DENSITY * np.minimum(log_density, np.median(training.log_density))

    fitted = score(kernel.log_scales(), training.log_density)
    scores = fitted if X is None else score(kernel.log_scales(X), est.score_samples(X))
    return scores - np.median(fitted)


def training_scores(est: Any, X: Any) -> Array:
    """Scores of the rows of X, to which ``est`` was fitted; computed again where some of them are one point."""
    training = est.training_
    return training.in_order(outlier_scores(est)) if len(training.rows) == X.shape[0] else outlier_scores(est, X)
