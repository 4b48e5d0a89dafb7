r"""Embeddings along a path of spreads, every one with its certificate: from the diffusion kernel to the paper's program.

Kernel and cost are the same for all of them. The programs are solved from the largest η to the smallest, so that columns
vanish on the way: a start has all that its optimum needs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sklearn.base import clone

from ..._utils.arrays import Array
from ..._utils.callers import underflows_to_zero
from ..._utils.checks import check_callable, check_non_negative, check_verbose
from ..pose import pose
from ..sdp_embedding import SDPEmbedding
from .checkpoint import Checkpoint
from .records import PathRecord, SpreadPath
from .walk import fingerprint, record_of, start_from, walk, warn_of_shortcomings


@underflows_to_zero
def spread_path(
    X: Any,
    spreads: Iterable[float],
    *,
    sample_weight: Array | None = None,
    checkpoint: str | os.PathLike | None = None,
    callback: Callable[[PathRecord], Any] | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> SpreadPath:
    r"""The embedding at every spread, with its spectrum and its certificate.

    As if :class:`~elliptope.SDPEmbedding` were fitted at every η, but cheaper: the kernel is computed once, and each fit
    starts from the one before it. The optimum does not depend on the start.

    Parameters
    ----------
    X : (n, p) array, or what ``fit`` takes with that ``kernel``
    spreads : iterable of float
        η ≥ 0, or infinite, in any order. Results come back in that order; a value given twice is solved once.
    sample_weight : (n,) array, optional
    checkpoint : path, optional
        File that is brought up to date after every spread. If it exists, the spreads in it are not solved again; others
        may be asked for than were before. It must stem from the same X, weights, parameters and version. Of callables the
        name is compared, not what they do.
    callback : callable, optional
        Called with every :class:`PathRecord` that is solved; a true return value stops the path.
    verbose : bool
        A line per spread on standard error; on a terminal, a progress bar.
    **parameters
        Parameters of :class:`~elliptope.SDPEmbedding` other than ``spread``.

    Returns
    -------
    SpreadPath
        Ctrl-C (or ``callback``) ends a path early: the spreads done are returned, the others listed as ``missing``.

    Warns
    -----
    ConvergenceWarning
        Once, if some records are not ``"optimal"`` or the path was ended early.

    Examples
    --------
    >>> import numpy as np
    >>> from elliptope import spread_path
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> path = spread_path(X, [0.1, 1.0, np.inf], bandwidth=1.0, random_state=0)
    >>> [record.embedding.shape[1] for record in path.records]
    [2, 7, 49]
    """
    values = _check_spreads(spreads)
    check_callable("callback", callback)
    check_verbose(verbose)
    if "spread" in parameters:
        raise TypeError("`spread` is what varies along the path: pass its values as `spreads`.")
    estimator = SDPEmbedding(**parameters)
    estimator._check_parameters()
    posed = pose(X, sample_weight, estimator)
    rows, w = posed.given.X, posed.given.w
    file = None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, fingerprint("spread", rows, w, estimator), rows.shape[0])

    def solve(eta: float, larger: Sequence[PathRecord]) -> PathRecord:
        est = clone(estimator).set_params(spread=eta)
        # To extrapolate from two saves nothing. From many columns the few of the paper's program are not found faster.
        start = start_from(larger[-1]) if larger and eta else None
        return record_of(est, lambda: est._fit_posed(posed, start), lambda: est._components_at(posed), eta)

    path = SpreadPath(*walk("spread", values, solve, file, callback, verbose), w)
    warn_of_shortcomings(path, checkpoint)
    return path


def _check_spreads(spreads: Iterable[float]) -> list[float]:
    """The values along a path: at least one, none of them negative."""
    try:
        values = list(spreads)
    except TypeError:
        raise ValueError(f"`spreads` must be a sequence of numbers from 0 to infinity, got {spreads!r}.") from None
    if not values:
        raise ValueError("`spreads` must hold at least 1 value, got none.")
    return [math.inf if value == math.inf else check_non_negative(f"spreads[{i}]", value) for i, value in enumerate(values)]
