"""Optional libraries, and how to get them."""

from __future__ import annotations


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'elliptope[{extra}]' (in a clone: pip install '.[{extra}]')"
