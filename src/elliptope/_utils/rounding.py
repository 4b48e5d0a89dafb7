"""What rounding may do to numbers, and numbers rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

# The rounding of one operation in double precision, relative, and the smallest positive number of full precision.
UNIT = float(np.finfo(np.float64).eps) / 2
TINY = float(np.finfo(np.float64).tiny)


def gamma(k: float, unit: float = UNIT) -> float:
    r""":math:`\gamma_k = ku/(1-ku)`, the relative error of k roundings by at most u, the ``unit``."""
    return k * unit / (1 - k * unit) if k * unit < 1 else math.inf


def decimal_above(value: float, digits: int = 2) -> Decimal:
    """A gap or a probability, rounded up: a bound that is proved for it also holds for the number that is shown."""
    return Context(prec=digits, rounding=ROUND_CEILING).create_decimal(value)


def round_up(value: float, digits: int = 2) -> str:
    """The same in the notation of floats: 1.1e-07."""
    return f"{float(decimal_above(value, digits)):.{digits - 1}e}"
