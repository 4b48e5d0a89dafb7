"""Positions of the rows in each of the fits of a report's slider."""

from __future__ import annotations

import numpy as np
from scipy.linalg import orthogonal_procrustes

from .._utils.arrays import Array
from ..estimators.path.records import BandwidthPath, widen

# Components that the page offers as axes; later ones carry little, and every one adds to the file.
_MAX_AXES = 6


def turned_frames(path: BandwidthPath, chosen: int) -> Array:
    """Positions at every bandwidth, shape (m, n, k): the aligned embeddings, rotated together.

    The first columns of the chosen embedding are its eigenvectors. The others follow by their variance over all bandwidths.
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
