"""Factors H with unit rows: a random one, more columns, fewer columns."""

from __future__ import annotations

import math

import numpy as np

from .._utils.arrays import Array, as_numpy, hstack, like, namespace
from .steps import normalize_rows

# A column of H with no entry beyond this holds a negligible part (1e-7) of the squared length of every row.
SMALL_COLUMN = 3e-4


def random_start(n: int, rank: int, rng: np.random.Generator) -> Array:
    """The paper's starting point: independent entries uniform in [-1, 1], rows normalised; shape (n, rank)."""
    return normalize_rows(rng.uniform(-1.0, 1.0, (n, rank)), rng)


def drop_columns(H: Array, threshold: float, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes and drop the columns in which no entry exceeds ``threshold``."""
    H, _ = _principal(H, H)
    return keep_columns(H, _largest_entries(H) > threshold, rng)


def count_columns(H: Array, threshold: float) -> int:
    """Principal axes of H along which some entry exceeds ``threshold``."""
    return int((_largest_entries(_principal(H, H)[0]) > threshold).sum())


def drop_light_columns(H: Array, weights: Array, share: float, rng: np.random.Generator) -> Array:
    """Rotate H to its principal axes, rows counting by ``weights``, and drop columns with less than ``share`` of all."""
    H, squares = _principal(H, weights[:, None] * H)
    return keep_columns(H, squares > share * squares.sum(), rng)


def principal_axes(H: Array, weights: Array) -> tuple[Array, Array]:
    """The rotation, (r, r), that makes Hᵀ Diag(``weights``) H diagonal, and that diagonal, (r,), descending."""
    squares, U = np.linalg.eigh(as_numpy(H.T @ (weights[:, None] * H)))
    return like(H, U[:, ::-1]), squares[::-1]


def largest_rank(n: int) -> int:
    """Some optimum has a rank r with r(r + 1)/2 ≤ n (Barvinok 1995, Pataki 1998); one more column leaves room to move."""
    return int(math.sqrt(2 * n)) + 1


def double_columns(H: Array, rng: np.random.Generator) -> Array:
    """Twice the columns, but no more than :func:`largest_rank`; the new ones have small random entries.

    A second-order critical point with a column to spare is optimal; others need not be.
    """
    n, r = H.shape
    more = max(min(2 * r, largest_rank(n)) - r, 0)
    # Half or twice as large makes no difference.
    return normalize_rows(hstack([H, like(H, 0.1 * rng.standard_normal((n, more)))]), rng)


def _principal(H: Array, weighted: Array) -> tuple[Array, Array]:
    """H in the basis of eigenvectors of Hᵀ ``weighted``, and the eigenvalues, descending."""
    squares, V = np.linalg.eigh(as_numpy(H.T @ weighted))
    return H @ like(H, V[:, ::-1]), squares[::-1]


def _largest_entries(H: Array) -> Array:
    return as_numpy(namespace(H).max(abs(H), axis=0))


def keep_columns(H: Array, used: Array, rng: np.random.Generator) -> Array:
    """The columns that are ``used``, with rows normalised; H itself if there are none."""
    columns = [H[:, k : k + 1] for k in np.flatnonzero(used).tolist()]
    return normalize_rows(hstack(columns), rng) if columns else H
