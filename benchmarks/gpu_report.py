"""Table and plot of what gpu.py has measured; needs no device.

python benchmarks/gpu_report.py benchmarks/results
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def write_report(folder: Path) -> None:
    found = json.loads((folder / "gpu.json").read_text())
    lines = [f"# One CUDA device: {found['device']}, torch {found['torch']}", "", "Made by `benchmarks/gpu.py`.", ""]
    for name, rows in found.items():
        if isinstance(rows, list) and rows:
            lines += [f"## {name}", "", *_table(rows), ""]
    (folder / "gpu.md").write_text("\n".join(lines))
    _plot(found, folder / "gpu.png")


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """One table per set of columns."""
    lines: list[str] = []
    columns: list[str] = []
    for row in rows:
        if list(row) != columns:
            columns = list(row)
            lines += [""] if lines else []
            lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines.append("| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) + " |")
    return lines


def _plot(found: dict[str, Any], path: Path) -> None:
    """Rates of products by the columns, and times of solves by n."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    rates = found.get("rates", [])
    largest = max((row["n"] for row in rates), default=0)
    widest = max((row["bandwidth"] for row in rates), default=0)
    for kind in ("float64", "six digits"):
        for by, style in (("product", "-o"), ("differences", "--s")):
            chosen = [
                row for row in rates if (row["kind"], row["by"], row["n"], row["bandwidth"]) == (kind, by, largest, widest)
            ]
            left.plot([row["r"] for row in chosen], [row["rate"] for row in chosen], style, label=f"{kind}, by {by}")
    left.set(xlabel="columns", ylabel="10¹² pairs per second", title=f"products, n = {largest:,}", xscale="log")
    left.set_ylim(bottom=0)
    left.legend(fontsize=8)
    best: dict[tuple[float, int], float] = {}
    for row in found.get("solves", []):
        key = (row["tol"], row["n"])
        best[key] = min(best.get(key, float("inf")), row["seconds"])
    for tol in sorted({tol for tol, _ in best}):
        sizes = sorted(n for other, n in best if other == tol)
        right.plot(sizes, [best[tol, n] for n in sizes], "o-", label=f"tol = {tol:g}")
    right.set(xlabel="points", ylabel="seconds to the certificate", xscale="log", yscale="log", title="solves")
    right.legend(fontsize=8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    write_report(Path(sys.argv[1]))
