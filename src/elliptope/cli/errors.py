"""Exit codes, and the errors that become one line on standard error."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Sequence
from enum import IntEnum

# Characters of a user's text, such as a cell of a table, that a message repeats.
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60
shown = _REPR.repr
# Names that a message lists.
_LISTED = 8
# Names that need no quotes and fit into a line.
_PLAIN = re.compile(r"[\w.][\w. -]{0,39}")


def plain(name: str) -> str:
    """A name in a message: in quotes, and without control characters, where it is not an ordinary one."""
    return name if _PLAIN.fullmatch(name) else shown(name)


def some(names: Sequence[str], most: int) -> str:
    """Names, separated by commas; only the first ``most`` if there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def listing(names: Sequence[str]) -> str:
    """The first few names as a user has written them."""
    return some([shown(name) for name in names], _LISTED)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class ExitCode(IntEnum):
    """Exit codes of the process."""

    OK = 0
    FAILURE = 1  # a file, its contents or the computation
    USAGE = 2  # the command line itself
    NOT_OPTIMAL = 3  # results are written, but are not certified as optimal
    INTERRUPTED = 130  # as shells have it: 128 + SIGINT
    BROKEN_PIPE = 141  # 128 + SIGPIPE
    TERMINATED = 143  # 128 + SIGTERM


class CommandError(Exception):
    """An error that the user can correct; the message says where and how. ``details`` are lines that come before it."""

    code = ExitCode.FAILURE
    details: Sequence[str] = ()


class UsageError(CommandError):
    """The command line cannot be understood."""

    code = ExitCode.USAGE


class TableError(CommandError):
    """A table that cannot be read: ``source`` names the file, ``place`` the row and the column."""

    def __init__(self, source: str, problem: str, place: str = "") -> None:
        super().__init__(": ".join(part for part in (source, place, problem) if part))


def one_line(error: BaseException) -> str:
    """The message of an error, without line breaks."""
    if isinstance(error, OSError) and error.strerror:
        names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
        text = ": ".join([*names, error.strerror])
    elif isinstance(error, MemoryError):
        text = f"not enough memory. {error}"
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())
