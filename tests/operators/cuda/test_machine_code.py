"""The machine code that Triton's assembler makes of the device functions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed: make test-gpu installs it")


def test_no_register_is_read_before_it_is_written():
    """The assembler has made addresses of shared memory from such registers, where a loop was run once."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    program = Path(__file__).with_name("machine_code.py")
    ran = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    if "no cuobjdump" in ran.stderr:
        pytest.skip("Triton has no disassembler here")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 18
    assert [line for line in lines if not line.endswith(": ")] == []
