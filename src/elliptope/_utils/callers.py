"""What concerns those who call the package: where warnings point, floating-point settings, and what they gave in words."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

# Packages whose frames stand between the caller's line and the place of a warning: ours, and those that wrap our methods.
_BETWEEN = ("elliptope", "sklearn", "joblib")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line by which the package was called, however deep in it this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def underflows_to_zero(function: _Function) -> _Function:
    """Let numbers underflow to zero, which is right everywhere in this package, even after ``np.seterr(all="raise")``."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(under="ignore"):
            return function(*args, **options)

    return call  # type: ignore[return-value]


def describe(value: Any) -> str:
    """A parameter in a few words: arrays by their shape, functions by their name."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return repr(value)
