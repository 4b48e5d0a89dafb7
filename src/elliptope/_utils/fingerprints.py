"""Short descriptions of parameters that tell their values apart."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

# Hexadecimal digits of a hash that are kept: 64 bits, far beyond accidental agreement.
_DIGITS = 16


def describe(value: Any) -> str:
    """A string that tells values apart. Functions and other objects without a printed form go by their names alone."""
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        digest = hashlib.sha256(f"{data.dtype} {data.shape} ".encode() + data.tobytes()).hexdigest()
        return f"array of shape {data.shape} with hash {digest[:_DIGITS]}"
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = value.get_state(legacy=True)
        return f"RandomState at {rest} of {describe(keys)}"
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return repr(value)
