"""Models in files: arrays and a JSON header with a checksum, and no pickle. docs/model_format.md describes the format."""

from __future__ import annotations

import json
import os
from typing import Any

from .._utils.callers import warn
from .._utils.files import atomic_write
from .._utils.versions import versions
from .._version import __version__
from .container import Archive, ModelFileError, open_archive, shown, write
from .fields import Reading, take
from .models import pack, unpack

__all__ = ["SCHEMA", "ModelFileError", "load", "read", "read_header", "save"]

# Goes up with every change of what a file holds, from the first release on.
SCHEMA = 1
_FORMAT = "elliptope model"
_KEYS = ("format", "schema", "versions", "class", "parameters", "set_output", "feature_names_in", "fitted", "metadata")


def save(est: Any, path: str | os.PathLike, *, overwrite: bool = False, metadata: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file, for :func:`load`.

    The file is written under another name and moved to ``path`` when it is complete. An existing file is replaced only
    with ``overwrite``. ``metadata`` is a dictionary that JSON can hold, for :func:`read_header`; a text under the key
    ``"when_loaded"`` becomes a warning of :func:`load`.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    FileExistsError
        Without ``overwrite``.
    ModelFileError
        When a parameter cannot be stored, such as a function.
    """
    metadata = _checked_metadata({} if metadata is None else metadata)
    try:
        content, arrays = pack(est)
        header = {"format": _FORMAT, "schema": SCHEMA, "versions": versions(), **content, "metadata": metadata}
        with atomic_write(path, overwrite=overwrite) as file:
            write(file, header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"This {type(est).__name__} cannot be saved: {error}.") from error


def load(path: str | os.PathLike) -> Any:
    """The estimator in a file that ``save`` wrote, bit for bit. Everything in the file is checked, and none of it is run.

    Warns where the file says what else its rows need, as models of the command line do that standardise their rows.

    Raises
    ------
    ModelFileError
        When the file is not a model, is incomplete or altered, or comes from a later version.
    """
    est, header = read(path)
    if isinstance(note := header["metadata"].get("when_loaded"), str):
        warn(f"{os.fspath(path)!r}: {note}")
    return est


def read(path: str | os.PathLike) -> tuple[Any, dict[str, Any]]:
    """What :func:`load` returns, without a warning, and the header."""
    with open_archive(path) as archive:
        header = _checked_header(archive)
        est = unpack(header, Reading(archive))
        archive.check_all_read()
        return est, header


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """The header of a model file: versions, class, parameters, certificate, metadata. The checksum is verified first."""
    with open_archive(path) as archive:
        return _checked_header(archive)


def _checked_header(archive: Archive) -> dict[str, Any]:
    # These two keys are checked first: a header of a later schema may have any others.
    header = archive.header
    schema = header.get("schema")
    if header.get("format") != _FORMAT or type(schema) is not int or schema < 1:
        raise ModelFileError(f"its header does not say that it is an {_FORMAT}")
    if schema > SCHEMA:
        writer = header["versions"].get("elliptope") if isinstance(header.get("versions"), dict) else None
        raise ModelFileError(
            f"it has schema {shown(schema)}, written by elliptope {shown(writer)}; this is elliptope "
            f"{__version__}, which reads schemas up to {SCHEMA}. Upgrade elliptope"
        )
    take(header, _KEYS, "header")
    for key in ("versions", "metadata"):
        if not isinstance(header[key], dict):
            raise ModelFileError(f"`{key}` must be an object, got {shown(header[key])}")
    return header


def _checked_metadata(metadata: Any) -> dict[str, Any]:
    try:
        same = json.loads(json.dumps(metadata, allow_nan=False)) == metadata and isinstance(metadata, dict)
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise ValueError(f"`metadata` must be a dictionary that JSON can hold, got {shown(metadata)}.")
    return metadata
