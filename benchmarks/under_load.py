"""How much longer a fit takes while every core is busy with other work: a program that only counts on each of them.

With two threads on two cores a fair scheduler makes it twice as long. Anything beyond that is time in which threads wait for
each other by spinning.

    python benchmarks/under_load.py --output benchmarks/results
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import numpy as np
from scale import rows

from elliptope import RKHSEmbedding, SDPEmbedding
from elliptope._utils.threads import usable_cores
from report import table

CASES: dict[str, tuple[Any, int]] = {
    "neighbors": (SDPEmbedding(kernel="neighbors"), 20_000),
    "neighbors, proved by a factorisation": (SDPEmbedding(kernel="neighbors"), 8000),
    "dense, median": (SDPEmbedding(operator="dense", bandwidth="median"), 3000),
    "dense, auto": (SDPEmbedding(operator="dense", bandwidth="auto"), 3000),
    "tiled": (SDPEmbedding(operator="tiled", bandwidth="median", tol=1e-3), 3000),
    "nystroem": (SDPEmbedding(operator="nystroem", bandwidth="median", n_landmarks=500), 20_000),
    "RKHS": (RKHSEmbedding(smoothness=2.5, length_scale=0.7, regularization=1e-3), 2500),
}

RULES = """\
Ten z-scored columns of Covertype (RKHS: uniform points in the square), `n_jobs` = the number of cores, BLAS as it is set.
Seconds are medians of {repeats} fits alone and, in turn with them, {repeats} with one endless loop per core beside."""


@contextmanager
def other_work(programs: int) -> Iterator[None]:
    """So many programs that never rest, and that end with this one, however that ends."""
    loop = f"import os\nwhile os.getppid() == {os.getpid()}:\n    for _ in range(10**6): pass"
    started = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(programs)]
    try:
        yield
    finally:
        for program in started:
            program.kill()
            program.wait()


def seconds(est: Any, X: np.ndarray, programs: int) -> tuple[float, float]:
    """Of the clock, and of all cores together, for one fit beside so many programs."""
    with other_work(programs):
        clock, cores = time.perf_counter(), time.process_time()
        est.fit(X)
        return time.perf_counter() - clock, time.process_time() - cores


def measure(name: str, repeats: int) -> list[str]:
    est, n = CASES[name]
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2)) if name == "RKHS" else rows(n)
    est.set_params(random_state=0, n_jobs=usable_cores()).fit(X)  # what is made at the first call is not timed
    alone, beside = zip(*[(seconds(est, X, 0), seconds(est, X, usable_cores())) for _ in range(repeats)], strict=True)
    clock = [statistics.median(times[0] for times in found) for found in (alone, beside)]
    cores = [statistics.median(times[1] for times in found) for found in (alone, beside)]
    certificate = f"{est.status_}, gap {est.certificate_.relative_gap:.0e}"
    numbers = [f"{value:.2f}" for value in (*clock, clock[1] / clock[0], *cores)]
    return [name, str(n), certificate, *numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="folder for under_load.md")
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header = ["fit", "n", "certificate", "s alone", "s under load", "ratio", "core s alone", "core s under load"]
    print(*header, sep=" | ")
    cells = []
    for name in options.case:
        cells.append(measure(name, options.repeats))
        print(*cells[-1], sep=" | ", flush=True)
    if options.output:
        lines = "\n".join(f"- {line}" for line in machine.describe())
        parts = ["# Fits beside other work", RULES.format(repeats=options.repeats), lines, table(header, cells)]
        (options.output / "under_load.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
