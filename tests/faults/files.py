"""Model files and outputs: never half written, never replaced unasked, refused when damaged."""

from __future__ import annotations

import io
import os
import resource
import signal
import stat
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import elliptope
from elliptope import ModelFileError, SDPEmbedding, datasets, transform_to
from elliptope._utils.arrays import Array
from elliptope._utils.files import atomic_write
from faults.case import Case, Error, Right
from faults.processes import forked, killed
from model_files import edited, model, saved, with_header

case = partial(Case, "files")
X = np.random.default_rng(0).standard_normal((40, 3))
OTHER = b"somebody else's"


@cache
def fitted() -> SDPEmbedding:
    return SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)


def written(content: bytes, name: str = "m") -> str:
    Path(name).write_bytes(content)
    return name


def hidden_files() -> list[str]:
    return [name for name in os.listdir() if name.startswith(".")]


def only_the_old_file(run: Callable[[], Any]) -> Any:
    """Run, and make sure that the file `m` of somebody else is as it was, alone in its folder."""
    written(OTHER)
    try:
        return run()
    finally:
        assert Path("m").read_bytes() == OTHER
        assert os.listdir() == ["m"]


def with_full_disk(run: Callable[[], Any]) -> Any:
    """In a process that may write 1000 bytes to a file, and no more."""

    def limited() -> Any:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        return run()

    return forked(limited)


def saved_while_killed() -> Any:
    """Kill at various times a process that saves; the model must be there each time."""
    fitted().save("m")
    for k in range(20):
        killed(lambda: fitted().save("m", overwrite=True), 0.003 + 0.001 * k)
        np.testing.assert_array_equal(elliptope.load("m").embedding_, fitted().embedding_)
    return elliptope.load("m")


def killed_at_the_end() -> list[str]:
    """Hidden files after a save that was killed when all was written, and a save that was not."""

    def save() -> None:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        fitted().save("m")

    killed(save, 0.1)
    assert not Path("m").exists()
    fitted().save("m")
    return hidden_files()


def saved_beside_others() -> list[str]:
    """Hidden files of a process that still writes, of one on another machine, and of another program; after a save."""
    with atomic_write("other") as unfinished:
        names = [Path(unfinished.name).name, ".elliptope-00000000-999999999-0123456789abcdef.tmp", ".elliptope.tmp"]
        for name in names[1:]:
            written(OTHER, name)
        fitted().save("m")
        return sorted(set(names) - set(hidden_files()))


def permissions() -> int:
    fitted().save("m")
    os.chmod("m", 0o600)
    fitted().save("m", overwrite=True)
    return stat.S_IMODE(os.stat("m").st_mode)


def through_a_link() -> bool:
    written(OTHER, "target")
    os.symlink("target", "link")
    fitted().save("link", overwrite=True)
    return Path("link").is_symlink() and elliptope.load("target").status_ == "optimal"


def over_a_pipe() -> None:
    os.mkfifo("pipe")
    fitted().save("pipe", overwrite=True)


SAVING = [
    case(
        "save over a file",
        lambda: only_the_old_file(lambda: fitted().save("m")),
        Error("overwrite=True.*m", FileExistsError),
    ),
    case("save to a folder that does not exist", lambda: fitted().save("no/m"), Error("no such folder", FileNotFoundError)),
    case("save over a folder", lambda: fitted().save(".", overwrite=True), Error("folder", IsADirectoryError)),
    case("save over a pipe", over_a_pipe, Error("Only a regular file can be replaced: 'pipe'", FileExistsError)),
    case("save through a symbolic link", through_a_link, Right("the target is replaced, the link is kept", bool)),
    case(
        "save on a full disk",
        lambda: only_the_old_file(lambda: with_full_disk(lambda: fitted().save("m", overwrite=True))),
        Error("File too large: 'm'|No space left.*'m'", OSError),
    ),
    case("save where nothing can be written", lambda: fitted().save("/proc/m"), Error(": '/proc/m'$", OSError)),
    case("save to ''", lambda: fitted().save(""), Error("The name of the file to write is empty", FileNotFoundError)),
    case("save, killed at 20 times", saved_while_killed, Right("the model is there each time", bool)),
    case(
        "save after a save that was killed",
        killed_at_the_end,
        Right("the file that was left is removed", lambda hidden: hidden == []),
    ),
    case(
        "save beside files that others still write",
        saved_beside_others,
        Right("none of them is removed", lambda removed: removed == []),
    ),
    case(
        "save over a file that only its owner may read",
        permissions,
        Right("mode 600", lambda mode: mode == 0o600),
    ),
    case("save of a model with NaN", lambda: with_nan().save("m"), Error("`embedding` must be finite", ModelFileError)),
    case(
        "transform_to over a file",
        lambda: (written(OTHER, "Z.npy"), transform_to(fitted(), X, "Z.npy")),
        Error("overwrite=True", FileExistsError),
    ),
]


def with_nan() -> SDPEmbedding:
    est = SDPEmbedding(bandwidth=1.5).fit(X)
    est.embedding_[0, 0] = np.nan
    return est


def flipped() -> bytes:
    data = bytearray(model())
    data[len(data) // 2] ^= 1
    return bytes(data)


def array_file(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


DAMAGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "cut short": (lambda: model()[:1000], "truncated"),
    "with one bit flipped": (flipped, "altered or damaged since it was written"),
    "with a byte appended": (lambda: model() + b"\n", "appended"),
    "that is empty": (lambda: b"", "it is empty"),
    "that is a table": (lambda: b"a,b\n1,2\n", "no model"),
    "that is an array": (lambda: array_file(np.ones(3)), "a single array"),
    "of a later version": (lambda: edited(model(), "schema", value=99), "schema 99.*Upgrade elliptope"),
    "of no known class": (lambda: edited(model(), "class", value="Pipeline"), "class must be one of SDPEmbedding"),
    "with a parameter missing": (lambda: edited(model(), "parameters", "tol", delete=True), r"`parameters` lacks \['tol'\]"),
    "with a header that is not JSON": (lambda: with_header(model(), b"{"), "JSON"),
    "with NaN in its header": (lambda: with_header(model(), b'{"a": NaN}'), "JSON"),
    "with a status that does not exist": (
        lambda: edited(model(), "fitted", "status", value="best"),
        "must be one of 'optimal'",
    ),
    "with a negative bandwidth": (
        lambda: edited(model(), "fitted", "training", "extension", "kernel", "formula", "bandwidth", value=-1),
        "`bandwidth` must be positive",
    ),
}
LOADING = [
    case(
        f"load of a model {name}",
        lambda make=make: elliptope.load(written(make())),
        Error(f"^'m' cannot be loaded: .*{reason}", ModelFileError),
    )
    for name, (make, reason) in DAMAGED.items()
] + [
    case("load of no file", lambda: elliptope.load("nowhere"), Error("nowhere", FileNotFoundError)),
    case("load of a folder", lambda: elliptope.load("."), Error("directory|folder", IsADirectoryError)),
    case(
        "load of a model that was saved",
        lambda: elliptope.load(written(saved(fitted()))).transform(X),
        Right("the same numbers to the last bit", lambda Z: (fitted().transform(X) == Z).all()),
    ),
]


DATASETS = [
    case(
        "load_htru2, data_home without the file",
        lambda: datasets.load_htru2(data_home="."),
        Error("No file 'htru2.npz' in the folder '.', which `data_home` names", FileNotFoundError),
    ),
    case(
        "load_htru2, a file without labels",
        lambda: (np.savez("htru2.npz", X=X), datasets.load_htru2(data_home=".")),
        Error(r"must hold arrays 'X' and 'y'; \['y'\] not found"),
    ),
]
CASES = [*SAVING, *LOADING, *DATASETS]
