r"""New points, in one attention-like pass over the training points; or, in an RKHS, by a linear formula.

With softmax weights :math:`p_i(x) \propto w_i k(x, x_i)` and degrees :math:`m_e(x) = \sum_i w_i k(x, x_i)`, any vector f
on the sample extends by

.. math:: \sum_i w_i \bar a_e(x)_i f_i = \sqrt{m_e(x)} \Big( \sum_i p_i(x) \frac{f_i}{\sqrt{m_i}} - c \Big),
          \qquad c = \frac1M \sum_i w_i \sqrt{m_i} f_i ,

where :math:`\bar a_e` is the extended kernel of the paper. The bracket is computed in the log domain: it is finite and exact
however far x lies, as long as its squared distances are finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.callers import warn
from .._utils.checks import name_rows
from .._utils.threads import in_order
from ..kernels.base import FittedFormula, FittedKernel
from ..kernels.metrics import RowError
from ..kernels.neighborhoods import NeighborKernel
from ..kernels.stationary import has_profile
from ..operators import weight_unit

# Row numbers, one for every row.
Numbers = Sequence[int] | Array
# Radii are capped so that their squares, the values b(x, x) of the learned kernel, stay finite.
_MAX_LOG_RADIUS = 0.5 * math.log(np.finfo(float).max) - 1
# Radii, in units of the largest of a training point, of outliers and of rows given by mistake: with the paper's d(x), such a
# row has a millionth of the density at the loneliest training point. Those of held-out rows stay below 40, except where
# columns have heavy tails.
_FAR = 1000.0


@dataclass(frozen=True)
class Attention:
    """Weighted means over the training points, for one block of new points."""

    X: Any  # (b, p): the points; None for the training points, of which k(x, x) is known
    numbers: Array  # (b,): of their rows, as messages name them
    mean: Array  # (b, r): Σ_i p_i(x) f_i/√m_i - c
    log_mass: Array  # (b,): log m_e(x), for weights that count in the unit
    nearest: Array  # (b,): the training point with the largest k(x, x_i)/√k(x_i, x_i)
    unit: float
    kernel: FittedKernel
    own: Array | None = None  # (b,): k(x, x), where it is known

    @property
    def similarity(self) -> Array:
        """k(x, x), (b,)."""
        return self.kernel.diagonal(self.X) if self.own is None else self.own

    def columns(self, part: slice) -> Attention:
        """The same for some of the functions."""
        return replace(self, mean=self.mean[:, part])


class Diagonal(Protocol):
    """The bound d(x) on the diagonal, beyond the sample."""

    def log_radius(self, attention: Attention) -> Array:
        """log √d(x) for a block of points, shape (b,)."""


class Directions(Protocol):
    """A rule for the direction in which a new point is embedded."""

    def directions(self, attention: Attention) -> Array:
        """Unit rows for a block of points, shape (b, r)."""


@dataclass(frozen=True, eq=False)
class Extension:
    """Extends a matrix ``F`` (n, r) of functions on the sample to new points, block by block."""

    kernel: FittedKernel
    w: Array
    m: Array  # with M, those of the operator, for weights that count in its unit
    M: float
    self_similarity: Array  # (n,): k(x_i, x_i)
    F: Array

    def rows_together(self, p: int) -> int:
        """Rows with p columns that are taken at a time."""
        return self.kernel.rows_together(p)

    def log_density(self) -> Array:
        """log m_e at the training points, (n,)."""
        return np.log(self.m) + math.log(weight_unit(self.w))

    def attend(
        self, X: Array, *, numbers: Numbers | None = None, n_jobs: int = 1, device: Any | None = None
    ) -> Iterator[tuple[slice, Attention]]:
        """Blocks of rows of ``X`` with their means; every thread holds the kernel values of one block.

        ``numbers`` are those that the rows have in what the user gave, where they are not all of it. On a ``device`` kernel
        values are never stored, or neighbours are searched for there.
        """
        numbers = range(X.shape[0]) if numbers is None else numbers
        unit = weight_unit(self.w)
        w = self.w / unit
        values = self.F / np.sqrt(self.m)[:, None]
        c = (w * np.sqrt(self.m)) @ self.F / self.M
        log_w, log_self = np.log(w), 0.5 * np.log(self.self_similarity)
        # By Cauchy and Schwarz no training point is more similar to x_i, in this measure, than x_i itself.
        log_scale = log_self if np.ptp(log_self) else None
        if device is not None and isinstance(self.kernel, FittedFormula) and has_profile(self.kernel.formula):
            for part, mean, log_mass, nearest in _on_device(device, self.kernel, w, values)(X):
                named = np.asarray(numbers[part])
                _refuse_lost_rows(log_mass, named)
                yield part, Attention(X[part], named, mean - c, log_mass, nearest, unit, self.kernel)
            return
        kernel = self.kernel.on(device)

        def block(part: slice) -> tuple[slice, Attention]:
            rows, named = X[part], np.asarray(numbers[part])
            sums, total, top, nearest = _accumulate(kernel, rows, values, log_w, log_scale)
            _refuse_lost_rows(top, named)
            sums /= total[:, None]
            sums -= c
            return part, Attention(rows, named, sums, top + np.log(total), nearest, unit, self.kernel)

        parts = blocks(0, X.shape[0], self.rows_together(X.shape[1]))
        try:
            yield from in_order(block, parts, 1 if self.kernel.threaded else n_jobs)
        except RowError:  # of one block; those of all of them are named
            assert isinstance(kernel, NeighborKernel)  # no other kernel refuses rows
            try:
                kernel.check_rows(X)
            except RowError as error:
                raise RowError(error.message, np.asarray(numbers)[error.rows]) from None
            raise

    def log_mass(self, X: Array, **how: Any) -> Array:
        """log m_e(x), shape (len(X),): the log of the kernel density, up to a constant; options as for :meth:`attend`."""
        out = np.empty(X.shape[0])
        for part, attention in self.attend(X, **how):
            out[part] = attention.log_mass + math.log(attention.unit)
        return out

    def nystroem(self, X: Array, **how: Any) -> Array:
        r""":math:`\sum_i w_i \bar a_e(x)_i f_i`, shape (len(X), r): the linear (Nyström) extension."""
        out = np.empty((X.shape[0], self.F.shape[1]))
        for part, attention in self.attend(X, **how):
            out[part] = attention.mean * np.exp(0.5 * attention.log_mass)[:, None]
        return out

    def normalized(
        self,
        X: Array,
        diagonal: Diagonal,
        directions: Directions | None = None,
        largest: float = math.inf,
        **how: Any,
    ) -> Array:
        r"""The paper's extension: the Nyström direction with length :math:`\sqrt{d(x)}`, shape (len(X), r).

        The norm runs over all columns of F. Another rule for ``directions`` may be given. Where √d(x) is too large for its
        square to be finite, the radius is capped with a warning that names the rows; the direction stays exact. Another one
        names those far beyond the ``largest`` radius of a training point.
        """
        out = np.empty((X.shape[0], self.F.shape[1]))
        capped: list[Array] = []
        beyond: list[Array] = []
        most = math.log(_FAR * largest)
        for part, attention in self.attend(X, **how):
            log_radius = diagonal.log_radius(attention)
            far = log_radius > _MAX_LOG_RADIUS
            if far.any():
                capped.append(attention.numbers[far])
            beyond.append(attention.numbers[(log_radius > most) & ~far])
            radius = np.exp(np.minimum(log_radius, _MAX_LOG_RADIUS))
            out[part] = unit_directions(attention, directions) * radius[:, None]
        if capped:
            rows = np.concatenate(capped)
            warn(
                f"`X` has rows so far from the training points that their radius √d(x) overflows: {name_rows(rows)}. Their "
                f"direction is exact; their radius is capped at {math.exp(_MAX_LOG_RADIUS):.3g}."
            )
        if any(map(len, beyond)):
            rows = np.concatenate(beyond)
            warn(
                f"`X` has rows so far from the training points that their radius √d(x) is over {_FAR:g} times the largest "
                f"of a training point, {largest:.3g}: {name_rows(rows)}. Are their columns in the units of `fit`? Use "
                "normalize='unit' where only directions count."
            )
        return out


def _on_device(device: Any, kernel: FittedFormula, w: Array, values: Array) -> Any:
    from ..operators.cuda.attention import Attention as DeviceAttention

    return DeviceAttention(kernel.formula, kernel.points, w, values, device)


def _accumulate(
    kernel: FittedKernel, X: Array, values: Array, log_w: Array, log_scale: Array | None
) -> tuple[Array, Array, Array, Array]:
    """Σ_i q_i v_i, Σ_i q_i, log t and the nearest point of every row, with q_i = w_i k(x, x_i)/t, t the largest w_i k.

    The kernel gives training points some at a time; where a larger t comes, the sums so far are scaled down to it.
    """
    b = X.shape[0]
    sums, total, top = np.zeros((b, values.shape[1])), np.zeros(b), np.full(b, -np.inf)
    closest, nearest = np.full(b, -np.inf), np.zeros(b, dtype=np.intp)
    for tile in kernel.rows(X):
        similarity, found = tile.nearest(log_scale)
        closer = similarity > closest
        closest[closer], nearest[closer] = similarity[closer], found[closer]
        higher = np.maximum(top, tile.add(log_w))
        # A row whose weights are all zero so far has no largest one; any finite shift will do.
        tile_sums, tile_total = tile.sums(np.where(np.isfinite(higher), higher, 0.0), values)
        with np.errstate(invalid="ignore"):
            before = np.where(np.isfinite(top), np.exp(top - higher), 0.0)
        sums = sums * before[:, None] + tile_sums
        total = total * before + tile_total
        top = higher
    return sums, total, top, nearest


def unit_directions(attention: Attention, directions: Directions | None) -> Array:
    """Unit rows: those of the means, or by another rule."""
    return unit_rows(attention.mean) if directions is None else directions.directions(attention)


def unit_rows(F: Array) -> Array:
    """Rows scaled to length one. Zero rows stay: they happen on a null set, and zero is the answer without a preference."""
    # A power of two first: squares of large or small rows may not be finite, or vanish.
    F = np.ldexp(F, -np.frexp(np.abs(F).max(axis=1, keepdims=True))[1])
    length = np.sqrt(np.einsum("ij,ij->i", F, F))[:, None]
    return np.divide(F, length, out=np.zeros_like(F), where=length > 0)


@dataclass(frozen=True, eq=False)
class LinearExtension:
    r"""The extension in an RKHS, :math:`\chi(x) = \sum_i k(x, x_i)\, \alpha_i` with :math:`\alpha = K^{-1} \Xi`, (n, r)."""

    kernel: FittedFormula
    alpha: Array
    w: Array

    def rows_together(self, p: int) -> int:
        """Rows with p columns that are taken at a time."""
        return rows_per_block(len(self.w), p)

    def log_density(self) -> Array:
        """log Σ_i w_i k(x, x_i) at the training points, (n,)."""
        return self.log_mass(self.kernel.points)

    def __call__(self, X: Array) -> Array:
        out = np.empty((len(X), self.alpha.shape[1]))
        for part in blocks(0, len(X), self.rows_together(X.shape[1])):
            out[part] = self.kernel.formula.block(X[part], self.kernel.points) @ self.alpha
        return out

    def log_mass(self, X: Array, *, numbers: Numbers | None = None) -> Array:
        """log Σ_i w_i k(x, x_i), shape (len(X),)."""
        numbers = range(len(X)) if numbers is None else numbers
        out = np.empty(len(X))
        for part in blocks(0, len(X), self.rows_together(X.shape[1])):
            L = self.kernel.formula.log_block(X[part], self.kernel.points)
            _refuse_lost_rows(L.max(axis=1), np.asarray(numbers[part]))
            out[part] = logsumexp(L, b=self.w, axis=1)
        return out


def _refuse_lost_rows(largest: Array, numbers: Array) -> None:
    """Raise where the largest log k(x, x_i) of a row is not finite."""
    lost = numbers[~np.isfinite(largest)]
    if len(lost):
        raise ValueError(
            f"`X` has rows at which the kernel vanishes for every training point, so that they have no extension: "
            f"{name_rows(lost)}."
        )
