"""NPY and NPZ. Objects, which would have to be unpickled, are refused.

In an archive every array with one dimension is a column, and one with two dimensions a block of columns without names.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.lib.npyio import NpzFile

from ..._utils.arrays import Array
from ..errors import TableError, listing
from .base import Raw, Reader
from .cells import texts_of

_DAMAGED = (ValueError, EOFError, KeyError, OverflowError, RuntimeError, zipfile.BadZipFile, zlib.error)


class ArrayReader(Reader):
    """Columns that are in memory."""

    def __init__(self, source: str, columns: list[Array], names: list[str | None], default: list[int]) -> None:
        self.source, self.names = source, names
        self._columns, self._default = columns, default

    @property
    def default(self) -> list[int]:
        return self._default

    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        n = len(self._columns[0])
        X, texts = np.full((n, len(numbers)), np.nan), {}
        for k, j in enumerate(numbers):
            column = self._columns[j]
            if column.dtype.kind in "biuf":
                X[:, k] = column
            elif column.dtype.kind == "c":
                raise self.error(f"values of type {column.dtype} where numbers are expected; use --drop {j + 1}", j=j)
            else:
                texts[j] = texts_of(map(str, as_text(column).tolist()))
        return Raw(X, [as_text(self._columns[j]) for j in others], texts)


def as_text(column: Array) -> Array:
    """Numbers and text unchanged; bytes, times and others as text."""
    return column if column.dtype.kind in "biufU" else column.astype(str)


def read_npy(stream: BinaryIO, source: str) -> ArrayReader:
    X = _load(stream, source, "npy")
    if isinstance(X, NpzFile):
        raise TableError(source, "an archive of arrays, not a single one (--format npz)")
    check_block(X, source, "the array")
    return ArrayReader(source, list(X.T), [None] * X.shape[1], list(range(X.shape[1])))


def read_npz(arrays: dict[str, Array], objects: list[str], source: str, block: str | None = None) -> ArrayReader:
    """The matrix ``block`` (by default the only one) and all vectors of the same length; ``objects`` were not loaded."""
    if objects and (block in objects or not arrays):
        names = listing([block] if block in objects else objects)
        raise TableError(source, f"Python objects in {names}, which are not loaded: they could run code")
    block = _choose_block(arrays, source, block)
    vectors = {name: array for name, array in arrays.items() if array.ndim == 1}
    if block is None:
        reader = _vectors_only(vectors, source)
    else:
        X = arrays[block]
        check_block(X, source, f"the array {block!r}")
        others = {name: vector for name, vector in vectors.items() if len(vector) == len(X)}
        width = X.shape[1]
        reader = ArrayReader(source, [*X.T, *others.values()], [*[None] * width, *others], list(range(width)))
    reader.unread = objects
    return reader


def open_archive(stream: BinaryIO, source: str) -> tuple[dict[str, Array], list[str]]:
    """The arrays of an archive, and the names of those that hold Python objects: an error only if one of them is needed."""
    archive = _load(stream, source, "npz")
    if not isinstance(archive, NpzFile):
        raise TableError(source, "a single array, not an archive (--format npy)")
    arrays, objects = {}, []
    for name in archive.files:
        try:
            arrays[name] = archive[name]
        except _DAMAGED as error:
            if not _is_pickled(error):
                raise _damaged(source, "npz", error) from None
            objects.append(name)
    return arrays, objects


def _load(stream: BinaryIO, source: str, kind: str) -> Array | NpzFile:
    try:
        # An archive needs random access, which pipes do not have.
        return np.load(stream if stream.seekable() else io.BytesIO(stream.read()), allow_pickle=False)
    except _DAMAGED as error:
        raise _damaged(source, kind, error) from None


def _is_pickled(error: Exception) -> bool:
    return "allow_pickle" in str(error) or "pickled" in str(error)


def _damaged(source: str, kind: str, error: Exception) -> TableError:
    if _is_pickled(error):
        return TableError(source, f"not {kind.upper()} data, or Python objects, which are not loaded: they could run code")
    return TableError(source, f"not {kind.upper()} data, or damaged ({error})")


def check_block(X: Array, source: str, what: str) -> None:
    if X.dtype.names is not None:
        raise TableError(source, f"{what} is a structured array with fields {', '.join(X.dtype.names)}, not a matrix")
    if X.ndim != 2:
        raise TableError(source, f"{what} must have 2 dimensions, rows and columns, got shape {X.shape}")
    if not X.size:
        raise TableError(source, f"{what} is empty, with shape {X.shape}")


def _choose_block(arrays: dict[str, Array], source: str, block: str | None) -> str | None:
    if block is not None:
        if block not in arrays:
            raise TableError(source, f"there is no array {block!r}; there are {listing(list(arrays))}")
        return block
    blocks = [name for name, array in arrays.items() if array.ndim == 2]
    if len(blocks) > 1:
        raise TableError(source, f"several matrices, {listing(blocks)}: choose one with --array")
    return blocks[0] if blocks else None


def _vectors_only(vectors: dict[str, Array], source: str) -> ArrayReader:
    if not vectors:
        raise TableError(source, "no array with 1 or 2 dimensions")
    lengths = {len(vector) for vector in vectors.values()}
    if len(lengths) > 1:
        raise TableError(source, f"vectors of different lengths, {sorted(lengths)}, make no table")
    if lengths == {0}:
        raise TableError(source, "the table has no rows")
    return ArrayReader(source, list(vectors.values()), list(vectors), list(range(len(vectors))))


def write_npy(arrays: dict[str, Array], stream: BinaryIO) -> None:
    """Write the only array of the table."""
    (array,) = arrays.values()
    np.save(stream, array, allow_pickle=False)


def write_npz(arrays: dict[str, Array], stream: BinaryIO) -> None:
    plain = {name: array.astype(str) if array.dtype.kind == "O" else array for name, array in arrays.items()}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:  # np.savez cannot have an array called `file`
        for name, array in plain.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)
