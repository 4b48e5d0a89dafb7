"""Fitted estimators as a header and arrays. Only classes that have been registered are stored, and only they are loaded.

Constructor parameters are plain values, objects of a few classes, and arrays. Functions cannot be stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from .arrays import Floats
from .container import ModelFileError, shown
from .fields import Choice, Field, Names, Number, Optional, Packing, Reading, take
from .objects import OneOf


@dataclass(frozen=True)
class ParameterKinds:
    """What the parameters of an estimator may hold beyond plain values and arrays."""

    objects: OneOf
    remedies: dict[str, str]  # by the name of a parameter: what to do when its value cannot be stored


@dataclass(frozen=True)
class Table:
    """What a file keeps of the estimators of one class."""

    attributes: dict[str, Field]  # set by ``fit``
    parameters: ParameterKinds


# Filled by the package that defines the estimators: this one knows none of them.
TABLES: dict[type, Table] = {}

_NAMES = Optional(Names("p"))
_OUTPUT = Optional(Choice(("default", "pandas", "polars")))


def register(cls: type, table: Table) -> None:
    """Make estimators of a class storable. Derived classes are not: they may have attributes that the table lacks."""
    TABLES[cls] = table


def place_of(attribute: str) -> str:
    """The name of an attribute in a file, where no name begins or ends with an underscore."""
    return attribute.strip("_")


def pack(est: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a fitted estimator."""
    table = TABLES.get(type(est))
    if table is None:
        known = ", ".join(cls.__name__ for cls in TABLES)
        raise ModelFileError(f"files are made for {known}, and not for classes derived from them; use pickle or joblib")
    fields = table.attributes
    check_is_fitted(est, list(fields))
    packing = Packing()
    header = {
        "class": type(est).__name__,
        "parameters": pack_parameters(est, table.parameters, packing),
        "set_output": _OUTPUT.pack(getattr(est, "_sklearn_output_config", {}).get("transform"), "set_output", packing),
        "feature_names_in": _NAMES.pack(getattr(est, "feature_names_in_", None), "feature_names_in", packing),
        "fitted": {place_of(name): kind.pack(getattr(est, name), place_of(name), packing) for name, kind in fields.items()},
    }
    return header, packing.arrays


def unpack(header: dict[str, Any], reading: Reading) -> Any:
    """The estimator in an archive, made from its header and arrays."""
    classes = {cls.__name__: cls for cls in TABLES}
    name = header["class"]
    if not isinstance(name, str) or name not in classes:
        raise ModelFileError(f"its class must be one of {', '.join(classes)}, got {shown(name)}")
    cls = classes[name]
    table = TABLES[cls]
    est = cls(**unpack_parameters(cls, table.parameters, header["parameters"], reading))
    fitted = take(header["fitted"], tuple(map(place_of, table.attributes)), "fitted")
    for attribute, kind in table.attributes.items():
        place = place_of(attribute)
        setattr(est, attribute, kind.unpack(fitted[place], place, reading))
    names = _NAMES.unpack(header["feature_names_in"], "feature_names_in", reading)
    if names is not None:
        est.feature_names_in_ = names
    output = _OUTPUT.unpack(header["set_output"], "set_output", reading)
    if output is not None:
        est.set_output(transform=output)
    return est


def pack_parameters(est: Any, kinds: ParameterKinds, packing: Packing) -> dict[str, Any]:
    return {name: _pack(name, value, kinds, packing) for name, value in est.get_params(deep=False).items()}


def unpack_parameters(cls: type, kinds: ParameterKinds, stored: Any, reading: Reading) -> dict[str, Any]:
    """Parameters by name."""
    known = tuple(cls().get_params(deep=False))
    return {name: _unpack(name, value, kinds, reading) for name, value in take(stored, known, "parameters").items()}


def _pack(name: str, value: Any, kinds: ParameterKinds, packing: Packing) -> Any:
    place = f"parameters.{name}"
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral) or (isinstance(value, Real) and math.isfinite(value)):
        return Number().pack(value, place, packing)
    if isinstance(value, Real) and math.isinf(value):
        return {"number": Number().pack(value, place, packing)}  # JSON has none, and a string would be a string
    if isinstance(value, tuple) and all(isinstance(one, Real) and not isinstance(one, bool) for one in value):
        return [Number().pack(one, place, packing) for one in value]
    if type(value) in kinds.objects.classes:
        return kinds.objects.pack(value, place, packing)
    if isinstance(value, list | tuple) or (hasattr(value, "__array__") and not isinstance(value, Real)):
        try:
            vector = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.empty(0)
        if vector.ndim == 1 and vector.size:
            return Floats(place).pack(vector, place, packing)
    what = "a function" if callable(value) else f"{shown(value)} (of class {type(value).__name__})"
    remedy = kinds.remedies.get(name, "fit with a plain value")
    raise ModelFileError(
        f"`{name}` is {what}, which cannot be stored without pickle, and model files have none. Either {remedy}; or keep "
        "this model with pickle or joblib"
    )


def _unpack(name: str, stored: Any, kinds: ParameterKinds, reading: Reading) -> Any:
    place = f"parameters.{name}"
    if stored is None or isinstance(stored, bool | str):
        return stored
    if isinstance(stored, list):
        return tuple(Number().unpack(one, place, reading) for one in stored)
    if isinstance(stored, dict) and "number" in stored:
        return Number().unpack(take(stored, ("number",), place)["number"], place, reading)
    if isinstance(stored, dict):
        return (Floats(place) if "array" in stored else kinds.objects).unpack(stored, place, reading)
    return Number().unpack(stored, place, reading)
