"""The version, by itself so that any module can import it."""

__version__ = "0.2.0"
