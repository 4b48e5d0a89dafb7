"""Records kept in a file as they come, so that an interrupted path goes on where it stopped.

A checkpoint is a container like that of models: a header, which has the fingerprint of the work that the records belong to,
arrays, and a checksum. It is replaced as a whole, so that whatever happens it is the old or the new one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..._utils.files import atomic_write
from ...persistence.arrays import Floats
from ...persistence.container import Archive, Kind, ModelFileError, open_archive, shown, write
from ...persistence.fields import Integer, Number, Optional, Packing, Reading, take
from ...persistence.objects import OneOf
from ..stored import CERTIFICATE, STATUS
from .records import PathRecord

# Every bandwidth takes three entries and two kilobytes of the header.
_KIND = Kind("checkpoint", "`bandwidth_path`", 2**20, 2**30)
_FORMAT = "elliptope checkpoint 3"
_RECORD = OneOf(
    {
        PathRecord: {
            "bandwidth": Number(),
            "embedding": Floats("n", "k"),
            "factor": Floats("n", "r"),
            "eigenvalues": Floats("r"),
            "certificate": CERTIFICATE,
            "status": STATUS,
            "n_iter": Integer(),
            "n_products": Integer(),
            "seconds": Number(),
            "spread": Optional(Number()),
        }
    }
)
_REMEDY = "Pass another file, or delete this one to start anew."


class Checkpoint:
    """The file at ``path``, for work on n rows with this ``fingerprint``, which describes all that its results depend on."""

    def __init__(self, path: str | os.PathLike, fingerprint: dict[str, str], n: int) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ValueError(f"`checkpoint` must be the name of a file, got {path!r}.")
        self.path, self.fingerprint, self.n = Path(path), fingerprint, n
        if not self.path.parent.is_dir():
            raise ValueError(f"`checkpoint` must lie in a folder that exists, got {os.fspath(path)!r}.")

    def read(self) -> list[PathRecord]:
        """The records in the file, none if there is no file yet; an error if they belong to other work."""
        try:
            with open_archive(self.path, _KIND) as archive:
                return self._unpack(archive)
        except FileNotFoundError:
            return []
        except ModelFileError as error:
            raise ValueError(
                f"`checkpoint` must be a file that an earlier call wrote, or not exist; {error} {_REMEDY}"
            ) from error

    def write(self, records: Iterable[PathRecord]) -> None:
        packing = Packing()
        packed = [_RECORD.pack(record, f"records.{i}", packing) for i, record in enumerate(records)]
        header = {"format": _FORMAT, "fingerprint": self.fingerprint, "records": packed}
        with atomic_write(self.path, overwrite=True) as file:
            write(file, header, packing.arrays, _KIND)

    def _unpack(self, archive: Archive) -> list[PathRecord]:
        if archive.header.get("format") != _FORMAT:
            raise ModelFileError(f"it has format {shown(archive.header.get('format'))} instead of {_FORMAT!r}")
        header = take(archive.header, ("format", "fingerprint", "records"), "header")
        fingerprint, packed = header["fingerprint"], header["records"]
        if not isinstance(fingerprint, dict) or not isinstance(packed, list):
            raise ModelFileError("its fingerprint must be an object, and its records a list")
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"`checkpoint` {str(self.path)!r} belongs to other work: {self._differences(fingerprint)}. {_REMEDY}"
            )
        # Records share nothing but the number of rows.
        readings = [Reading(archive, {"n": self.n}) for _ in packed]
        records = [_RECORD.unpack(p, f"records.{i}", readings[i]) for i, p in enumerate(packed)]
        archive.check_all_read()
        return records

    def _differences(self, fingerprint: dict[str, Any]) -> str:
        """Names of all that differs, as it was and as it is."""
        names = sorted(self.fingerprint.keys() | fingerprint.keys())
        return "; ".join(
            f"`{name}` was {fingerprint.get(name)}, is {self.fingerprint.get(name)}"
            for name in names
            if fingerprint.get(name) != self.fingerprint.get(name)
        )
