"""Sparse matrices: NPZ as ``scipy.sparse.save_npz`` writes them, and Matrix Market. Their columns have no names."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from ..._utils.arrays import Array
from ..errors import TableError
from .arrays import ArrayReader, as_text, check_block
from .base import Raw, Reader

# What save_npz calls the parts of a matrix.
_COMPRESSED = ("indptr", "indices", "data")
_MAKERS: dict[str, Any] = {"csr": sparse.csr_array, "csc": sparse.csc_array}


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


def is_sparse_archive(names: Sequence[str]) -> bool:
    return {"format", "shape", *_COMPRESSED[2:]} <= set(names)


def read_archive(arrays: dict[str, Array], source: str) -> SparseReader:
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
