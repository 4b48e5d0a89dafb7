"""Tables of the solutions: the constraint off the sample, λ, and how the solves ended; and the list of all tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from . import scores
from .rows import Row, markdown
from .violation import INNER, LEAST_N, Setting

# From here on the boundary decides where the constraint is violated most.
_MANY = 400


def _with_error(row: Row, key: str) -> str:
    return f"{row[key]:.2f} ± {row[f'{key}_error']:.2f}" if key in row else "–"


def slope_table(slopes: list[Row]) -> str:
    """Exponents of n, and of h in three norms, beside the predictions."""
    header = "p|points|ν|λ|d|n|sup: power of n|-m/p, -s/p|sup: power of h|m, ν, s|mean|s + 1|inside|2s|K singular from n"
    return markdown(
        header,
        (
            [
                str(row["p"]),
                row["design"],
                f"{row['nu']:g}",
                f"{row['regularization']:g}" if row["regularization"] != "theory" else "theory",
                row["d"],
                f"{row['least_n']}–{row['largest_n']}",
                _with_error(row, "sup_against_n"),
                f"{row['minus_m_over_p']:.2f}, {row['minus_s_over_p']:.2f}",
                _with_error(row, "sup_against_h"),
                f"{row['m']}, {row['nu']:g}, {row['s']:g}",
                _with_error(row, "mean_against_h"),
                f"{row['s'] + 1:g}",
                _with_error(row, "sup_inner_against_h"),
                f"{2 * row['s']:g}",
                str(row.get("singular_from_n", "–")),
            ]
            for row in slopes
        ),
    )


def path_table(path: list[Row]) -> str:
    """Where the collapse is, and what λ does to the trace and to f_n."""
    lines = []
    every = [row["regularization"] for row in path]
    values = (max(every), 1e-3, min(every))
    for n in sorted({row["n"] for row in path}):
        rows = [row for row in path if row["n"] == n]
        several = [row["regularization"] for row in rows if row["rank"] > 1]
        one = [row["regularization"] for row in rows if row["rank"] == 1]
        shown = [min(rows, key=lambda row: abs(math.log(row["regularization"] / value))) for value in values]
        lines.append(
            [
                str(n),
                f"{rows[0]['collapse']:.5f}",
                f"{min(one):.5f}",
                f"{max(several):.5f}",
                *(f"{row['trace']:.3g}" for row in shown),
                *(f"{row['f_n']:.4f}" for row in shown[1:]),
                "yes" if decreasing(rows, "trace") and decreasing(rows, "f_n") else "no",
            ]
        )
    traces, gains = "|".join(f"Tr at {value:g}" for value in values), "|".join(f"f_n at {value:g}" for value in values[1:])
    header = f"n|λ_c, predicted|least λ of rank 1|largest λ of rank > 1|{traces}|{gains}|Tr and f_n fall as λ grows"
    return markdown(header, lines)


def decreasing(rows: list[Row], key: str) -> bool:
    """Whether ``key`` never rises with λ, up to the accuracy of the certified solution."""
    values = np.array([row[key] for row in sorted(rows, key=lambda row: row["regularization"])])
    return bool((np.diff(values) <= 1e-5 * np.abs(values).max()).all())


def threshold_table(thresholds: list[Row]) -> str:
    """The theory's λ at the largest n that was solved, means over the seeds."""
    solved = [row for row in thresholds if row["status"] != "singular"]
    lines = []
    for name, nu in dict.fromkeys((row["data"], row["nu"]) for row in solved):
        group = [row for row in solved if (row["data"], row["nu"]) == (name, nu)]
        last = [row for row in group if row["n"] == max(r["n"] for r in group)]
        mean = {key: np.mean([row[key] for row in last]) for key in ("theory", "collapse", "gain_scale", "n_needed")}
        ranks = ", ".join(str(rank) for rank in sorted({row["rank"] for row in group}))
        lines.append(
            [
                name,
                f"{nu:g}",
                str(last[0]["n"]),
                f"{mean['theory']:.3f}",
                ranks,
                f"{mean['collapse']:.4f}",
                f"{mean['collapse'] / mean['gain_scale']:.2f}",
                f"{mean['n_needed']:.2g}",
            ]
        )
    return markdown("data|ν|n|2C|rank at 2C, all n|λ_c|λ_c / g|n with 2C < λ_c", lines)


def boundary_table(violation: list[Row]) -> str:
    """Where the constraint is violated most, and to which side, from 400 points on."""
    lines = []
    for p, design in dict.fromkeys((row["p"], row["design"]) for row in violation):
        group = [row for row in violation if (row["p"], row["design"]) == (p, design)]
        group = [row for row in group if row["n"] >= _MANY and row["status"] != "singular"]
        outside = sum(row["worst_radius"] > INNER for row in group)
        below = sum(row["worst_sign"] > 0 for row in group)
        lines.append([str(p), design, str(len(group)), str(outside), str(below)])
    return markdown(f"p|points|solves, n ≥ {_MANY}|worst at radius > {INNER}|b(x, x) < d(x) there", lines)


def weight_table(violation: list[Row]) -> str:
    """Violation and trace against λ on the disc, ν = 3/2, means over the seeds."""
    rows = [row for row in violation if Setting(2, "random", 1.5, row["regularization"]).row().items() <= row.items()]
    weights = list(dict.fromkeys(row["regularization"] for row in rows))
    sizes = sorted({row["n"] for row in rows if row["n"] >= LEAST_N})[1::2]
    lines = []
    for weight in sorted(weights, key=lambda value: -math.inf if value == "theory" else -value):
        groups = [[row for row in rows if row["regularization"] == weight and row["n"] == n] for n in sizes]
        cells = [f"{np.mean([r['sup'] for r in g]):.2g}, {np.mean([r['trace'] for r in g]):.3g}" for g in groups]
        lines.append([weight if weight == "theory" else f"{weight:g}", *cells])
    return markdown("λ|" + "|".join(f"sup, Tr at n = {n}" for n in sizes), lines)


def condition_table(slopes: list[Row]) -> str:
    """Points that Theorem 3 (ii) needs before it says anything."""
    needed = {(row["p"], row["m"]): row["samples_needed"] for row in slopes if "samples_needed" in row}
    return markdown("p|m|n needed", ([str(p), str(m), str(n)] for (p, m), n in needed.items()))


def status_table(parts: dict[str, list[Row]]) -> str:
    """How all solves ended."""
    lines = []
    for name, rows in parts.items():
        solves = [row for row in rows if row.get("status")]
        counts = Counter(row["status"] for row in solves)
        gaps = [row["relative_gap"] for row in solves if row["status"] != "singular"]
        others = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()) if status != "optimal")
        proved = sum(row.get("grade") == "proved" for row in solves)
        short = [row["lambda"] for row in solves if row["status"] not in ("optimal", "singular")]
        numbers = [str(len(solves)), str(counts["optimal"]), str(proved), others or "–"]
        lines.append([name, *numbers, f"{max(short):.1e}" if short else "–", f"{max(gaps):.1e}"])
    return markdown("part|solves|optimal|proved|others|largest λ of max_iter|largest relative gap", lines)


# Files with one row per solve.
SOLVES = ("violation", "regularization_path", "thresholds", "spectrum", "defaults", "classification_solves")
TABLES: dict[str, Callable[[dict[str, list[Row]]], str]] = {
    "Exponents of the constraint violation": lambda r: slope_table(r["violation_slopes"]),
    "Where the violation is": lambda r: boundary_table(r["violation"]),
    "Violation and trace against λ": lambda r: weight_table(r["violation"]),
    "What the theorem needs": lambda r: condition_table(r["violation_slopes"]),
    "The path in λ": lambda r: path_table(r["regularization_path"]),
    "The λ of the theory": lambda r: threshold_table(r["thresholds"]),
    "Test accuracy": lambda r: scores.accuracy_table(r["classification"]),
    "Raw features": lambda r: scores.raw_table(r["classification"]),
    "Pulsars": lambda r: scores.pulsar_table(r["classification"]),
    "Paired differences": lambda r: scores.pair_table(r["classification_pairs"]),
    "Defaults": lambda r: scores.default_table(r["defaults_summary"]),
    "Defaults, by data set": lambda r: scores.default_data_table(r["defaults"]),
    "How the solves ended": lambda r: status_table({name: r[name] for name in SOLVES}),
}
