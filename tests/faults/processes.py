"""Functions and commands in processes of their own: forked ones, which start at once, and new interpreters."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds, far more than any case takes


def _fork() -> int:
    """As ``os.fork``, without the warning of Python 3.12 and later that a process with threads may hang."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        return os.fork()


def forked(function: Callable[[], Any]) -> Any:
    """What ``function`` returns or raises in a child of this process."""
    read, write = os.pipe()
    child = _fork()
    if child == 0:
        try:
            outcome: tuple[str, Any] = ("result", function())
        except BaseException as error:
            outcome = ("error", error)
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(outcome, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        kind, value = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    if kind == "error":
        raise value
    return value


def killed(function: Callable[[], Any], seconds: float) -> None:
    """Let a child of this process run ``function`` again and again, and kill it after a while."""
    child = _fork()
    if child == 0:
        while True:
            function()
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """A new interpreter, with the library of this one."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def shell(script: str, **environment: str) -> subprocess.CompletedProcess:
    """A line of bash in which ``elliptope`` is the command line of this library."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **environment}
    begin = f'elliptope() {{ "{sys.executable}" -m elliptope "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", begin + script], env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
