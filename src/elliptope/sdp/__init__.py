"""Semidefinite programs over the elliptope: solver and certificate, for any symmetric cost."""

from .ascent import METHODS
from .certificate import Certificate
from .solve import Progress, Solution, solve
from .uniqueness import NullSpace

__all__ = ["METHODS", "Certificate", "NullSpace", "Progress", "Solution", "solve"]
