r"""Solvers that treat the matrix itself, X psd with unit diagonal: SCS and Clarabel through cvxpy, and CSDP.

Each runs in a process of its own, which can be ended when its time or memory is spent, and is charged only the time that the
solver itself reports: neither modelling nor reading files.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

Array = np.ndarray

# Largest n: beyond, one run takes longer than the whole benchmark of the others.
MAX_N = 200
# Own tolerances, loose to tight.
TOLERANCES = tuple(10.0**-k for k in range(4, 12))
# Modelling is not charged, but must end some time.
_GRACE = 10.0


@dataclass(frozen=True)
class Matrix:
    """What a conic solver found; ``X`` is None when it failed, for the reason in ``status``."""

    status: str
    X: Array | None = None
    seconds: float = float("nan")
    objective: float = float("nan")
    peak_mb: float = float("nan")


def scs(A: Array, tol: float, limit: float) -> Matrix:
    """The primal form: it takes SCS several times fewer iterations than the dual one."""
    import cvxpy as cp

    X = cp.Variable(A.shape, PSD=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(A, X))), [cp.diag(X) == 1])
    problem.solve(solver=cp.SCS, eps_abs=tol, eps_rel=tol, max_iters=10**8, time_limit_secs=limit)
    return _from_cvxpy(problem, X.value)


def clarabel(A: Array, tol: float, limit: float) -> Matrix:
    """The dual form, min Σz with Diag(z) - A psd, which has n variables; with the faster of its factorisations."""
    import cvxpy as cp

    z = cp.Variable(len(A))
    psd = cp.diag(z) - A >> 0
    problem = cp.Problem(cp.Minimize(cp.sum(z)), [psd])
    tolerances = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}
    problem.solve(solver=cp.CLARABEL, direct_solve_method="faer", time_limit=limit, **tolerances)
    return _from_cvxpy(problem, psd.dual_value)


def _from_cvxpy(problem: Any, X: Array | None) -> Matrix:
    if X is None:
        return Matrix(str(problem.status))
    stats = problem.solver_stats
    status = "done" if problem.status == "optimal" else str(problem.status)
    return Matrix(status, X, stats.solve_time + (stats.setup_time or 0.0), float(problem.value))


def csdp(A: Array, tol: float, limit: float) -> Matrix:
    """The ``csdp`` executable, by files in SDPA sparse format."""
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


CONIC: dict[str, Callable[[Array, float, float], Matrix]] = {"SCS": scs, "Clarabel": clarabel}
if shutil.which("csdp"):
    CONIC["CSDP"] = csdp


def run_apart(name: str, A: Array, tol: float, limit: float, memory_gb: float) -> Matrix:
    """Run a conic solver in a process of its own, with at most ``limit`` seconds and ``memory_gb`` of memory."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, name, A, tol, limit, memory_gb), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit + _GRACE):
            return Matrix("limit")
        return receiver.recv()
    except EOFError:  # ended without a word: a failed allocation aborts the process
        return Matrix(f"out of memory ({memory_gb:g} GB)")
    finally:
        child.kill()
        child.join()


def _child(sender: Any, name: str, A: Array, tol: float, limit: float, memory_gb: float) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what failed is in the status
    size = int(memory_gb * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    try:
        found = CONIC[name](A, tol, limit)
    except MemoryError:
        found = Matrix(f"out of memory ({memory_gb:g} GB)")
    except Exception as error:  # cvxpy raises when a solver gives up
        found = Matrix(f"failed ({type(error).__name__})")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    sender.send(Matrix(found.status, found.X, found.seconds, found.objective, peak))
