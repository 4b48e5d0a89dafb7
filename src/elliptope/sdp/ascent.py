r"""Ascent methods: generators that walk over feasible points of one problem.

A method takes ``(problem, H, rng)`` and yields iterates, best last; the loop in :mod:`elliptope.sdp.solve` decides when to
stop. A new method is a new generator and an entry in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..operators.base import Array
from .problem import Iterate, Problem, normalize_rows, row_dots

Method = Callable[[Problem, Array, np.random.Generator], Iterator[Iterate]]

# A column is dropped when no row has more than this of its length in it; an error is repaired by the certificate.
_COMPRESSION = 0.05


def power(problem: Problem, H: Array, rng: np.random.Generator) -> Iterator[Iterate]:
    r"""The projected power method (Algorithm 1 of Fanuel et al.).

    .. math:: h_i \leftarrow (JH)_i / \lVert (JH)_i \rVert

    The objective never decreases when J is positive semi-definite. If the diagonal of J shows that it is not, the smallest
    multiple of the identity that makes every Gershgorin disc... is *not* added: the method is the paper's.
    """
    while True:
        iterate = problem.evaluate(H)
        yield iterate
        H = normalize_rows(iterate.G, rng)


def compress(H: Array, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns that no row uses."""
    _, V = np.linalg.eigh(H.T @ H)
    H = H @ V[:, ::-1]
    used = np.abs(H).max(axis=0) > _COMPRESSION
    used[0] = True
    return normalize_rows(H[:, used], rng)
