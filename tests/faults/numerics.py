"""Numbers at the ends of their range, and data without structure: the result is right, or a warning says what to do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from elliptope import RKHSEmbedding, SDPEmbedding
from faults.case import Case, Right, Warned

case = partial(Case, "numerics")
X = np.random.default_rng(0).standard_normal((40, 3))


def fitted(data: Any, sample_weight: Any = None, **parameters: Any) -> SDPEmbedding:
    return SDPEmbedding(**{"random_state": 0, **parameters}).fit(data, sample_weight=sample_weight)


def gram(est: Any) -> np.ndarray:
    return est.embedding_ @ est.embedding_.T


def same_gram(est: Any, bandwidth: float = 1.5, **parameters: Any) -> None:
    """B is that of the data as they are, at the bandwidth that corresponds."""
    np.testing.assert_allclose(gram(est), gram(fitted(X, bandwidth=bandwidth, **parameters)), atol=2e-5)


CASES = [
    case(
        "points that are all identical, σ given",
        lambda: fitted(np.full((30, 3), 2.5), bandwidth=1.0),
        Warned(
            "status 'degenerate'.*decrease `bandwidth`, or check that the points differ",
            lambda est: not est.embedding_.any(),
        ),
    ),
    case(
        "data shifted by 1e8",
        lambda: fitted(X + 1e8, bandwidth=1.5),
        Right("the embedding of the data as they are", same_gram),
    ),
    case(
        "RKHSEmbedding at a length scale at which no point sees another",
        lambda: RKHSEmbedding(length_scale=3.0).fit(np.eye(20)),
        Right("embedding of 20 points", lambda est: np.isfinite(est.embedding_).all()),
        pending="LinAlgError: Internal Error.",
    ),
]
