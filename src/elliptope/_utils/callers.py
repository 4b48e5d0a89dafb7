"""What concerns those who call the package: where warnings point, and their settings for floating-point errors."""

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
