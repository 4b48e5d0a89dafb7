r"""Products with a kernel matrix to about six digits, several times as fast as in float64.

Factors are split into two numbers of float16, which together have 22 bits: with a = a₁ + a₂,
:math:`ab \approx a_1 b_1 + a_1 b_2 + a_2 b_1`, three products of the matrix units with sums in float32. Coordinates are
split beforehand, entries of the kernel when they have been computed. Entries, which are at most 1, are multiplied by 2^15,
and columns of V so that their largest number is between 2^13 and 2^14: what is lost where float16 ends is below 2^-38 of
that.

Matrix units round sums towards zero. So their sums are short, those of one tile, and longer ones are formed outside.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .functions import _LOG2_E, GAUSSIAN, polynomial

ENTRY_BITS, FACTOR_BITS = 15, 14
_ENTRY_BITS = tl.constexpr(float(ENTRY_BITS))
_UNIT = tl.constexpr(2.0**-ENTRY_BITS)


@triton.jit
def single_product(
    left,  # (N, K) in float16 with DOT: first, first and second parts of the coordinates; else (p, N) in float32
    right,  # (N, K) in float16: first, second and first parts
    half_norms,  # (N,), in units of log2 k, less half of 15
    V1,  # (N, R) in float16
    V2,
    rows,  # (offsets, N, R) in float32
    columns,
    profile,
    N,
    count,
    first,
    DOT: tl.constexpr,
    PROFILE: tl.constexpr,
    DEGREE: tl.constexpr,
    P: tl.constexpr,  # coordinates
    S: tl.constexpr,  # rows of a block
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    MIRROR: tl.constexpr,
):
    """As :func:`~elliptope.operators.cuda.double.double_product`."""
    program = tl.program_id(0)
    I = program % count  # noqa: E741
    slot = program // count
    J = (I + first + slot) % count
    if MIRROR and 2 * (first + slot) == count and I > J:
        return
    columns_of_V = tl.arange(0, R)
    rows += slot * N * R
    columns += slot * N * R
    k = tl.arange(0, CHUNK)
    scale = tl.load(profile)
    for down in range(0, S, BM):
        i = I * S + down + tl.arange(0, BM)
        at_i = i[:, None] * R + columns_of_V[None, :]
        if MIRROR:
            Vi1 = tl.load(V1 + at_i)
            Vi2 = tl.load(V2 + at_i)
        if DOT:
            norm_i = tl.load(half_norms + i)
            if K == CHUNK:
                a = tl.load(left + i[:, None] * K + k[None, :])
        acc = tl.zeros((BM, R), dtype=tl.float32)
        for along in range(0, S, BN):
            j = J * S + along + tl.arange(0, BN)
            at_j = j[:, None] * R + columns_of_V[None, :]
            if DOT:
                if K == CHUNK:
                    b = tl.load(right + j[None, :] * K + k[:, None])
                    product = tl.dot(a, b)
                else:
                    product = tl.zeros((BM, BN), dtype=tl.float32)
                    for k0 in range(0, K, CHUNK):
                        x = tl.load(left + i[:, None] * K + (k0 + k)[None, :])
                        y = tl.load(right + j[None, :] * K + (k0 + k)[:, None])
                        product = tl.dot(x, y, product)
                T = tl.exp2(product - (norm_i[:, None] + tl.load(half_norms + j)[None, :]))
            else:
                squares = tl.zeros((BM, BN), dtype=tl.float32)
                for c in range(P):
                    d = tl.load(left + c * N + i)[:, None] - tl.load(left + c * N + j)[None, :]
                    squares += d * d
                if PROFILE == GAUSSIAN:
                    T = tl.exp2(-scale * squares + _ENTRY_BITS)
                else:
                    rho = tl.minimum(tl.sqrt(squares) * scale, 80.0)
                    T = tl.exp2(rho * -_LOG2_E + _ENTRY_BITS) * polynomial(rho, profile + 1, DEGREE)
            if not MIRROR:
                T = tl.where(i[:, None] == j[None, :], 0.0, T)
            T1 = T.to(tl.float16)
            T2 = (T - T1.to(tl.float32)).to(tl.float16)
            Vj1 = tl.load(V1 + at_j)
            second = tl.dot(T2, Vj1, tl.dot(T1, tl.load(V2 + at_j)))
            # The factor keeps the sums of the matrix units apart from those in `acc`.
            acc += tl.dot(T1, Vj1) * _UNIT
            acc += second * _UNIT
            if MIRROR:
                U1, U2 = tl.trans(T1), tl.trans(T2)
                sums = tl.load(columns + at_j)
                second = tl.dot(U2, Vi1, tl.dot(U1, Vi2))
                sums += tl.dot(U1, Vi1) * _UNIT
                sums += second * _UNIT
                tl.store(columns + at_j, sums)
        tl.store(rows + at_i, tl.load(rows + at_i) + acc)
        tl.debug_barrier()  # other threads may go on with these sums over columns
