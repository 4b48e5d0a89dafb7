"""Matrices cut into tiles and into blocks of rows, so that memory stays bounded and what is worked on stays in cache."""

from __future__ import annotations

from collections.abc import Iterator

# Side of a square tile: a few of them in float64 stay in a core's cache, and a call from Python costs less than the work.
TILE = 128
# Rows of a block in products with tall matrices: enough for BLAS to be fast, and few roundings in a sum over a block.
ROWS = 1024
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
