"""Kernels: functions of two points, and rules that choose their bandwidth. They know nothing of programs or estimators."""

from .bandwidth import resolve_bandwidth
from .base import Kernel
from .choice import BUILT_IN, make_kernel, unknown_kernel
from .given import CallableKernel, Precomputed
from .neighbors import Neighbors
from .stationary import LARGEST_NU, Gaussian, Laplacian, Matern

__all__ = [
    "BUILT_IN",
    "LARGEST_NU",
    "CallableKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Matern",
    "Neighbors",
    "Precomputed",
    "make_kernel",
    "resolve_bandwidth",
    "unknown_kernel",
]
