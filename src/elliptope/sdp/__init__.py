"""Semidefinite programs over the elliptope: solver and certificate, for any symmetric cost."""

from .certificate import Certificate
from .solve import Progress, Solution, solve

__all__ = ["Certificate", "Progress", "Solution", "solve"]
