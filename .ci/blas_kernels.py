"""Print the OpenBLAS kernels that this processor runs, each once; those that it does not run are named on standard error.

With ``--other``, print only one, which is not the one that OpenBLAS chooses by itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

KERNELS = ("Haswell", "Prescott", "Zen", "SkylakeX")
# A product uses the kernel: one of another processor ends the process with an illegal instruction.
USE = """
import numpy
from threadpoolctl import threadpool_info
numpy.ones((64, 64)) @ numpy.ones((64, 64))
print(next((pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"), ""))
"""


def in_use(kernel: str | None) -> str:
    """The kernel that NumPy's OpenBLAS uses when asked for this one; empty where that fails."""
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    if kernel is not None:
        environment["OPENBLAS_CORETYPE"] = kernel
    process = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True)
    return process.stdout.strip() if process.returncode == 0 else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", action="store_true")
    own, runs = in_use(None), {}  # by the name that OpenBLAS reports: where it lacks a kernel it takes another
    for kernel in KERNELS:
        runs.setdefault(in_use(kernel), kernel)
    runs.pop("", None)
    chosen = list(runs.values())
    if parser.parse_args().other:
        chosen = [kernel for name, kernel in runs.items() if name != own][:1]
    else:
        skipped = [kernel for kernel in KERNELS if kernel not in chosen]
        print(f"The processor's own kernel is {own}. Skipped, because OpenBLAS replaces them: {skipped}.", file=sys.stderr)
    print(*chosen)


if __name__ == "__main__":
    main()
