"""Ways to apply the cost J to a thin matrix."""

from .base import KernelOperator, Operator
from .dense import DenseOperator, kernel_matrix
from .matrix import as_operator

__all__ = ["DenseOperator", "KernelOperator", "Operator", "as_operator", "kernel_matrix"]
