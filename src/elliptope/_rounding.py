"""Numbers rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context


def round_up(value: float, digits: int = 2) -> str:
    """So many digits of a gap, upwards, so that what is proved of it is true of the number that is shown: 1.1e-07."""
    if math.isfinite(value):
        value = float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(value))
    return f"{value:.{digits - 1}e}"
