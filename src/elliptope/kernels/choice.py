"""From a parameter ``kernel`` to a kernel: by its name, as it is, or from a function."""

from __future__ import annotations

from collections.abc import Callable

from .base import Kernel
from .given import CallableKernel, Precomputed
from .stationary import Gaussian, Laplacian, Matern

BUILT_IN: dict[str, Callable[[float], Kernel]] = {"gaussian": Gaussian, "laplacian": Laplacian, "matern": Matern}


def make_kernel(kernel: str | Callable, bandwidth: float | None) -> Kernel:
    """The one door: a name with its bandwidth, a :class:`Kernel`, or a callable ``k(X, Y)``."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return CallableKernel(kernel)
    if kernel == "precomputed":
        return Precomputed()
    if isinstance(kernel, str) and kernel in BUILT_IN:
        if bandwidth is None:
            raise ValueError(f"`bandwidth` is required for kernel={kernel!r}, got None.")
        return BUILT_IN[kernel](bandwidth)
    raise unknown_kernel(kernel, (*BUILT_IN, "precomputed"))


def unknown_kernel(kernel: object, names: tuple[str, ...]) -> ValueError:
    """The error for a ``kernel`` that is none of these names, and no callable."""
    return ValueError(f"`kernel` must be one of {', '.join(map(repr, names))}, or a callable k(X, Y), got {kernel!r}.")
