"""Model files, checkpoints and outputs: never half written, never replaced unasked, refused when damaged."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import stat
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import elliptope
from elliptope import ModelFileError, SDPEmbedding, bandwidth_path, datasets, transform_to
from elliptope._utils.arrays import Array
from faults.case import Case, Error, Right
from faults.processes import forked, killed
from model_files import DIGITS, build, edited, entries, model, saved, with_header

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


BANDWIDTHS = [3.0, 2.5, 2.0, 1.8, 1.6, 1.5]


def path_while_killed() -> Any:
    def follow() -> Any:
        return bandwidth_path(X, BANDWIDTHS, checkpoint="c.npz", random_state=0)

    for k in range(20):
        killed(follow, 0.005 + 0.002 * k)
    return follow()


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
    case(
        "a path of bandwidths on a full disk",
        lambda: only_the_old_file(lambda: with_full_disk(lambda: bandwidth_path(X, [2.0], checkpoint="c.npz"))),
        Error("File too large: 'c.npz'", OSError),
    ),
    case("save where nothing can be written", lambda: fitted().save("/proc/m"), Error(": '/proc/m'$", OSError)),
    case("save to ''", lambda: fitted().save(""), Error("The name of the file to write is empty", FileNotFoundError)),
    case("save, killed at 20 times", saved_while_killed, Right("the model is there each time", bool)),
    case(
        "a path of bandwidths, killed at 20 times",
        path_while_killed,
        Right(
            "the path that was not interrupted",
            lambda path: all(
                (a.embedding == b.embedding).all()
                for a, b in zip(path.records, bandwidth_path(X, BANDWIDTHS, random_state=0).records, strict=True)
            ),
        ),
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
    "with another checksum": (lambda: model()[:-1] + (b"0" if model()[-1:] != b"0" else b"1"), "SHA-256"),
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


def checkpoint(change: Callable[[dict[str, Any], dict[str, Array]], Any]) -> Any:
    """Follow a path from a checkpoint whose header and arrays were changed, and which got the right checksum again."""
    bandwidth_path(X, [3.0, 2.0], checkpoint="c.npz", random_state=0)
    parts = entries(Path("c.npz").read_bytes())
    header = json.loads(parts.pop("header.json"))
    arrays = {name: np.load(io.BytesIO(part)) for name, part in parts.items()}
    change(header, arrays)
    parts = {"header.json": json.dumps(header).encode(), **{name: array_file(array) for name, array in arrays.items()}}
    written(build(parts.items(), b"elliptope checkpoint, sha256 " + bytes(DIGITS)), "c.npz")
    return bandwidth_path(X, [3.0, 2.0], checkpoint="c.npz", random_state=0)


def replaced(array: Array) -> Callable[[dict[str, Any], dict[str, Array]], None]:
    """Another array in the first record, which the header declares."""

    def change(header: dict[str, Any], arrays: dict[str, Array]) -> None:
        declared = header["records"][0]["embedding"]
        arrays[declared["array"] + ".npy"] = array
        declared.update(dtype=array.dtype.str, shape=list(array.shape))

    return change


REFUSED = Error("`checkpoint` must be a file that an earlier call wrote.*delete this one to start anew")
CHECKPOINTS = (
    [
        case(f"checkpoint {name}", lambda change=change: checkpoint(change), replace(REFUSED, message=f"{why}.*delete this"))
        for name, change, why in [
            ("with NaN", replaced(np.full((40, 2), np.nan)), "`records.0.embedding` must be finite"),
            ("with arrays of other shapes", replaced(np.ones((3, 2))), r"must have shape \(40, k\), got \(3, 2\)"),
            ("with a missing array", lambda header, arrays: arrays.popitem(), "lacks|missing|no entry"),
            ("with an array too many", lambda header, arrays: arrays.update(more=np.ones(2)), "more"),
            ("with a status that does not exist", lambda header, _: header["records"][0].update(status="best"), "'best'"),
            ("without a bandwidth", lambda header, _: header["records"][0].pop("bandwidth"), r"lacks \['bandwidth'\]"),
            ("with text for numbers", replaced(np.full((40, 2), "a")), "embedding"),
            ("without a format", lambda header, _: header.pop("format"), "format"),
        ]
    ]
    + [
        case(
            f"checkpoint that is {name}",
            lambda content=content: bandwidth_path(X, [2.0], checkpoint=written(content)),
            REFUSED,
        )
        for name, content in {"empty": b"", "text": b"bandwidth,status\n", "an array": array_file(np.ones(3))}.items()
    ]
    + [
        case(
            "checkpoint of other data",
            lambda: [bandwidth_path(data, [2.0], checkpoint="c.npz", random_state=0) for data in (X, X + 1)],
            Error(r"`checkpoint` 'c.npz' belongs to other work: `X` was array of shape .*delete this one"),
        ),
        case(
            "checkpoint of other parameters",
            lambda: [bandwidth_path(X, [2.0], checkpoint="c.npz", random_state=0, tol=tol) for tol in (1e-6, 1e-7)],
            Error("belongs to other work: `tol` was 1e-06, is 1e-07"),
        ),
    ]
)
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
CASES = [*SAVING, *LOADING, *CHECKPOINTS, *DATASETS]
