"""The Markdown tables of the page of findings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import classification, defaults
from .rows import Row


def markdown(header: str, lines: Iterable[Iterable[str]]) -> str:
    """A table; the columns of ``header`` are separated by bars."""
    columns = header.split("|")
    body = ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *lines)]
    return "\n".join(body) + "\n"


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


def accuracy_table(results: list[Row], key: str = "accuracy", tasks: Iterable[Any] = classification.TASKS) -> str:
    """Mean and standard deviation over the splits."""
    lines = []
    for data, method, by in dict.fromkeys((row["data"], row["method"], row["parameters_by"]) for row in results):
        if method == "raw":
            continue
        group = [row for row in results if (row["data"], row["method"], row["parameters_by"]) == (data, method, by)]
        lines.append([data, method, by, *(_mean(group, str(task), key) for task in tasks)])
    return markdown("data|method|parameters|" + "|".join(str(task) for task in tasks), lines)


def raw_table(results: list[Row]) -> str:
    raw = [row for row in results if row["method"] == "raw"]
    lines = []
    for name in dict.fromkeys(row["data"] for row in raw):
        group = [row for row in raw if row["data"] == name]
        lines.append([name, *(_mean(group, str(task), "accuracy") for task in classification.RAW_TASKS)])
    return markdown("data|" + "|".join(str(task) for task in classification.RAW_TASKS), lines)


def _mean(rows: list[Row], task: str, key: str) -> str:
    values = [row[key] for row in rows if row["task"] == task and key in row]
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1):.3f})" if len(values) > 1 else "–"


def pulsar_table(results: list[Row]) -> str:
    """Precision, recall and F1 of 5-NN on HTRU2."""
    pulsars = [row for row in results if row["data"] == "HTRU2"]
    lines = []
    for method, by in dict.fromkeys((row["method"], row["parameters_by"]) for row in pulsars):
        group = [row for row in pulsars if (row["method"], row["parameters_by"]) == (method, by)]
        for task in dict.fromkeys(row["task"] for row in group if row["task"].startswith("5-NN")):
            lines.append([method, by, task, *(_mean(group, task, key) for key in ("precision", "recall", "f1"))])
    return markdown("method|parameters|classifier|precision|recall|F1", lines)


def pairs(results: list[Row]) -> list[Row]:
    """RKHS less another method on the same splits, parameters selected.

    The standard error is Nadeau and Bengio's, √((1/J + n_test/n_train) var), because the training parts of J splits overlap.
    """
    rows = []
    ratio = classification.labelled.TEST_PART / (1 - classification.labelled.TEST_PART)
    by = {(r["data"], r["method"], r["task"], r["seed"]): r for r in results if r["parameters_by"] == "selection"}
    for data, task in dict.fromkeys((key[0], key[2]) for key in by):
        for other in ("SDP", "DM"):
            seeds = sorted({key[3] for key in by if key[0] == data})
            found = [(by[data, "RKHS", task, seed], by[data, other, task, seed]) for seed in seeds]
            difference = np.array([ours["accuracy"] - theirs["accuracy"] for ours, theirs in found])
            rows.append(
                {
                    "data": data,
                    "task": task,
                    "other": other,
                    "mean": difference.mean(),
                    "deviation": difference.std(ddof=1),
                    "standard_error": math.sqrt((1 / len(seeds) + ratio) * difference.var(ddof=1)),
                    "won": int((difference > 0).sum()),
                    "tied": int((difference == 0).sum()),
                    "lost": int((difference < 0).sum()),
                }
            )
    return rows


def pair_table(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        counts = ", ".join(str(row[key]) for key in ("won", "tied", "lost"))
        numbers = [f"{row['mean']:+.3f}", f"{row['standard_error']:.3f}", counts]
        lines.append([row["data"], row["task"], row["other"], *numbers])
    return markdown("data|classifier|RKHS less|difference|standard error|won, tied, lost", lines)


def default_table(summary: list[Row]) -> str:
    """The current defaults, one change at a time, the best five on the development sets, and the recommendation."""
    keys = ("regularization", "relative", "nu", "length_scale")
    by = {(defaults.Choice(*(row[key] for key in keys)), row["development"]): row for row in summary}
    ranked = sorted(
        (choice for choice, development in by if development), key=lambda c: -np.nan_to_num(by[c, True]["mean_accuracy"])
    )
    marks = {defaults.CURRENT: " (current)", defaults.RECOMMENDED: " (recommended)"}
    shown = dict.fromkeys([*marks, *filter(defaults.is_neighbour, ranked), *ranked[:5]])
    lines = []
    for choice in sorted((c for c in shown if (c, True) in by), key=lambda c: -by[c, True]["mean_accuracy"]):
        row, check = by[choice, True], by.get((choice, False))
        cells = [f"{choice}{marks.get(choice, '')}", f"{row['mean_accuracy']:.3f}", f"{row['largest_loss']:.3f}"]
        lines.append([*cells, f"{row['one_place']} of {row['solves']}", f"{check['mean_accuracy']:.3f}" if check else "–"])
    return markdown("choice|mean accuracy|largest loss|rank one|Wine and two moons", lines)


def status_table(parts: dict[str, list[Row]]) -> str:
    """How all solves ended."""
    lines = []
    for name, rows in parts.items():
        solves = [row for row in rows if row.get("status")]
        counts = Counter(row["status"] for row in solves)
        gaps = [row["relative_gap"] for row in solves if row["status"] != "singular"]
        others = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()) if status != "optimal")
        proved = sum(row.get("grade") == "proved" for row in solves)
        lines.append([name, str(len(solves)), str(counts["optimal"]), str(proved), others or "–", f"{max(gaps):.1e}"])
    return markdown("part|solves|optimal|proved|others|largest relative gap", lines)


# Files with one row per solve.
SOLVES = ("violation", "regularization_path", "thresholds", "spectrum", "defaults", "classification_solves")
TABLES: dict[str, Callable[[dict[str, list[Row]]], str]] = {
    "Exponents of the constraint violation": lambda r: slope_table(r["violation_slopes"]),
    "The path in λ": lambda r: path_table(r["regularization_path"]),
    "The λ of the theory": lambda r: threshold_table(r["thresholds"]),
    "Test accuracy": lambda r: accuracy_table(r["classification"]),
    "Raw features": lambda r: raw_table(r["classification"]),
    "Pulsars": lambda r: pulsar_table(r["classification"]),
    "Paired differences": lambda r: pair_table(r["classification_pairs"]),
    "Defaults": lambda r: default_table(r["defaults_summary"]),
    "How the solves ended": lambda r: status_table({name: r[name] for name in SOLVES}),
}
