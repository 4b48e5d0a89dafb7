"""Kernel matrices replaced by ones of low rank."""

from .operator import NystroemOperator

__all__ = ["NystroemOperator"]
