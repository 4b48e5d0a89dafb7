r"""How far entries of the Gaussian kernel on the device are from the truth.

In float64 the analysis is that of :mod:`~elliptope.operators.tiled.gaussian`: an inner product of p + 2 terms, whatever the
order of its sums, and an exponential that is good to 4 ulp. The matrix units multiply and add in float64 as IEEE 754 says.
The exponent is in units of log 2, which costs a coordinate two roundings more.

In the faster grade coordinates have 22 bits, and products of their second parts, :math:`2^{-24}`, are left out. The matrix
units round a sum of 16 products towards zero, :math:`2^{-23}` of what has been summed. With the sum of norms, rounded twice,
an exponent errs by at most :math:`2^{-21} + 2^{-23} \lceil 3p/16 \rceil` of :math:`\tfrac12(\rho_i + \rho_j)`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..._utils.rounding import UNIT, gamma
from ..recomputed import TileErrors

# The exponential on the device is good to 2 ulp; its argument is at most 1022, and is found by three operations.
_EXP_ULPS = 4


def gaussian_errors(Z: Any) -> TileErrors:
    """The errors of entries in float64; infinite beyond the range of the bound. Z (n, p) is in units of log 2."""
    exponent = gamma(2 * Z.shape[1] + 16) * math.log(2) * torch.linalg.vecdot(Z, Z)
    worst = 2 * float(exponent.max())
    if not worst <= 1:
        return TileErrors(torch.full_like(exponent, math.inf), 0.0)
    return TileErrors(math.exp(worst) * (exponent + (_EXP_ULPS + 0.5) * UNIT), 0.0)


def single_dot_error(size: float, p: int) -> float:
    """Bound on the relative error of an entry of the faster grade, where ``size`` is the largest ‖z‖², in units of log 2."""
    return math.log(2) * (2.0**-21 + 2.0**-23 * math.ceil(3 * p / 16)) * size + 2.0**-20


def single_difference_error(size: float) -> float:
    """The same where differences of coordinates are formed in float32, for entries of 1e-10 and more.

    A coordinate of size ‖z‖ is rounded by :math:`2^{-24}` of that, and ½‖z - z'‖² ≤ 34 for such entries.
    """
    return 2 * math.log(2) * math.sqrt(2 * 34) * 2.0**-23 * math.sqrt(size) + 2.0**-20
