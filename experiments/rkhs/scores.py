"""Tables of the comparison by labels: accuracies, paired differences, and the choice of defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from . import classification, defaults
from .rows import Row, markdown


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


def default_data_table(rows: list[Row]) -> str:
    """Accuracy per data set, mean over the splits, of the current defaults and of what could replace them."""
    shown = (
        defaults.CURRENT,
        replace(defaults.CURRENT, nu=2.5),
        defaults.RECOMMENDED,
        replace(defaults.RECOMMENDED, nu=2.5),
    )
    names = list(dict.fromkeys(row["data"] for row in rows))
    lines = []
    for choice in shown:
        values = [defaults.accuracy(rows, name, choice) for name in names]
        lines.append([str(choice), *("–" if math.isnan(value) else f"{value:.3f}" for value in values)])
    return markdown("choice|" + "|".join(names), lines)
