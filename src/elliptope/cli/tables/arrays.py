"""NPY, NPZ and Matrix Market. Objects, which would have to be unpickled, are refused.

In an archive every array with one dimension is a column, and one with two dimensions a block of columns without names.
Sparse matrices are NPZ as ``scipy.sparse.save_npz`` writes them, or Matrix Market.
"""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.npyio import NpzFile
from scipy import io as scipy_io
from scipy import sparse

from ..._utils.arrays import Array
from ..errors import TableError, listing
from .base import Raw, Reader, texts_of

_DAMAGED = (ValueError, EOFError, KeyError, OverflowError, RuntimeError, zipfile.BadZipFile, zlib.error)
# What save_npz calls the parts of a matrix.
_COMPRESSED = ("indptr", "indices", "data")
_MAKERS: dict[str, Any] = {"csr": sparse.csr_array, "csc": sparse.csc_array}


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


class SparseReader(Reader):
    """A sparse matrix, and columns beside it."""

    def __init__(self, source: str, X: Any, columns: dict[str, Array]) -> None:
        self.source = source
        self._X = sparse.csr_array(X)
        if self._X.dtype.kind not in "biuf":
            raise TableError(source, f"values of type {self._X.dtype} where numbers are expected")
        if not all(self._X.shape):
            raise TableError(source, f"the matrix is empty, with shape {self._X.shape}")
        self._columns = list(columns.values())
        self.names = [*[None] * self._X.shape[1], *columns]

    @property
    def default(self) -> list[int]:
        return list(range(self._X.shape[1]))

    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        """The columns ``numbers`` as a sparse matrix."""
        p = self._X.shape[1]
        beside = [j for j in numbers if j >= p]
        X = sparse.hstack([self._X, *(self._as_numbers(j) for j in beside)], format="csr") if beside else self._X
        chosen = [j if j < p else p + beside.index(j) for j in numbers]
        X = X if chosen == list(range(X.shape[1])) else X[:, chosen]
        return Raw(X.astype(np.float64), [self._dense(j) for j in others], {})

    def _as_numbers(self, j: int) -> sparse.csr_array:
        column = self._dense(j)
        if column.dtype.kind not in "biuf":
            raise self.error(f"values of type {column.dtype} where numbers are expected", j=j)
        return sparse.csr_array(column[:, None])

    def _dense(self, j: int) -> Array:
        p = self._X.shape[1]
        return self._X[:, [j]].toarray().ravel() if j < p else as_text(self._columns[j - p])


def as_text(column: Array) -> Array:
    """Numbers and text unchanged; bytes, times and others as text."""
    return column if column.dtype.kind in "biufU" else column.astype(str)


def read_npy(stream: BinaryIO, source: str) -> ArrayReader:
    X = _load(stream, source, "npy")
    if isinstance(X, NpzFile):
        raise TableError(source, "an archive of arrays, not a single one: name it .npz")
    check_block(X, source, "the array")
    return ArrayReader(source, list(X.T), [None] * X.shape[1], list(range(X.shape[1])))


def read_npz(stream: BinaryIO, source: str) -> Reader:
    """The only matrix, and all vectors of the same length."""
    arrays, objects = _open_archive(stream, source)
    if {"format", "shape", "data"} <= arrays.keys():
        return _read_sparse(arrays, source)
    if objects and not arrays:
        raise TableError(source, f"Python objects in {listing(objects)}, which are not loaded: they could run code")
    block = _find_block(arrays, source)
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


def _open_archive(stream: BinaryIO, source: str) -> tuple[dict[str, Array], list[str]]:
    """The arrays of an archive, and the names of those that hold Python objects: an error only if one of them is needed."""
    archive = _load(stream, source, "npz")
    if not isinstance(archive, NpzFile):
        raise TableError(source, "a single array, not an archive: name it .npy")
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
        return np.load(stream, allow_pickle=False)
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


def _find_block(arrays: dict[str, Array], source: str) -> str | None:
    blocks = [name for name, array in arrays.items() if array.ndim == 2]
    if len(blocks) > 1:
        one = f"numpy.save('new.npy', numpy.load({source!r})[{blocks[0]!r}])"
        raise TableError(source, f"several matrices, {listing(blocks)}: choose one in Python, as in {one}")
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


def _read_sparse(arrays: dict[str, Array], source: str) -> SparseReader:
    """The matrix among the arrays of an NPZ file, and vectors with an entry for each of its rows."""
    try:
        X = _matrix(arrays)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise TableError(source, f"not a sparse matrix as scipy.sparse.save_npz writes it, or damaged ({error})") from None
    own = {"format", "shape", "row", "col", "coords", "_is_array", *_COMPRESSED}
    others = {name: a for name, a in arrays.items() if name not in own and a.shape == (X.shape[0],)}
    return SparseReader(source, X, others)


def _matrix(arrays: dict[str, Array]) -> Any:
    form = arrays["format"].item()
    form = form.decode("ascii") if isinstance(form, bytes) else form
    shape = tuple(int(size) for size in arrays["shape"])
    if len(shape) != 2:
        raise ValueError(f"shape {shape}")
    if form == "coo":
        row, column = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return sparse.coo_array((arrays["data"], (row, column)), shape=shape)
    if form not in _MAKERS:
        raise ValueError(f"format {form!r}; save it as csr")
    X = _MAKERS[form]((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    X.check_format(full_check=True)
    return X


def read_matrix_market(stream: BinaryIO, source: str) -> Reader:
    """A sparse matrix, or a dense one."""
    try:
        with warnings.catch_warnings():
            # From version 1.18 on, SciPy announces that sparse arrays will be returned instead of matrices: either will do.
            warnings.simplefilter("ignore", DeprecationWarning)
            X = scipy_io.mmread(io.BytesIO(stream.read()))
    except (ValueError, OverflowError, EOFError, TypeError) as error:
        raise TableError(source, f"not Matrix Market data, or damaged ({error})") from None
    if sparse.issparse(X):
        return SparseReader(source, X, {})
    check_block(X, source, "the matrix")
    return ArrayReader(source, list(X.T), [None] * X.shape[1], list(range(X.shape[1])))


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
