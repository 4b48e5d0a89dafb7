"""Where a fit is computed: on the CPU, with NumPy; or on a CUDA device, with PyTorch and Triton.

A device is an object of PyTorch, and None stands for the CPU. Where Triton's interpreter is on (``TRITON_INTERPRET=1``), the
device is PyTorch's CPU: tests run what runs on a device.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from .arrays import Array, as_numpy, has_single_precision, is_foreign, library
from .callers import warn
from .checks import name_rows
from .versions import install, missing_module

_ALLOWED = "None, 'cpu', 'cuda', 'cuda:' with a number, or 'auto'"


def check_device(device: Any) -> str | None:
    """The parameter ``device``, as text."""
    name = None if device is None else str(device)
    if name is not None and not re.fullmatch(r"cpu|auto|cuda(:\d+)?", name):
        raise ValueError(f"`device` must be {_ALLOWED}, got {device!r}.")
    return name


def find_device(device: Any, X: Any = None) -> Any | None:
    """The device that the parameter stands for; None for the CPU.

    None, where the data X are: a tensor on a CUDA device is computed with there. ``"auto"``: a device, if there is one.
    """
    name = check_device(device)
    if name is None:
        own = getattr(X, "device", None) if is_foreign(X) else None
        if getattr(own, "type", None) != "cuda":
            return None
        _torch()
        return own
    if name == "cpu" or (name == "auto" and not has_device()):
        return None
    torch = _torch()
    if is_interpreted():
        return torch.device("cpu")
    found = torch.device("cuda" if name == "auto" else name)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (found.index or 0) >= count:
        there = f"has {count}" if count else "finds none"
        raise RuntimeError(
            f"`device` must be a CUDA device that is there, got {name!r}: PyTorch {there}. Use device='cpu'; or check the "
            f"driver, and that the PyTorch of the extra `gpu` is one for CUDA: {install('gpu')}."
        )
    return found


def is_interpreted() -> bool:
    """Whether Triton's interpreter is on."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def has_device() -> bool:
    """Whether PyTorch is installed and has a CUDA device."""
    try:
        torch = _torch()
    except ImportError:
        return False
    return torch.cuda.is_available()


def usable_device(device: Any, X: Any = None) -> Any | None:
    """For fitted models: as :func:`find_device`, but the CPU on machines where the device is not."""
    try:
        return find_device(device, X)
    except (ImportError, RuntimeError):
        return None


def refuse_device(device: Any, X: Any, estimator: str) -> None:
    """Raise where an estimator that is computed on the CPU is asked for a device, or given a tensor that is on one."""
    name = check_device(device)
    if name is not None and name.startswith("cuda"):
        raise ValueError(f"`device` must be None, 'cpu' or 'auto' for {estimator}, which runs on the CPU, got {device!r}.")
    if name is None and find_device(None, X) is not None:
        raise ValueError(f"`X` must be on the CPU for {estimator}, got a tensor on {X.device}: use X.cpu().")


def on_cpu(X: Any) -> Any:
    """Tensors as arrays of NumPy; all else as it is."""
    return as_numpy(X) if is_foreign(X) else X


def as_given(result: Any, X: Any, *, whole_rows: bool = True) -> Any:
    """A ``result`` computed from X: in single precision where X is, and a tensor on the device of X where X is one.

    Rows of the result that are beyond the range of single precision are scaled into it; without ``whole_rows``, single
    entries are. A warning names the rows.
    """
    if has_single_precision(X) and isinstance(result, np.ndarray):
        result = in_single(result, whole_rows)
    if not is_foreign(X):
        return result
    xp = library(X)
    dtype = X.dtype if X.dtype in (xp.float32, xp.float64) else None
    # Copied, as in `like`, but for tensors: under scikit-learn's array API dispatch fitted arrays are such.
    return xp.asarray(result if is_foreign(result) else np.array(result, order="C"), dtype=dtype, device=X.device)


def in_single(values: Array, whole_rows: bool = True) -> Array:
    """The values in single precision; those beyond its range are scaled into it, with a warning (see :func:`as_given`)."""
    size, most = np.abs(values), float(np.finfo(np.float32).max)
    if whole_rows and values.ndim > 1 and values.shape[1]:
        size = size.max(axis=1, keepdims=True)
    beyond = size > most
    if beyond.any():
        rows = np.flatnonzero(beyond.reshape(len(values), -1).any(axis=1))
        values = values * np.divide(most, size, out=np.ones_like(size), where=beyond)
        warn(
            f"`X` is in single precision, which ends at {most:.3g}, and the result is larger at {name_rows(rows)}: it is "
            "scaled down to that. Give `X` in float64."
        )
    return values.astype(np.float32)


def _torch() -> Any:
    try:
        import array_api_compat  # noqa: F401  the solver's functions on tensors
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise missing_module("A CUDA device", "gpu", error, "; or use device='cpu'") from error
    return torch
