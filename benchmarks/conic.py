"""CSDP, an interior-point solver that treats the matrix itself: X psd with unit diagonal.

It is the ``csdp`` executable, and left out where there is none. Only the time that it reports itself counts, without that
for reading files.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

Array = np.ndarray

NAMES = ["CSDP"] if shutil.which("csdp") else []
# Largest n: beyond, one run takes longer than the whole benchmark of the others.
MAX_N = 200
# Its own tolerances, loose to tight.
TOLERANCES = tuple(10.0**-k for k in range(4, 12))


@dataclass(frozen=True)
class Matrix:
    """What was found; ``X`` is None when it failed, for the reason in ``status``."""

    status: str
    X: Array | None = None
    seconds: float = float("nan")
    objective: float = float("nan")


def csdp(A: Array, tol: float, limit: float) -> Matrix:
    """One run, by files in SDPA sparse format."""
    n = len(A)
    with tempfile.TemporaryDirectory() as folder:
        problem, solution = Path(folder, "problem.dat-s"), Path(folder, "solution")
        problem.write_text(_sdpa(A))
        Path(folder, "param.csdp").write_text(
            f"axtol={tol}\natytol={tol}\nobjtol={tol}\npinftol=1e8\ndinftol=1e8\nmaxiter=200\nminstepfrac=0.90\n"
            "maxstepfrac=0.97\nminstepp=1e-8\nminstepd=1e-8\nusexzgap=1\ntweakgap=0\naffine=0\nprintlevel=1\nperturbobj=0\n"
            "fastmode=0\n"
        )
        before = perf_counter()
        command = ["csdp", str(problem), str(solution)]
        try:
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Matrix("limit")
        seconds = perf_counter() - before
        if not solution.exists():
            return Matrix(f"failed (code {run.returncode})")
        reported = re.search(r"Total time:\s*([\d.eE+-]+)", run.stdout)
        X = np.zeros((n, n))
        with solution.open() as lines:
            next(lines)  # the dual vector
            for line in lines:
                matrix, _, i, j, value = line.split()
                if matrix == "2":  # 1 is the dual slack
                    X[int(i) - 1, int(j) - 1] = X[int(j) - 1, int(i) - 1] = float(value)
    status = "done" if run.returncode == 0 else f"code {run.returncode}"
    return Matrix(status, X, float(reported[1]) if reported else seconds, float(np.vdot(A, X)))


def _sdpa(A: Array) -> str:
    """max Tr(AX) with X_ii = 1, in SDPA sparse format."""
    n = len(A)
    lines = [str(n), "1", str(n), " ".join(["1.0"] * n)]
    rows, columns = np.nonzero(np.triu(A))
    lines += [f"0 1 {i + 1} {j + 1} {A[i, j]:.17g}" for i, j in zip(rows, columns, strict=True)]
    lines += [f"{i} 1 {i} {i} 1.0" for i in range(1, n + 1)]
    return "\n".join(lines) + "\n"
