"""The command line: ``elliptope embed wine.csv``, also as ``python -m elliptope``."""

from .app import main, run
from .models import load_pipeline

__all__ = ["load_pipeline", "main", "run"]
