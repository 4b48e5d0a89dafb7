r"""In which order sums over pairs of points are formed: fixed by the number of points alone.

Points are cut into blocks. The pairs of blocks, a triangle, are halved again and again: a triangle into two smaller ones and
the rectangle between them, a rectangle into two. Sums go up this tree. Any part of it may be one task: which parts are, and
which worker computes them, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.blocks import TILE

# Rows of a block, at least: with fewer, the calls from Python would take longer than what they compute. And the most blocks:
# enough for a thousand threads, which have two of some 2000 pairs each.
BLOCK_ROWS = 2048
_MOST_BLOCKS = 64

# A part of the tree: blocks of rows and of columns, the same for a triangle.
Part = tuple[range, range]


def cut_rows(n: int, block_rows: int = BLOCK_ROWS) -> list[slice]:
    """n rows in blocks of whole tiles, a power of two in number, with ``block_rows`` rows or more on average."""
    tiles = -(-n // TILE)
    count = 1
    while 2 * count <= min(_MOST_BLOCKS, n // block_rows, tiles):
        count *= 2
    ends = [min(TILE * (k * tiles // count), n) for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def pairs_in(part: Part) -> float:
    """Pairs of blocks; on the diagonal half a one."""
    rows, columns = part
    return len(rows) ** 2 / 2 if rows == columns else len(rows) * len(columns)


def fold(part: Part, value: Callable[[Part], Any], join: Callable[..., Any]) -> Any:
    """The sum over a part: its ``value``, or where that is None the sums over smaller parts, which ``join`` puts together.

    The value of a triangle is an array, the sums for its rows; that of a rectangle two, for its rows and for its columns.
    ``join(function, *values)`` calls one of the functions below.
    """
    found = value(part)
    if found is not None:
        return found
    rows, columns = part
    if rows == columns:
        a, b = _halves(rows)
        return join(join_triangle, *(fold(smaller, value, join) for smaller in ((a, a), (b, a), (b, b))))
    if len(rows) >= len(columns):
        return join(join_rows, *(fold((half, columns), value, join) for half in _halves(rows)))
    return join(join_columns, *(fold((rows, half), value, join) for half in _halves(columns)))


def join_triangle(first: Array, between: tuple[Array, Array], second: Array) -> Array:
    rows, columns = between
    return np.concatenate([first + columns, rows + second])


def join_rows(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.concatenate([one[0], other[0]]), one[1] + other[1]


def join_columns(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    return one[0] + other[0], np.concatenate([one[1], other[1]])


def cut_work(blocks: int, shares: int) -> list[Part]:
    """Parts that together are all pairs of so many blocks, none of them more than one of ``shares`` if it can be halved.

    They come in the order in which the tree has them: neighbours need the same rows.
    """
    most = pairs_in((range(blocks), range(blocks))) / shares
    found: list[Part] = []

    def small_enough(part: Part) -> bool | None:
        if pairs_in(part) <= most or (len(part[0]) == 1 and len(part[1]) == 1):
            found.append(part)
            return True
        return None

    fold((range(blocks), range(blocks)), small_enough, lambda *_: True)
    return found


def cut_at_borders(parts: Iterable[Part], blocks: int) -> list[range]:
    """The blocks, in runs that no part needs a piece of."""
    borders = {0, blocks} | {border for part in parts for side in part for border in (side.start, side.stop)}
    return [range(a, b) for a, b in pairwise(sorted(borders))]


def assign(costs: Sequence[float], threads: dict[str, int]) -> list[str] | None:
    """The worker of every part: to each a run of them, in proportion to its threads. None where there are no workers."""
    if not threads:  # those that come will share the work
        return None
    total, all_threads = sum(costs), sum(threads.values())
    ends = np.cumsum(list(threads.values())) / all_threads
    middles = (np.cumsum(costs) - 0.5 * np.asarray(costs)) / total
    names = list(threads)
    return [names[min(int(np.searchsorted(ends, middle)), len(names) - 1)] for middle in middles]


def _halves(blocks: range) -> tuple[range, range]:
    middle = blocks.start + len(blocks) // 2
    return range(blocks.start, middle), range(middle, blocks.stop)
