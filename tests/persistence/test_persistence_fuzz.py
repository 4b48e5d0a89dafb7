"""Random damage to model files, with and without a checksum that hides it: a model or a reason comes out, nothing else."""

import copy
import io
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elliptope import DiffusionMap, ModelFileError, RKHSEmbedding, SDPEmbedding
from model_files import SEAL, header_of, load, model, neighbor_models, other_models, refused, seal, with_array, with_header

FUZZ = settings(max_examples=300, deadline=None)
# Memory that loading may take: some for every byte of the file, and a chunk for the checksum.
PER_BYTE, CONSTANT = 50, 4 * 2**20
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["nan", "Gaussian"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def survives(scratch, data):
    """Either a model or a reason, for little memory; anything else that is raised fails the test."""
    tracemalloc.start()
    try:
        assert isinstance(load(scratch, data), SDPEmbedding | RKHSEmbedding | DiffusionMap)
    except ModelFileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= PER_BYTE * len(data) + CONSTANT


def places(value, prefix=()):
    """All places of a JSON value that can be replaced."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*prefix, key)
        yield from places(value[key], (*prefix, key))


def at(value, place):
    for key in place:
        value = value[key]
    return value


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("models") / "model.elliptope"


@FUZZ
@given(data=st.data())
def test_flipped_bytes(data, scratch):
    damaged = bytearray(model())
    flips = data.draw(st.dictionaries(st.integers(0, len(damaged) - 1), st.integers(1, 255), min_size=1, max_size=20))
    for i, mask in flips.items():
        damaged[i] ^= mask
    refused(scratch, bytes(damaged))


@FUZZ
@given(data=st.data())
def test_flipped_bytes_under_a_new_seal(data, scratch):
    """Most of these hit the directory, the local headers, preambles and JSON: what has to be parsed."""
    original = data.draw(st.sampled_from([model(), *other_models()]))
    damaged = bytearray(original)
    structure = [i for i, byte in enumerate(original) if original[max(i - 60, 0) : i + 60].count(b"PK") or byte == 0x7B]
    where = st.sampled_from(structure) | st.integers(0, len(damaged) - 1)
    for i, mask in data.draw(st.dictionaries(where, st.integers(1, 255), min_size=1, max_size=5)).items():
        damaged[i] ^= mask
    survives(scratch, seal(bytes(damaged)))


@FUZZ
@given(data=st.data())
def test_pieces_cut_out_doubled_and_moved(data, scratch):
    original = model()
    a, b, c = sorted(data.draw(st.integers(0, len(original))) for _ in range(3))
    start, first, second, end = original[:a], original[a:b], original[b:c], original[c:]
    noise = data.draw(st.binary(max_size=50))
    middle = data.draw(st.sampled_from([b"", second + first, first + first, noise]))
    survives(scratch, seal(start + middle + end))


@FUZZ
@given(noise=st.binary(max_size=2000), start=st.booleans(), end=st.booleans())
def test_noise(noise, start, end, scratch):
    head, tail = model()[:41] if start else b"", SEAL + bytes(64) if end else b""
    survives(scratch, seal(head + noise + tail) if end else head + noise)


@FUZZ
@given(data=st.data())
def test_json_spliced_into_the_header(data, scratch):
    original = data.draw(st.sampled_from([model(), *other_models()]))
    header = header_of(original)
    for _ in range(data.draw(st.integers(1, 3))):
        *outer, key = data.draw(st.sampled_from(list(places(header))))
        inner = at(header, outer)
        action = data.draw(st.sampled_from(["replace", "delete", "move"]))
        if action == "replace":
            inner[key] = data.draw(JSON)
        elif action == "delete":
            del inner[key]
        else:  # something that is good elsewhere
            inner[key] = copy.deepcopy(at(header, data.draw(st.sampled_from(list(places(header))))))
        if not list(places(header)):
            break
    survives(scratch, with_header(original, header))


@FUZZ
@given(data=st.data())
def test_graphs_with_other_entries(data, scratch):
    """A graph that is taken for one is symmetric and has its diagonal: whatever else it says, rows can be read off it."""
    original = data.draw(st.sampled_from(neighbor_models()[1:]))
    name = f"training.extension.kernel.graph.{data.draw(st.sampled_from(['data', 'indices', 'indptr']))}"
    with np.load(io.BytesIO(original)) as arrays:
        array = arrays[name].copy()
    values = st.floats(width=64) if name.endswith("data") else st.integers(-2, 100) | st.integers(-(2**63), 2**63 - 1)
    for i, value in data.draw(st.dictionaries(st.integers(0, len(array) - 1), values, min_size=1, max_size=5)).items():
        array[i] = value
    length = data.draw(st.just(len(array)) | st.integers(0, len(array)))
    survives(scratch, with_array(original, name, array[:length]))
    try:
        kernel = load(scratch, scratch.read_bytes()).training_.extension.kernel
    except ModelFileError:
        return
    K = kernel.matrix().toarray()
    assert (K == K.T).all()
    assert (K.diagonal() == 1).all()


@FUZZ
@given(header=JSON)
def test_any_json_as_header(header, scratch):
    refused(scratch, with_header(model(), json.dumps(header).encode()))
