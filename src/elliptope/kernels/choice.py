"""From a parameter ``kernel`` to a kernel: by its name, as it is, or from a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._utils.arrays import Array
from .bandwidth import resolve_bandwidth
from .base import FittedFormula, Kernel, KernelRule
from .given import CallableKernel, Precomputed
from .neighbors import Neighbors
from .overlap import Overlap
from .stationary import Gaussian, Laplacian, Matern

BUILT_IN: dict[str, type[Gaussian | Laplacian | Matern]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
}


@dataclass(frozen=True)
class NamedKernel(KernelRule):
    """A formula whose bandwidth is chosen when the points are known."""

    formula: type[Gaussian | Laplacian | Matern]
    operators: tuple[str, ...]
    parameters = ("bandwidth",)

    def fit(self, X: Array, rows: Array | None = None, *, bandwidth: float | str = "auto") -> FittedFormula:
        points = X if rows is None else X[rows]
        return FittedFormula(self.formula(resolve_bandwidth(bandwidth, points)), points)


_NAMED: dict[str, KernelRule] = {
    **{name: NamedKernel(formula, formula.operators) for name, formula in BUILT_IN.items()},
    "neighbors": Neighbors(),
    "overlap": Overlap(),
    "precomputed": Precomputed(),
}
KERNEL_NAMES = tuple(_NAMED)


def find_kernel(kernel: object) -> KernelRule | None:
    """The kernel that a parameter ``kernel`` means: a name, a kernel, or a callable ``k(X, Y)``; None for anything else."""
    if isinstance(kernel, str):
        return _NAMED.get(kernel)
    if isinstance(kernel, KernelRule):
        return kernel
    return CallableKernel(kernel) if callable(kernel) else None


def make_kernel(kernel: str | Callable, bandwidth: float | None) -> Kernel:
    """A function of two points: from a name and a bandwidth, a :class:`Kernel`, or a callable ``k(X, Y)``."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return CallableKernel(kernel)
    if isinstance(kernel, str) and kernel in BUILT_IN:
        if bandwidth is None:
            raise ValueError(f"`bandwidth` is required for kernel={kernel!r}, got None.")
        return BUILT_IN[kernel](bandwidth)
    raise unknown_kernel(kernel, tuple(BUILT_IN))


def unknown_kernel(kernel: object, names: tuple[str, ...]) -> ValueError:
    """The error for a ``kernel`` that is none of these names, and no callable."""
    return ValueError(f"`kernel` must be one of {', '.join(map(repr, names))}, or a callable k(X, Y), got {kernel!r}.")
