"""A fit on one self-contained page: the embedding to explore, its certificate in plain words, and where it came from."""

from .write import write_report

__all__ = ["write_report"]
