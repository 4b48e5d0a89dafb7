"""Stored objects. Only objects of known classes are stored; they are made anew from their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .container import ModelFileError, shown
from .fields import Field, Packing, Reading, take


class OneOf(Field):
    """An object of one of the ``classes``, each given with the fields that its constructor takes; others are refused."""

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
        cls = self._by_name[name]
        fields = self.classes[cls]
        take({key: stored[key] for key in stored if key != "class"}, tuple(fields), place)
        values = {field: kind.unpack(stored[field], f"{place}.{field}", reading) for field, kind in fields.items()}
        try:
            made = cls(**values)
        except ValueError as error:
            raise ModelFileError(f"`{place}` is not valid: {error}") from error
        reading.objects[place] = made
        return made


@dataclass(frozen=True)
class Several(Field):
    """A tuple of objects of one kind; the sizes ``own`` may differ from one to the next."""

    kind: Field
    own: tuple[str, ...] = ()

    def pack(self, value: Any, place: str, packing: Packing) -> list[Any]:
        return [self.kind.pack(one, f"{place}.{number}", packing) for number, one in enumerate(value)]

    def unpack(self, stored: Any, place: str, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(stored, list):
            raise ModelFileError(f"`{place}` must be a list, got {shown(stored)}")
        found = []
        for number, one in enumerate(stored):
            found.append(self.kind.unpack(one, f"{place}.{number}", reading))
            for symbol in self.own:
                reading.sizes.pop(symbol, None)
        return tuple(found)
