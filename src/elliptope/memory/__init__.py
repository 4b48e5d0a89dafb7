"""What a fit needs of memory, what there is, and which operator follows; asked before anything is allocated."""

from .needs import estimate_memory
from .planner import InsufficientMemoryError
