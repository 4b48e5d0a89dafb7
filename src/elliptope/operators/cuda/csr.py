"""A sparse matrix in rows times a thin matrix: a program per row, whose sums do not depend on the order of programs."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["r"])  # one function for all numbers of columns of a width
def csr_product(
    starts,  # (n + 1,)
    indices,
    values,
    diagonal,  # (n,)
    V,  # (n, r)
    out,  # (n, r)
    r,
    R: tl.constexpr,  # r, rounded up to a power of two
    CHUNK: tl.constexpr,  # entries of a row that are taken at a time
):
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(starts + row)
    last = tl.load(starts + row + 1)
    columns = tl.arange(0, R)
    used = (columns < r)[None, :]
    acc = tl.zeros((CHUNK, R), dtype=V.dtype.element_ty)
    while start < last:  # Triton's interpreter has no ranges between numbers from memory
        at = start + tl.arange(0, CHUNK)
        stored = at < last
        j = tl.load(indices + at, mask=stored, other=0).to(tl.int64)
        a = tl.load(values + at, mask=stored, other=0.0)
        acc += a[:, None] * tl.load(V + j[:, None] * r + columns[None, :], mask=stored[:, None] & used, other=0.0)
        start += CHUNK
    own = tl.load(diagonal + row) * tl.load(V + row * r + columns, mask=columns < r, other=0.0)
    tl.store(out + row * r + columns, tl.sum(acc, axis=0) + own, mask=columns < r)
