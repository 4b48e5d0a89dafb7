r"""Embeddings along a path of bandwidths, every one with its certificate.

The program is solved from the largest σ, where it is easiest, to the smallest. Neighbouring optima are close to each other,
so that two of them point at the next.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.callers import underflows_to_zero, warn
from .._utils.checks import check_callable, check_positive, check_verbose, listing
from .._utils.devices import find_device, on_cpu
from .._utils.progress import ProgressBar
from .._utils.rounding import round_up
from ..kernels.choice import BUILT_IN
from ..sdp import Certificate
from ..sdp.steps import normalize_rows
from .certified import ZERO_COLUMNS
from .data import Rows, validate_rows
from .sdp_embedding import SDPEmbedding

# Entries of the spare column of a warm start.
_PERTURBATION = 0.03
# Values that a warning names for each status.
_NAMED = 5

__all__ = ["BandwidthPath", "PathRecord", "bandwidth_path"]


@dataclass(frozen=True, eq=False, repr=False)
class PathRecord:
    """The optimum at one bandwidth.

    Attributes
    ----------
    bandwidth : float
    embedding : (n, n_components) array
        As :class:`~elliptope.SDPEmbedding` gives it: the columns are eigenvectors.
    factor : (n, rank) array
        All components, neither truncated nor normalised: :math:`B_\\star` = factor · factorᵀ.
    eigenvalues : (rank,) array
        Non-zero eigenvalues of B⋆ on L²(w), descending.
    certificate : Certificate
    status : {"optimal", "degenerate", "unconfirmed", "max_iter"}
    n_iter, n_products : int
    seconds : float
        Wall-clock time of the fit.
    """

    bandwidth: float
    embedding: Array
    factor: Array
    eigenvalues: Array
    certificate: Certificate
    status: str
    n_iter: int
    n_products: int
    seconds: float

    def __str__(self) -> str:
        c = self.certificate
        return (
            f"σ = {self.bandwidth:.6g}  {self.status}  gap {round_up(c.relative_gap)} ({c.grade})  "
            f"rank {len(self.eigenvalues)}  products {self.n_products}  {self.seconds:.2f} s"
        )

    def __repr__(self) -> str:
        return f"PathRecord({self})"


@dataclass(frozen=True, eq=False, repr=False)
class BandwidthPath:
    """What :func:`bandwidth_path` returns.

    Attributes
    ----------
    records : tuple of PathRecord
        In the order in which the bandwidths were given.
    missing : tuple of float
        Bandwidths that an interrupted path has not come to; empty otherwise.
    weights : (n,) array
        The sample weights w.
    bandwidths, spectra, aligned
        Arrays with a row, or a matrix, per record.
    """

    records: tuple[PathRecord, ...]
    missing: tuple[float, ...]
    weights: Array

    @property
    def bandwidths(self) -> Array:
        """σ of every record, shape (m,)."""
        return np.array([record.bandwidth for record in self.records])

    @property
    def spectra(self) -> Array:
        """Eigenvalues of every record divided by their sum, shape (m, k), with zeros beyond the rank."""
        out = np.zeros((len(self.records), max(len(record.eigenvalues) for record in self.records)))
        for row, record in zip(out, self.records, strict=True):
            total = record.eigenvalues.sum()
            # The sum vanishes for a constant kernel, which has no spectrum.
            row[: len(record.eigenvalues)] = record.eigenvalues / (total if total > 0 else 1.0)
        return out

    @cached_property
    def aligned(self) -> Array:
        r"""The embeddings with zeros up to a common width, each turned onto its neighbour; shape (m, n, k).

        From the largest σ, which is left as it is, to the smallest: :math:`\hat\Xi_\sigma = \Xi_\sigma Q` with the
        orthogonal Q for which :math:`\sum_i w_i \lVert \hat\xi_i(\sigma) - \hat\xi_i(\sigma') \rVert^2` is least, σ' being
        the next larger value. Points that move between two of these matrices have moved, while the columns of
        ``embedding`` may change sign or order. The columns here are therefore no eigenvectors.

        Nothing is scaled: rows keep their length :math:`\sqrt{d_i(\sigma)}` and B⋆ is unchanged. A common factor would not
        change Q, and factors per row would decide for the reader which points matter. As it is, those far out count for
        more; with ``normalize="unit"`` all count alike.
        """
        width = max(record.embedding.shape[1] for record in self.records)
        turned: dict[int, Array] = {}  # by identity: a value given twice has one record
        neighbour: Array | None = None
        for record in sorted(self.records, key=lambda record: -record.bandwidth):
            if id(record) not in turned:
                Z = _widen(record.embedding, width)
                neighbour = turned[id(record)] = Z if neighbour is None else _align(Z, neighbour, self.weights)
        return np.stack([turned[id(record)] for record in self.records])

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat dictionary per record, for ``csv.DictWriter`` or ``pandas.DataFrame``; lambda_1, … are the ``spectra``."""
        return [
            {
                "bandwidth": record.bandwidth,
                "status": record.status,
                "grade": record.certificate.grade,
                "objective": float(record.certificate.objective),
                "upper_bound": float(record.certificate.upper_bound),
                "relative_gap": float(record.certificate.relative_gap),
                "rank": len(record.eigenvalues),
                "n_iter": record.n_iter,
                "n_products": record.n_products,
                "seconds": record.seconds,
                **{f"lambda_{k}": float(share) for k, share in enumerate(spectrum, start=1)},
            }
            for record, spectrum in zip(self.records, self.spectra, strict=True)
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in Counter(r.status for r in self.records).items())
        low, high = self.bandwidths.min(), self.bandwidths.max()
        missing = f", {len(self.missing)} missing" if self.missing else ""
        return f"BandwidthPath({len(self.records)} bandwidths from {low:.6g} to {high:.6g}: {counts}{missing})"


def _align(Z: Array, onto: Array, w: Array) -> Array:
    r"""Z Q with the orthogonal Q that minimises :math:`\sum_i w_i \lVert z_i Q - t_i \rVert^2`, t the rows of ``onto``."""
    root = np.sqrt(w)[:, None]
    Q, _ = orthogonal_procrustes(root * Z, root * onto)
    return Z @ Q


def _widen(Z: Array, width: int) -> Array:
    """Z with columns of zeros up to ``width``."""
    return np.hstack([Z, np.zeros((len(Z), width - Z.shape[1]))])


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
    values = _check_bandwidths(bandwidths)
    check_callable("callback", callback)
    check_verbose(verbose)
    estimator = _check_estimator(parameters)
    if estimator.device is None and (own := find_device(None, X)) is not None:
        estimator.set_params(device=str(own))
    given = validate_rows(on_cpu(X), on_cpu(sample_weight), estimator)
    path = _walk(values, estimator, given, callback, verbose)
    messages = [f"ended early, bandwidths missing: {len(path.missing)}."] if path.missing else []
    messages += _shortcomings(path.records)
    if messages:
        warn("bandwidth_path: " + " ".join(messages), ConvergenceWarning)
    return path


def _walk(
    values: list[float],
    estimator: SDPEmbedding,
    given: Rows,
    callback: Callable[[PathRecord], Any] | None,
    verbose: bool,
) -> BandwidthPath:
    """From the largest bandwidth to the smallest, as far as nobody interrupts."""
    done: dict[float, PathRecord] = {}
    order = sorted(set(values), reverse=True)
    bar = ProgressBar(len(order), bool(verbose))
    try:
        for sigma in order:
            start = _predict(list(done.values())[-2:], sigma, given.w)
            done[sigma] = record = _solve(clone(estimator).set_params(bandwidth=sigma), given, start)
            bar.update(len(done), str(record))
            if callback is not None and callback(record):
                break
    except KeyboardInterrupt:
        if not done:
            raise
    finally:
        bar.close()
    records = tuple(done[sigma] for sigma in values if sigma in done)
    return BandwidthPath(records, tuple(sigma for sigma in values if sigma not in done), given.w)


def _solve(est: SDPEmbedding, given: Rows, start: Array | None) -> PathRecord:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there will be one for the whole path
        warnings.filterwarnings("ignore", ZERO_COLUMNS)
        est.fit(given.X, sample_weight=given.w, start=start)
    if est.status_ == "interrupted":  # the fit has caught Ctrl-C, which was meant for the path
        raise KeyboardInterrupt
    return PathRecord(
        bandwidth=est.bandwidth_,
        embedding=est.embedding_,
        factor=est._extension_of(given.X),  # all components, whatever `n_components` and `normalize` show of them
        eigenvalues=est.eigenvalues_,
        certificate=est.certificate_,
        status=est.status_,
        n_iter=est.n_iter_,
        n_products=est.n_products_,
        seconds=time.perf_counter() - begin,
    )


def _shortcomings(records: Sequence[PathRecord]) -> list[str]:
    """A sentence for every status but "optimal"."""
    messages = []
    for status in sorted({record.status for record in records} - {"optimal"}):
        values = [f"{record.bandwidth:.6g}" for record in records if record.status == status]
        messages.append(
            f"status {status!r} at {len(values)} of {len(records)} bandwidths (σ = {listing(values, _NAMED)}): "
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
        before, H = _widen(normalize_rows(larger[0].factor, rng), width), _widen(H, width)
        step, last = math.log(larger[1].bandwidth / sigma), math.log(larger[0].bandwidth / larger[1].bandwidth)
        t = step / last if step < last else 1.0
        H = normalize_rows(H + t * (H - _align(before, H, w)), rng)
    return np.hstack([H, _PERTURBATION * rng.standard_normal((len(H), 1))])


def _check_bandwidths(bandwidths: Iterable[float]) -> list[float]:
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
