"""The kernelised problem in practice: the roles of λ and s, the constraints off the sample, and classification.

``python experiments/rkhs_study.py`` writes CSV files, figures and the tables of ``docs/rkhs.md``; ``--quick`` does so with
small sizes, in less than a minute, as a check that everything runs. HTRU2 is read from the folder named by the environment
variable ``ELLIPTOPE_DATA``, or from OpenML.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # runs as a file and as a module


from elliptope._utils.versions import versions
from experiments.rkhs import classification, defaults, figures, regularization, spectrum, violation
from experiments.rkhs.rows import Row, read_rows, write_rows
from experiments.rkhs.scores import pairs
from experiments.rkhs.tables import TABLES

RESULTS = Path(__file__).parent / "results" / "rkhs_study"
Rows = dict[str, list[Row]]


def _violation(quick: bool) -> Rows:
    rows = violation.measure(quick)
    return {"violation": rows, "violation_slopes": violation.slopes(rows, quick)}


def _regularization(quick: bool) -> Rows:
    return {"regularization_path": regularization.path(quick), "thresholds": regularization.thresholds(quick)}


def _spectrum(quick: bool) -> Rows:
    return {"spectrum": spectrum.measure(quick)}


def _defaults(quick: bool) -> Rows:
    rows = defaults.measure(quick)
    return {"defaults": rows, "defaults_summary": defaults.summary(rows, quick)}


def _classification(quick: bool) -> Rows:
    results, solves = classification.measure(quick)
    return {"classification": results, "classification_solves": solves, "classification_pairs": pairs(results)}


PARTS: tuple[Callable[[bool], Rows], ...] = (_violation, _regularization, _spectrum, _defaults, _classification)


def run(quick: bool, output: Path) -> None:
    """Measure all parts and write their rows to ``output``."""
    results: Rows = {}
    for part in PARTS:
        start = time.perf_counter()
        results |= part(quick)
        print(f"{part.__name__.strip('_')}: {time.perf_counter() - start:.1f} s", flush=True)
    for name, rows in results.items():
        write_rows(output / f"{name}.csv", rows)
    (output / "run.json").write_text(json.dumps(_circumstances(quick), indent=1) + "\n", "utf-8")


def report(output: Path) -> None:
    """Figures and tables, from the files that :func:`run` wrote."""
    results = {path.stem: read_rows(path) for path in sorted(output.glob("*.csv"))}
    figures.draw_violation(results["violation"], output)
    figures.draw_regularization(results["regularization_path"], results["thresholds"], output)
    figures.draw_spectrum(results["spectrum"], output)
    figures.draw_classification(results["classification"], output)
    tables = [f"## {title}\n\n{table(results)}" for title, table in TABLES.items()]
    (output / "tables.md").write_text("\n".join(tables), "utf-8")


def _circumstances(quick: bool) -> dict:
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    return {
        "quick": quick,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, BLAS threads: {threads}",
        "versions": versions("matplotlib"),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Role of the regularisation and of the smoothness in RKHSEmbedding.")
    parser.add_argument("--quick", action="store_true", help="small sizes: less than a minute")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results (default: %(default)s)")
    parser.add_argument("--report-only", action="store_true", help="figures and tables from the CSV files of the folder")
    arguments = parser.parse_args(argv)
    if not arguments.report_only:
        run(arguments.quick, arguments.output)
    report(arguments.output)
    print(f"Results in {arguments.output}")


if __name__ == "__main__":
    main()
