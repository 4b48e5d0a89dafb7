"""The container: an uncompressed zip archive of a JSON header and arrays, with a checksum at its end.

The entries are ``header.json`` and one ``.npy`` file per array, so that ``unzip`` and ``numpy.load`` open a model, too. The
archive comment, which ends the file, holds the SHA-256 of all bytes before it. It is verified before anything is parsed, so
that damage is found wherever it is. An attacker can compute checksums, too. Therefore sizes are compared with the bytes in
the file before memory is allocated, and the preamble of an array is not parsed, but compared with the only one that its
declaration in the header allows.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import reprlib
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from operator import mul
from typing import Any, BinaryIO

import numpy as np

from .._utils.arrays import Array

HEADER = "header.json"
# Bytes that are read at a time.
_CHUNK = 2**20
# A zip archive begins with the local header of its first entry: these bytes first, the name of the entry at byte 30.
_LOCAL_HEADER = b"PK\x03\x04"
_NAME_AT = 30
# Hexadecimal digits of the checksum, in the archive comment.
_DIGITS = 64
# The same date (the earliest that zip has) and system (Unix) in all files: equal models make equal files.
_DATE = (1980, 1, 1, 0, 0, 0)
_SYSTEM = 3
_ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error)
# Error messages quote this many characters of a file at most.
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
shown = _REPR.repr
# What files of other kinds begin with, and what the error message says about them.
_OTHERS = {
    b"\x80": "it is a pickle. Unpickling runs whatever code the file holds, so that it is never done here; if you trust the "
    "file, use pickle.load or joblib.load",
    b"\x78": "it is zlib data, such as joblib writes with compression; if you trust the file, use joblib.load",
    b"\x1f\x8b": "it is gzip data; uncompress it first",
    b"\x93NUMPY": "it is a single array in .npy format",
    _LOCAL_HEADER: "it is a zip archive (as .npz files are), but not one that `save` wrote",
}


# The archive comment, up to the checksum.
_LABEL = b"elliptope model, sha256 "
# Bounds on the memory that a malicious file can take: parsed JSON needs about 25 times the size of its text. A model has
# about ten entries, and a header of some kilobytes.
_MOST_ENTRIES = 64
LARGEST_HEADER = 16 * 2**20


class ModelFileError(ValueError):
    """A model that cannot be stored; or a file that is no model, is incomplete, or was altered."""


def write(file: BinaryIO, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a container to a file that is open for writing and reading. Equal arguments give equal bytes."""
    text = json.dumps(header, allow_nan=False, indent=1).encode()
    if len(text) > LARGEST_HEADER:
        raise ModelFileError(f"its header would take {len(text)} bytes, more than the {LARGEST_HEADER} that are allowed")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, HEADER, text, np.empty(0, dtype=np.uint8))
        for name, array in arrays.items():
            fortran_order = is_fortran(array)
            preamble = npy_preamble(array.dtype.str, array.shape, fortran_order)
            _add(archive, f"{name}.npy", preamble, array.reshape(-1, order="F" if fortran_order else "C").view(np.uint8))
        archive.comment = _LABEL + bytes(_DIGITS)
    end = file.seek(-_DIGITS, os.SEEK_END)
    digest = _sha256(file, end)
    file.seek(end)
    file.write(digest)


def _add(archive: zipfile.ZipFile, name: str, start: bytes, data: Array) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system = _SYSTEM
    entry.file_size = len(start) + data.nbytes  # lets zipfile choose the format for large files
    with archive.open(entry, "w") as part:
        part.write(start)
        part.write(data.data)


def is_fortran(array: Array) -> bool:
    """Whether a contiguous array is stored column by column.

    The strides of a single column tell, too: BLAS is called differently for either order, which changes the last bits.
    """
    strides = tuple(accumulate((array.itemsize, *array.shape[:-1]), mul))
    return array.ndim > 1 and array.size > 1 and array.strides == strides


def npy_preamble(dtype: str, shape: tuple[int, ...], fortran_order: bool) -> bytes:
    """The bytes before the entries of an array, in version 1.0 of the .npy format."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': {fortran_order}, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"  # the entries begin at a multiple of 64 bytes
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")


def _sha256(file: BinaryIO, end: int) -> bytes:
    """Hexadecimal digest of the first ``end`` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while end > 0 and (chunk := file.read(min(end, _CHUNK))):
        digest.update(chunk)
        end -= len(chunk)
    return digest.hexdigest().encode()


@contextmanager
def open_archive(path: str | os.PathLike) -> Iterator[Archive]:
    """The container at ``path``, with its checksum verified. Errors, also those raised within the block, name the file."""
    if not isinstance(path, str | bytes | os.PathLike):  # an integer would be taken for an open file
        raise TypeError(f"`path` must be the name of a file, got {path!r} of type {type(path).__name__}.")
    try:
        with open(path, "rb") as file:
            size = _verify(file)
            try:
                archive = zipfile.ZipFile(file)
            except _ZIP_ERRORS as error:
                raise ModelFileError(f"it is not the archive that `save` writes ({error})") from error
            with archive:
                yield Archive(archive, size)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}.") from error


def _verify(file: BinaryIO) -> int:
    """Raise unless the file is a model, with the right checksum; return its size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(_NAME_AT + len(HEADER))
    if not start:
        raise ModelFileError("it is empty")
    if start[:4] != _LOCAL_HEADER[: len(start)] or start[_NAME_AT:] != HEADER.encode()[: max(len(start) - _NAME_AT, 0)]:
        raise ModelFileError(
            next((text for magic, text in _OTHERS.items() if start.startswith(magic)), "it is no model file")
        )
    length = len(_LABEL) + _DIGITS
    file.seek(max(size - length, 0))
    comment = file.read(length)
    if not comment.startswith(_LABEL):
        raise ModelFileError("it is truncated, or something was appended: it does not end with its checksum")
    expected, digest = comment[len(_LABEL) :], _sha256(file, size - _DIGITS)
    if digest != expected:
        raise ModelFileError(
            "it has been altered or damaged since it was written: its SHA-256 begins with "
            f"{shown(digest[:12].decode())}, and should begin with {shown(expected[:12].decode('latin-1'))}"
        )
    return size


class Archive:
    """The entries of an open container."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._entries = self._checked_entries(size)
        self.header = self._read_header()
        self._unread = set(self._entries) - {HEADER}

    def _checked_entries(self, size: int) -> dict[str, zipfile.ZipInfo]:
        entries = self._archive.infolist()
        if len(entries) > _MOST_ENTRIES:
            raise ModelFileError(f"it has {len(entries)} entries, more than the {_MOST_ENTRIES} that are allowed")
        by_name = {entry.filename: entry for entry in entries}
        if len(by_name) < len(entries):
            raise ModelFileError("it has two entries of the same name")
        if HEADER not in by_name:
            raise ModelFileError(f"it has no {HEADER}")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits or entry.compress_size != entry.file_size:
                raise ModelFileError(f"its entry {shown(entry.filename)} is compressed or encrypted")
        if any(not 0 <= entry.header_offset < size for entry in entries) or sum(e.file_size for e in entries) > size:
            raise ModelFileError("its entries declare more bytes than the file has")
        return by_name

    def _read_header(self) -> dict[str, Any]:
        length = self._entries[HEADER].file_size
        if length > LARGEST_HEADER:
            raise ModelFileError(f"its header has {length} bytes, more than the {LARGEST_HEADER} that are allowed")
        with self._open(HEADER) as part:
            text = part.read(length)
        try:
            header = json.loads(text.decode(), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"its header is not valid JSON ({shown(str(error))})") from error
        if not isinstance(header, dict):
            raise ModelFileError("its header is not a JSON object")
        return header

    def array(self, name: str, dtype: str, shape: tuple[int, ...], fortran_order: bool) -> Array:
        """The array with this declaration. Memory is allocated once the entry is known to have the right size."""
        entry = self._entries.get(f"{name}.npy")
        if entry is None:
            raise ModelFileError(f"its array `{name}` is missing")
        preamble = npy_preamble(dtype, shape, fortran_order)
        count = math.prod(shape)
        if entry.file_size != len(preamble) + count * np.dtype(dtype).itemsize:
            raise ModelFileError(
                f"its array `{name}` is declared with shape {shape} and dtype {dtype}, which does not fit the "
                f"{entry.file_size} bytes that the file has for it"
            )
        with self._open(entry.filename) as part:
            found = part.read(len(preamble))
            if found != preamble:
                raise ModelFileError(
                    f"its array `{name}` is not of the declared shape {shape} and dtype {dtype}, but begins with "
                    f"{shown(found[10:])}"
                )
            flat = np.empty(count, dtype)
            rest = flat.view(np.uint8)
            while len(rest):
                chunk = part.read(min(len(rest), _CHUNK))
                if not chunk:
                    raise ModelFileError(f"its array `{name}` ends too early")
                rest[: len(chunk)] = np.frombuffer(chunk, np.uint8)
                rest = rest[len(chunk) :]
        self._unread.discard(entry.filename)
        flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
        return flat.reshape(shape, order="F" if fortran_order else "C")

    def check_all_read(self) -> None:
        if self._unread:
            raise ModelFileError(f"it has entries that belong to nothing: {shown(sorted(self._unread))}")

    @contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        """An entry, for reading; the archive checks the CRC at its end."""
        try:
            with self._archive.open(self._entries[name]) as part:
                yield part
        except ModelFileError:
            raise
        except _ZIP_ERRORS as error:
            raise ModelFileError(f"its entry {name!r} cannot be read ({error})") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found
