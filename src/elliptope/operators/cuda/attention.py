r"""Means over training points with the weights of a softmax, in one pass over tiles that are never stored.

For a row x, with :math:`t = \max_i w_i k(x, x_i)` over the points seen so far, the sums
:math:`\sum_i w_i k(x, x_i)\, v_i / t` are scaled down where a larger t comes (Milakov and Gimelshein 2018). Everything is in
the log domain and in float64, and distances are formed from differences, so that far rows keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ..._utils.arrays import Array
from ..._utils.blocks import blocks
from ...kernels.base import Kernel
from .functions import _LOG2_E, GAUSSIAN, exp2_double, polynomial
from .products import WIDTHS, Profile, check_index, profile_numbers

# Tiles of rows and training points; and rows that are on the device at a time.
_ROWS, _POINTS, _WARPS = 64, 32, 4
_TOGETHER = 2**18
# Scaled distance beyond which a Matérn kernel is e^-ρ to all digits of its logarithm, as on the CPU.
_FAR = tl.constexpr(1e8)


@triton.jit
def attend(
    X,  # (P, B): new rows, a column each
    points,  # (P, N): training points
    log_w,  # (N,): log2 of weights, -inf beyond the last point
    V,  # (N, R)
    profile,
    sums,  # (B, R): Σ_i q_i v_i, q_i = w_i k(x, x_i)/t
    top,  # (B,): log2 t
    nearest,  # (B,): the first point with the largest k(x, x_i)
    B,
    N,
    PROFILE: tl.constexpr,
    DEGREE: tl.constexpr,
    P: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, R)
    scale = tl.load(profile)
    nothing = tl.full((BM,), float("-inf"), tl.float64)
    closest = nothing
    highest = nothing
    found = tl.zeros((BM,), dtype=tl.int32)
    acc = tl.zeros((BM, R), dtype=tl.float64)
    start = 0
    while start < N:  # Triton's interpreter has no ranges up to numbers that are arguments
        j = start + tl.arange(0, BN)
        squares = tl.zeros((BM, BN), dtype=tl.float64)
        for c in range(P):
            d = tl.load(X + c * B + i)[:, None] - tl.load(points + c * N + j)[None, :]
            squares += d * d
        if PROFILE == GAUSSIAN:
            L = -scale * squares
        else:
            rho = tl.sqrt(squares) * scale
            L = -_LOG2_E * rho
            if DEGREE > 0:
                L += tl.where(rho < _FAR, tl.log2(polynomial(tl.minimum(rho, _FAR), profile + 1, DEGREE)), 0.0)
        weights = tl.load(log_w + j)[None, :]
        L = tl.where(weights == float("-inf"), float("-inf"), L)
        most, at = tl.max(L, axis=1, return_indices=True, return_indices_tie_break_left=True)
        closer = most > closest
        closest = tl.where(closer, most, closest)
        found = tl.where(closer, start + at, found)
        L += weights
        higher = tl.maximum(highest, tl.max(L, axis=1))
        # Where k has vanished for all points so far, any finite shift will do.
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        acc *= exp2_double(highest - shift, True)[:, None]
        Vj = tl.load(V + j[:, None] * R + columns[None, :])
        acc = tl.dot(exp2_double(L - shift[:, None], True), Vj, acc, out_dtype=tl.float64)
        highest = higher
        start += BN
    tl.store(sums + i[:, None] * R + columns[None, :], acc)
    tl.store(top + i, highest)
    tl.store(nearest + i, found)


class Attention:
    r"""Extends vectors on the sample, the columns of ``values`` (n, r), by :math:`\sum_i p_i(x) v_i`, p ∝ w_i k(x, x_i).

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Matern
        Matérn kernels with ν = 1/2, 3/2, … 21/2.
    points : (n, p) array
    w : (n,) array
        Positive weights.
    values : (n, r) array
    device : str or torch.device
    """

    def __init__(self, kernel: Kernel, points: Array, w: Array, values: Array, device: Any) -> None:
        profile = Profile.of(kernel)
        # A power of two, which is exact, so that squares neither overflow nor underflow where distances do not.
        self._unit = math.ldexp(1.0, math.frexp(profile.scale)[1])
        self._profile, self._device = profile.rescaled(1 / self._unit), device
        self._numbers = profile_numbers(self._profile, torch.float64, device)
        self.n, self.p = points.shape
        self._padded = -(-self.n // _POINTS) * _POINTS
        check_index(self.p, self._padded)
        self._points = self._columns(points, self._padded)
        self._log_w = torch.full((self._padded,), -math.inf, dtype=torch.float64, device=device)
        self._log_w[: self.n] = torch.log2(torch.tensor(np.asarray(w, dtype=np.float64), device=device))
        self._groups = [self._group(part) for part in _parts(np.column_stack([np.ones(self.n), values]))]

    def __call__(self, X: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Blocks of rows of X: a slice, Σ_i p_i(x) v_i (b, r), log Σ_i w_i k(x, x_i) (b,), and the nearest point (b,).

        The logarithm is -inf, and the mean without meaning, where the kernel vanishes for every point.
        """
        for part in blocks(0, len(X), _TOGETHER):
            sums, top, nearest = self._block(np.asarray(X[part], dtype=np.float64))
            total = sums[:, :1]
            log_mass = math.log(2) * (top + torch.log2(total[:, 0]))
            yield part, (sums[:, 1:] / total).cpu().numpy(), log_mass.cpu().numpy(), nearest.cpu().numpy().astype(np.intp)

    def _block(self, X: Array) -> tuple[Any, Any, Any]:
        b, programs = len(X), -(-len(X) // _ROWS)
        padded = programs * _ROWS
        check_index(self.p, padded)
        rows = self._columns(X, padded)
        top = torch.empty(padded, dtype=torch.float64, device=self._device)
        nearest = torch.empty(padded, dtype=torch.int32, device=self._device)
        found = []
        for r, V in self._groups:
            sums = torch.empty((padded, V.shape[1]), dtype=torch.float64, device=self._device)
            attend[(programs,)](
                rows,
                self._points,
                self._log_w,
                V,
                self._numbers,
                sums,
                top,
                nearest,
                padded,
                self._padded,
                PROFILE=self._profile.name,
                DEGREE=len(self._profile.coefficients) - 1,
                P=self.p,
                BM=_ROWS,
                BN=_POINTS,
                R=V.shape[1],
                num_warps=_WARPS,
            )
            found.append(sums[:b, :r])
        return torch.cat(found, dim=1), top[:b], nearest[:b]

    def _columns(self, X: Array, padded: int) -> Any:
        """(p, padded): a point per column, in the unit of the kernels."""
        out = torch.zeros((self.p, padded), dtype=torch.float64, device=self._device)
        out[:, : len(X)] = torch.tensor(np.ascontiguousarray(X, dtype=np.float64), device=self._device).T * self._unit
        return out

    def _group(self, values: Array) -> tuple[int, Any]:
        """Its number of columns, and the columns, filled up with zeros."""
        r = values.shape[1]
        V = torch.zeros(
            (self._padded, next(width for width in WIDTHS if width >= r)), dtype=torch.float64, device=self._device
        )
        V[: self.n, :r] = torch.tensor(np.ascontiguousarray(values), device=self._device)
        return r, V


def _parts(values: Array) -> list[Array]:
    return [values[:, part] for part in blocks(0, values.shape[1], WIDTHS[-1])]
