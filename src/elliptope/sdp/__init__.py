"""Semidefinite programs over the elliptope: solver and certificate, for any symmetric cost."""

from .ascent import METHODS
from .certificates.certificate import Certificate
from .certificates.uniqueness import NullSpace
from .loop import Progress
from .solve import Solution, certify, solve
from .spread import Spread, resolve_spread

# The rest is for other packages of the library.
__all__ = ["Certificate", "Progress", "Solution", "certify", "solve"]
