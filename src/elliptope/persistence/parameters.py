"""Constructor parameters: plain values, kernels given by a formula, and arrays. Functions cannot be stored."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..estimators.base import Embedding
from ..kernels.neighbors import SEARCHES, Neighbors
from ..kernels.stationary import Gaussian, Laplacian, Matern
from .arrays import Floats
from .container import ModelFileError, shown
from .fields import SCHEMA, Choice, Field, Number, Packing, Reading, take
from .objects import OneOf

FORMULAS: dict[type, dict[str, Field]] = {
    Gaussian: {"bandwidth": Number()},
    Laplacian: {"bandwidth": Number()},
    Matern: {"bandwidth": Number(), "nu": Number()},
}
_RULES: dict[type, dict[str, Field]] = {Neighbors: {"search": Choice(SEARCHES)}}
_KERNEL = OneOf(FORMULAS | _RULES)
# What to do about parameters that cannot be stored.
_REMEDY = {
    "kernel": "fit with the name of a kernel, one of those in elliptope.kernels, or kernel='precomputed'",
    "diagonal": "fit with an array of its values at the training points (new points take that of the most similar one)",
    "direction": "fit with direction='mean'",
    "random_state": "call set_params(random_state=None) first, or pass an integer; it has no influence on a fitted model",
}


def pack_parameters(est: Embedding, packing: Packing) -> dict[str, Any]:
    return {name: _pack(name, value, packing) for name, value in est.get_params(deep=False).items()}


def unpack_parameters(cls: type[Embedding], stored: Any, reading: Reading) -> dict[str, Any]:
    """Parameters by name. A file of an earlier schema may lack some, which are then at the defaults of the constructor."""
    known = tuple(cls().get_params(deep=False))
    if reading.schema < SCHEMA and isinstance(stored, dict):
        known = tuple(name for name in known if name in stored)
    return {name: _unpack(name, value, reading) for name, value in take(stored, known, "parameters").items()}


def _pack(name: str, value: Any, packing: Packing) -> Any:
    place = f"parameters.{name}"
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral) or (isinstance(value, Real) and math.isfinite(value)):
        return Number().pack(value, place, packing)
    if type(value) in _KERNEL.classes:
        return _KERNEL.pack(value, place, packing)
    if isinstance(value, list | tuple) or (hasattr(value, "__array__") and not isinstance(value, Real)):
        try:
            vector = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.empty(0)
        if vector.ndim == 1 and vector.size:
            return Floats(place).pack(vector, place, packing)
    what = "a function" if callable(value) else f"{shown(value)} (of class {type(value).__name__})"
    remedy = _REMEDY.get(name, "fit with a plain value")
    raise ModelFileError(
        f"`{name}` is {what}, which cannot be stored without pickle, and model files have none. Either {remedy}; or keep "
        "this model with pickle or joblib"
    )


def _unpack(name: str, stored: Any, reading: Reading) -> Any:
    place = f"parameters.{name}"
    if stored is None or isinstance(stored, bool | str):
        return stored
    if isinstance(stored, dict):
        return (Floats(place) if "array" in stored else _KERNEL).unpack(stored, place, reading)
    return Number().unpack(stored, place, reading)
