"""Kernels: functions of two points, and rules that choose their bandwidth. They know nothing of programs or estimators."""

from .bandwidth import resolve_bandwidth
from .base import FittedFormula, FittedKernel, Kernel, KernelRule, kernel_matrix
from .choice import BUILT_IN, find_kernel, make_kernel, unknown_kernel
from .given import CallableKernel, Precomputed
from .neighbors import Neighbors
from .overlap import Overlap
from .stationary import LARGEST_NU, Gaussian, Laplacian, Matern

__all__ = [
    "BUILT_IN",
    "LARGEST_NU",
    "CallableKernel",
    "FittedFormula",
    "FittedKernel",
    "Gaussian",
    "Kernel",
    "KernelRule",
    "Laplacian",
    "Matern",
    "Neighbors",
    "Overlap",
    "Precomputed",
    "find_kernel",
    "kernel_matrix",
    "make_kernel",
    "resolve_bandwidth",
    "unknown_kernel",
]
