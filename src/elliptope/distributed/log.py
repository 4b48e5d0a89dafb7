"""The products of a fit in a file, from which an interrupted fit goes on.

A fit is a function of its data, its parameters and the products that the cluster computes. A fit that is repeated with a log
reads the products that are there, and so comes to where it was, bit for bit; the rest it computes, and adds.

The file has a line of JSON, which says what the products belong to, and records: the SHA-256 of what was multiplied, the
shape of the product, the bytes of a number, its numbers, and a checksum. The last record may be incomplete; it is then
written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._utils.arrays import Array

_FORMAT = "elliptope products 2"
_HEAD = struct.Struct("<32sQQQ")  # digest, rows, columns, bytes of a number
_TAIL = struct.Struct("<I")  # CRC-32 of all before
_LONGEST_LINE = 2**16
_REMEDY = "Pass another file, or delete this one to start anew."


class ProductLog:
    """The file at ``path``, for work that ``fingerprint`` describes, name by name.

    It grows by n × r numbers with every product.
    """

    def __init__(self, path: str | os.PathLike, fingerprint: dict[str, str]) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ValueError(f"`checkpoint` must be the name of a file, got {path!r}.")
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"`checkpoint` must lie in a folder that exists, got {os.fspath(path)!r}.")
        self._place = self._open({"format": _FORMAT, "fingerprint": fingerprint})

    def product(self, V: Array, kind: str, compute: Callable[[Array], Array]) -> Array:
        """``compute(V)``, or what it was before; ``kind`` names the matrix that V is multiplied with."""
        digest = hashlib.sha256(f"{kind} {V.dtype} {V.shape} ".encode() + V.tobytes()).digest()
        found = self._read(digest)
        if found is None:
            found = compute(V)
            self._append(digest, found)
        return np.asfortranarray(found)

    def _open(self, header: dict) -> int:
        """Where the records begin; the file is made where there is none."""
        line = json.dumps(header, sort_keys=True).encode() + b"\n"
        if not self.path.exists():
            self.path.write_bytes(line)
            return len(line)
        with self.path.open("rb") as file:
            first = file.readline(_LONGEST_LINE)
        if first == line:
            return len(line)
        try:
            old = json.loads(first)["fingerprint"]
            names = [name for name, value in header["fingerprint"].items() if old.get(name) != value]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f"`checkpoint` must be a file that an earlier fit wrote, or not exist; {str(self.path)!r} is another. "
                f"{_REMEDY}"
            ) from None
        raise ValueError(
            f"`checkpoint` {str(self.path)!r} belongs to other work: {', '.join(map(repr, names))} differ. {_REMEDY}"
        )

    def _read(self, digest: bytes) -> Array | None:
        """The next record; None at the end of what is complete."""
        with self.path.open("rb") as file:
            file.seek(self._place)
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            found, n, r, width = _HEAD.unpack(head)
            size = width * n * r
            if file.seek(0, os.SEEK_END) < self._place + _HEAD.size + size + _TAIL.size:
                return None
            file.seek(self._place + _HEAD.size)
            numbers, tail = file.read(size), file.read(_TAIL.size)
        if zlib.crc32(head + numbers) != _TAIL.unpack(tail)[0]:
            return None
        if found != digest:
            raise ValueError(
                f"`checkpoint` {str(self.path)!r} belongs to other work: its products are not those of this fit, for which "
                f"versions of the libraries or the kind of processor may differ. {_REMEDY}"
            )
        self._place += _HEAD.size + size + _TAIL.size
        return np.frombuffer(numbers, dtype=f"<f{width}").reshape(n, r).copy()

    def _append(self, digest: bytes, G: Array) -> None:
        numbers = np.ascontiguousarray(G, dtype=f"<f{G.itemsize}").tobytes()
        with self.path.open("r+b") as file:
            file.seek(self._place)
            file.truncate()
            record = _HEAD.pack(digest, *G.shape, G.itemsize) + numbers
            file.write(record + _TAIL.pack(zlib.crc32(record)))
            file.flush()
            os.fsync(file.fileno())
            self._place = file.tell()


class _NoLog(ProductLog):
    """Keeps nothing."""

    def __init__(self) -> None:
        pass

    def product(self, V: Array, kind: str, compute: Callable[[Array], Array]) -> Array:
        return compute(V)


NO_LOG = _NoLog()
