"""Kernels run on the device where there is one, and under Triton's interpreter on the CPU where there is none."""

import os
from contextlib import suppress

import pytest

available = False
with suppress(ImportError):  # the tests themselves are then skipped
    import torch

    available = torch.cuda.is_available()
if not available:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton compiles anything


@pytest.fixture(scope="session")
def device():
    return "cuda" if available else "cpu"
