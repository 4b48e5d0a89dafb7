"""Every row of Covertype through `transform`, from a memory map to a file: how long, and in how much memory.

The models are fitted to all 581 012 rows, saved, and opened in a process of their own, which holds nothing else.

    python benchmarks/streaming.py --output benchmarks/results
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import machine
import numpy as np
from scale import CASES, rows

import elliptope
from elliptope import SDPEmbedding
from elliptope.estimators.streaming import transform_to
from report import table

MODELS = ("neighbors", "nystroem")

RULES = """\
Ten z-scored columns of Covertype. A model is fitted to all rows and saved; another process opens it, and passes all rows
from a memory map through `transform_to`, into a file. The last column is the largest difference from `embedding_`, relative
to its largest entry; that of a Nyström model is extended by the exact kernel, and fitted to a surrogate."""


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def fit(name: str, n: int, folder: Path) -> str:
    """Leaves ``model.elliptope``, ``rows.npy`` and ``embedding.npy`` in the folder; what the certificate says."""
    X = rows(n)
    warnings.simplefilter("ignore")
    est = SDPEmbedding(**CASES[name].parameters, tol=CASES[name].tol, random_state=0, n_jobs=-1).fit(X)
    est.save(folder / "model.elliptope")
    np.save(folder / "rows.npy", X)
    np.save(folder / "embedding.npy", est.embedding_)
    return f"{est.status_}, {est.certificate_.grade}, gap {est.certificate_.relative_gap:.0e}"


def stream(folder: Path) -> dict[str, Any]:
    est = elliptope.load(folder / "model.elliptope")
    loaded, start = peak(), time.perf_counter()
    transform_to(est, np.load(folder / "rows.npy", mmap_mode="r"), folder / "out.npy")
    seconds, highest = time.perf_counter() - start, peak()
    Z, there = np.load(folder / "out.npy", mmap_mode="r"), np.load(folder / "embedding.npy", mmap_mode="r")
    error = float(np.abs(Z - there).max() / np.abs(there).max())
    return {"rows": len(Z), "seconds": seconds, "loaded": loaded, "peak": highest, "error": error}


def apart(*arguments: str) -> str:
    """This script in another process; its last line."""
    finished = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(finished.stderr.strip().splitlines()[-1])
    return (finished.stdout.splitlines() or [""])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="folder for streaming.md")
    parser.add_argument("--n", type=int, default=581_012)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--stream", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(fit(options.fit[0], options.n, Path(options.fit[1])))
        return
    if options.stream:
        print(json.dumps(stream(options.stream)))
        return
    if options.output is None:
        parser.error("--output is required")
    options.output.mkdir(parents=True, exist_ok=True)
    cells = []
    for name in options.model:
        with tempfile.TemporaryDirectory() as folder:
            certificate = apart("--n", str(options.n), "--fit", name, folder)
            found = json.loads(apart("--stream", folder))
        memory = [f"{found['loaded']:.2f}", f"{found['peak']:.2f}"]
        cells.append([name, certificate, str(found["rows"]), f"{found['seconds']:.0f}", *memory, f"{found['error']:.1e}"])
        print(*cells[-1], flush=True)
    header = ["model", "fit", "rows", "seconds", "GB once loaded", "GB at the peak", "against embedding_"]
    lines = "\n".join(f"- {line}" for line in machine.describe())
    parts = ["# All rows through `transform`", RULES, lines, table(header, cells)]
    (options.output / "streaming.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
