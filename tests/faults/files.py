"""Model files, checkpoints and outputs: never half written, never replaced unasked, refused when damaged."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import elliptope
from elliptope import ModelFileError, SDPEmbedding
from faults.case import Case, Error, small_model

case = partial(Case, "files")
X = np.random.default_rng(0).standard_normal((40, 3))


def load(content: bytes) -> object:
    Path("model").write_bytes(content)
    return elliptope.load("model")


CASES = [
    case(
        "save over a file",
        lambda: (Path("old").touch(), SDPEmbedding().fit(X).save("old")),
        Error("overwrite=True", FileExistsError),
    ),
    case(
        "load of a model cut short",
        lambda: load(small_model()[:1000]),
        Error("'model' cannot be loaded: it", ModelFileError),
    ),
    case("load of no file", lambda: elliptope.load("nowhere"), Error("nowhere", FileNotFoundError)),
]
