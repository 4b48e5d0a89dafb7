"""Kinds of stored values: how each is written to a file, and what is checked when it is read.

A field packs a value into JSON and, apart from it, arrays; it unpacks them into a value of its kind or raises
:class:`ModelFileError`. The ``place`` of a value is its path in the model, with the names that the file uses, such as
``training.extension.kernel``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .container import Archive, ModelFileError, shown

# The numbers that JSON lacks.
_NOT_FINITE = ("inf", "-inf", "nan")
# No count is larger; and larger integers may overflow where they are converted to floats.
LARGEST_INTEGER = 2**63 - 1


class Packing:
    """What has been packed so far: arrays and objects, by their places."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.objects: dict[str, Any] = {}


class Reading:
    """What has been unpacked so far from an archive: objects by their places, and sizes by their symbols.

    An array of shape (n, r) must agree with all others whose shape has an n or an r.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.sizes: dict[str, int] = {}
        self.objects: dict[str, Any] = {}

    def agree(self, place: str, symbols: tuple[str, ...], shape: tuple[int, ...]) -> None:
        """Compare a shape with the sizes that are known, and record those that are not yet."""
        expected = tuple(self.sizes.get(symbol, symbol) for symbol in symbols)
        if len(shape) != len(expected) or any(
            size != given for size, given in zip(shape, expected, strict=True) if not isinstance(given, str)
        ):
            raise ModelFileError(f"`{place}` must have shape ({', '.join(map(str, expected))}), got {shown(shape)}")
        self.sizes.update(zip(symbols, shape, strict=True))


def take(stored: Any, names: tuple[str, ...], place: str) -> dict[str, Any]:
    """A JSON object, which must have these keys and no others."""
    if not isinstance(stored, dict):
        raise ModelFileError(f"`{place}` must be an object with {', '.join(names) or 'nothing in it'}, got {shown(stored)}")
    missing, unknown = sorted(set(names) - set(stored)), sorted(set(stored) - set(names))
    if missing or unknown:
        raise ModelFileError(f"`{place}` lacks {shown(missing)} and has {shown(unknown)} too many")
    return stored


class Field(ABC):
    """One kind of value."""

    @abstractmethod
    def pack(self, value: Any, place: str, packing: Packing) -> Any:
        """The JSON for ``value``; its arrays are added to ``packing``."""

    @abstractmethod
    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        """The value that was packed."""


@dataclass(frozen=True)
class Number(Field):
    """An int or a float; positive and finite if asked for. NumPy's scalars are read back as Python's."""

    positive: bool = False

    def pack(self, value: Any, place: str, packing: Packing) -> Any:
        if not isinstance(value, Real):
            raise ModelFileError(f"`{place}` must be a number, got {shown(value)}")
        number = int(value) if isinstance(value, Integral) else float(value)
        self._check(number, place)
        return number if math.isfinite(number) else repr(number)

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        number = float(stored) if isinstance(stored, str) and stored in _NOT_FINITE else stored
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ModelFileError(f"`{place}` must be a number, got {shown(stored)}")
        self._check(number, place)
        return number

    def _check(self, number: float, place: str) -> None:
        if isinstance(number, int) and abs(number) > LARGEST_INTEGER:
            raise ModelFileError(f"`{place}` must be at most {LARGEST_INTEGER} when it is an integer, got {shown(number)}")
        if self.positive and not 0 < number < math.inf:
            raise ModelFileError(f"`{place}` must be positive and finite, got {number!r}")


@dataclass(frozen=True)
class Integer(Field):
    """A count of at least ``low``, which may be one of the sizes of arrays."""

    low: int = 0
    size: str | None = None

    def pack(self, value: Any, place: str, packing: Packing) -> int:
        return int(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> int:
        if isinstance(stored, bool) or not isinstance(stored, int) or not self.low <= stored <= LARGEST_INTEGER:
            raise ModelFileError(f"`{place}` must be an integer of at least {self.low}, got {shown(stored)}")
        if self.size is not None:
            reading.agree(place, (self.size,), (stored,))
        return stored


class Flag(Field):
    """True or False."""

    def pack(self, value: Any, place: str, packing: Packing) -> bool:
        return bool(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> bool:
        if not isinstance(stored, bool):
            raise ModelFileError(f"`{place}` must be true or false, got {shown(stored)}")
        return stored


@dataclass(frozen=True)
class Choice(Field):
    """One of some words."""

    words: tuple[str, ...]

    def pack(self, value: Any, place: str, packing: Packing) -> str:
        if callable(value):
            raise ModelFileError(f"`{place}` is a function, which cannot be stored without pickle")
        return str(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> str:
        if not isinstance(stored, str) or stored not in self.words:
            raise ModelFileError(f"`{place}` must be one of {', '.join(map(repr, self.words))}, got {shown(stored)}")
        return stored


@dataclass(frozen=True)
class Names(Field):
    """An array of ``size`` strings, which is how scikit-learn keeps the names of columns."""

    size: str

    def pack(self, value: Any, place: str, packing: Packing) -> list[str]:
        return [str(name) for name in value]

    def unpack(self, stored: Any, place: str, reading: Reading) -> Array:
        if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
            raise ModelFileError(f"`{place}` must be a list of strings, got {shown(stored)}")
        reading.agree(place, (self.size,), (len(stored),))
        return np.array(stored, dtype=object)


@dataclass(frozen=True)
class Optional(Field):
    """None, or a value of another kind."""

    kind: Field

    def pack(self, value: Any, place: str, packing: Packing) -> Any:
        return None if value is None else self.kind.pack(value, place, packing)

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        return None if stored is None else self.kind.unpack(stored, place, reading)
