"""A fit as one self-contained HTML page: the embedding to explore, and its certificate in plain words."""

from .write import write_report

__all__ = ["write_report"]
