"""Kernels: functions of two points, and rules that choose their bandwidth. They know nothing of programs or estimators."""

from .bandwidth import resolve_bandwidth
from .base import FittedFormula, FittedKernel, Kernel, KernelRule, kernel_matrix
from .choice import BUILT_IN, find_kernel, make_kernel, unknown_kernel
from .given import CallableKernel, Precomputed
from .neighbors import Neighbors
from .overlap import Overlap
from .stationary import LARGEST_NU, Gaussian, Laplacian, Matern

# The rest is for other packages of the library.
__all__ = ["Gaussian", "Kernel", "Laplacian", "Matern", "Neighbors", "Overlap"]
