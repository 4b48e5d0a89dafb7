"""The fits that the slider of a report runs through, and the positions of the rows in each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from .._certified import CertifiedEmbedding
from .._checks import Array
from .._records import BandwidthPath, PathRecord, widen
from ..embedding import SDPEmbedding
from ..kernels import BUILT_IN
from ..path import bandwidth_path, check_bandwidths

# Slider positions on either side of the estimator's bandwidth, and the factor between it and the outermost.
_STEPS, _REACH = 5, 2.0
# Components that the page offers as axes; later ones carry little, and every one adds to the file.
_MAX_AXES = 6


def other_bandwidths(bandwidths: Any, estimator: Any) -> list[float]:
    """The bandwidths to be solved for, the estimator's own left out."""
    automatic = isinstance(bandwidths, str) and bandwidths == "auto"
    if isinstance(bandwidths, str) and not automatic:
        raise ValueError(f"`bandwidths` must be 'auto', None or a sequence of positive numbers, got {bandwidths!r}.")
    varies = isinstance(estimator, SDPEmbedding) and isinstance(estimator.kernel, str) and estimator.kernel in BUILT_IN
    if bandwidths is None or (automatic and not varies):
        return []
    if not varies:
        raise ValueError(
            f"`bandwidths` must be 'auto' or None for an estimator that has no bandwidth to vary ({estimator!r}), got "
            f"{bandwidths!r}."
        )
    if automatic:
        steps = [step / _STEPS for step in range(-_STEPS, _STEPS + 1) if step]
        return [estimator.bandwidth_ * _REACH**step for step in steps]
    return [sigma for sigma in check_bandwidths(bandwidths) if sigma != estimator.bandwidth_]


def path_around(
    estimator: Any, points: Array | None, rows: Array, others: list[float], *, random_state: Any, verbose: bool
) -> tuple[BandwidthPath, int]:
    """The estimator among fits at other bandwidths, in ascending order, and its place among them."""
    own, w = _own_record(estimator, rows), estimator._extension.w
    if not others or points is None:
        return BandwidthPath((own,), (), w), 0
    parameters = {**estimator.get_params(), "random_state": random_state, "verbose": verbose}
    del parameters["bandwidth"]
    if not isinstance(estimator.diagonal, str) and not callable(estimator.diagonal):
        parameters["diagonal"] = np.asarray(estimator.diagonal)[rows]
    path = bandwidth_path(points, others, sample_weight=w, **parameters)
    distinct = {record.bandwidth: record for record in (*path.records, own)}
    records = tuple(distinct[sigma] for sigma in sorted(distinct))
    return BandwidthPath(records, path.missing, w), records.index(own)


def turned_frames(path: BandwidthPath, chosen: int) -> Array:
    """Positions at every bandwidth, shape (m, n, k): the aligned embeddings, all turned alike.

    The first columns of the chosen one are its eigenvectors. Others follow in the order of what they carry, over all
    bandwidths.
    """
    frames, own = path.aligned, path.records[chosen].embedding
    width, rank = frames.shape[2], own.shape[1]
    root = np.sqrt(path.weights)[:, None]
    Q, _ = orthogonal_procrustes(root * frames[chosen], root * widen(own, width))
    frames = frames @ Q
    if width > rank:
        _, _, Vt = np.linalg.svd(frames[:, :, rank:].reshape(-1, width - rank), full_matrices=False)
        frames[:, :, rank:] = frames[:, :, rank:] @ Vt.T
    return frames[:, :, :_MAX_AXES]


def _own_record(estimator: CertifiedEmbedding, rows: Array) -> PathRecord:
    """The estimator as a point of a path."""
    embedding = np.asarray(estimator.embedding_)[rows]
    scale = getattr(estimator, "bandwidth_", getattr(estimator, "length_scale_", None))
    return PathRecord(
        bandwidth=math.nan if scale is None else scale,
        embedding=embedding,
        factor=embedding,  # nothing will start from it
        eigenvalues=estimator.eigenvalues_,
        certificate=estimator.certificate_,
        status=estimator.status_,
        n_iter=estimator.n_iter_,
        n_products=estimator.n_products_,
        seconds=math.nan,  # not known
    )
