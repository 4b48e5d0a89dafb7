"""How much memory this process may still take: what the machine has left, and what containers and limits leave of it.

An answer that cannot be had is None and never an error. No allocation is reserved by asking: other processes may take what
was free a moment ago.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .._utils.threads import control_groups

# Pages of files that the kernel gives up before it kills.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


@dataclass(frozen=True)
class Memory:
    """Bytes that this process may still take (None: unknown), and what says so."""

    bytes: int | None
    source: str


def available_memory(root: str | os.PathLike = "/") -> Memory:
    """The least of what is left of physical memory, of every control group above this process, and of its address space.

    Page cache counts as free, for the kernel gives it up first; swap does not. ``root`` is where ``proc`` and ``sys`` are
    looked for. Never raises.
    """
    base = Path(root)
    found = [*_quietly(_physical, base), *_quietly(_control_groups, base), *_quietly(_address_space, base)]
    return min(found, key=lambda memory: memory.bytes or 0, default=Memory(None, "unknown"))


def _quietly(probe: Callable[[Path], Iterator[Memory]], root: Path) -> list[Memory]:
    try:
        return list(probe(root))
    except Exception:  # whatever a system has in place of these files, doing without the answer is better than failing
        return []


def _physical(root: Path) -> Iterator[Memory]:
    meminfo = root / "proc" / "meminfo"
    if meminfo.exists():
        entries = {name: int(rest.split()[0]) for name, _, rest in _fields(meminfo, ":")}
        yield Memory(1024 * entries["MemAvailable"], "free physical memory")
    elif sys.platform == "win32":
        yield Memory(_windows_available(), "free physical memory")
    else:  # macOS tells what is free through calls of its kernel only
        yield Memory(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "physical memory, free or not")


def _fields(path: Path, separator: str) -> list[tuple[str, str, str]]:
    return [line.partition(separator) for line in path.read_text().splitlines() if line]


def _windows_available() -> int:
    import ctypes

    class Status(ctypes.Structure):
        """MEMORYSTATUSEX."""

        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *[(name, ctypes.c_ulonglong) for name in ("total", "available", *"abcde")],
        ]

    status = Status(length=ctypes.sizeof(Status))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        raise OSError("GlobalMemoryStatusEx failed")
    return int(status.available)


def _control_groups(root: Path) -> Iterator[Memory]:
    """What the limits of every group from that of this process upwards leave."""
    for name, folder in control_groups(root):
        room = _room(folder)
        if room is not None:
            yield Memory(room, f"the limit of control group {name}")


def _room(folder: Path) -> int | None:
    """Limit less what is used and cannot be given up; None without a limit."""
    limits = [limit for name in ("memory.max", "memory.high") if (limit := _number(folder / name)) is not None]
    if not limits:
        return None
    used = _number(folder / "memory.current") or 0
    try:
        stat = {name: int(value) for name, _, value in _fields(folder / "memory.stat", " ")}
    except (OSError, ValueError):
        stat = {}
    cache = sum(stat.get(name, 0) for name in _RECLAIMABLE)
    return max(min(limits) - max(used - cache, 0), 0)


def _number(path: Path) -> int | None:
    """The number in a file; None where there is no file, or ``max`` in it."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _address_space(root: Path) -> Iterator[Memory]:
    import resource  # not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        used = int((root / "proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        yield Memory(max(limit - used, 0), "the limit of the address space (ulimit -v)")
