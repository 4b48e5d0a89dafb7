"""The report of the scale benchmark: tables, fitted exponents, log-log plots."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import machine
import numpy as np

from report import table

Row = dict[str, Any]

RULES = """\
Ten z-scored columns of Covertype, a random subsample (seed 0) of n rows, from raw rows to the certificate, all cores.
*Kernel*: checks, bandwidth, search or degrees, and the operator; *ascent* and *certificate* are what the solve was spent on.
*Extension*: largest difference between `transform` and `embedding_` on training rows, relative to the largest entry. Pairs:
n² times the products, per second of ascent and certificate, where a product goes through all pairs."""

HEADER = ["n", "tol", "seconds", "kernel", "ascent", "certificate", "products", "10⁹ pairs/s", "GB"]
HEADER += ["status", "grade", "relative gap", "rank", "extension"]


def write(folder: Path, rows: list[Row]) -> None:
    rows = sorted(rows, key=lambda row: (row["case"], row["tol"], row["n"]))
    parts = ["# Growth with n", RULES, "\n".join(f"- {line}" for line in machine.describe()), _exponents(rows)]
    for case, found in groupby(rows, key=lambda row: row["case"]):
        parts += [f"## {case}", table(HEADER, [_cells(row) for row in found])]
    parts.append("![time, memory and products against n](scale.png)")
    (folder / "scale.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    _plot(folder / "scale.png", rows)


def _cells(row: Row) -> list[str]:
    solving = row["seconds"] - row["seconds_kernel"]
    every_pair = row["case"].startswith(("dense", "tiled")) and solving > 0
    pairs = f"{row['n'] ** 2 * row['products'] / solving / 1e9:.2f}" if every_pair else "-"
    times = [f"{row[f'seconds_{phase}']:.1f}" for phase in ("kernel", "ascent", "certificate")]
    return [
        f"{row['n']:.0f}",
        f"{row['tol']:g}",
        f"{row['seconds']:.1f}",
        *times,
        f"{row['products']:.0f}",
        pairs,
        f"{row['gigabytes']:.2f}",
        row["status"],
        row["grade"],
        f"{row['relative_gap']:.1e}",
        f"{row['rank']:.0f}",
        f"{row['extension_error']:.1e}",
    ]


def _exponents(rows: list[Row]) -> str:
    """Slopes of log-log fits over the three largest sizes of a case, at its usual tolerance."""
    cells = []
    for (case, tol), found in groupby(rows, key=lambda row: (row["case"], row["tol"])):
        last = list(found)[-3:]
        if len(last) == 3:
            n = np.log([row["n"] for row in last])
            fits = [np.polyfit(n, np.log([row[key] for row in last]), 1)[0] for key in ("seconds", "gigabytes", "products")]
            sizes = ", ".join(f"{row['n']:.0f}" for row in last)
            cells.append([case, f"{tol:g}", sizes, *(f"{slope:.2f}" for slope in fits)])
    header = ["case", "tol", "n", "time", "memory", "products"]
    return "Exponents fitted to the three largest n:\n\n" + table(header, cells)


def _plot(path: Path, rows: list[Row]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for key, title, axis in zip(("seconds", "gigabytes", "products"), ("seconds", "GB", "products"), axes, strict=True):
        for (case, _), found in groupby(rows, key=lambda row: (row["case"], row["tol"])):
            points = list(found)
            axis.loglog([row["n"] for row in points], [row[key] for row in points], "o-", label=case)
        axis.set(xlabel="n", title=title)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=120)
    plt.close(figure)
