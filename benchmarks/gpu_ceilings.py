"""What the chip does at best: exponentials and float64 instructions in registers, matrix products, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl

from elliptope.operators.cuda.functions import exp2_double

_BLOCK, _STEPS, _PROGRAMS = 1024, 4096, 132 * 32


@triton.jit
def repeated(out, WHAT: tl.constexpr, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = (at * 1e-4).to(tl.float32 if WHAT == 0 else tl.float64)
    for _ in range(STEPS):
        if WHAT == 0:
            x = tl.exp2(-x)
        elif WHAT == 1:
            x = exp2_double(-x, False)
        else:
            x = x * 0.999 + 0.001
    tl.store(out + tl.program_id(0) * BLOCK + at, x)


def ceilings(seconds: Callable[..., float]) -> Iterator[dict[str, Any]]:
    for what, name, dtype in (
        (0, "exp2 in float32", torch.float32),
        (1, "our exp2 in float64", torch.float64),
        (2, "multiplications with an addition in float64", torch.float64),
    ):
        out = torch.empty(_PROGRAMS * _BLOCK, dtype=dtype, device="cuda")

        def work(what: int = what, out: Any = out) -> None:
            repeated[(_PROGRAMS,)](out, WHAT=what, STEPS=_STEPS, BLOCK=_BLOCK, num_warps=4)

        yield {"what": name, "per second": _PROGRAMS * _BLOCK * _STEPS / seconds(work)}
    for dtype in (torch.float64, torch.float32, torch.float16):
        A = torch.randn((8192, 8192), device="cuda").to(dtype)
        operations = 2 * 8192**3 / seconds(lambda A=A: A @ A)
        yield {"what": f"operations of a matrix product in {str(dtype)[6:]}", "per second": operations}
    x = torch.randn(2**29, device="cuda")
    y = torch.empty_like(x)
    yield {"what": "bytes copied, read and written", "per second": 8 * len(x) / seconds(lambda: y.copy_(x))}
