"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, in files and streams; and read sparse matrices.

A table to be written is a dictionary of arrays: a vector is a column, and a matrix ``z`` the columns ``z1``, ``z2``, …, or
columns with names of their own.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

from ..._utils.arrays import Array
from ..errors import CommandError, UsageError
from ..streams import is_stream
from .arrays import read_matrix_market, read_npy, read_npz, write_npy, write_npz
from .base import Raw, Reader, Texts, is_missing, is_number, truth
from .parquet import ParquetFolder, ParquetReader, pyarrow, write_parquet
from .text import TextReader, uncompressed, write_text

__all__ = [
    "SUFFIXES",
    "WRITTEN_FORMATS",
    "Array",
    "Raw",
    "Reader",
    "Texts",
    "check_writer",
    "flatten",
    "format_of",
    "has_table_suffix",
    "is_compressed",
    "is_missing",
    "is_number",
    "open_reader",
    "refuse_spreadsheet",
    "truth",
    "write_table",
]

WRITTEN_FORMATS = ("csv", "tsv", "parquet", "npy", "npz")
# Of tables that are read; mtx is not written.
SUFFIXES = {**{f".{name}": name for name in (*WRITTEN_FORMATS, "mtx")}, ".tab": "tsv", ".pq": "parquet"}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_DELIMITERS = {"csv": ",", "tsv": "\t"}
# Formats that are also read from files compressed by gzip, and those that are written so.
_COMPRESSED_INPUT, _COMPRESSED_OUTPUT = ("csv", "tsv", "mtx"), ("csv", "tsv")


def format_of(path: str) -> str:
    """The format that the suffix tells; for a stream, CSV."""
    if is_stream(path):
        return "csv"
    refuse_spreadsheet(path)
    suffix = _suffix(path)
    if Path(path).is_dir():
        if not any(Path(path).glob("*.parquet")):
            raise CommandError(f"{path}: a folder; name a file, or a folder of Parquet files")
        return "parquet"
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UsageError(f"{path}: the suffix {suffix!r} tells no format (known: {known})")
    return SUFFIXES[suffix]


def refuse_spreadsheet(path: str) -> None:
    if _suffix(path) in _SPREADSHEETS:
        raise UsageError(f"{path}: a spreadsheet is neither read nor written; save it as CSV, and name that")


def has_table_suffix(path: str) -> bool:
    return is_stream(path) or _suffix(path) in SUFFIXES


def _suffix(path: str) -> str:
    """The suffix that tells the format, before that of compression."""
    return Path(path.removesuffix(".gz")).suffix.lower()


def is_compressed(path: str) -> bool:
    return path.endswith(".gz") and not is_stream(path)


def open_reader(stream: BinaryIO, source: str, format: str) -> Reader:
    """A reader of the table in ``stream``, which knows its columns. Its first bytes tell whether it is compressed."""
    if format in _COMPRESSED_INPUT:
        stream = uncompressed(stream, source)
    if format == "npy":
        return read_npy(stream, source)
    if format == "npz":
        return read_npz(stream, source)
    if format == "mtx":
        return read_matrix_market(stream, source)
    if format == "parquet":
        return ParquetFolder(source) if isinstance(stream, str) else ParquetReader(stream, source)
    return TextReader(stream, source, _DELIMITERS[format])


def check_writer(format: str, path: str) -> None:
    """Raise, before anything is computed, if this format is not written, or if the library for it is missing."""
    if is_compressed(path) and format not in _COMPRESSED_OUTPUT:
        raise UsageError(f"{path}: {format} is not written with gzip, only {' and '.join(_COMPRESSED_OUTPUT)} are")
    if format not in WRITTEN_FORMATS:
        raise CommandError(f"{format} is read, and not written; write one of {', '.join(WRITTEN_FORMATS)}")
    if format == "parquet":
        pyarrow()


def write_table(
    arrays: dict[str, Array], stream: BinaryIO, format: str, names: Sequence[str] | None = None, *, compress: bool = False
) -> None:
    """Write a table; ``names`` are those of the columns of its matrix. ``compress``: by gzip, without its date."""
    if compress:
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            write_table(arrays, cast(BinaryIO, packed), format, names)
    elif format == "npy":
        write_npy(arrays, stream)
    elif format == "npz":
        write_npz(arrays, stream)
    elif format == "parquet":
        write_parquet(flatten(arrays, names), stream)
    else:
        write_text(flatten(arrays, names), stream, _DELIMITERS[format])


def flatten(arrays: dict[str, Array], names: Sequence[str] | None = None) -> dict[str, Array]:
    """One entry per column: a matrix is split, into columns with these ``names``."""
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        new = {name: array}
        if array.ndim > 1:
            own = [f"{name}{k + 1}" for k in range(array.shape[1])] if names is None else names
            new = dict(zip(own, array.T, strict=True))
        if clash := new.keys() & columns.keys():
            raise CommandError(f"two columns of the output would be called {clash.pop()!r}: rename that of the input")
        columns.update(new)
    return columns
