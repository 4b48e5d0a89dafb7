"""Files that are never half-written."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be deleted, and signal 0 would end a process
    fcntl = None  # type: ignore[assignment]

# The name of an unfinished file: the machine and the process that write it, and digits that no other file has.
_UNFINISHED = re.compile(r"\.elliptope-([0-9a-f]{8})-([1-9]\d*)-[0-9a-f]{16}\.tmp")
# Errors of a write, which do not name the file.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def atomic_write(path: str | os.PathLike, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, and to read back, that takes the place of ``path`` when the block ends without an error.

    Until then it has a hidden name in the same folder, so that readers see the old file or the new one. After an error it
    is removed; what a killed process has left is removed by the next call for the same folder. An existing file is replaced
    only with ``overwrite``, by one with the same permissions; a folder or a device, never.
    """
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    _check_target(path, target, overwrite)
    _remove_abandoned(target.parent)
    temporary = target.with_name(f".elliptope-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x+b") as file:  # unlike those of tempfile, this file gets the permissions of any new file
            _lock(file.fileno())
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
    if fcntl is None or not target.exists():
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


def _lock(file: int) -> None:
    """Mark an open file as being written: the system takes the lock away when the process ends, however it ends."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _machine() -> str:
    """Eight digits that tell machines apart which share a folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove_abandoned(folder: Path) -> None:
    """Delete unfinished files of processes that were killed: they ran on this machine, are gone, and left no lock.

    The lock protects files that are written in other containers, whose process numbers mean nothing here.
    """
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _UNFINISHED.fullmatch(entry.name)
            if found and found[1] == _machine() and not _runs(int(found[2])) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if a process holds it
        os.unlink(path)
    finally:
        os.close(file)


def _runs(process: int) -> bool:
    """Whether there is a process of this number: signal 0 is delivered to none."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # one of somebody else's, or a number that no process has
        return True
    return True
