"""Memory of a CUDA device: what a fit needs of it, asked before anything is allocated, and what to say where it is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .available import Memory, available_memory
from .needs import WIDTH, Size, solver_need
from .planner import InsufficientMemoryError, gigabytes, there_is

_DOUBLE, _HALF, _INDEX = 8, 2, 4
# Copies of the rows in float64: as they are, scaled, and those of the products; and of their parts in float16.
_ROW_COPIES, _PARTS = 4, 6
# Sums that products of the tiled operator keep apart, at most: rows of 32 columns, for either side of a tile.
_SUMS = 2 * 132 * 64 * 512 * 32
# Thin matrices that wait for others while the shares of a product are summed; and those that the recorded products of a
# polynomial work in.
_SHARES, _RECORDED = 6, 6
# Distances that a search for neighbours holds at a time, and what libraries hold.
_SEARCHED = 2**31
_FIXED = 2**29


def _tiled(size: Size) -> int:
    rows = size.n * (size.p + 16) * (_ROW_COPIES * _DOUBLE + _PARTS * _HALF)
    return rows + _DOUBLE * (min(_SUMS, 2 * size.n * 132 * 64 * 32) + _SHARES * size.n * WIDTH)


def _sparse(size: Size) -> int:
    entries = 2 * size.n * size.n_neighbors  # a neighbour on either side is enough
    search = _SEARCHED + size.n * (2 * _DOUBLE * size.p + 3 * _DOUBLE * (size.n_neighbors + 8))
    return max(search, entries * (2 * _DOUBLE + _INDEX) + _RECORDED * _DOUBLE * size.n * WIDTH)


_STORAGE: dict[str, Callable[[Size], int]] = {
    "dense": lambda size: (_DOUBLE + _DOUBLE // 2) * size.n**2,
    "tiled": _tiled,
    "sparse": _sparse,
}


def device_need(n: int, p: int, operator: str, n_neighbors: int = 15) -> int:
    """Bytes on the device at the peak of a ``fit`` of n rows with p columns; meant to err on the large side."""
    size = Size(n, p, WIDTH, min(n_neighbors, n))
    return _STORAGE[operator](size) + solver_need(size) + _FIXED


def check_device_memory(n: int, p: int, operator: str, device: Any, n_neighbors: int = 15) -> None:
    """Raise where a fit needs more memory than the device has free, with what would fit."""
    memory = device_memory(device)
    need = device_need(n, p, operator, n_neighbors)
    if memory.bytes is None or need <= memory.bytes:
        return
    recomputed = "operator='tiled', which stores no matrix; " if operator == "dense" else ""
    instead = f"{recomputed}a fit to a sample of the rows, and `transform` for the others; device='cpu'"
    raise InsufficientMemoryError(
        f"Not enough memory on the device. A fit of {n} rows of {p} features needs about {gigabytes(need)} there, and "
        f"{there_is(memory)}. Instead: {instead}."
    )


def device_memory(device: Any) -> Memory:
    """What is free on the device, PyTorch's cache included."""
    if device.type != "cuda":
        return available_memory()
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return Memory(free + cached, f"free on {torch.cuda.get_device_name(device)}")


@contextmanager
def device_errors(device: Any | None) -> Iterator[None]:
    """Where memory of the device runs out: an error that says so, and what was cached given back."""
    if device is None:
        yield
        return
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise InsufficientMemoryError(
            f"The memory of {device} ran out ({str(error).splitlines()[0]}). Free what other programs or tensors hold of "
            f"it, fit a sample of the rows and `transform` the others, or use device='cpu'."
        ) from error
