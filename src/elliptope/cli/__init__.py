"""The command line: ``elliptope embed wine.csv``, also as ``python -m elliptope``."""

from .app import main, run

__all__ = ["main", "run"]
