"""Rows by the block: arrays, memory maps and iterators of blocks, embedded and scored in bounded memory.

Rows are validated and converted to float64 a block at a time, so that a memory map in single precision is never copied as a
whole. Errors and warnings count rows from the beginning of the input, whichever block they are in.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._utils.arrays import Array
from .._utils.blocks import blocks, rows_per_block
from .._utils.callers import underflows_to_zero
from .._utils.checks import check_integer
from .._utils.devices import as_given, on_cpu, usable_device
from .._utils.files import atomic_write
from .data import ANY_NUMBER, check_finite, entries_named, refuse_no_numbers

__all__ = ["score_to", "transform_to"]

# Blocks of an array have at least this many rows, where so many fit: fewer, and checks would cost more than kernel values.
_LEAST_ROWS = 1024
# Pairs of new rows and training points from which on device="auto" takes a device.
_WORTH_A_DEVICE = 10**9
# What is written to files.
_FLOAT = "<f8"


class Streaming:
    """Methods of the estimators that take new rows: at once, or block by block."""

    n_components_: int
    n_features_in_: int
    training_: Any

    @property
    def _accepts_sparse(self) -> bool:
        """Whether ``fit`` was on a kernel that takes sparse X: rows of features, or a graph of distances."""
        return False

    @abstractmethod
    def _embed_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        """Ξ(x), all components, for validated rows, the first of which is row ``first`` of the input."""

    @abstractmethod
    def _score_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        """log m_e(x) for validated rows, likewise."""

    @abstractmethod
    def _finish(self, Xi: Array) -> Array:
        """The columns that ``transform`` returns."""

    def transform_blocks(self, X: Any, block_rows: int | None = None) -> Iterator[Array]:
        """Embed new rows block by block, in bounded memory.

        Parameters
        ----------
        X : array, memory map, data frame, or iterable of blocks
            Anything with rows that can be sliced is cut into blocks of ``block_rows``. Of anything else the items are taken
            to be blocks, arrays of shape (b, p), and come back one by one: b may vary, and may be 0.
        block_rows : int, optional
            Rows per block of an array; by default such that a block takes a few dozen megabytes.

        Yields
        ------
        Z : (b, k) array, k = ``n_components_``
            An array of float64 whatever ``set_output`` and X say. With the default ``block_rows``, the blocks of an array
            are those of ``transform``, bit for bit, which rounds them where X is in single precision; other blocks agree up
            to rounding.
        """
        blocks, device = self._new_blocks(X, block_rows), self._device_for(X)
        return (self._transform_rows(rows, first, device) for first, rows in blocks)

    def score_blocks(self, X: Any, block_rows: int | None = None) -> Iterator[Array]:
        """``score_samples``, block by block; see :meth:`transform_blocks`. Yields arrays of shape (b,)."""
        blocks, device = self._new_blocks(X, block_rows), self._device_for(X)
        return (self._score_rows(rows, first=first, device=device) for first, rows in blocks)

    @underflows_to_zero
    def _transform_rows(self, X: Array, first: int = 0, device: Any | None = None) -> Array:
        """The columns of ``transform`` for validated rows."""
        return self._finish(self._embed_rows(X, first=first, device=device))

    def _transform(self, X: Any) -> Any:
        """``transform`` of rows that are still to be validated; a tensor comes back as one."""
        return as_given(self._transform_rows(self._check_new(X), device=self._device_for(X)), X)

    def _device_for(self, X: Any) -> Any | None:
        """Where new rows are embedded: on the CPU, too, where the device of the fit is not there."""
        check_is_fitted(self)
        name = getattr(self, "device", None)
        few = np.shape(X)[:1] < (_WORTH_A_DEVICE // len(self.training_.weights),) if hasattr(X, "shape") else False
        return None if name == "auto" and few else usable_device(name, X)

    def _check_new(self, X: Any) -> Array:
        """Rows given after ``fit``: all are checked now, and those of a large X converted when they are used."""
        check_is_fitted(self)
        if self._accepts_sparse and sparse.issparse(X):
            return _check_sparse(self, X)
        X = on_cpu(X)
        refuse_no_numbers(X)
        rows = _rows_of(self, X).as_array()
        for part in blocks(0, len(rows), rows_per_block(rows.shape[1])):
            check_finite(self, rows[part], part.start)
        return rows

    def _new_blocks(self, X: Any, block_rows: int | None) -> Iterator[tuple[int, Array]]:
        """Validated blocks, with the numbers of their first rows."""
        check_is_fitted(self)
        if block_rows is not None:
            check_integer("block_rows", block_rows, 1, "None or ")
        if self._accepts_sparse and sparse.issparse(X):
            rows, step = _check_sparse(self, X), block_rows or self._default_rows()
            return ((part.start, rows[part]) for part in blocks(0, rows.shape[0], step))
        if hasattr(X, "shape"):
            X = on_cpu(X)
            refuse_no_numbers(X)
            return _blocks_of_array(self, _rows_of(self, X), block_rows or self._default_rows())
        if not isinstance(X, Iterable):
            raise TypeError(f"`X` must be an array or an iterable of blocks of rows, got {type(X).__name__}.")
        return _blocks_of_iterable(self, X)

    def _default_rows(self) -> int:
        """A multiple of the rows that the extension takes at a time: blocks and the whole are cut at the same rows."""
        together = self.training_.extension.rows_together(self.n_features_in_)
        most = rows_per_block(self.n_features_in_)
        return together * max(1, min(-(-_LEAST_ROWS // together), most // together))


def _check_sparse(estimator: Any, X: Any, first: int = 0, **options: Any) -> Any:
    X = validate_data(estimator, X, reset=False, accept_sparse="csr", **options, **ANY_NUMBER)
    check_finite(estimator, X, first)
    return X


class _Rows:
    """The rows of a two-dimensional X in float64, converted when they are used: ``len``, ``shape`` and slices."""

    def __init__(self, estimator: Any, X: Any) -> None:
        self._estimator, self._X = estimator, X
        self.shape = (int(X.shape[0]), int(X.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> Array:
        block = _take(self._X, part)
        with _located(part.start), entries_named(block, part.start):
            return check_array(block, estimator=self._estimator, input_name="X", **ANY_NUMBER)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[0 : len(self)], dtype)

    def as_array(self) -> Array:
        """An array, where that takes no copy or a small one; or else this, which has what extensions use of an array."""
        as_it_is = isinstance(self._X, np.ndarray) and self._X.dtype == np.float64
        return self[0 : len(self)] if as_it_is or len(self) <= rows_per_block(self.shape[1]) else cast(Array, self)


def _rows_of(estimator: Any, X: Any) -> _Rows:
    if not _can_be_sliced(X):  # a list of rows, or something that validation will complain of
        with entries_named(X):
            return _Rows(estimator, validate_data(estimator, X, reset=False, **ANY_NUMBER))
    # One row tells whether there are any, and what scikit-learn has to say of their width, their names and their kind.
    head = _take(X, slice(0, 1))
    with entries_named(head):
        validate_data(estimator, head, reset=False, **ANY_NUMBER)
    return _Rows(estimator, X)


def _can_be_sliced(X: Any) -> bool:
    """Arrays, memory maps, data frames, data sets of HDF5; not sparse matrices, and nothing without two dimensions."""
    return len(getattr(X, "shape", ())) == 2 and hasattr(X, "__array__") and hasattr(X, "__getitem__")


def _take(X: Any, part: slice) -> Any:
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


@contextmanager
def _located(first: int) -> Iterator[None]:
    """Add to an error about a block where the block is, unless it is the first."""
    try:
        yield
    except ValueError as error:
        if not first:
            raise
        raise ValueError(f"{error} (In the block of rows that starts at row {first} of `X`.)") from error


def _blocks_of_array(estimator: Any, rows: _Rows, block_rows: int) -> Iterator[tuple[int, Array]]:
    for part in blocks(0, len(rows), block_rows):
        block = rows[part]
        check_finite(estimator, block, part.start)
        yield part.start, block


def check_chunk(estimator: Streaming, rows: Any) -> None:
    """Raise where rows are not what the model takes."""
    next(_blocks_of_iterable(estimator, [rows]))


def embed_chunk(estimator: Streaming, rows: Any, first: int = 0) -> Array:
    """``transform`` of rows, of which there may be none, and the first of which is row ``first`` of the input."""
    return next(estimator._transform_rows(block, start) for start, block in _blocks_of_iterable(estimator, [rows], first))


def score_chunk(estimator: Streaming, rows: Any, first: int = 0) -> Array:
    """``score_samples``, likewise."""
    return next(estimator._score_rows(block, first=start) for start, block in _blocks_of_iterable(estimator, [rows], first))


def _blocks_of_iterable(estimator: Any, blocks: Iterable[Any], first: int = 0) -> Iterator[tuple[int, Array]]:
    for given in blocks:
        with _located(first), entries_named(given, first):
            given = on_cpu(given)
            refuse_no_numbers(given)
            if estimator._accepts_sparse and sparse.issparse(given):
                block = _check_sparse(estimator, given, first, ensure_min_samples=0)
            else:
                block = validate_data(estimator, given, reset=False, ensure_min_samples=0, **ANY_NUMBER)
        if not sparse.issparse(block):
            check_finite(estimator, block, first)
        yield first, block
        first += block.shape[0]


def transform_to(estimator: Streaming, X: Any, out: Any, *, block_rows: int | None = None, overwrite: bool = False) -> int:
    """Embed new rows block by block, and write them as they come.

    Parameters
    ----------
    estimator : fitted estimator
    X, block_rows
        As for ``transform_blocks``.
    out : array, memory map, or path of a .npy file
        An array of floating-point numbers and ``n_components_`` columns, with as many rows as X; more, where X is an
        iterable, whose rows cannot be counted beforehand. A file is there as a whole or not at all.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    n : int
        Rows written.
    """
    return _write(estimator.transform_blocks(X, block_rows), X, out, (estimator.n_components_,), overwrite)


def score_to(estimator: Streaming, X: Any, out: Any, *, block_rows: int | None = None, overwrite: bool = False) -> int:
    """``score_samples`` of new rows, written by blocks to ``out``, a vector or a .npy file; see :func:`transform_to`."""
    return _write(estimator.score_blocks(X, block_rows), X, out, (), overwrite)


def _write(blocks: Iterator[Array], X: Any, out: Any, width: tuple[int, ...], overwrite: bool) -> int:
    if isinstance(out, str | os.PathLike):
        return _write_npy(blocks, out, width, overwrite)
    shape, wanted = tuple(getattr(out, "shape", ())), f"(n{''.join(f', {k}' for k in width)})"
    if len(shape) != 1 + len(width) or shape[1:] != width or not np.can_cast(np.float64, out.dtype, "same_kind"):
        raise ValueError(
            f"`out` must be the path of a .npy file or a floating-point array of shape {wanted}, got {_what(out)}."
        )
    if hasattr(X, "shape") and shape[0] != X.shape[0]:
        raise ValueError(f"`out` must have as many rows as `X`, {X.shape[0]}, got {shape[0]}.")
    rows = 0
    for block in blocks:
        if rows + len(block) > shape[0]:
            raise ValueError(f"`out` must have room for all rows of `X`, {rows + len(block)} or more, got {shape[0]}.")
        out[rows : rows + len(block)] = block
        rows += len(block)
    return rows


def _what(out: Any) -> str:
    return f"shape {out.shape} and dtype {out.dtype}" if hasattr(out, "dtype") else repr(out)


def _write_npy(blocks: Iterator[Array], path: str | os.PathLike, width: tuple[int, ...], overwrite: bool) -> int:
    if not os.fspath(path).endswith(".npy"):
        raise ValueError(f"`out` must be the path of a .npy file or an array, got {os.fspath(path)!r}.")
    rows = 0
    with atomic_write(path, overwrite=overwrite) as file:
        _write_header(file, (0, *width))
        for block in blocks:
            file.write(block.astype(_FLOAT).tobytes())
            rows += len(block)
        file.seek(0)
        _write_header(file, (rows, *width))  # headers have room for any number of rows
    return rows


def _write_header(file: BinaryIO, shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": _FLOAT, "fortran_order": False, "shape": shape})
