"""Is the answer the same whatever the seed? Every case from several starts: status, proof, spectrum and B*.

    python benchmarks/consistency.py --output benchmarks/results

Writes ``consistency.md`` and ``consistency.csv``, after every case. Differences are the largest between any two seeds: of
``eigenvalues_ / sum``, and of B* = Ξ Ξᵀ in the Frobenius norm, relative to B*.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import warnings
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import machine
import numpy as np
from cases import Case, select
from sklearn.exceptions import ConvergenceWarning

from elliptope import SDPEmbedding
from report import number, table

# What every case must reach, unless it is degenerate.
GAP, SPECTRUM, MATRIX = 1e-6, 1e-6, 1e-5

NOTE = """\
Random states {seeds}; `SDPEmbedding(bandwidth=σ)` with its defaults (tol 1e-6), float64, from the data on. Differences are
the largest between any two seeds: of `eigenvalues_ / sum`, and of B* in the Frobenius norm, relative. The gap is the worst
of the seeds, the spectral gap (the next eigenvalue of L, scaled to unit diagonal) the smallest, the time the best.
*Degenerate* means that the optimum is proved but does not determine B* to working precision: then B* may differ."""


@dataclass(frozen=True)
class Row:
    """One case over all seeds; the worst of them where there is one number for several."""

    case: str
    n: int
    status: str
    grade: str
    relative_gap: float
    spectrum_difference: float
    matrix_difference: float
    rank: str
    nullity: str
    spectral_gap: float
    seconds: float
    verdict: str


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for index, case in enumerate(options.cases, 1):
        row = compare(case, options.seeds)
        rows.append(row)
        print(
            f"[{index}/{len(options.cases)}] {row.case:12} {row.status:12} {row.grade}  gap {row.relative_gap:.1e}  "
            f"spectrum {row.spectrum_difference:.1e}  B* {row.matrix_difference:.1e}  rank {row.rank}  {row.seconds:.3f} s  "
            f"{row.verdict}",
            flush=True,
        )
        save(options.output, rows, options.seeds)


def compare(case: Case, seeds: list[int]) -> Row:
    """Fit a case once per seed and compare."""
    fits, times = fit(case, seeds)
    spectrum, matrix = differences(fits)
    certificates = [fit.certificate_ for fit in fits]
    nulls = [certificate.null_space for certificate in certificates]
    status = _joined(fit.status_ for fit in fits)
    grade = _joined(certificate.grade for certificate in certificates)
    gap = max(certificate.relative_gap for certificate in certificates)
    return Row(
        case=case.name,
        n=len(fits[0].embedding_),
        status=status,
        grade=grade,
        relative_gap=gap,
        spectrum_difference=spectrum,
        matrix_difference=matrix,
        rank=_joined(len(fit.eigenvalues_) for fit in fits),
        nullity=_joined("-" if null is None else null.nullity for null in nulls),
        spectral_gap=min((null.spectral_gap for null in nulls if null is not None), default=np.nan),
        seconds=min(times),
        verdict=verdict(status, grade, gap, spectrum, matrix),
    )


def fit(case: Case, seeds: list[int], **parameters: Any) -> tuple[list[SDPEmbedding], list[float]]:
    """A fit and its time in seconds for every seed."""
    X = case.data()
    fits, times = [], []
    for seed in seeds:
        before = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status is in the table
            fits.append(SDPEmbedding(bandwidth=case.sigma, random_state=seed, **parameters).fit(X))
        times.append(perf_counter() - before)
    return fits, times


def differences(fits: list[SDPEmbedding]) -> tuple[float, float]:
    """Largest differences between any two fits: of the normalised spectrum, and of B*."""
    width = max(len(fit.eigenvalues_) for fit in fits)
    spectra = [np.pad(fit.eigenvalues_ / fit.eigenvalues_.sum(), (0, width - len(fit.eigenvalues_))) for fit in fits]
    matrices = [fit.embedding_ @ fit.embedding_.T for fit in fits]
    pairs = list(itertools.combinations(range(len(fits)), 2))
    spectrum = max((float(np.abs(spectra[i] - spectra[j]).max()) for i, j in pairs), default=0.0)
    norm = np.linalg.norm(matrices[0])
    matrix = max((float(np.linalg.norm(matrices[i] - matrices[j]) / norm) for i, j in pairs), default=0.0)
    return spectrum, matrix


def verdict(status: str, grade: str, gap: float, spectrum: float, matrix: float) -> str:
    if grade != "proved" or gap > GAP:
        return "not proved"
    if status == "degenerate":
        return "proved, not determined"
    if status != "optimal":
        return "seeds disagree on the status" if "degenerate" in status else "not optimal"
    return "proved, the same" if spectrum <= SPECTRUM and matrix <= MATRIX else "proved, but not the same"


def save(folder: Path, rows: list[Row], seeds: list[int]) -> None:
    with (folder / "consistency.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(map(astuple, rows))
    cells = [
        [
            row.case,
            str(row.n),
            row.status,
            row.grade,
            number(row.relative_gap, ".1e"),
            number(row.spectrum_difference, ".1e"),
            number(row.matrix_difference, ".1e"),
            row.rank,
            row.nullity,
            number(row.spectral_gap, ".1e"),
            f"{row.seconds:.3f}",
            row.verdict,
        ]
        for row in rows
    ]
    header = ["case", "n", "status", "grade", "gap", "Δ spectrum", "Δ B*", "rank", "nullity of L", "spectral gap of L"]
    parts = [
        "# The same answer from every start",
        NOTE.format(seeds=", ".join(map(str, seeds))),
        "\n".join(f"- {line}" for line in machine.describe()),
        table([*header, "seconds", "verdict"], cells),
    ]
    (folder / "consistency.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _joined(values: Iterable[Any]) -> str:
    """The distinct values, in order of appearance."""
    return "/".join(dict.fromkeys(str(value) for value in values))


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", help="data sets (wine) or single cases (wine:0.7); default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="random states")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS")
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables")
    options = parser.parse_args(argv)
    try:
        options.cases = select(options.cases)
    except ValueError as error:
        parser.error(str(error))
    return options


if __name__ == "__main__":
    main()
