"""Ways to apply the cost J to a thin matrix."""

from ..kernels.base import kernel_matrix
from .base import KernelOperator, Operator, weight_unit
from .dense import DenseOperator
from .matrix import as_operator
from .regularized import RegularizedOperator
from .sparse import SparseOperator
from .tiled.operator import TiledOperator

# The rest is for other packages of the library.
__all__ = ["Operator"]
