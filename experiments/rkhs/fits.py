"""One fit, and the row of a table that says how it ended."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from elliptope import RKHSEmbedding

from .matrices import gain_scale, matern_matrix
from .rows import Row

# Shares of the spectrum that a row keeps.
_SHARES = 6


def fit(
    X: np.ndarray,
    nu: float,
    regularization: float | str,
    length_scale: float | str,
    *,
    relative: bool = False,
    **parameters: Any,
) -> tuple[RKHSEmbedding | None, Row]:
    """The embedding with Matérn order ν = s - p/2, or None where K is numerically singular, and its row.

    No jitter is added in that case: it would change the problem whose constraints are measured. How a solve ended is part of
    the row, so its warning is not shown. ``relative``: λ is given in units of :func:`~.matrices.gain_scale`.
    """
    if relative:
        regularization *= gain_scale(matern_matrix(X, nu, length_scale))
    estimator = RKHSEmbedding(
        smoothness=X.shape[1] / 2 + nu,
        length_scale=length_scale,
        regularization=regularization,
        random_state=0,
        **parameters,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            estimator.fit(X)
        except ValueError as error:
            if "numerically singular" not in str(error):
                raise
            return None, {"status": "singular"}
    return estimator, describe(estimator, len(X))


def describe(estimator: RKHSEmbedding, n: int) -> Row:
    r"""How the solve ended and what it found; objective :math:`= f_n - \lambda\operatorname{Tr}\mathbb B`, per n²."""
    certificate = estimator.certificate_
    objective = certificate.objective / n**2
    penalty = estimator.regularization_ * estimator.trace_
    shares = estimator.eigenvalues_ / estimator.eigenvalues_.sum()
    return {
        "status": estimator.status_,
        "grade": certificate.grade,
        "relative_gap": certificate.relative_gap,
        "iterations": estimator.n_iter_,
        "lambda": estimator.regularization_,
        "scale": estimator.length_scale_,
        "objective": objective,
        "f_n": objective + penalty,
        "penalty": penalty,
        "trace": estimator.trace_,
        "rank": len(shares),
        **{f"share_{k + 1}": share for k, share in enumerate(np.append(shares, np.zeros(_SHARES))[:_SHARES])},
    }
