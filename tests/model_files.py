"""Model files taken apart and put together by other means than the library's own, for the tests of persistence."""

import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

import elliptope
from elliptope import DiffusionMap, ModelFileError, RKHSEmbedding, SDPEmbedding
from elliptope.kernels import Matern

SEAL = b"elliptope model, sha256 "
DIGITS = 64


def small_model(**parameters):
    """A model of ten points, whose file is small enough to be damaged in every byte."""
    X = np.random.default_rng(0).standard_normal((10, 2))
    return SDPEmbedding(bandwidth=1.0, random_state=0, **parameters).fit(X, sample_weight=np.arange(10.0))


def seal(data):
    """The same bytes with the checksum that they should have: what somebody who means harm would do."""
    return data[:-DIGITS] + hashlib.sha256(data[:-DIGITS]).hexdigest().encode()


def entries(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def build(parts, comment=SEAL + bytes(DIGITS), compression=zipfile.ZIP_STORED):
    """A sealed archive of (name, bytes) pairs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, part in parts:
            archive.writestr(zipfile.ZipInfo(name), part, compression)
        archive.comment = comment
    return seal(buffer.getvalue())


def header_of(data):
    return json.loads(entries(data)["header.json"])


def with_header(data, header):
    """The file with another header: an object, or its text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return build({**entries(data), "header.json": text}.items())


def with_array(data, name, array):
    """The file with another array, as NumPy writes it, and a header that declares it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    header = header_of(data)
    declared = header["fitted"]
    for key in name.split("."):
        declared = declared[key]
    declared["shape"], declared["dtype"] = list(array.shape), array.dtype.str
    return build({**entries(data), "header.json": json.dumps(header).encode(), f"{name}.npy": buffer.getvalue()}.items())


def edited(data, *place, value=None, delete=False):
    """The file with one value of its header replaced or deleted."""
    header = header_of(data)
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    if delete:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return with_header(data, header)


def load(scratch, data):
    scratch.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return elliptope.load(scratch)


def refused(scratch, data):
    """The reason."""
    with pytest.raises(ModelFileError) as caught:
        load(scratch, data)
    assert str(caught.value).startswith(f"{str(scratch)!r} cannot be loaded: ")
    return str(caught.value)


@cache
def model():
    """The bytes of a small model."""
    return saved(small_model())


@cache
def precomputed_model():
    points = np.random.default_rng(0).standard_normal((6, 2))
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=-1))
    return saved(SDPEmbedding(kernel="precomputed", random_state=0).fit(K, sample_weight=[0, 1, 1, 1, 1, 1]))


@cache
def neighbor_models():
    """A model with the neighbour kernel of points, one that keeps their graph, and one that has only a graph."""
    X = np.random.default_rng(0).standard_normal((12, 2))
    neighbors = SDPEmbedding(kernel="neighbors", n_neighbors=6, random_state=0)
    return (
        saved(neighbors.fit(X, sample_weight=np.arange(12.0))),
        saved(SDPEmbedding(kernel="overlap", n_neighbors=6, random_state=0).fit(X)),
        saved(neighbors.fit(kneighbors_graph(X, 8, mode="distance", include_self=True))),
    )


@cache
def other_models():
    X = np.random.default_rng(0).standard_normal((6, 2))
    estimators = [
        DiffusionMap(bandwidth=2.0),
        RKHSEmbedding(random_state=0, diagonal=np.ones(6)),
        SDPEmbedding(kernel=Matern(2.0), diagonal=np.linspace(1, 2, 6), random_state=0),
    ]
    return [*(saved(est.fit(X)) for est in estimators), precomputed_model(), *neighbor_models()]


def saved(est):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        est.save(path)
        return path.read_bytes()
