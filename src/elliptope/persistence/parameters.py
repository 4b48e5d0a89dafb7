"""Constructor parameters: plain values, objects of a few classes, and arrays. Functions cannot be stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .arrays import Floats
from .container import ModelFileError, shown
from .fields import Number, Packing, Reading, take
from .objects import OneOf


@dataclass(frozen=True)
class ParameterKinds:
    """What the parameters of an estimator may hold beyond plain values and arrays."""

    objects: OneOf
    remedies: dict[str, str]  # by the name of a parameter: what to do when its value cannot be stored


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
