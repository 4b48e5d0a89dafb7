"""Products on the device: points prepared once, then one launch after the other over the offsets between blocks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..._utils.rounding import gamma
from ...kernels.base import Kernel
from ...kernels.stationary import Gaussian, Laplacian, Matern
from .double import double_product
from .functions import GAUSSIAN, MATERN
from .single import ENTRY_BITS, FACTOR_BITS, single_product

Tensor = Any  # annotations do not ask for torch's types, which are not there where types are checked

# Columns of a product for which there are kernels; more are taken in groups of the last, fewer are filled up with zeros.
WIDTHS = (8, 16, 32)
# Programs of a product at least, if blocks are not to be smaller than that; and of a launch, many times what runs at once,
# so that few units are idle at its end.
_PROGRAMS, _LAUNCHED = 132 * 16, 132 * 64
# Shares of a product, which are summed apart so that several devices may compute them, at most; each is a launch or more.
_MOST_SHARES = 64
# Rows of a block at most; and at least so many times those of a tile. Of a loop that is run once, the assembler of CUDA 12.8
# and 13.0 makes code for matrix instructions that reads addresses from registers which nothing has written.
_LARGEST_BLOCK, _LEAST_TILES = 512, 2
# Additions in float32 after which sums go on in float64.
_SINGLE_SUMS = 64
# Rows of coordinates that a matrix product takes at a time.
_CHUNK = 16
# Bandwidths whose squares, and those of distances in their unit, neither overflow nor underflow.
_WIDEST = 1e100
# Indices are in 32 bits.
_LARGEST_INDEX = 2**31


@dataclass(frozen=True)
class Shape:
    """Rows and columns of a tile, and how the device works on it."""

    rows: int
    columns: int
    warps: int
    stages: int


# The fastest of those that were measured on an H200, by the columns of V.
DOUBLE_SHAPES = {8: Shape(64, 64, 4, 3), 16: Shape(128, 32, 4, 3), 32: Shape(32, 32, 4, 2)}
SINGLE_SHAPES = {8: Shape(128, 64, 4, 3), 16: Shape(128, 64, 4, 3), 32: Shape(64, 64, 4, 2)}


@dataclass(frozen=True)
class Profile:
    r"""A kernel as a function of distances: :math:`2^{-t}` with :math:`t = (\text{scale}\,\lVert x-y\rVert)^2`, or
    :math:`q(\rho) e^{-\rho}` with :math:`\rho = \text{scale}\,\lVert x-y\rVert` and a polynomial q.
    """

    name: int
    scale: float
    coefficients: tuple[float, ...] = (1.0,)

    @property
    def is_gaussian(self) -> bool:
        return self.name == GAUSSIAN.value

    def rescaled(self, factor: float) -> Profile:
        """The same kernel of points that have been divided by that factor."""
        return replace(self, scale=self.scale * factor)

    @classmethod
    def of(cls, kernel: Kernel) -> Profile:
        """Of a kernel that there are device functions for; others are refused."""
        bandwidth = getattr(kernel, "bandwidth", 1.0)
        if not 1 / _WIDEST <= bandwidth <= _WIDEST:
            raise ValueError(f"`bandwidth` must be between {1 / _WIDEST:g} and {_WIDEST:g} on a device, got {bandwidth!r}.")
        if isinstance(kernel, Gaussian):
            return cls(GAUSSIAN.value, math.sqrt(math.log2(math.e)) / kernel.bandwidth)
        if isinstance(kernel, Laplacian):
            return cls(MATERN.value, 1 / kernel.bandwidth)
        if isinstance(kernel, Matern) and (coefficients := kernel.polynomial()) is not None:
            return cls(MATERN.value, math.sqrt(2 * kernel.nu) / kernel.bandwidth, tuple(coefficients))
        raise ValueError(
            "`kernel` must be Gaussian, Laplacian or Matérn with ν = 1/2, 3/2, … 21/2 for products on a device, "
            f"got {kernel!r}; use device='cpu'."
        )


@dataclass(frozen=True)
class Grid:
    """Pairs of n points in blocks: by how many blocks they are apart, and in shares that are halves of halves of all."""

    n: int
    block: int

    @property
    def count(self) -> int:
        return -(-self.n // self.block)

    @property
    def shares(self) -> int:
        """A power of two."""
        full = self.count * (self.count // 2) // _LAUNCHED
        return 2 ** (min(max(full, 1), _MOST_SHARES).bit_length() - 1)

    def offsets(self, share: int) -> range:
        """Distances of blocks, from 1 on, in a share."""
        all_of_them = self.count // 2
        return range(1 + all_of_them * share // self.shares, 1 + all_of_them * (share + 1) // self.shares)

    @property
    def sum_error(self) -> float:
        """Bound on the rounding of a product in float64 relative to K |V|: terms of a block, blocks, and the last sums."""
        return gamma(self.block + self.count + 24)


class Products(ABC):
    """Products with the kernel matrix of n points, hollow, in one of two precisions."""

    dtype: Any
    shapes: dict[int, Shape]

    def __init__(self, n: int, device: Any) -> None:
        self.n, self.device, self.grid = n, device, self.grid_of(n)
        self.block, self.count, self.padded = self.grid.block, self.grid.count, self.grid.count * self.grid.block

    @classmethod
    def grid_of(cls, n: int) -> Grid:
        fewest = _LEAST_TILES * max(max(shape.rows, shape.columns) for shape in cls.shapes.values())
        # So many blocks that their pairs fill the device.
        wanted = 2 ** round(math.log2(max(n / math.sqrt(2 * _PROGRAMS), 1)))
        return Grid(n, min(max(wanted, fewest), _LARGEST_BLOCK))

    @abstractmethod
    def launch(self, V: Any, sums: tuple[Tensor, Tensor], first: int, grid: int, mirror: bool, squared: bool) -> None:
        """Add to the sums what pairs of blocks at offsets from ``first`` on contribute."""

    @abstractmethod
    def prepare(self, V: Tensor) -> tuple[Any, Tensor]:
        """V (padded, R) as the kernels take it, and the factors of its columns, (R,)."""

    def hollow_matmat(self, V: Tensor, squared: bool = False, shares: range | None = None) -> Tensor:
        """(K - Diag(diag K)) V in float64, (n, r); of the entries of K, or of their squares.

        With ``shares``, what these contribute. The sum of two halves is the whole to the last bit.
        """
        r, widest = V.shape[1], WIDTHS[-1]
        shares = range(self.grid.shares) if shares is None else shares
        if r > widest:
            parts = [self.hollow_matmat(V[:, k : k + widest], squared, shares) for k in range(0, r, widest)]
            return torch.cat(parts, dim=1)
        width = next(width for width in WIDTHS if width >= r)
        padded = torch.zeros((self.padded, width), dtype=torch.float64, device=self.device)
        padded[: self.n, :r] = V
        prepared, scales = self.prepare(padded)

        def sum_of(shares: range) -> Tensor:
            middle = len(shares) // 2
            if middle:
                return sum_of(shares[:middle]) + sum_of(shares[middle:])
            total = torch.zeros_like(padded)
            for partial in self._sums(prepared, width, squared, shares[0]):
                total += partial
            return total[: self.n, :r] * scales[:r]

        return sum_of(shares)

    def _sums(self, V: Any, width: int, squared: bool, share: int) -> Iterator[Tensor]:
        """Terms in float64, each (padded, width), whose sum is what a share contributes."""
        offsets = self.grid.offsets(share)
        slots = max(min(len(offsets), -(-_LAUNCHED // self.count)), 1)
        shape = (slots, self.padded, width)
        sums = tuple(torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(2))
        if share == 0:
            self.launch(V, sums, 0, self.count, mirror=False, squared=squared)
        # Every launch adds once to a sum over rows, and once per row of tiles to a sum over columns.
        single = self.dtype == torch.float32
        patience = max(_SINGLE_SUMS * self.shapes[width].rows // self.block, 1) if single else len(offsets)
        for k, first in enumerate(offsets[::slots]):
            self.launch(V, sums, first, self.count * min(slots, offsets.stop - first), mirror=True, squared=squared)
            if (k + 1) % patience == 0:
                for part in sums:
                    yield part.sum(dim=0, dtype=torch.float64)
                    part.zero_()
        for part in sums:
            yield part.sum(dim=0, dtype=torch.float64)


class DoubleProducts(Products):
    r"""In float64; by one matrix product per tile (``dot``), or by differences of coordinates.

    With ``dot`` the coordinates are z of log2 k = z_i·z_j - ½‖z_i‖² - ½‖z_j‖²; else those of the points, scaled by a power
    of two, so that differences are exact but for one rounding.
    """

    dtype = torch.float64
    shapes = DOUBLE_SHAPES

    def __init__(self, Z: Tensor, profile: Profile, dot: bool) -> None:
        super().__init__(len(Z), Z.device)
        self.profile, self.dot, self.p = profile, dot, Z.shape[1]
        self.chunks = -(-(self.p + 2) // _CHUNK) if dot else 0
        height = self.chunks * _CHUNK if dot else self.p
        check_index(height, self.padded)
        self.points = torch.zeros((height, self.padded), dtype=torch.float64, device=Z.device)
        self.points[: self.p, : self.n] = Z.T
        lowest = 0.0
        if dot:
            norms = torch.linalg.vecdot(Z, Z)
            self.points[self.p, : self.n] = -0.5 * norms
            self.points[self.p + 1] = 1.0
            lowest = -2 * float(norms.max())
        # With some room for the rounding of exponents.
        self.clamp = lowest < -1000
        self.numbers = profile_numbers(profile, self.dtype, Z.device)

    def prepare(self, V: Tensor) -> tuple[Any, Tensor]:
        return V, torch.ones(V.shape[1], dtype=torch.float64, device=V.device)

    def launch(self, V: Any, sums: tuple[Tensor, Tensor], first: int, grid: int, mirror: bool, squared: bool) -> None:
        shape = self.shapes[V.shape[1]]
        double_product[(grid,)](
            self.points,
            V,
            *sums,
            self.numbers,
            self.padded,
            self.count,
            first,
            DOT=self.dot,
            PROFILE=self.profile.name,
            DEGREE=len(self.profile.coefficients) - 1,
            P=self.p,
            S=self.block,
            K=self.chunks * _CHUNK,
            CHUNK=_CHUNK,
            BM=shape.rows,
            BN=shape.columns,
            R=V.shape[1],
            MIRROR=mirror,
            SQUARED=squared,
            CLAMP=self.clamp,
            num_warps=shape.warps,
            num_stages=shape.stages,
        )


class SingleProducts(Products):
    """To about six digits; ``Z`` as for :class:`DoubleProducts`, but centred also where differences are formed."""

    dtype = torch.float32
    shapes = SINGLE_SHAPES

    def __init__(self, Z: Tensor, profile: Profile, dot: bool) -> None:
        super().__init__(len(Z), Z.device)
        self.profile, self.dot, self.p = profile, dot, Z.shape[1]
        self.numbers = profile_numbers(profile, self.dtype, Z.device)
        self.norms = torch.full((self.padded,), -ENTRY_BITS / 2, dtype=torch.float32, device=Z.device)
        if dot:
            self._split(Z)
        else:
            check_index(self.p, self.padded)
            self.left = torch.zeros((self.p, self.padded), dtype=torch.float32, device=Z.device)
            self.left[:, : self.n] = Z.T
            self.right = self.left.half()[:1]  # not used
            self.height = self.chunk = 16

    def _split(self, Z: Tensor) -> None:
        n, p = Z.shape
        self.chunk = 32 if 3 * p <= 32 else 64
        self.height = -(-3 * p // self.chunk) * self.chunk
        check_index(self.height, self.padded)
        first = Z.half()
        second = (Z - first).half()
        self.left, self.right = torch.zeros((2, self.padded, self.height), dtype=torch.float16, device=Z.device)
        self.left[:n, : 3 * p] = torch.cat([first, first, second], dim=1)
        self.right[:n, : 3 * p] = torch.cat([first, second, first], dim=1)
        kept = first.double() + second  # norms are those of what is left of the coordinates
        self.norms[:n] = 0.5 * torch.linalg.vecdot(kept, kept) - ENTRY_BITS / 2

    def prepare(self, V: Tensor) -> tuple[Any, Tensor]:
        _, exponents = torch.frexp(V.abs().amax(dim=0))
        V = V * power_of_two(FACTOR_BITS - exponents)
        first = V.half()
        return (first, (V - first).half()), power_of_two(exponents - FACTOR_BITS)

    def launch(self, V: Any, sums: tuple[Tensor, Tensor], first: int, grid: int, mirror: bool, squared: bool) -> None:
        assert not squared
        width = V[0].shape[1]
        shape = self.shapes[width]
        single_product[(grid,)](
            self.left,
            self.right,
            self.norms,
            *V,
            *sums,
            self.numbers,
            self.padded,
            self.count,
            first,
            DOT=self.dot,
            PROFILE=self.profile.name,
            DEGREE=len(self.profile.coefficients) - 1,
            P=self.p,
            S=self.block,
            K=self.height,
            CHUNK=self.chunk,
            BM=shape.rows,
            BN=shape.columns,
            R=width,
            MIRROR=mirror,
            num_warps=shape.warps,
            num_stages=shape.stages,
        )


def profile_numbers(profile: Profile, dtype: Any, device: Any) -> Tensor:
    """What the kernels know of a profile: the factor of distances, of their squares for the Gaussian; then coefficients.

    In memory, as Triton passes numbers of Python in float32.
    """
    scale = profile.scale**2 if profile.is_gaussian else profile.scale
    return torch.tensor((scale, *profile.coefficients), dtype=dtype, device=device)


def power_of_two(exponents: Tensor) -> Tensor:
    """2^e in float64 for integers e, exactly: torch's ``ldexp`` goes through float32, whose range ends at 2^127."""
    return ((exponents.clamp(-1022, 1023).to(torch.int64) + 1023) << 52).view(torch.float64)


def check_index(height: int, padded: int) -> None:
    if height * padded >= _LARGEST_INDEX:
        raise ValueError(
            f"`X` must have fewer than {_LARGEST_INDEX // height} rows of this width for products on a device, got {padded}."
        )
