r"""Embeddings along a path of bandwidths, every one with its certificate.

The program is solved from the largest σ, where it is easiest, to the smallest. Neighbouring optima are close to each other,
so that two of them point at the next.
"""

from __future__ import annotations

import math
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
from ...kernels.choice import BUILT_IN
from ...sdp.steps import normalize_rows
from ..certified import ZERO_COLUMNS
from ..data import validate_rows
from ..outliers import outlier_scores
from ..sdp_embedding import SDPEmbedding
from .records import PLURALS, SYMBOLS, BandwidthPath, PathRecord, align, widen

# Entries of the spare column of a warm start.
_PERTURBATION = 0.03
# Values that a warning names for each status.
_NAMED = 5

__all__ = ["BandwidthPath", "PathRecord", "bandwidth_path"]


@underflows_to_zero
def bandwidth_path(
    X: Array,
    bandwidths: Iterable[float],
    *,
    sample_weight: Array | None = None,
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
    path = follow_path(X, bandwidths, parameters, sample_weight=sample_weight, callback=callback, verbose=verbose)
    messages = [f"ended early, bandwidths missing: {len(path.missing)}."] if path.missing else []
    messages += shortcomings("bandwidth", path.records)
    if messages:
        warn("bandwidth_path: " + " ".join(messages), ConvergenceWarning)
    return path


def follow_path(
    X: Array,
    bandwidths: Iterable[float],
    parameters: dict[str, Any],
    *,
    sample_weight: Array | None = None,
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

    def solve(sigma: float, larger: Sequence[PathRecord]) -> PathRecord:
        est = clone(estimator).set_params(bandwidth=sigma)
        est._max_products = max_products
        start = _predict(larger[-2:], sigma, w)
        # All components, whatever `n_components` and `normalize` show of them.
        return record_of(est, lambda: est.fit(X, sample_weight=w, start=start), lambda: est._extension_of(X))

    records, missing = walk(values, solve, callback, verbose)
    return BandwidthPath(records, missing, w)


def walk(
    values: list[float],
    solve: Callable[[float, Sequence[PathRecord]], PathRecord],
    callback: Callable[[PathRecord], Any] | None,
    verbose: bool,
) -> tuple[tuple[PathRecord, ...], tuple[float, ...]]:
    """Records at the values, in their order, and the values that an interrupted path has not come to.

    ``solve`` is given a value and the records at larger ones, in descending order.
    """
    done: dict[float, PathRecord] = {}
    order = sorted(set(values), reverse=True)
    bar = ProgressBar(len(order), bool(verbose))
    try:
        for value in order:
            done[value] = record = solve(value, list(done.values()))
            bar.update(len(done), str(record))
            if callback is not None and callback(record):
                break
    except KeyboardInterrupt:
        if not done:
            raise
    finally:
        bar.close()
    records = tuple(done[value] for value in values if value in done)
    return records, tuple(value for value in values if value not in done)


def record_of(est: SDPEmbedding, fit: Callable[[], Any], factor: Callable[[], Array]) -> PathRecord:
    """The record of a fit of ``est``; ``factor`` gives all components at all rows."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there will be one for the whole path
        warnings.filterwarnings("ignore", ZERO_COLUMNS)
        fit()
    if est.status_ == "interrupted":  # the fit has caught Ctrl-C, which was meant for the path
        raise KeyboardInterrupt
    return PathRecord(
        bandwidth=math.nan if est.bandwidth_ is None else est.bandwidth_,
        embedding=est.embedding_,
        factor=factor(),
        eigenvalues=est.eigenvalues_,
        certificate=est.certificate_,
        status=est.status_,
        n_iter=est.n_iter_,
        n_products=est.n_products_,
        seconds=time.perf_counter() - begin,
        outlier_scores=est.training_.in_order(outlier_scores(est)),
    )


def shortcomings(parameter: str, records: Sequence[PathRecord]) -> list[str]:
    """A sentence for every status but "optimal"."""
    messages = []
    for status in sorted({record.status for record in records} - {"optimal"}):
        values = [f"{getattr(record, parameter):.6g}" for record in records if record.status == status]
        named = ", ".join(values[:_NAMED]) + (", …" if len(values) > _NAMED else "")
        messages.append(
            f"status {status!r} at {len(values)} of {len(records)} {PLURALS[parameter]} ({SYMBOLS[parameter]} = {named}): "
            f"a fit at one of them says why, and what to change."
        )
    return messages


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
    H = normalize_rows(larger[-1].factor, np.random.default_rng(0))
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
