"""The report: published numbers beside ours, written from the saved results alone.

``python -m experiments.report --output FOLDER`` rewrites it without computing anything.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .common import Options
from .results import Result, Table, Verdict

ITEMS = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "table1", "fig7", "fig8")
REPORT = "report.md"
WORDS = {True: "agrees", False: "**differs**", None: "—"}
# Certificates listed one by one; more are summed up.
_LISTED = 3

INTRODUCTION = """\
# The paper, reproduced

M. Fanuel, A. Aspeel, J.-C. Delvenne and J. A. K. Suykens, *Positive semi-definite embedding for dimensionality reduction and
out-of-sample extensions*, SIAM Journal on Mathematics of Data Science 4(1), 2022: every figure and the table, computed anew.
Published numbers are in `experiments/published/`, copied from the paper's LaTeX source. Ours come with a certificate: a
bound on how far the program's value is from its optimum, relative to the gain over the trivial solution, and the grade of
its proof. "Authors' rule" is the stopping rule of the code that the paper links to."""


def load_all(folder: Path) -> list[Result]:
    """The results in ``folder``, in the order of the paper."""
    return [Result.load(path) for item in ITEMS if (path := folder / f"{item}.json").is_file()]


def write(folder: Path) -> Path:
    """Write the report on all results in ``folder``."""
    results = load_all(folder)
    absent = [item for item in ITEMS if item not in {result.item for result in results}]
    parts = [INTRODUCTION, *machine(results), overview(results, absent)]
    parts += [section(result) for result in results]
    path = folder / REPORT
    path.write_text("\n\n".join(parts) + "\n", "utf-8")
    return path


def machine(results: list[Result]) -> list[str]:
    """Where and with what the results were made; quick results are marked as such."""
    described = dict.fromkeys(
        f"{result.machine}; " + ", ".join(f"{k} {v}" for k, v in result.versions.items()) for result in results
    )
    seconds = sum(result.seconds for result in results)
    peak = max((result.peak_gb for result in results), default=0.0)
    lines = [f"- {line}" for line in described]
    lines.append(f"- {seconds / 60:.1f} minutes in all, peak memory {peak:.1f} GB")
    if any(result.quick for result in results):
        lines.append("- **Quick run: small sizes, few repetitions. These are not the numbers to compare with the paper.**")
    return ["\n".join(lines)]


def overview(results: list[Result], absent: list[str]) -> str:
    """How many claims agree, item by item; then all that do not, and what was left out."""
    rows, differing = [], []
    for result in results:
        counts = Counter(verdict.agrees for verdict in result.verdicts)
        cells = ["left out", "left out"] if result.skipped else [str(counts[True]), str(counts[False])]
        rows.append([f"[{result.title}](#{anchor(result.title)})", *cells, f"{result.seconds:.0f}"])
        differing += [f"- {result.title.split(':')[0]}, {difference(v)}" for v in result.verdicts if v.agrees is False]
    left_out = [f"- {result.title}: {result.skipped}" for result in results if result.skipped]
    left_out += [f"- {item}: not run" for item in absent]
    lines = ["## Overview", markdown(Table("", ["", "claims that agree", "that differ", "seconds"], rows))]
    for title, entries in (("Where we differ", differing), ("Left out", left_out)):
        if entries:
            lines += [f"**{title}**", "\n".join(entries)]
    return "\n\n".join(lines)


def difference(verdict: Verdict) -> str:
    why = f" ({verdict.why})" if verdict.why else ""
    return f"{verdict.claim}: published {verdict.published}, ours {verdict.ours}{why}"


def anchor(title: str) -> str:
    """The fragment that Markdown renderers give to a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def section(result: Result) -> str:
    parts = [f"## {result.title}"]
    if result.skipped:
        return "\n\n".join([*parts, f"Left out: {result.skipped}"])
    seeds = f"{result.seeds[0]} to {result.seeds[-1]}" if len(result.seeds) > 1 else str(result.seeds[0])
    parts.append(f"*Setting*: {result.setting}. Seeds: {seeds}." + (" **Quick run.**" if result.quick else ""))
    parts.append(verdict_table(result.verdicts))
    if result.certificates:
        parts.append("*Certificate*: " + proof(result))
    parts += [f"![{caption}]({name}.png)\n\n*{caption}* ([vector]({name}.svg))" for name, caption in result.figures.items()]
    if result.notes:
        parts.append("\n".join(f"- {note}" for note in result.notes))
    parts += [markdown(table) for table in result.tables]
    return "\n\n".join(parts)


def verdict_table(verdicts: list[Verdict]) -> str:
    rows = [[v.claim, v.published, v.ours, WORDS[v.agrees] + (f": {v.why}" if v.why else "")] for v in verdicts]
    return markdown(Table("", ["claim", "published", "ours", "verdict"], rows))


def proof(result: Result) -> str:
    """What is proved about the programs of an experiment: each of a few, or the worst of many."""
    fits = result.certificates
    if len(fits) <= _LISTED:
        return "; ".join(
            f"{fit['label']}: {fit['status']}, {fit['grade']}, relative gap {fit['relative_gap']:.1e}, rank {fit['rank']}, "
            f"{fit['objective']:.8g} ≤ optimum ≤ {fit['upper_bound']:.8g}"
            for fit in fits
        ) + "."  # fmt: skip
    grades = ", ".join(f"{count} {grade}" for grade, count in Counter(fit["grade"] for fit in fits).items())
    states = ", ".join(f"{count} {status}" for status, count in Counter(fit["status"] for fit in fits).items())
    worst = max(fits, key=lambda fit: fit["relative_gap"])
    return f"{len(fits)} programs: {states}; {grades}; largest relative gap {worst['relative_gap']:.1e} ({worst['label']})."


def markdown(table: Table) -> str:
    """A Markdown table under its title; folded away if it is long."""
    lines = ["| " + " | ".join(table.header) + " |", "|" + " --- |" * len(table.header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
    text = "\n".join(lines)
    if table.folded:
        return f"<details><summary>{table.title}</summary>\n\n{text}\n\n</details>"
    return f"*{table.title}*\n\n{text}" if table.title else text


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.report", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Options.output, help="folder of the results (default: %(default)s)")
    print(write(parser.parse_args(argv).output))


if __name__ == "__main__":
    main()
