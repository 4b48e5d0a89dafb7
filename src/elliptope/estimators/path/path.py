r"""Embeddings along a path of bandwidths, every one with its certificate.

The program is solved from the largest σ, where it is easiest, to the smallest. Neighbouring optima are close to each other,
so that two of them point at the next.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.callers import underflows_to_zero, warn
from ..._utils.checks import check_callable, check_positive, check_verbose
from ..._utils.devices import find_device, on_cpu
from ..._utils.progress import ProgressBar
from ..._version import __version__
from ...kernels.choice import BUILT_IN
from ...sdp.steps import normalize_rows
from ..certified import ZERO_COLUMNS
from ..data import validate_rows
from ..sdp_embedding import SDPEmbedding
from .checkpoint import Checkpoint, describe
from .records import BandwidthPath, PathRecord, align, widen

# Entries of the spare column of a warm start.
_PERTURBATION = 0.03
# Parameters that have no influence on the results.
_IMMATERIAL = ("bandwidth", "n_jobs", "device", "verbose")
# Bandwidths that a warning names for each status.
_NAMED = 5

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
    messages = []
    if path.missing:
        remedy = "call again with the same `checkpoint` to go on" if checkpoint else "with a `checkpoint` it could go on"
        messages.append(f"ended early, bandwidths missing: {len(path.missing)}; {remedy}.")
    messages += shortcomings(path.records)
    if messages:
        warn("bandwidth_path: " + " ".join(messages), ConvergenceWarning)
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
    file = None if checkpoint is None else Checkpoint(checkpoint, _fingerprint(X, w, estimator), len(X))
    found = {} if file is None else {record.bandwidth: record for record in file.read()}
    done = {sigma: found[sigma] for sigma in values if sigma in found}
    order = sorted(set(values), reverse=True)
    bar = ProgressBar(len(order), bool(verbose))
    if file is not None and done:
        bar.update(len(done), f"from {file.path}")
    try:
        for sigma in order:
            if sigma in done:
                continue
            record = _solve(estimator, X, w, sigma, [done[s] for s in order if s > sigma], max_products)
            done[sigma] = found[sigma] = record
            if file is not None:
                file.write(found.values())
            bar.update(len(done), str(record))
            if callback is not None and callback(record):
                break
    except KeyboardInterrupt:
        if not done:
            raise
    finally:
        bar.close()
    missing = tuple(sigma for sigma in values if sigma not in done)
    return BandwidthPath(tuple(done[sigma] for sigma in values if sigma in done), missing, w)


def _solve(
    estimator: SDPEmbedding, X: Array, w: Array, sigma: float, larger: Sequence[PathRecord], max_products: int | None
) -> PathRecord:
    """Fit at σ, given the records at the ``larger`` bandwidths, in descending order."""
    est = clone(estimator).set_params(bandwidth=sigma)
    est._max_products = max_products
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there will be one for the whole path
        warnings.filterwarnings("ignore", ZERO_COLUMNS)
        est.fit(X, sample_weight=w, start=_predict(larger[-2:], sigma, w))
    if est.status_ == "interrupted":  # the fit has caught Ctrl-C, which was meant for the path
        raise KeyboardInterrupt
    return PathRecord(
        bandwidth=sigma,
        embedding=est.embedding_,
        factor=est._extension_of(X),  # all components, whatever `n_components` and `normalize` show of them
        eigenvalues=est.eigenvalues_,
        certificate=est.certificate_,
        status=est.status_,
        n_iter=est.n_iter_,
        n_products=est.n_products_,
        seconds=time.perf_counter() - begin,
    )


def _predict(larger: Sequence[PathRecord], sigma: float, w: Array) -> Array | None:
    r"""A start for σ from the optima at up to two larger bandwidths, σ₁ > σ₂ > σ; None for a cold one.

    With unit rows H₁, turned onto H₂, and a step that is never longer than the one before,

    .. math:: H = H_2 + t\,(H_2 - H_1), \qquad t = \min\Big(1, \frac{\log \sigma_2/\sigma}{\log \sigma_1/\sigma_2}\Big),

    and a column of small random entries: with a column to spare a second-order critical point is optimal, and without one
    the solver would widen H to make sure.
    """
    if not larger or not larger[-1].factor.any():  # a constant kernel has no directions
        return None
    rng = np.random.default_rng(0)  # decides nothing but how soon the optimum is found
    H = normalize_rows(larger[-1].factor, rng)
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


def _fingerprint(X: Array, w: Array, estimator: SDPEmbedding) -> dict[str, str]:
    """All that the records of a path depend on."""
    parameters = {k: describe(v) for k, v in estimator.get_params().items() if k not in _IMMATERIAL}
    return {"X": describe(X), "sample_weight": describe(w), "elliptope.__version__": __version__, **parameters}


def shortcomings(records: Sequence[PathRecord]) -> list[str]:
    """A sentence for every status but "optimal"."""
    messages = []
    for status in sorted({record.status for record in records} - {"optimal"}):
        sigmas = [f"{record.bandwidth:.6g}" for record in records if record.status == status]
        named = ", ".join(sigmas[:_NAMED]) + (", …" if len(sigmas) > _NAMED else "")
        messages.append(
            f"status {status!r} at {len(sigmas)} of {len(records)} bandwidths (σ = {named}): fit SDPEmbedding at one of "
            f"them to be told why, and what to change."
        )
    return messages
