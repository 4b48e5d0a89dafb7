"""Semidefinite programs over the elliptope: solver and certificate, for any symmetric cost."""

from .ascent import METHODS
from .certificates.certificate import Certificate
from .certificates.uniqueness import NullSpace
from .solve import Progress, Solution, solve

__all__ = ["METHODS", "Certificate", "NullSpace", "Progress", "Solution", "solve"]
