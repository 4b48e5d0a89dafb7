"""Files, standard input and output. Files are written completely or not at all."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from .._utils.files import atomic_write
from .errors import CommandError, UsageError

STANDARD = "-"


def source_name(path: str) -> str:
    return "standard input" if path == STANDARD else path


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD:
        if sys.stdin is None:
            raise CommandError("standard input is closed")
        yield sys.stdin.buffer
    elif Path(path).is_dir():  # of Parquet files, which are opened one by one
        yield path  # type: ignore[misc]
    else:
        with open(path, "rb") as file:
            yield file


def standard_output() -> TextIO:
    if sys.stdout is None:
        raise CommandError("standard output is closed")
    return sys.stdout


def check_distinct(inputs: dict[str, str], outputs: dict[str, str]) -> None:
    """Raise, before anything is computed, if an output is an input or another output, by whatever names or links.

    Both are given by what users call them: an option, or the name of an argument.
    """
    seen = {file: (name, path) for name, path in inputs.items() if (file := _identity(path, sys.stdin))}
    for name, path in outputs.items():
        file = _identity(path, sys.stdout)
        if file in seen:
            other, its_path = seen[file]
            shown = its_path if path == STANDARD else path
            raise UsageError(f"{shown}: {other} and {name} are the same file; write to another one")
        if file is not None:
            seen[file] = name, path


def _identity(path: str, standard: Any) -> tuple[int, int, str] | None:
    """What two names of one regular file have in common, also of one that does not exist yet; None for anything else."""
    try:
        found = os.fstat(standard.fileno()) if path == STANDARD else os.stat(path)
        return (found.st_dev, found.st_ino, "") if stat.S_ISREG(found.st_mode) else None
    except (OSError, ValueError, AttributeError):  # a stream that is closed or, in tests, no file of the system
        if path == STANDARD:
            return None
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(OSError):
        found = os.stat(folder)
        return found.st_dev, found.st_ino, name
    return None  # a missing folder is found out later


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
