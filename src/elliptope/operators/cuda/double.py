r"""Products with a kernel matrix in float64: distances, exponential and product in one pass over tiles in registers.

Points are taken in B blocks of S. A program makes the tiles of one pair of blocks (I, J) and uses each twice,
:math:`G_i \mathrel{+}= T V_j` and :math:`G_j \mathrel{+}= T^\top V_i`. Programs of one launch have pairs (I, I + k mod B);
for one k no two of them write to the same rows, and each of several k has sums of its own. So nothing depends on the order
in which programs run, and the same product gives the same bits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .functions import _LOG2_E, GAUSSIAN, exp2_double, polynomial

# Scaled distances from here on have an e^-ρ below 1e-303.
_FAR = tl.constexpr(700.0)


@triton.jit
def double_product(
    points,  # (K, N): coordinates, a column per point; with DOT, then a row of half squared norms (negative), one of ones
    V,  # (N, R)
    rows,  # (offsets, N, R): sums over j of T V_j
    columns,  # (offsets, N, R): sums over i of Tᵀ V_i
    profile,  # the factor of distances (of their squares for the Gaussian), then coefficients; not used with DOT
    N,
    count,  # blocks
    first,  # offset k of the first pairs
    DOT: tl.constexpr,  # log2 k from one matrix product, for the Gaussian; else differences of coordinates
    PROFILE: tl.constexpr,
    DEGREE: tl.constexpr,
    P: tl.constexpr,  # coordinates
    S: tl.constexpr,  # rows of a block
    K: tl.constexpr,  # rows of `points` with DOT, a multiple of CHUNK
    CHUNK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    R: tl.constexpr,
    MIRROR: tl.constexpr,  # tiles are used twice; else once, and those on the diagonal have none
    SQUARED: tl.constexpr,
    CLAMP: tl.constexpr,
):
    program = tl.program_id(0)
    I = program % count  # noqa: E741
    slot = program // count
    J = (I + first + slot) % count
    if MIRROR and 2 * (first + slot) == count and I > J:
        return  # of the pairs half way round, each would come twice
    columns_of_V = tl.arange(0, R)
    rows += slot * N * R
    columns += slot * N * R
    k = tl.arange(0, CHUNK)
    scale = tl.load(profile)
    for down in range(0, S, BM):
        i = I * S + down + tl.arange(0, BM)
        Vi = tl.load(V + i[:, None] * R + columns_of_V[None, :])
        if DOT and K == CHUNK:
            left = tl.load(points + k[None, :] * N + i[:, None])
        acc = tl.zeros((BM, R), dtype=tl.float64)
        for along in range(0, S, BN):
            j = J * S + along + tl.arange(0, BN)
            Vj = tl.load(V + j[:, None] * R + columns_of_V[None, :])
            if DOT:
                # The rows of norms and of ones change places.
                if K == CHUNK:
                    swapped = tl.where(k == P, P + 1, tl.where(k == P + 1, P, k))
                    right = tl.load(points + swapped[:, None] * N + j[None, :])
                    exponent = tl.dot(left, right, out_dtype=tl.float64)
                else:
                    exponent = tl.zeros((BM, BN), dtype=tl.float64)
                    for k0 in range(0, K, CHUNK):
                        kk = k0 + k
                        swapped = tl.where(kk == P, P + 1, tl.where(kk == P + 1, P, kk))
                        a = tl.load(points + kk[None, :] * N + i[:, None])
                        b = tl.load(points + swapped[:, None] * N + j[None, :])
                        exponent = tl.dot(a, b, exponent, out_dtype=tl.float64)
                T = exp2_double(exponent, CLAMP)
            else:
                squares = tl.zeros((BM, BN), dtype=tl.float64)
                for c in range(P):
                    d = tl.load(points + c * N + i)[:, None] - tl.load(points + c * N + j)[None, :]
                    squares += d * d
                if PROFILE == GAUSSIAN:
                    T = exp2_double(-scale * squares, True)
                else:
                    rho = tl.sqrt(squares) * scale
                    T = exp2_double(-_LOG2_E * rho, True) * polynomial(tl.minimum(rho, _FAR), profile + 1, DEGREE)
                    T = tl.where(rho < _FAR, T, 0.0)
            if SQUARED:
                T = T * T
            if not MIRROR:
                T = tl.where(i[:, None] == j[None, :], 0.0, T)
            acc = tl.dot(T, Vj, acc, out_dtype=tl.float64)
            if MIRROR:
                at = columns + j[:, None] * R + columns_of_V[None, :]
                tl.store(at, tl.dot(tl.trans(T), Vi, tl.load(at), out_dtype=tl.float64))
        at = rows + i[:, None] * R + columns_of_V[None, :]
        tl.store(at, tl.load(at) + acc)
        tl.debug_barrier()  # other threads may go on with these sums over columns
