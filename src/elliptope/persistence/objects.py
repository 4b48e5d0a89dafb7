"""Objects of known classes, made from their fields alone; and what later schemas have added to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .container import ModelFileError, shown
from .fields import Field, Packing, Reading, take


class Since(Field):
    """A value that files before the schema ``since`` do not have, and for which they mean the default."""

    def __init__(self, since: int, kind: Field, default: Any) -> None:
        self.since, self.kind, self.default = since, kind, default

    def pack(self, value: Any, place: str, packing: Packing) -> Any:
        return self.kind.pack(value, place, packing)

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        return self.kind.unpack(stored, place, reading)


def unpack_fields(
    fields: dict[str, Field], stored: Any, place: str, reading: Reading, prefix: str | None = None
) -> dict[str, Any]:
    """The values in a JSON object that has these fields and no others; the default of those that the file is too old for.

    ``prefix`` is what the places of the values begin with, if it is not that of the object.
    """
    prefix = f"{place}." if prefix is None else prefix
    take(stored, tuple(name for name, kind in fields.items() if kind.since <= reading.schema), place)
    return {
        name: kind.unpack(stored[name], f"{prefix}{name}", reading) if name in stored else kind.default
        for name, kind in fields.items()
    }


class OneOf(Field):
    """An object of one of some classes, which are made from their fields alone; anything else is refused."""

    def __init__(self, classes: dict[type, dict[str, Field]]) -> None:
        self.classes = classes
        self._by_name = {cls.__name__: cls for cls in classes}

    def pack(self, value: Any, place: str, packing: Packing) -> dict[str, Any]:
        if type(value) not in self.classes:
            raise ModelFileError(f"`{place}` is of class {type(value).__name__}, which cannot be stored without pickle")
        fields = self.classes[type(value)].items()
        packed = {name: kind.pack(getattr(value, name), f"{place}.{name}", packing) for name, kind in fields}
        packing.objects[place] = value
        return {"class": type(value).__name__, **packed}

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        name = stored.get("class") if isinstance(stored, dict) else None
        if not isinstance(name, str) or name not in self._by_name:
            raise ModelFileError(f"`{place}` must be of class {' or '.join(self._by_name)}, got {shown(stored)}")
        cls, rest = self._by_name[name], {key: stored[key] for key in stored if key != "class"}
        values = unpack_fields(self.classes[cls], rest, place, reading)
        try:
            made = cls(**values)
        except ValueError as error:
            raise ModelFileError(f"`{place}` is not valid: {error}") from error
        reading.objects[place] = made
        return made


@dataclass(frozen=True)
class Shared(Field):
    """An object that may also stand at another place: it is stored there, and here is said where."""

    other: str
    kind: OneOf

    def pack(self, value: Any, place: str, packing: Packing) -> Any:
        if packing.objects.get(self.other) is value:
            return self.other
        return self.kind.pack(value, place, packing)

    def unpack(self, stored: Any, place: str, reading: Reading) -> Any:
        if not isinstance(stored, str):
            return self.kind.unpack(stored, place, reading)
        if stored != self.other or stored not in reading.objects:
            raise ModelFileError(f"`{place}` must be an object, or the place {self.other!r} of one, got {shown(stored)}")
        return reading.objects[stored]
