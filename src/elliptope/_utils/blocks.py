"""Rows taken a block at a time, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

# Entries of rows, or of kernel values, held at a time (32 MB in double precision).
BLOCK_ENTRIES = 2**22


def rows_per_block(*lengths: int, most: int | None = None) -> int:
    """Rows, of the largest of these lengths, with no more entries together than ``BLOCK_ENTRIES``, or ``most`` if fewer."""
    entries = BLOCK_ENTRIES if most is None else min(most, BLOCK_ENTRIES)
    return max(1, entries // max(lengths))


def blocks(start: int, stop: int, size: int) -> Iterator[slice]:
    """[start, stop) cut into slices of ``size``; the last one may be shorter."""
    for first in range(start, stop, size):
        yield slice(first, min(first + size, stop))
