"""How matrices are cut up, so that what is worked on stays in a core's cache."""

from __future__ import annotations

# Side of a square tile: a few of them in float64 stay in a core's cache, and a call from Python costs less than the work.
TILE = 128
# Rows of a block in products with tall matrices: enough for BLAS to be fast, and few roundings in a sum over a block.
ROWS = 1024


def blocks(stop: int, size: int, start: int = 0) -> list[slice]:
    """[start, stop) cut into slices of ``size``, the last one shorter."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]
