"""Cells of a table: which are missing, which are numbers, and those that are text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..._utils.arrays import Array

_MISSING = {"", "na", "n/a", "nan", "nat", "null", "none", "<na>", "?", "-", ".", ".."}
_TRUTH = {"true": 1.0, "false": 0.0}


class Texts(NamedTuple):
    """The cells of a column that are neither numbers nor missing: their rows, from 0 and ascending, and what they say."""

    rows: Array
    cells: list[str]


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number; in a table it is a name


def truth(cell: str) -> float | None:
    """1 for true, 0 for false, None for anything else."""
    return _TRUTH.get(cell.strip().lower())


def texts_of(cells: Iterable[str]) -> Texts:
    """The cells, of a column of text, that are not missing."""
    given = [(i, cell.strip()) for i, cell in enumerate(cells) if not is_missing(cell)]
    return Texts(np.array([i for i, _ in given], dtype=np.int64), [cell for _, cell in given])
