"""The method of the paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...operators.base import Array
from ..problem import Iterate, Problem, normalize_rows


def power(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""The projected power method (Algorithm 1 of Fanuel et al.).

    .. math:: h_i \leftarrow (JH)_i / \lVert (JH)_i \rVert

    The objective never decreases when J is positive semi-definite.
    """
    while True:
        iterate = problem.evaluate(H)
        yield iterate
        # A zero row has no direction of ascent; the paper restarts it at random.
        H = normalize_rows(iterate.P + problem.diagonal[:, None] * iterate.H, rng)
