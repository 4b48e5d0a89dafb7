"""The control groups of Linux that limit this process: containers, batch systems, systemd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def control_groups(root: Path, controller: str) -> Iterator[tuple[str, str, Path]]:
    """The group of this process and those above it: version (``cgroup`` or ``cgroup2``), name, and folder of its files.

    ``controller`` is what is limited, such as ``memory`` or ``cpu``; ``root`` is where ``proc`` and ``sys`` are looked for.
    """
    own = {}
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            own["cgroup2"] = path
        elif controller in controllers.split(","):
            own["cgroup"] = path
    for version, inside, mount in _mounts(root, controller):
        if version in own:
            for folder in _levels(mount, own[version], inside):
                yield version, "/" + folder.relative_to(mount).as_posix().removeprefix("."), folder


def _mounts(root: Path, controller: str) -> Iterator[tuple[str, str, Path]]:
    """Where the trees of groups are mounted: version, which group is at the mount point, and the mount point."""
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        version, _, options = right.split(" ")[:3]
        if version == "cgroup2" or (version == "cgroup" and controller in options.split(",")):
            inside, mount = left.split(" ")[3:5]
            yield version, inside, root / mount.lstrip("/")


def _levels(mount: Path, own: str, inside: str) -> Iterator[Path]:
    """Folders of the group ``own`` and those above it, up to the mount point, where the group ``inside`` is.

    In a container that uses the names of the host the group at the mount point is its own, whatever it is called; and so
    it is for one moved out of sight, whose name starts with ``..``.
    """
    path = PurePosixPath(own)
    path = path.relative_to(inside) if path.is_relative_to(inside) else PurePosixPath()
    folder = mount if ".." in path.parts else mount / path
    yield from (level for level in (folder, *folder.parents) if level.is_relative_to(mount))
