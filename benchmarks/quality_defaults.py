"""How the defaults of ``MultiscaleEmbedding`` were chosen: one parameter changed at a time, on the development sets alone.

Every fit is appended to ``quality_defaults.csv`` as it ends, and fits found there are not repeated; ``quality_defaults.md``
is the table of means over sets.

    python benchmarks/quality_defaults.py --output benchmarks/results
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
import numpy as np
from quality_data import draw
from quality_scores import measure
from quality_sets import DEVELOPMENT, available

from elliptope import MultiscaleEmbedding

SCORES = ["nmi", "ari", "nmi_hdbscan", "accuracy", "new_rows"]
FIELDS = ["change", "data", "outliers", "seed", "columns", "status", "deviation", *SCORES]
LEVELS = (0, 20)
CHANGES: dict[str, dict[str, Any]] = {
    "none": {},
    "n_neighbors=10": {"n_neighbors": 10},
    "n_neighbors=12": {"n_neighbors": 12},
    "n_neighbors=20": {"n_neighbors": 20},
    "diffusion_times=(16, 1)": {"diffusion_times": (16, 1)},
    "diffusion_times=(64, 1)": {"diffusion_times": (64, 1)},
    "diffusion_times=(32, 4)": {"diffusion_times": (32, 4)},
    "spreads=(0.2, 1)": {"spreads": (0.2, 1.0)},
    "spreads=(0.3, 1)": {"spreads": (0.3, 1.0)},
    "spreads=(0.1, 0.3)": {"spreads": (0.1, 0.3)},
    "spreads=(0.1, 0.1)": {"spreads": (0.1, 0.1)},
    "weights=(1, 0.7)": {"weights": (1.0, 0.7)},
    "density=0": {"density": 0.0},
    "density=0.5": {"density": 0.5},
    "density=1.5": {"density": 1.5},
    "kernel='neighbors'": {"kernel": "neighbors"},
}
Row = dict[str, Any]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    path = options.output / "quality_defaults.csv"
    known = list(_read(path))
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
        if not known:
            writer.writeheader()
        for row in _missing(known, options.seeds):
            writer.writerow(row)
            file.flush()
    (options.output / "quality_defaults.md").write_text(_table(list(_read(path))), encoding="utf-8")


def _missing(known: list[Row], seeds: int) -> Iterator[Row]:
    found = {(row["change"], row["data"], row["outliers"], row["seed"]) for row in known}
    for seed in range(seeds):
        for data in available(DEVELOPMENT):
            for level in LEVELS:
                for change, parameters in CHANGES.items():
                    if (change, data, str(level), str(seed)) not in found:
                        yield {"change": change, "data": data, "outliers": level, "seed": seed} | _fit(
                            data, level, seed, parameters
                        )


def _fit(data: str, level: int, seed: int, parameters: dict[str, Any]) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # status and deviation are in the table
        return measure(MultiscaleEmbedding(random_state=seed, **parameters), draw(data, level / 100, seed), ours=True)


def _read(path: Path) -> Iterator[Row]:
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)


def _table(rows: list[Row]) -> str:
    head = [f"{score} {level} %" for level in LEVELS for score in ("NMI", "HDBSCAN", "new rows")]
    lines = ["| changed | " + " | ".join(head) + " | columns | not exact |", "|---" * (len(head) + 3) + "|"]
    for change in CHANGES:
        own = [row for row in rows if row["change"] == change]
        cells = [_mean(own, score, level) for level in LEVELS for score in ("nmi", "nmi_hdbscan", "new_rows")]
        columns = np.mean([float(row["columns"]) for row in own])
        away = sum(float(row["deviation"]) > 1e-5 for row in own)
        lines.append(f"| {change} | " + " | ".join(cells) + f" | {columns:.0f} | {away} of {len(own)} |")
    return "\n".join(lines) + "\n"


def _mean(rows: list[Row], score: str, level: int) -> str:
    """Of the means of all sets."""
    by_set = defaultdict(list)
    for row in rows:
        if row["outliers"] == str(level):
            by_set[row["data"]].append(float(row[score]))
    return f"{np.mean([np.mean(values) for values in by_set.values()]):.3f}"


if __name__ == "__main__":
    main()
