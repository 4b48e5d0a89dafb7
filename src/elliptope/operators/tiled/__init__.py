"""Kernel matrices that are recomputed tile by tile at every product."""

from .operator import TiledOperator

__all__ = ["TiledOperator"]
