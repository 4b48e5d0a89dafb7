"""What a fit needs of memory, what there is, and which operator follows; asked before anything is allocated."""

from .available import Memory, available_memory
from .needs import estimate_memory
from .planner import InsufficientMemoryError, Plan, check_fits, choose_operator, plan, size_of

__all__ = [
    "InsufficientMemoryError",
    "Memory",
    "Plan",
    "available_memory",
    "check_fits",
    "choose_operator",
    "estimate_memory",
    "plan",
    "size_of",
]
