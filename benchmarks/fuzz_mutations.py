"""Damage to files: to any bytes, to tables, and to the header and the arrays of sealed archives."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

# Hexadecimal digits of the checksum that ends a file.
DIGITS = 64
# Values that are put where others were.
NUMBERS = [-1, 0, 1, 2, 7, 10**6, 2**63, 10**400, 0.5, -0.0, 1e300]
STRANGE: list[Any] = [*NUMBERS, None, True, "nan", "inf", "Gaussian", "", [], {}]
# Cells that are put into tables.
CELLS = [b"nan", b"inf", b"1e999", b"1_0", b"0x1p3", b"true", b"\xd9\xa3", b" 1 ", b'"1"', b"-", b"1,5"]
CELLS += [b"'=1+1", b"''=1+1", b"=1", b"'-1", b"", b'"', b"\0"]

Mutation = Callable[[bytes, Generator], bytes]


def flipped(data: bytes, rng: Generator) -> bytes:
    """Up to 20 bytes changed."""
    damaged = np.frombuffer(data, np.uint8).copy()
    where = rng.integers(len(data), size=rng.integers(1, 21))
    damaged[where] ^= rng.integers(1, 256, size=len(where), dtype=np.uint8)
    return damaged.tobytes()


def truncated(data: bytes, rng: Generator) -> bytes:
    return data[: rng.integers(len(data))]


def _pieces(data: bytes, rng: Generator) -> tuple[bytes, bytes, bytes, bytes]:
    a, b, c = np.sort(rng.integers(len(data) + 1, size=3))
    return data[:a], data[a:b], data[b:c], data[c:]


def doubled(data: bytes, rng: Generator) -> bytes:
    start, first, second, end = _pieces(data, rng)
    return start + first + first + second + end


def cut(data: bytes, rng: Generator) -> bytes:
    start, _, second, end = _pieces(data, rng)
    return start + second + end


def exchanged(data: bytes, rng: Generator) -> bytes:
    start, first, second, end = _pieces(data, rng)
    return start + second + first + end


def noise(data: bytes, rng: Generator) -> bytes:
    start, _, second, end = _pieces(data, rng)
    return start + rng.bytes(int(rng.integers(50))) + second + end


BYTES: list[Mutation] = [flipped, truncated, doubled, cut, exchanged, noise]


def other_characters(data: bytes, rng: Generator) -> bytes:
    """Up to five characters replaced by those that mean something in a table."""
    damaged = bytearray(data)
    for i in rng.integers(len(data), size=rng.integers(1, 6)):
        damaged[i] = rng.choice(list(b"0123456789.,;\t\n\r\"' +-eE_#"))
    return bytes(damaged)


def other_cells(data: bytes, rng: Generator) -> bytes:
    """A cell replaced, which is what lies between two delimiters or line ends."""
    ends = [i for i, byte in enumerate(data) if byte in b",;\t\n"]
    k = int(rng.integers(len(ends) - 1))
    return data[: ends[k] + 1] + CELLS[rng.integers(len(CELLS))] + data[ends[k + 1] :]


def other_lines(data: bytes, rng: Generator) -> bytes:
    """A line doubled, dropped or moved."""
    lines = data.splitlines(keepends=True)
    i, j = rng.integers(len(lines), size=2)
    line = lines[i] if rng.integers(2) else lines.pop(i)
    lines.insert(int(j), line)
    return b"".join(lines[: -1 if rng.integers(3) == 0 else None])


TABLES: list[Mutation] = [*BYTES, other_characters, other_cells, other_lines]


def entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def build(parts: dict[str, bytes], like: bytes) -> bytes:
    """An archive with the comment, and so the old checksum, of another."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
        with zipfile.ZipFile(io.BytesIO(like)) as original:
            archive.comment = original.comment
    return buffer.getvalue()


def sealed(data: bytes) -> bytes:
    """The same with the checksum that it should have: what somebody who means harm would do."""
    return data[:-DIGITS] + hashlib.sha256(data[:-DIGITS]).hexdigest().encode()


def places(value: Any, prefix: tuple = ()) -> Iterator[tuple]:
    """All places of a JSON value that can be replaced."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*prefix, key)
        yield from places(value[key], (*prefix, key))


def at(value: Any, place: tuple) -> Any:
    for key in place:
        value = value[key]
    return value


def other_header(data: bytes, rng: Generator) -> bytes:
    """One to three values of the header replaced, removed or copied from elsewhere; numbers often changed a little."""
    parts = entries(data)
    header = json.loads(parts["header.json"])
    for _ in range(rng.integers(1, 4)):
        choices = list(places(header))
        if not choices:
            break
        *outer, key = choices[rng.integers(len(choices))]
        inner = at(header, tuple(outer))
        old, action = inner[key], rng.integers(4)
        if action == 0:
            del inner[key]
        elif action == 1:
            inner[key] = copy.deepcopy(at(header, choices[rng.integers(len(choices))]))
        elif action == 2 and isinstance(old, int | float):
            inner[key] = type(old)(old * 2 + 1) if rng.integers(2) else old + 1
        else:
            inner[key] = STRANGE[rng.integers(len(STRANGE))]
    return build({**parts, "header.json": json.dumps(header, indent=1).encode()}, data)


def swapped_arrays(data: bytes, rng: Generator) -> bytes:
    """Two arrays take each other's names, or one takes the place of both."""
    parts = entries(data)
    a, b = rng.choice([name for name in parts if name != "header.json"], size=2, replace=False)
    parts[a], parts[b] = parts[b], parts[b if rng.integers(3) == 0 else a]
    return build(parts, data)


def other_array(data: bytes, rng: Generator) -> bytes:
    """One array with other entries, another shape or dtype; half of the time the header declares it."""
    parts = entries(data)
    name = str(rng.choice([name for name in parts if name != "header.json"]))
    array = np.load(io.BytesIO(parts[name]), allow_pickle=False)
    array = _ARRAYS[rng.integers(len(_ARRAYS))](array.copy(), rng)
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    parts[name] = buffer.getvalue()
    if rng.integers(2):
        header = json.loads(parts["header.json"])
        for place in list(places(header)):
            if place[-1] == "array" and at(header, place) == name.removesuffix(".npy"):
                at(header, place[:-1]).update(dtype=array.dtype.str, shape=list(array.shape))
        parts["header.json"] = json.dumps(header, indent=1).encode()
    return build(parts, data)


def _other_entries(array: Any, rng: Generator) -> Any:
    values = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 5.0] if array.dtype.kind == "f" else [-1, 0, 3, 2**62]
    if array.size:
        array.flat[rng.integers(array.size)] = values[rng.integers(len(values))]
    return array


_ARRAYS: list[Callable[[Any, Generator], Any]] = [
    _other_entries,
    lambda array, rng: array[:-1],
    lambda array, rng: np.concatenate([array, array[:1]]),
    lambda array, rng: array.T,
    lambda array, rng: array[..., None],
    lambda array, rng: array.astype(rng.choice(["<f4", ">f8", "<i4", "<c16", "object", "<U8"])),
]
ARCHIVES: list[Mutation] = [*BYTES, other_header, swapped_arrays, other_array]
