"""Files that are never half-written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# Errors of a write, which do not name the file.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def atomic_write(path: str | os.PathLike, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, and to read back, that takes the place of ``path`` when the block ends without an error.

    Until then it has a hidden name in the same folder, so that readers see the old file or the new one. After an error it
    is removed. An existing file is replaced only with ``overwrite``, by one with the same permissions; a folder or a device,
    never.
    """
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    _check_target(path, target, overwrite)
    temporary = target.with_name(f".elliptope-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x+b") as file:  # unlike those of tempfile, this file gets the permissions of any new file
            _copy_permissions(target, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_target(path, target, overwrite)  # writing took time
        os.replace(temporary, target)
    except OSError as error:
        if error.filename == str(temporary) or (error.filename is None and error.errno in _NO_ROOM):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # the name that the caller knows
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


def _check_target(path: str | os.PathLike, target: Path, overwrite: bool) -> None:
    name = os.fspath(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, "The name of the file to write is empty", name)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder to write to", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A file cannot take the place of a folder", name)
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "Only a regular file can be replaced", name)
    if target.exists() and not overwrite:
        raise FileExistsError(errno.EEXIST, "The file exists; pass overwrite=True to replace it", name)


def _copy_permissions(target: Path, file: int) -> None:
    """Give an open file, while it is empty, the owner, the group and the mode of the one that it will replace."""
    if not hasattr(os, "fchown") or not target.exists():
        return
    replaced = target.stat()
    mode = stat.S_IMODE(replaced.st_mode) & 0o777
    for owner, group in ((-1, replaced.st_gid), (replaced.st_uid, -1)):
        with suppress(PermissionError):  # only root may give files away
            os.fchown(file, owner, group)
    if os.fstat(file).st_gid != replaced.st_gid:
        mode &= ~stat.S_IRWXG  # what one group might do is not allowed to another
    with suppress(PermissionError):  # a file system without modes
        os.fchmod(file, mode)
