"""The report of the solver benchmark: tables, ratios and the performance profile."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

import machine
import numpy as np
from race import LONG, OURS, Result

ALGORITHM_1 = "Algorithm 1"
# Those that are compared by themselves, and not as peers.
_APART = (OURS, ALGORITHM_1)
# Seconds within which Algorithm 1 solves a case for it to count: without a limit those count on which it is slowest.
_PATIENCE = (10.0, 300.0)

RULES = """\
Every solver gets the same cost matrix; peers get it without its diagonal and scaled to a mean absolute row sum of 1, which
helps them (Algorithm 1 needs it psd, with its diagonal). Those that move a factor start from the same random H, of rank
{rank}; ours starts from its default, which is 4.

- **Solved** means a factor for which the library *proves* (grade `proved`: rounding bounded) a relative
  gap of at most {tol:g}, relative to the gain, which is the objective less Tr J.
- **Our time includes the proof; the peers' times do not**: they do not certify, so the harness does it for them, off the
  clock. A second ratio charges one proof, timed at our optimum, to the peers as well.
- A peer's time is that of the *cheapest* of its own tolerances that certifies. A search certifies its iterates whenever
  their gradient norm has fallen by a quarter of a decade; runs that stop at the first accepted one are timed. CSDP
  runs once per decade of its tolerance and is charged only the time that it reports itself.
- **Algorithm 1** is a bare loop in NumPy, which is told when to stop, as the peers are. A run at its limit counts as solved,
  at the limit, if what it has then certifies.
- Limit {limit:g} s per run ({patience:g} s for Algorithm 1); best of {repeats} runs after a warm-up (more when a run is
  short; those of more than {long:g} s are not repeated); {threads} thread(s); float64; seed {seed}. CSDP only
  for n ≤ 200; its X is factorised by eigendecomposition.
- Products are block products with J. Peak memory is what one run allocates through Python and NumPy, without what ours
  keeps from earlier ones (8 MB)."""


@dataclass(frozen=True)
class Settings:
    """How the benchmark was run."""

    tol: float
    repeats: int
    limit: float
    seed: int
    threads: int
    patience: float
    rank: int


def save(folder: Path, results: list[Result], settings: Settings) -> None:
    """Write everything anew."""
    _write_csv(folder / "solvers.csv", [field.name for field in fields(Result)], map(astuple, results))
    (folder / "solvers.md").write_text(_markdown(results, settings), encoding="utf-8")
    _profile(folder, results)


def summary(results: list[Result], settings: Settings) -> str:
    """Ratios to the best peer and to Algorithm 1, and how many cases each solved."""
    ours = {r.case: r for r in results if r.solver == OURS}
    peers = [r for r in results if r.solver not in _APART]
    lines = []
    if ours and peers:
        best = best_peers(results)
        known = {case: r.seconds / ours[case].seconds for case, r in best.items() if case in ours}
        lines += _ratio_lines("time of the best peer / ours", known)
        charged = {c: (r.seconds + ours[c].proof_seconds) / ours[c].seconds for c, r in best.items() if c in ours}
        lines += _ratio_lines("the same, with one proof charged to the peer", charged)
        unsolved = [case for case in ours if case not in best and any(r.case == case for r in peers)]
        if unsolved:
            at_limit = known | {case: settings.limit / ours[case].seconds for case in unsolved}
            lines.append(f"- no peer solved {len(unsolved)} case(s): {', '.join(unsolved)}")
            lines += _ratio_lines("the first ratio, counting those at the limit (a lower bound)", at_limit)
    solved = [r for r in results if r.solver == ALGORITHM_1 and r.solved and r.case in ours]
    if solved:
        ratios = {r.case: r.seconds / ours[r.case].seconds for r in solved}
        lines += _ratio_lines("time of Algorithm 1 / ours, on the cases that it solves", ratios)
        charged = {r.case: (r.seconds + ours[r.case].proof_seconds) / ours[r.case].seconds for r in solved}
        lines += _ratio_lines("the same, with one proof charged to Algorithm 1", charged)
        for limit in _PATIENCE:
            within = {r.case: ratios[r.case] for r in solved if r.seconds <= limit}
            lines += _ratio_lines(f"the first of the two, on those that it solves within {limit:g} s", within)
    for solver in dict.fromkeys(r.solver for r in results):
        runs = [r for r in results if r.solver == solver]
        lines.append(f"- {solver}: solved {sum(r.solved for r in runs)} of {len(runs)}")
    return "\n".join(lines)


def best_peers(results: list[Result]) -> dict[str, Result]:
    """The fastest peer of every case that a peer solved; Algorithm 1 is accounted for by itself."""
    best: dict[str, Result] = {}
    for r in results:
        if r.solved and r.solver not in _APART and (r.case not in best or r.seconds < best[r.case].seconds):
            best[r.case] = r
    return best


def _ratio_lines(what: str, ratios: dict[str, float]) -> list[str]:
    if not ratios:
        return [f"- {what}: no case"]
    mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
    worst = min(ratios, key=ratios.__getitem__)
    return [f"- {what}: geometric mean **{mean:.2f}** over {len(ratios)} case(s), worst {ratios[worst]:.2f} ({worst})"]


def _markdown(results: list[Result], settings: Settings) -> str:
    parts = [
        "# Solvers side by side",
        RULES.format(**asdict(settings), long=LONG),
        "\n".join(f"- {line}" for line in machine.describe()),
        "## Summary",
        summary(results, settings),
        "![Performance profile](solvers.png)",
        "## Seconds to the certified gap",
        _times(results),
        "## Every run",
        _details(results),
    ]
    return "\n\n".join(parts) + "\n"


def _times(results: list[Result]) -> str:
    """One row per case; the ratio is best peer / ours."""
    solvers = list(dict.fromkeys(r.solver for r in results))
    by_key = {(r.case, r.solver): r for r in results}
    best = best_peers(results)
    rows = []
    for case in dict.fromkeys(r.case for r in results):
        cells = [_time_cell(by_key.get((case, solver))) for solver in solvers]
        ours = by_key.get((case, OURS))
        ratio = f"{best[case].seconds / ours.seconds:.2f} ({best[case].solver})" if ours and case in best else "-"
        rows.append([case, str(next(r.n for r in results if r.case == case)), *cells, ratio])
    return table(["case", "n", *solvers, "best peer / ours"], rows)


def _time_cell(result: Result | None) -> str:
    if result is None:
        return ""
    return f"{result.seconds:.4f}" if result.solved else f"({result.status})"


def _details(results: list[Result]) -> str:
    ours = {r.case: r for r in results if r.solver == OURS}
    rows = [
        [
            r.case,
            r.solver,
            r.status,
            number(r.seconds, ".4f"),
            "-" if r.products is None else str(r.products),
            number(r.relative_gap, ".1e"),
            r.grade,
            number((r.gain - ours[r.case].gain) / ours[r.case].gain if r.case in ours else np.nan, "+.1e"),
            number(r.proof_seconds, ".4f"),
            number(r.peak_mb, ".1f"),
        ]
        for r in results
    ]
    header = ["case", "solver", "status", "seconds", "products", "certified gap", "grade"]
    return table([*header, "(gain - ours) / ours", "of it proof, s", "peak MB"], rows)


def number(value: float, form: str) -> str:
    """A formatted number, or a dash where there is none."""
    return f"{value:{form}}" if np.isfinite(value) else "-"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _profile(folder: Path, results: list[Result]) -> None:
    """Dolan and Moré's performance profile: part of the cases solved within a factor τ of the fastest solver."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fastest: dict[str, float] = {}
    for r in results:
        if r.solved:
            fastest[r.case] = min(r.seconds, fastest.get(r.case, np.inf))
    if not fastest:
        return
    # Okabe and Ito's colours (grey for their yellow), told apart by the colour-blind; line styles do so in print.
    colours = ["#000000", "#777777", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#0072B2", "#CC79A7", "#999933"]
    styles = ["-", (0, (7, 2)), "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (9, 1))]
    solvers = list(dict.fromkeys(r.solver for r in results))
    right = 2 * max(r.seconds / fastest[r.case] for r in results if r.solved)
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for k, solver in enumerate(solvers):
        runs = [r for r in results if r.solver == solver]
        ratios = np.sort([r.seconds / fastest[r.case] for r in runs if r.solved])
        x = np.concatenate([[1.0], ratios, [right]])
        y = np.concatenate([[0.0], np.arange(1, len(ratios) + 1), [len(ratios)]]) / len(runs)
        label = f"{solver} ({len(ratios)} of {len(runs)} solved)"
        look = {"color": colours[k % len(colours)], "linestyle": styles[k % len(styles)], "linewidth": 2}
        axes.step(x, y, where="post", label=label, **look)
    axes.set(
        xscale="log",
        xlim=(1, right),
        ylim=(0, 1.03),
        xlabel="time / time of the fastest solver on the case",
        ylabel="part of the cases solved",
    )
    figure.suptitle("Time to a proved relative gap of $10^{-6}$ (ours with its proof, peers without)")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(folder / "solvers.png", dpi=150)
    plt.close(figure)
