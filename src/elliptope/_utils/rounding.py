"""What rounding may do to numbers, and numbers rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

import numpy as np

# The rounding of one operation in double precision, relative, and the smallest positive number of full precision.
UNIT = float(np.finfo(np.float64).eps) / 2
TINY = float(np.finfo(np.float64).tiny)


def gamma(k: float, unit: float = UNIT) -> float:
    r""":math:`\gamma_k = ku/(1-ku)`, the relative error of k roundings by at most u, the ``unit``."""
    return k * unit / (1 - k * unit) if k * unit < 1 else math.inf


def round_up(value: float, digits: int = 2) -> str:
    """So many digits of a gap, upwards, so that what is proved of it is true of the number that is shown: 1.1e-07."""
    if math.isfinite(value):
        value = float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(value))
    return f"{value:.{digits - 1}e}"
