"""Checks of arguments. Every message names the parameter, the allowed range and the value received."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from .arrays import Array, as_numpy, has_real_dtype, total

# Coordinates beyond this, and distances below its inverse, could not be squared.
LARGEST_SQUARED = 1e150
# Rows that a message names.
_NAMED = 10
# Integers that arrays can be counted by.
_LARGEST = 2**63 - 1
# How `name_rows` names them.
_ROWS = re.compile(r"rows? (\d+(?:, \d+)*)(?:, … \((\d+) in all, counted from 0\)| \(counted from 0\))")


def is_word(value: Any, word: str) -> bool:
    """Whether a value, which may be an array, is that string."""
    return isinstance(value, str) and value == word


def check_choice(name: str, value: Any, allowed: tuple) -> None:
    if not any(value is a or (isinstance(a, str) and is_word(value, a)) for a in allowed):
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


def check_integer(name: str, value: Any, low: int, otherwise: str = "", *, most: float = _LARGEST) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"`{name}` must be {otherwise}an integer of at least {low}, got {value!r}.")
    if int(value) > most:
        raise ValueError(f"`{name}` must be {otherwise}an integer from {low} to {most}, got {value!r}.")
    return int(value)


def _as_number(value: Any) -> float:
    """A real number; NaN where there is none, infinity where it is beyond the range of floating-point numbers."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf  # its sign does not matter: neither is allowed


def check_positive(name: str, value: Any) -> float:
    if not 0 < _as_number(value) < math.inf:
        raise ValueError(f"`{name}` must be positive and finite, got {value!r}.")
    return float(value)


def check_non_negative(name: str, value: Any) -> float:
    if not 0 <= _as_number(value) < math.inf:
        raise ValueError(f"`{name}` must be non-negative and finite, got {value!r}.")
    return float(value)


def check_finite(name: str, value: Any) -> float:
    if not math.isfinite(_as_number(value)):
        raise ValueError(f"`{name}` must be a finite number, got {value!r}.")
    return float(value)


def check_between(name: str, value: Any, low: float, high: float) -> float:
    """A number of the open interval (low, high)."""
    if not low < _as_number(value) < high:
        raise ValueError(f"`{name}` must lie strictly between {low:g} and {high:g}, got {value!r}.")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"`{name}` must be True or False, got {value!r}.")
    return bool(value)


def check_tol(tol: Any) -> float:
    """A relative gap: with one of 1 or more, every embedding would do."""
    tol = check_positive("tol", tol)
    if tol >= 1:
        raise ValueError(f"`tol` must be positive and below 1, got {tol!r}.")
    return tol


def check_verbose(verbose: Any) -> bool:
    if not isinstance(verbose, Integral | np.bool_):
        raise ValueError(f"`verbose` must be True, False or an integer, got {verbose!r}.")
    return bool(verbose)


def check_callable(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise ValueError(f"`{name}` must be a callable or None, got {value!r}.")


def check_rng(rng: Any) -> np.random.Generator:
    """A generator, from whatever :func:`numpy.random.default_rng` makes one of."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`rng` must be a Generator, a non-negative integer or None, got {rng!r}.") from error


def check_real(name: str, x: Any) -> None:
    """Raise unless the entries of an array, a sparse matrix or a linear operator are real numbers by their dtype."""
    if not has_real_dtype(x):
        raise ValueError(f"`{name}` must be real, got dtype {x.dtype}.")


def as_real(name: str, value: Any, verb: str = "be") -> Array:
    """A NumPy array of real numbers, which ``name`` must be or, where it is a function, return.

    No mask and no imaginary part is dropped in silence.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"`{name}` must {verb} an array without a mask, got type {type(value).__name__}; fill it first.")
    try:
        x = np.asarray(as_numpy(value))
        if x.dtype == object:
            text = next((entry for entry in x.flat if isinstance(entry, str | bytes)), None)
            if text is not None:
                raise TypeError(f"{text!r} is text")
            x = x.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"type {type(value).__name__}: {str(error).rstrip('.')}"
        raise ValueError(f"`{name}` must {verb} an array of real numbers, got {what}.") from error
    if not has_real_dtype(x):
        raise ValueError(f"`{name}` must {verb} an array of real numbers, got dtype {x.dtype}.")
    return x


def _row_and_column(row: int, column: int) -> str:
    return f"row {row}, column {column}"


def check_entries(name: str, entries: Array, place: Callable[..., str] = _row_and_column) -> None:
    """Raise where entries, of whatever library, are not finite; ``place`` says in words where an index is."""
    # A sum is finite only if its terms are; where it is not, it may still have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(total(entries)):
            return
    entries = as_numpy(entries)
    finite = np.isfinite(entries)
    index = [int(k) for k in np.unravel_index(np.argmin(finite), finite.shape)]
    if not finite[*index]:
        raise ValueError(f"`{name}` must be finite, got {float(entries[*index])!r} at {place(*index)}.")


def check_vector(name: str, value: Any, n: int, *, zero: bool = False, numbers: Array | None = None) -> Array:
    """A float64 vector of length n with positive (or, with ``zero``, non-negative) finite entries.

    ``numbers`` are those that its rows have in what the user gave, 0 to n - 1 by default.
    """
    v = np.asarray(as_real(name, value), dtype=np.float64)
    if v.shape != (n,):
        raise ValueError(f"`{name}` must have one entry per row, shape ({n},), got shape {v.shape}.")
    good = ((v >= 0) if zero else (v > 0)) & np.isfinite(v)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        sign = "non-negative" if zero else "positive"
        number = row if numbers is None else int(numbers[row])
        raise ValueError(f"`{name}` must be {sign} and finite, got {float(v[row])!r} at row {number}.")
    return v


def check_factor(name: str, value: Any, n: int) -> Array:
    """A float64 matrix with n rows, at least one column and finite entries."""
    H = np.asarray(as_real(name, value), dtype=np.float64)
    if H.ndim != 2 or len(H) != n or H.shape[1] < 1:
        raise ValueError(f"`{name}` must be an array of shape ({n}, r), got shape {H.shape}.")
    check_entries(name, H)
    return H


def listing(names: Sequence[str], most: int) -> str:
    """Names, separated by commas, and no more than ``most`` of them."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def name_rows(rows: Array) -> str:
    """Some row numbers in words, the first few of them if there are many."""
    if len(rows) == 1:
        return f"row {int(rows[0])} (counted from 0)"
    count = f"{len(rows)} in all, " if len(rows) > _NAMED else ""
    return f"rows {listing([str(int(i)) for i in np.sort(rows)], _NAMED)} ({count}counted from 0)"


def rename_rows(text: str, name: Callable[[int], str]) -> str:
    """A message with rows in the words of :func:`name_rows`, in those of ``name`` instead."""

    def renamed(found: re.Match[str]) -> str:
        listed = ", ".join(name(int(i)) for i in found[1].split(", "))
        return f"{listed}, … ({found[2]} in all)" if found[2] else listed

    return _ROWS.sub(renamed, text)


def check_extent(X: Array) -> None:
    """Raise where squared distances between rows of X, and so all that a kernel makes of them, may overflow."""
    low, high = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore"):
        extent = float(np.square(high - low).sum())
    if not math.isfinite(extent):
        raise ValueError(
            f"`X` must have distances between rows below 1e154, or else their squares overflow, got values from "
            f"{low.min():.3g} to {high.max():.3g}; rescale the data."
        )
