"""Seconds and peak memory of starting: of the package, of the estimators, and of the command line; the best of five runs.

    python benchmarks/startup.py --output benchmarks/results

Estimators build on `sklearn.base`, which imports pandas where there is one: two rows hide it, as if only
elliptope were installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import machine

RUNS = 5
HIDE = "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None"
CASES = {
    "elliptope --help": ["-m", "elliptope", "--help"],
    "import elliptope": ["-c", "import elliptope"],
    "from elliptope import SDPEmbedding": ["-c", "from elliptope import SDPEmbedding"],
    "import sklearn.base": ["-c", "import sklearn.base"],
    "SDPEmbedding without pandas": ["-c", f"{HIDE}; from elliptope import SDPEmbedding"],
    "sklearn.base without pandas": ["-c", f"{HIDE}; import sklearn.base"],
    "python": ["-c", ""],
}


def measure(arguments: list[str]) -> tuple[float, float]:
    """Seconds and megabytes."""
    # Memory is that of the largest child so far: hence a process in between, which has one child only.
    script = (
        "import resource, subprocess, sys, time; start = time.perf_counter(); "
        "subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL, check=True); "
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000)"
    )
    out = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True).stdout
    seconds, megabytes = map(float, out.split())
    return seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    lines = machine.describe()
    for name, arguments in CASES.items():
        runs = [measure(arguments) for _ in range(RUNS)]
        lines.append(f"{name:36s} {min(s for s, _ in runs):5.2f} s  {min(m for _, m in runs):4.0f} MB")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (args.output / "startup.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
