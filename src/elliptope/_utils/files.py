"""Files that are never half-written."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, and to read back, that takes the place of ``path`` when the block ends without an error.

    Until then it has a hidden name in the same folder, so that readers see the old file or the new one. After an error it
    is removed. An existing file is replaced only with ``overwrite``; a folder or a device, never.
    """
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    _check_target(path, target, overwrite)
    temporary = target.with_name(f".elliptope-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x+b") as file:  # unlike those of tempfile, this file gets the permissions of any new file
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_target(path, target, overwrite)  # writing took time
        os.replace(temporary, target)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = os.fspath(path)  # the name that the caller knows
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _check_target(path: str | os.PathLike, target: Path, overwrite: bool) -> None:
    name = os.fspath(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder to write to", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A file cannot take the place of a folder", name)
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "Only a regular file can be replaced", name)
    if target.exists() and not overwrite:
        raise FileExistsError(errno.EEXIST, "The file exists; pass overwrite=True to replace it", name)
