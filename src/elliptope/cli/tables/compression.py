"""Files that gzip has compressed, read as if it had not."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any, BinaryIO, cast

from ..errors import TableError

_GZIP = b"\x1f\x8b"


def uncompressed(stream: BinaryIO, source: str) -> BinaryIO:
    """The stream, or what it holds in compressed form, by its first two bytes."""
    if not hasattr(stream, "peek"):  # without reading ahead one cannot look at the first bytes and put them back
        stream = io.BufferedReader(stream)  # type: ignore[type-var]
    packed = stream.peek(2)[:2] == _GZIP
    return cast(BinaryIO, _Gunzip(stream, source)) if packed else stream


class _Gunzip(gzip.GzipFile):
    """The decompressed contents; an error that names the file where they are damaged."""

    def __init__(self, stream: BinaryIO, source: str) -> None:
        super().__init__(fileobj=stream)
        self.source = source

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read, size)

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1, size)

    def _checked(self, read: Any, size: int | None) -> bytes:
        try:
            return read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(self.source, f"compressed by gzip, and damaged ({error})") from None
