"""Files, standard input and output. Files are written completely or not at all."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from .._utils.files import atomic_write
from .errors import CommandError

STANDARD = "-"


def source_name(path: str) -> str:
    return "standard input" if path == STANDARD else path


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD:
        if sys.stdin is None:
            raise CommandError("standard input is closed")
        yield sys.stdin.buffer
    elif path.endswith(".gz"):
        with gzip.open(path) as file:
            try:
                yield cast(BinaryIO, file)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise CommandError(f"{path}: compressed by gzip, and damaged ({error})") from None
    else:
        with open(path, "rb") as file:
            yield file


def standard_output() -> TextIO:
    if sys.stdout is None:
        raise CommandError("standard output is closed")
    return sys.stdout


def check_output(path: str | None, force: bool) -> None:
    """Raise, before anything is computed, if this file cannot be written."""
    if path == STANDARD:
        standard_output()
    if path is None or is_stream(path):
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise CommandError(f"{path}: a folder; name a file")
    if target.exists() and not force:
        raise exists(path)
    if not target.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {str(target.parent)!r}")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"{path}: the folder {str(target.parent)!r} is not writable")


def exists(path: str) -> CommandError:
    return CommandError(f"{path}: exists; use --force to replace it")


@contextmanager
def open_output(path: str, force: bool) -> Iterator[BinaryIO]:
    """A stream to write to. Nothing is written unless the block ends without an error."""
    if not is_stream(path):
        try:
            with atomic_write(path, overwrite=force) as file:
                yield file
        except FileExistsError:  # it was not there when the command began
            raise exists(path) from None
        return
    buffer = io.BytesIO()
    yield buffer
    if path == STANDARD:
        output = standard_output()
        output.flush()
        output.buffer.write(buffer.getbuffer())
        output.buffer.flush()
    else:
        with open(path, "wb") as device:
            device.write(buffer.getbuffer())


def is_stream(path: str) -> bool:
    """Standard input or output, a pipe or a device: without a suffix, and not replaced by writing."""
    return path == STANDARD or Path(path).is_char_device() or Path(path).is_fifo()
