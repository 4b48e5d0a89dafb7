"""Kinds of stored arrays, and what their entries must satisfy."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array, as_numpy
from .._utils.checks import LARGEST_SQUARED
from .container import ModelFileError, is_fortran, shown
from .fields import LARGEST_INTEGER, Field, Number, Packing, Reading, take


class ArrayField(Field):
    """An array of float64 or int64. Its order in memory is stored, because the last bits of sums depend on it."""

    dtype: str
    shape: tuple[str, ...]
    single: bool = False  # whether float32 is stored as it is

    def pack(self, value: Any, place: str, packing: Packing) -> dict[str, Any]:
        array = np.asarray(as_numpy(value))
        dtype = "<f4" if self.single and array.dtype == np.float32 else self.dtype
        array = np.asarray(array, dtype=dtype)
        if not array.flags.forc:
            array = array.copy(order="K")
        self.check(array, place)
        packing.arrays[place] = array
        return {"array": place, "dtype": dtype, "shape": list(array.shape), "fortran_order": is_fortran(array)}

    def unpack(self, stored: Any, place: str, reading: Reading) -> Array:
        declared = take(stored, ("array", "dtype", "shape", "fortran_order"), place)
        shape, fortran_order = declared["shape"], declared["fortran_order"]
        if declared["array"] != place:
            raise ModelFileError(f"`{place}` must refer to the array of that name, got {shown(declared['array'])}")
        dtype = declared["dtype"]
        if dtype != self.dtype and not (self.single and dtype == "<f4"):
            raise ModelFileError(
                f"`{place}` must have dtype {self.dtype!r}, got {shown(dtype)}; object arrays, which hold "
                "pickles, are never read"
            )
        if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= LARGEST_INTEGER for size in shape):
            raise ModelFileError(f"`{place}` must have a list of sizes as its shape, got {shown(shape)}")
        if not isinstance(fortran_order, bool):
            raise ModelFileError(f"`{place}` must have true or false as fortran_order, got {shown(fortran_order)}")
        reading.agree(place, self.shape, tuple(shape))
        array = reading.archive.array(place, dtype, tuple(shape), fortran_order)
        self.check(array, place)
        self.check_sizes(array, place, reading.sizes)
        return array

    @abstractmethod
    def check(self, array: Array, place: str) -> None:
        """Raise unless the entries are as they must be."""

    def check_sizes(self, array: Array, place: str, sizes: dict[str, int]) -> None:
        """Raise unless the entries agree with the sizes that are known."""


class Floats(ArrayField):
    """Finite numbers; if asked for, positive ones, and such that can be squared."""

    dtype = "<f8"

    def __init__(self, *shape: str, positive: bool = False, squared: bool = False, single: bool = False) -> None:
        self.shape, self.positive, self.squared, self.single = shape, positive, squared, single

    def check(self, array: Array, place: str) -> None:
        if not np.isfinite(array).all() or (self.positive and not (array > 0).all()):
            raise ModelFileError(f"`{place}` must be {'positive and ' if self.positive else ''}finite")
        if self.squared and array.size and (largest := float(np.abs(array).max())) > LARGEST_SQUARED:
            raise ModelFileError(f"`{place}` must be at most {LARGEST_SQUARED:g} in size, got {largest:.3g}")


class Indices(ArrayField):
    """Indices ``low`` ≤ i < ``below``. A negative one means none, and may repeat; others differ, and may have to ascend."""

    dtype = "<i8"

    def __init__(self, size: str, below: str, low: int = 0, *, ascending: bool = True) -> None:
        self.shape, self.below, self.low, self.ascending = (size,), below, low, ascending

    def check(self, array: Array, place: str) -> None:
        ordered = array if self.ascending else np.sort(array)
        if (array < self.low).any() or (self.low >= 0 and (np.diff(ordered) <= 0).any()):
            kind = "" if self.low < 0 else "ascending " if self.ascending else "distinct "
            raise ModelFileError(f"`{place}` must hold {kind}indices from {self.low} on")

    def check_sizes(self, array: Array, place: str, sizes: dict[str, int]) -> None:
        if (array >= sizes[self.below]).any():
            raise ModelFileError(f"`{place}` must hold indices below {sizes[self.below]}, got {array.max()}")


class Integers(ArrayField):
    """Non-negative integers, in any order."""

    dtype = "<i8"

    def __init__(self, size: str) -> None:
        self.shape = (size,)

    def check(self, array: Array, place: str) -> None:
        if (array < 0).any():
            raise ModelFileError(f"`{place}` must not be negative, got {array.min()}")


class Graph(Field):
    """Distances between ``size`` points, in a symmetric sparse matrix whose diagonal is stored and zero.

    The matrix is stored as the three arrays of compressed rows, with ascending columns.
    """

    def __init__(self, size: str) -> None:
        self.size = size

    def pack(self, value: Any, place: str, packing: Packing) -> dict[str, Any]:
        return {name: kind.pack(getattr(value, name), f"{place}.{name}", packing) for name, kind in _parts(place).items()}

    def unpack(self, stored: Any, place: str, reading: Reading) -> sparse.csr_array:
        parts = _parts(place)
        take(stored, tuple(parts), place)
        data, indices, indptr = (kind.unpack(stored[name], f"{place}.{name}", reading) for name, kind in parts.items())
        n = reading.sizes[self.size]
        _check_rows(indices, indptr, (n, n), place)
        graph = sparse.csr_array((data, indices, indptr), shape=(n, n))
        _check_distances(graph, place)
        return graph


class Points(Field):
    """Rows of features, which can be squared: an array, or a sparse matrix as the three arrays of compressed rows."""

    def __init__(self, rows: str, columns: str) -> None:
        self.rows, self.columns = rows, columns

    def pack(self, value: Any, place: str, packing: Packing) -> dict[str, Any]:
        if not sparse.issparse(value):
            return Floats(self.rows, self.columns, squared=True).pack(value, place, packing)
        return {name: kind.pack(getattr(value, name), f"{place}.{name}", packing) for name, kind in _parts(place).items()}

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        if isinstance(stored, dict) and "array" in stored:
            return Floats(self.rows, self.columns, squared=True).unpack(stored, place, reading)
        parts = _parts(place)
        take(stored, tuple(parts), place)
        data, indices, indptr = (kind.unpack(stored[name], f"{place}.{name}", reading) for name, kind in parts.items())
        shape = (reading.sizes[self.rows], reading.sizes[self.columns])
        _check_rows(indices, indptr, shape, place)
        short = np.int32 if max(*shape, len(data)) < np.iinfo(np.int32).max else np.int64
        return sparse.csr_array((data, indices.astype(short), indptr.astype(short)), shape=shape)


class Numbers(Field):
    """A dictionary of numbers and of arrays with one or two dimensions, by some of these names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def pack(self, value: Any, place: str, packing: Packing) -> dict[str, Any]:
        return {
            name: self._kind(place, name, np.ndim(entry)).pack(entry, f"{place}.{name}", packing)
            for name, entry in value.items()
        }

    def unpack(self, stored: Any, place: str, reading: Reading) -> dict[str, Any]:
        if not isinstance(stored, dict) or not set(stored) <= set(self.names):
            raise ModelFileError(
                f"`{place}` must be an object with {', '.join(self.names)}, or some of them, got {shown(stored)}"
            )
        found = {}
        for name, entry in stored.items():
            shape = entry.get("shape") if isinstance(entry, dict) else []
            kind = self._kind(place, name, len(shape) if isinstance(shape, list) else 0)
            found[name] = kind.unpack(entry, f"{place}.{name}", reading)
        return found

    def _kind(self, place: str, name: str, dimensions: int) -> Field:
        return Floats(*(f"axis {axis} of {place}.{name}" for axis in range(dimensions))) if dimensions else Number()


def _parts(place: str) -> dict[str, ArrayField]:
    entries = f"entries of {place}"
    return {"data": Floats(entries), "indices": Integers(entries), "indptr": Integers(f"rows of {place}")}


def _check_rows(indices: Array, indptr: Array, shape: tuple[int, int], place: str) -> None:
    """Raise unless every entry belongs to one of the rows, with column indices that are in range and ascend in each row."""
    n, below = shape
    if len(indptr) != n + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ModelFileError(f"`{place}.indptr` must ascend from 0 to {len(indices)} in {n} steps")
    if (indices >= below).any():
        raise ModelFileError(f"`{place}.indices` must hold indices below {below}, got {indices.max()}")
    falls = np.flatnonzero(np.diff(indices) <= 0) + 1
    if not np.isin(falls, indptr).all():
        raise ModelFileError(f"`{place}.indices` must ascend within every row")


def _check_distances(graph: sparse.csr_array, place: str) -> None:
    """Raise unless the entries are distances: non-negative, symmetric, and zero on the diagonal."""
    if (graph.data < 0).any():
        raise ModelFileError(f"`{place}.data` must hold distances, which are not negative, got {graph.data.min()}")
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    itself = rows == graph.indices
    if itself.sum() != graph.shape[0] or graph.data[itself].any():
        raise ModelFileError(f"`{place}` must hold the distance 0 of every point to itself")
    mirrored = sparse.csr_array(graph.T)
    if any((getattr(mirrored, name) != getattr(graph, name)).any() for name in ("indptr", "indices", "data")):
        raise ModelFileError(f"`{place}` must be symmetric")
