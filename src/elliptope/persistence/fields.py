"""Kinds of stored values: how each goes into a file, and what is checked when it comes out.

A field packs a value as JSON, and arrays on the side; it unpacks what it finds into a value of its kind or raises
:class:`ModelFileError`. Sizes are symbols, such as n for the points: an array of shape (n, r) must agree with all others
that have an n or an r. ``place`` says where in the model a value stands, in the words of the file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .container import Archive, Array, ModelFileError, is_fortran, shown

# All numbers that JSON lacks.
_NOT_FINITE = ("inf", "-inf", "nan")
# Beyond this an integer is no count, and sooner or later no float either.
_LARGEST_INTEGER = 2**63 - 1


class Reading:
    """A model on its way out of an archive, and the sizes that its arrays have agreed on so far."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.sizes: dict[str, int] = {}

    def agree(self, place: str, symbols: tuple[str, ...], shape: tuple[int, ...]) -> None:
        """Compare a shape with the sizes that are known, and learn those that are not."""
        expected = tuple(self.sizes.get(symbol, symbol) for symbol in symbols)
        if len(shape) != len(expected) or any(
            size != given for size, given in zip(shape, expected, strict=True) if not isinstance(given, str)
        ):
            raise ModelFileError(f"`{place}` must have shape ({', '.join(map(str, expected))}), got {shown(shape)}")
        self.sizes.update(zip(symbols, shape, strict=True))


def take(stored: Any, names: tuple[str, ...], place: str) -> dict[str, Any]:
    """A JSON object with these keys and no others."""
    if not isinstance(stored, dict):
        raise ModelFileError(f"`{place}` must be an object with {', '.join(names) or 'nothing in it'}, got {shown(stored)}")
    missing, unknown = sorted(set(names) - set(stored)), sorted(set(stored) - set(names))
    if missing or unknown:
        raise ModelFileError(f"`{place}` lacks {shown(missing)} and has {shown(unknown)} too many")
    return stored


class Field(ABC):
    """One kind of value."""

    @abstractmethod
    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> Any:
        """What JSON keeps of ``value``; arrays are added to ``arrays``, by their places."""

    @abstractmethod
    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        """The value that was packed."""


@dataclass(frozen=True)
class Number(Field):
    """An int or a float, of any kind or positive and finite. NumPy's scalars come back as Python's."""

    positive: bool = False

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> Any:
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
        if isinstance(number, int) and abs(number) > _LARGEST_INTEGER:
            raise ModelFileError(f"`{place}` must be at most {_LARGEST_INTEGER} when it is an integer, got {shown(number)}")
        if self.positive and not 0 < number < math.inf:
            raise ModelFileError(f"`{place}` must be positive and finite, got {number!r}")


@dataclass(frozen=True)
class Integer(Field):
    """A count, which may be one of the sizes of arrays."""

    low: int = 0
    size: str | None = None

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> int:
        return int(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> int:
        if isinstance(stored, bool) or not isinstance(stored, int) or not self.low <= stored <= _LARGEST_INTEGER:
            raise ModelFileError(f"`{place}` must be an integer of at least {self.low}, got {shown(stored)}")
        if self.size is not None:
            reading.agree(place, (self.size,), (stored,))
        return stored


class Flag(Field):
    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> bool:
        return bool(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> bool:
        if not isinstance(stored, bool):
            raise ModelFileError(f"`{place}` must be true or false, got {shown(stored)}")
        return stored


@dataclass(frozen=True)
class Choice(Field):
    """One of some words."""

    words: tuple[str, ...]

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> str:
        return str(value)

    def unpack(self, stored: Any, place: str, reading: Reading) -> str:
        if not isinstance(stored, str) or stored not in self.words:
            raise ModelFileError(f"`{place}` must be one of {', '.join(map(repr, self.words))}, got {shown(stored)}")
        return stored


@dataclass(frozen=True)
class Names(Field):
    """An array of ``size`` strings, as scikit-learn keeps names of columns."""

    size: str

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> list[str]:
        return [str(name) for name in value]

    def unpack(self, stored: Any, place: str, reading: Reading) -> Array:
        if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
            raise ModelFileError(f"`{place}` must be a list of strings, got {shown(stored)}")
        reading.agree(place, (self.size,), (len(stored),))
        return np.array(stored, dtype=object)


class ArrayField(Field):
    """An array of float64 or int64, with the order in which it lies in memory: sums depend on that in their last bits."""

    dtype: str
    shape: tuple[str, ...]

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> dict[str, Any]:
        array = np.asarray(value, dtype=self.dtype)
        if not array.flags.forc:
            array = array.copy(order="K")
        self.check(array, place)
        arrays[place] = array
        return {"array": place, "dtype": self.dtype, "shape": list(array.shape), "fortran_order": is_fortran(array)}

    def unpack(self, stored: Any, place: str, reading: Reading) -> Array:
        declared = take(stored, ("array", "dtype", "shape", "fortran_order"), place)
        shape, fortran_order = declared["shape"], declared["fortran_order"]
        if declared["array"] != place:
            raise ModelFileError(f"`{place}` must refer to the array of that name, got {shown(declared['array'])}")
        if declared["dtype"] != self.dtype:
            raise ModelFileError(
                f"`{place}` must have dtype {self.dtype!r}, got {shown(declared['dtype'])}; object arrays, which hold "
                "pickles, are never read"
            )
        if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= _LARGEST_INTEGER for size in shape):
            raise ModelFileError(f"`{place}` must have a list of sizes as its shape, got {shown(shape)}")
        if not isinstance(fortran_order, bool):
            raise ModelFileError(f"`{place}` must have true or false as fortran_order, got {shown(fortran_order)}")
        reading.agree(place, self.shape, tuple(shape))
        array = reading.archive.array(place, self.dtype, tuple(shape), fortran_order)
        self.check(array, place)
        self.check_sizes(array, place, reading.sizes)
        return array

    @abstractmethod
    def check(self, array: Array, place: str) -> None:
        """What the entries must satisfy."""

    def check_sizes(self, array: Array, place: str, sizes: dict[str, int]) -> None:
        """What they must satisfy for the sizes that are known."""


class Floats(ArrayField):
    """Finite, or positive and finite, numbers."""

    dtype = "<f8"

    def __init__(self, *shape: str, positive: bool = False) -> None:
        self.shape, self.positive = shape, positive

    def check(self, array: Array, place: str) -> None:
        if not np.isfinite(array).all() or (self.positive and not (array > 0).all()):
            raise ModelFileError(f"`{place}` must be {'positive and ' if self.positive else ''}finite")


class Indices(ArrayField):
    """Indices ``low`` ≤ i < ``below``, ascending unless ``low`` is negative: a negative index stands for nothing."""

    dtype = "<i8"

    def __init__(self, size: str, below: str, low: int = 0) -> None:
        self.shape, self.below, self.low = (size,), below, low

    def check(self, array: Array, place: str) -> None:
        if (array < self.low).any() or (self.low >= 0 and (np.diff(array) <= 0).any()):
            raise ModelFileError(f"`{place}` must hold {'ascending ' if self.low >= 0 else ''}indices from {self.low} on")

    def check_sizes(self, array: Array, place: str, sizes: dict[str, int]) -> None:
        if (array >= sizes[self.below]).any():
            raise ModelFileError(f"`{place}` must hold indices below {sizes[self.below]}, got {array.max()}")


@dataclass(frozen=True)
class Optional(Field):
    """None, or a value of another kind."""

    kind: Field

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> Any:
        return None if value is None else self.kind.pack(value, place, arrays)

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        return None if stored is None else self.kind.unpack(stored, place, reading)


class OneOf(Field):
    """An object of one of some classes, which are made from their fields alone; anything else is refused."""

    def __init__(self, classes: dict[type, dict[str, Field]]) -> None:
        self.classes = classes
        self._by_name = {cls.__name__: cls for cls in classes}

    def pack(self, value: Any, place: str, arrays: dict[str, Array]) -> dict[str, Any]:
        if type(value) not in self.classes:
            raise ModelFileError(f"`{place}` is of class {type(value).__name__}, which cannot be stored without pickle")
        fields = self.classes[type(value)].items()
        packed = {name: kind.pack(getattr(value, name), f"{place}.{name}", arrays) for name, kind in fields}
        return {"class": type(value).__name__, **packed}

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        name = stored.get("class") if isinstance(stored, dict) else None
        if not isinstance(name, str) or name not in self._by_name:
            raise ModelFileError(f"`{place}` must be of class {' or '.join(self._by_name)}, got {shown(stored)}")
        cls = self._by_name[name]
        fields = self.classes[cls]
        take(stored, ("class", *fields), place)
        values = {name: kind.unpack(stored[name], f"{place}.{name}", reading) for name, kind in fields.items()}
        try:
            return cls(**values)
        except ValueError as error:
            raise ModelFileError(f"`{place}` is not valid: {error}") from error
