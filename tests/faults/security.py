"""Somebody who means harm: files that want to run code, to take all memory, or to write elsewhere; text that is a script."""

from __future__ import annotations

import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import elliptope
from elliptope import ModelFileError
from faults.case import Case, Error

case = partial(Case, "security")


class Harm:
    """An object that makes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("harmed",)


def load(content: bytes) -> object:
    Path("model").write_bytes(content)
    try:
        return elliptope.load("model")
    finally:
        assert not Path("harmed").exists()


CASES = [
    case(
        "model file that is a pickle",
        lambda: load(pickle.dumps(Harm())),
        Error("'model' cannot be loaded: it is a pickle. Unpickling runs whatever code", ModelFileError),
    ),
]
