r"""What both precisions share on the device: profiles of kernels, and an exponential in double precision.

A profile maps a squared distance to log2 k. Distances are scaled beforehand so that

* ``GAUSSIAN``: :math:`\log_2 k = -t`, where t is the squared distance,
* ``MATERN``: :math:`k = q(\rho) e^{-\rho}` with :math:`\rho = \sqrt t` and a polynomial q; the Laplacian has q = 1.
"""

from __future__ import annotations

import triton
import triton.language as tl

GAUSSIAN, MATERN = tl.constexpr(0), tl.constexpr(1)

# Adding it rounds a number to an integer, which is then found in the low bits.
_SHIFTER = tl.constexpr(6755399441055744.0)  # 1.5 × 2^52
# 2^f on [-1/2, 1/2] to 2.2e-16 of itself: the polynomial of degree 10 whose relative error is least, by Remez's algorithm.
_C0 = tl.constexpr(1.0)
_C1 = tl.constexpr(0.6931471805599497)
_C2 = tl.constexpr(0.24022650695908768)
_C3 = tl.constexpr(0.05550410866445883)
_C4 = tl.constexpr(0.009618129108034607)
_C5 = tl.constexpr(0.0013333558228561943)
_C6 = tl.constexpr(0.00015403529961116556)
_C7 = tl.constexpr(1.525265811630148e-05)
_C8 = tl.constexpr(1.321566284045561e-06)
_C9 = tl.constexpr(1.0208537950682938e-07)
_C10 = tl.constexpr(7.037278170481727e-09)
# Below this 2^x is less than the smallest normal number; it is replaced by that, which `TINY` in error bounds accounts for.
_LEAST = tl.constexpr(-1022.0)
_LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def exp2_double(x, CLAMP: tl.constexpr):
    """2^x for x ≤ 1 in float64, to 2 ulp. 13 operations of the float64 units, where the library's takes 20 and more.

    Without ``CLAMP``, x must not be less than -1021.
    """
    if CLAMP:
        x = tl.maximum(x, _LEAST)
    shifted = x + _SHIFTER
    f = x - (shifted - _SHIFTER)
    p = _C10 * f + _C9
    p = p * f + _C8
    p = p * f + _C7
    p = p * f + _C6
    p = p * f + _C5
    p = p * f + _C4
    p = p * f + _C3
    p = p * f + _C2
    p = p * f + _C1
    p = p * f + _C0
    # The integer part is added to the exponent: an operation of the integer units, which are idle.
    bits = p.to(tl.int64, bitcast=True) + (shifted.to(tl.int64, bitcast=True) << 52)
    return bits.to(tl.float64, bitcast=True)


@triton.jit
def polynomial(rho, coefficients, DEGREE: tl.constexpr):
    """Σ_j c_j ρ^j by Horner's rule; the coefficients, from the highest on, lie in memory."""
    q = tl.load(coefficients) + 0.0 * rho
    for j in tl.static_range(1, DEGREE + 1):
        q = q * rho + tl.load(coefficients + j)
    return q
