"""A fit as one self-contained HTML page: the embedding to explore, and its certificate in plain words."""

from .comparison import write_comparison
from .write import write_report

__all__ = ["write_comparison", "write_report"]
