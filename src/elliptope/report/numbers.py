"""Numbers as the page writes them, in Python; the functions of these names in page/data.js write them alike."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

# Digits of a number, and the sizes between which it has no power of ten: below the second all whole numbers are exact in
# single precision, which the page has.
_DIGITS = 4
_SMALL, _LARGE = 1e-4, 1e7
# Digits before the point from which on they are grouped; a year is not.
_GROUPED = 5
_SPACE, _NARROW_SPACE, _MINUS = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{MINUS SIGN}"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number_text(value: float) -> str:
    """Four digits, and all those before the point: 0.1235, 12 346, −1.2 × 10⁻⁷; nothing for a missing value."""
    if not math.isfinite(value):
        return ""
    size, sign = abs(float(value)), _MINUS if value < 0 else ""
    if size and not _SMALL <= size < _LARGE:
        mantissa, exponent = f"{size:.{_DIGITS - 1}e}".split("e")
        return f"{sign}{_trimmed(mantissa)}{times_ten(int(exponent))}"
    digits = max(0, _DIGITS - 1 - math.floor(math.log10(size))) if size else 0
    rounded = Decimal(size).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    whole, _, rest = _trimmed(f"{rounded:f}").partition(".")
    grouped = f"{int(whole):,}".replace(",", _NARROW_SPACE) if len(whole) >= _GROUPED else whole
    return f"{sign}{grouped}{'.' if rest else ''}{rest}"


def fixed_text(value: float) -> str:
    """Three digits after the point, for a column of numbers of one kind: 0.900 below 1.250."""
    return f"{value:z.3f}".replace("-", _MINUS)


def date_text(days: float) -> str:
    """The date of a number of days since 1970-01-01; nothing for a missing value."""
    return str(np.datetime64(math.floor(days), "D")) if math.isfinite(days) else ""


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def times_ten(exponent: int) -> str:
    """What follows the mantissa: × 10⁻⁷."""
    return f"{_SPACE}×{_SPACE}10{str(exponent).translate(_SUPERSCRIPT)}"


def percent(share: float) -> str:
    """A share as a percentage with one digit after the point."""
    return f"{100 * share:.1f}{_SPACE}%"


def count_text(number: int, noun: str) -> str:
    return f"{number_text(number)} {noun}{'' if number == 1 else 's'}"
