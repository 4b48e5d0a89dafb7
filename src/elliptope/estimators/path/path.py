r"""Embeddings along a path of bandwidths, every one with its certificate.

The program is solved from the largest σ, where it is easiest, to the smallest. Neighbouring optima are close to each other,
so that two of them point at the next.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._utils.arrays import Array
from ..._utils.callers import underflows_to_zero
from ..._utils.checks import check_callable, check_positive, check_verbose
from ..._utils.devices import find_device, on_cpu
from ...kernels.choice import BUILT_IN
from ...sdp.steps import normalize_rows
from ..data import validate_rows
from ..sdp_embedding import SDPEmbedding
from .checkpoint import Checkpoint
from .records import BandwidthPath, PathRecord, align, widen
from .walk import fingerprint, record_of, start_from, walk, warn_of_shortcomings

# Entries of the spare column of a warm start.
_PERTURBATION = 0.03

__all__ = ["BandwidthPath", "PathRecord", "bandwidth_path"]


@underflows_to_zero
def bandwidth_path(
    X: Array,
    bandwidths: Iterable[float],
    *,
    sample_weight: Array | None = None,
    checkpoint: str | os.PathLike | None = None,
    callback: Callable[[PathRecord], Any] | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> BandwidthPath:
    r"""The embedding at every bandwidth, with its spectrum and its certificate.

    As if :class:`~elliptope.SDPEmbedding` were fitted at every σ, but cheaper: each fit starts from where the two before it
    point. The optimum does not depend on the start.

    Parameters
    ----------
    X : (n, p) array
    bandwidths : iterable of float
        σ > 0, in any order. Results come back in that order; a value given twice is solved once.
    sample_weight : (n,) array, optional
    checkpoint : path, optional
        File that is brought up to date after every bandwidth. If it exists, the bandwidths in it are not solved
        again; others may be asked for than were before. It must stem from the same X, weights, parameters and version. Of
        a callable ``diagonal`` the name is compared, not what it does.
    callback : callable, optional
        Called with every :class:`PathRecord` that is solved; a true return value stops the path.
    verbose : bool
        A line per bandwidth on standard error; on a terminal, a progress bar.
    **parameters
        Parameters of :class:`~elliptope.SDPEmbedding` other than ``bandwidth``, as scikit-learn's ``lasso_path`` takes those
        of its solver. ``kernel`` must be one that has a bandwidth.

    Returns
    -------
    BandwidthPath
        Ctrl-C (or ``callback``) ends a path early: the bandwidths done are returned, the others listed as ``missing``.

    Warns
    -----
    ConvergenceWarning
        Once, if some records are not ``"optimal"`` or the path was ended early.

    Examples
    --------
    >>> import numpy as np
    >>> from elliptope import bandwidth_path
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> path = bandwidth_path(X, [1.0, 2.0, 4.0], random_state=0)
    >>> path.aligned.shape, path.spectra.sum(axis=1)
    ((3, 50, 2), array([1., 1., 1.]))
    """
    path = follow_path(
        X, bandwidths, parameters, sample_weight=sample_weight, checkpoint=checkpoint, callback=callback, verbose=verbose
    )
    warn_of_shortcomings(path, checkpoint)
    return path


def follow_path(
    X: Array,
    bandwidths: Iterable[float],
    parameters: dict[str, Any],
    *,
    sample_weight: Array | None = None,
    checkpoint: str | os.PathLike | None = None,
    callback: Callable[[PathRecord], Any] | None = None,
    verbose: bool = False,
    max_products: int | None = None,
) -> BandwidthPath:
    """:func:`bandwidth_path` without its warning. A fit that has spent ``max_products`` ends with the status "max_iter"."""
    values = check_bandwidths(bandwidths)
    check_callable("callback", callback)
    check_verbose(verbose)
    estimator = _check_estimator(parameters)
    if estimator.device is None and (own := find_device(None, X)) is not None:
        estimator.set_params(device=str(own))
    given = validate_rows(on_cpu(X), on_cpu(sample_weight), estimator)
    X, w = given.X, given.w
    file = None if checkpoint is None else Checkpoint(checkpoint, fingerprint("bandwidth", X, w, estimator), len(X))

    def solve(sigma: float, larger: Sequence[PathRecord]) -> PathRecord:
        est = clone(estimator).set_params(bandwidth=sigma)
        est._max_products = max_products
        start = _predict(larger[-2:], sigma, w)
        # All components, whatever `n_components` and `normalize` show of them.
        return record_of(est, lambda: est.fit(X, sample_weight=w, start=start), lambda: est._extension_of(X))

    records, missing = walk("bandwidth", values, solve, file, callback, verbose)
    return BandwidthPath(records, missing, w)


def _predict(larger: Sequence[PathRecord], sigma: float, w: Array) -> Array | None:
    r"""A start for σ from the optima at up to two larger bandwidths, σ₁ > σ₂ > σ; None for a cold one.

    With unit rows H₁, turned onto H₂, and a step that is never longer than the one before,

    .. math:: H = H_2 + t\,(H_2 - H_1), \qquad t = \min\Big(1, \frac{\log \sigma_2/\sigma}{\log \sigma_1/\sigma_2}\Big),

    and a column of small random entries: with a column to spare a second-order critical point is optimal, and without one
    the solver would widen H to make sure.
    """
    H = start_from(larger[-1]) if larger else None
    if H is None:
        return None
    rng = np.random.default_rng(0)  # decides nothing but how soon the optimum is found
    if len(larger) == 2:
        width = max(record.factor.shape[1] for record in larger)
        before, H = widen(normalize_rows(larger[0].factor, rng), width), widen(H, width)
        step, last = math.log(larger[1].bandwidth / sigma), math.log(larger[0].bandwidth / larger[1].bandwidth)
        t = step / last if step < last else 1.0
        H = normalize_rows(H + t * (H - align(before, H, w)), rng)
    return np.hstack([H, _PERTURBATION * rng.standard_normal((len(H), 1))])


def check_bandwidths(bandwidths: Iterable[float]) -> list[float]:
    """The values along a path: at least one, positive and finite all of them."""
    try:
        values = list(bandwidths)
    except TypeError:
        raise ValueError(f"`bandwidths` must be a sequence of positive numbers, got {bandwidths!r}.") from None
    if not values:
        raise ValueError("`bandwidths` must hold at least 1 value, got none.")
    return [check_positive(f"bandwidths[{i}]", value) for i, value in enumerate(values)]


def _check_estimator(parameters: dict[str, Any]) -> SDPEmbedding:
    if "bandwidth" in parameters:
        raise TypeError("`bandwidth` is what varies along the path: pass its values as `bandwidths`.")
    estimator = SDPEmbedding(**parameters)
    if not (isinstance(estimator.kernel, str) and estimator.kernel in BUILT_IN):
        names = ", ".join(map(repr, BUILT_IN))
        raise ValueError(f"`kernel` must be one of {names}, which have a bandwidth to vary, got {estimator.kernel!r}.")
    return estimator
