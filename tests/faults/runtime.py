"""What surrounds a fit: threads, processes, global state, interruptions, callbacks that fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from sklearn.base import clone

from elliptope import SDPEmbedding
from faults.case import Case, Right

case = partial(Case, "runtime")
X = np.random.default_rng(0).standard_normal((40, 3))


def threads() -> list[np.ndarray]:
    est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)
    with ThreadPoolExecutor(8) as pool:
        return [est.transform(X), *pool.map(est.transform, [X] * 50)]


CASES = [
    case(
        "50 calls of transform in 8 threads",
        threads,
        Right("the same as one call", lambda outs: all((out == outs[0]).all() for out in outs)),
    ),
    case(
        "clone of a fitted estimator",
        lambda: clone(SDPEmbedding(bandwidth=1.5, tol=1e-5).fit(X)),
        Right("the same parameters, not fitted", lambda est: est.tol == 1e-5 and not hasattr(est, "embedding_")),
    ),
]
