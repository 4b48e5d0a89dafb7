"""Compile the device functions for an H200, where no device is needed; print registers that are read but never written.

Run as a program, without Triton's interpreter, by ``test_machine_code.py``. A line per variant: its name, and the first such
instruction, if there is one.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from elliptope.operators.cuda.double import double_product
from elliptope.operators.cuda.products import _CHUNK, _LEAST_TILES, DOUBLE_SHAPES, SINGLE_SHAPES
from elliptope.operators.cuda.single import single_product

POINTERS = {
    double_product: ["fp64"] * 5,
    single_product: ["fp16", "fp16", "fp32", "fp16", "fp16", "fp32", "fp32", "fp32"],
}
UNIFORM = re.compile(r"UR(\d+)")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,5})\*/\s+(?:@!?U?P\w+\s+)?(.*?)\s*;")


def compiled(function, shape, width, mirror, first):
    """The machine code for blocks of the smallest size, where loops are shortest; ``first`` is a constant, or not."""
    block = _LEAST_TILES * max(shape.rows, shape.columns)
    constants = {"DOT": True, "PROFILE": 0, "DEGREE": 0, "P": 10, "S": block, "BM": shape.rows, "BN": shape.columns}
    constants |= {"R": width, "MIRROR": mirror, "K": _CHUNK, "CHUNK": _CHUNK}
    if function is single_product:
        constants |= {"K": 32, "CHUNK": 32}
    else:
        constants |= {"SQUARED": False, "CLAMP": False}
    if first:
        constants["first"] = 1  # as Triton makes it of an argument that is 1
    names, pointers = function.arg_names, POINTERS[function]
    kinds = {name: f"*{kind}" for name, kind in zip(names, pointers, strict=False)}
    kinds |= dict.fromkeys(("N", "count", "first"), "i32")
    signature = {name: "constexpr" if name in constants else kinds[name] for name in names}
    aligned = {(k,): [["tt.divisibility", 16]] for k in range(len(pointers) + 1)}
    source = ASTSource(function, signature, {(names.index(name),): value for name, value in constants.items()}, aligned)
    options = {"num_warps": shape.warps, "num_stages": shape.stages}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["cubin"]


def undefined(cubin, tool):
    """The first instruction, in the order of addresses, that reads a uniform register which none before it has written."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "code.cubin"
        file.write_bytes(cubin)
        text = subprocess.run([tool, "-sass", file], capture_output=True, text=True, check=True).stdout
    written, count = set(), 0
    for line in text.splitlines():
        found = INSTRUCTION.match(line)
        if found is None:
            continue
        count += 1
        name, _, rest = found[2].partition(" ")
        operands = re.split(r",(?![^\[]*\])", rest)
        target = re.match(r"\s*UR(\d+)", operands[0]) if re.match("U|S2UR|R2UR|REDUX", name) else None
        sources = operands[1:] if target else operands
        if {register for operand in sources for register in reads(name, operand, sources)} - written:
            return f"{found[1]} {found[2]}"
        if target:
            wide = 4 if ".128" in name else 2 if re.search(r"\.64|\.WIDE", name) else 1
            written |= {int(target[1]) + k for k in range(wide)}
    assert count > 100, text
    return ""


def reads(name, operand, sources):
    """Uniform registers that an operand names; a descriptor has two or four."""
    for number in map(int, UNIFORM.findall(operand)):
        if "gdesc" in operand:  # of both factors, or of the second if the first is in registers
            in_registers = any(re.match(r"\s*R\d", other) for other in sources[1 : sources.index(operand)])
            yield from range(number + 2 * in_registers, number + 4)
        else:
            yield from range(number, number + (2 if "desc[" in operand or name.startswith("UIADD3.64") else 1))


def main():
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        sys.exit("no cuobjdump")
    for function, shapes in ((single_product, SINGLE_SHAPES), (double_product, DOUBLE_SHAPES)):
        for width, shape in shapes.items():
            for mirror, first in ((True, True), (True, False), (False, False)):
                found = undefined(compiled(function, shape, width, mirror, first), tool)
                print(f"{function.fn.__name__} {width} {mirror} {first}: {found}", flush=True)


if __name__ == "__main__":
    main()
