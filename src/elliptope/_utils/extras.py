"""Optional libraries, and how to get them."""

from __future__ import annotations


def install(extra: str) -> str:
    """What to type for an extra that is missing."""
    return f"pip install 'elliptope[{extra}]' (in a clone: pip install '.[{extra}]')"
