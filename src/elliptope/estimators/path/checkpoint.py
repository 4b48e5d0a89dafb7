"""Results kept in a file as they come, so that interrupted work goes on where it stopped.

A checkpoint is an ``.npz`` archive without pickled objects: entries, each a dictionary of plain facts and one of arrays, and
the fingerprint of the work they belong to. It is replaced as a whole, so that whatever happens it is the old or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.npyio import NpzFile

from ..._utils.arrays import Array
from ..._utils.files import atomic_write

_FORMAT = "elliptope checkpoint 1"
_HEADER = "header"
# Hexadecimal digits of a hash that are kept: 64 bits, far beyond accidental agreement.
_DIGITS = 16
_REMEDY = "Pass another file, or delete this one to start anew."


class Entry(NamedTuple):
    facts: dict[str, Any]  # what JSON can hold
    arrays: dict[str, Array]


def describe(value: Any) -> str:
    """A string that tells values apart. Functions and other objects without a printed form go by their names alone."""
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        digest = hashlib.sha256(f"{data.dtype} {data.shape} ".encode() + data.tobytes()).hexdigest()
        return f"array of shape {data.shape} with hash {digest[:_DIGITS]}"
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = value.get_state(legacy=True)
        return f"RandomState at {rest} of {describe(keys)}"
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return repr(value)


class Checkpoint:
    """The file at ``path``, for work with this ``fingerprint``: a description of everything its results depend on."""

    def __init__(self, path: str | os.PathLike, fingerprint: dict[str, str]) -> None:
        self.path, self.fingerprint = Path(path), fingerprint
        if not self.path.parent.is_dir():
            raise ValueError(f"`checkpoint` must lie in a folder that exists, got {os.fspath(path)!r}.")

    def read(self) -> list[Entry]:
        """The entries in the file, none if there is no file yet; an error if they belong to other work."""
        try:
            fingerprint, entries = self._load()
        except FileNotFoundError:
            return []
        except (EOFError, IndexError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(
                f"`checkpoint` must be a file that an earlier call wrote, or not exist; {str(self.path)!r} is damaged or "
                f"something else ({error}). {_REMEDY}"
            ) from error
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"`checkpoint` {str(self.path)!r} belongs to other work: {self._differences(fingerprint)}. {_REMEDY}"
            )
        return entries

    def write(self, entries: list[Entry]) -> None:
        header = {"format": _FORMAT, "fingerprint": self.fingerprint, "facts": [e.facts for e in entries]}
        contents: dict[str, Any] = {_HEADER: np.array(json.dumps(header))}
        contents.update({f"{i}_{name}": array for i, e in enumerate(entries) for name, array in e.arrays.items()})
        with atomic_write(self.path, overwrite=True) as file:
            np.savez(file, **contents)

    def _load(self) -> tuple[dict[str, str], list[Entry]]:
        archive = np.load(self.path, allow_pickle=False)
        if not isinstance(archive, NpzFile):
            raise ValueError("a single array")
        with archive:
            header = json.loads(str(archive[_HEADER]))
            if header["format"] != _FORMAT:
                raise ValueError(f"format {header['format']!r} instead of {_FORMAT!r}")
            entries = [Entry(facts, {}) for facts in header["facts"]]
            for key in archive.files:
                if key != _HEADER:
                    place, name = key.split("_", 1)
                    entries[int(place)].arrays[name] = archive[key]
            return header["fingerprint"], entries

    def _differences(self, fingerprint: dict[str, str]) -> str:
        """Names of all that differs, as it was and as it is."""
        names = sorted(self.fingerprint.keys() | fingerprint.keys())
        return "; ".join(
            f"`{name}` was {fingerprint.get(name)}, is {self.fingerprint.get(name)}"
            for name in names
            if fingerprint.get(name) != self.fingerprint.get(name)
        )
