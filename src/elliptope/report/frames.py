"""Positions of the rows in each of the fits of a report's slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import orthogonal_procrustes

from .._utils.arrays import Array
from ..estimators.extension import unit_rows
from ..estimators.multiscale import in_turn
from ..estimators.path.records import Path, widen
from .scales import ScaleRecord

# Components that the page offers as axes; later ones carry little, and every one adds to the file.
_MAX_AXES = 6


def turned_frames(path: Path, chosen: int, scales: Sequence[tuple[ScaleRecord, ...]]) -> Array:
    """Positions at every fit, shape (m, n, k).

    ``scales`` has those of every fit. Rows of different scales are turned apart, so that a coordinate belongs to one scale.
    """
    own = path.records[chosen].embedding
    if len(path.records) == 1:
        return own[None, :, :_MAX_AXES]
    if len(scales[chosen]) < 2:
        return _turned(path, chosen)[:, :, :_MAX_AXES]
    turned = [_turned(_part(path, [of_fit[k] for of_fit in scales]), chosen) for k in range(len(scales[chosen]))]
    columns = in_turn([of_scale.record for of_scale in scales[chosen]])[: min(own.shape[1], _MAX_AXES)]
    return np.stack([turned[scale][:, :, column] for scale, column in columns], axis=2)


def _part(path: Path, scales: Sequence[ScaleRecord]) -> Path:
    """The path of one scale."""
    embeddings = [scale.weight * unit_rows(scale.record.embedding) for scale in scales]
    records = [replace(record, embedding=Z) for record, Z in zip(path.records, embeddings, strict=True)]
    return type(path)(tuple(records), path.missing, path.weights)


def _turned(path: Path, chosen: int) -> Array:
    """The aligned embeddings, rotated together.

    The first columns of the chosen embedding are its eigenvectors. The others follow by their variance over all fits.
    """
    frames, own = path.aligned, path.records[chosen].embedding
    width, rank = frames.shape[2], own.shape[1]
    root = np.sqrt(path.weights)[:, None]
    Q, _ = orthogonal_procrustes(root * frames[chosen], root * widen(own, width))
    frames = frames @ Q
    if width > rank:
        _, _, Vt = np.linalg.svd(frames[:, :, rank:].reshape(-1, width - rank), full_matrices=False)
        frames[:, :, rank:] = frames[:, :, rank:] @ Vt.T
    return frames
