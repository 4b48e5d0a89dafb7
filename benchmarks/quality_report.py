"""The report of the quality benchmark: tables and a figure, from the rows of its CSV file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np
from quality_methods import METHODS
from quality_sets import DEVELOPMENT, HELD_OUT, SETS

from report import number, table

Row = dict[str, Any]
SUMMARY = [
    ("nmi", "NMI", 0),
    ("nmi", "NMI", 20),
    ("ari", "ARI", 0),
    ("nmi_hdbscan", "HDBSCAN", 0),
    ("nmi_hdbscan", "HDBSCAN", 20),
    ("accuracy", "5-NN", 0),
    ("new_rows", "new rows", 0),
    ("new_rows", "new rows", 20),
    ("displacement", "moved", 0),
    ("trustworthiness", "trust", 0),
]
GROUPS = {"Development": DEVELOPMENT, "Held out": HELD_OUT}
# Okabe and Ito's colours (grey for their yellow), told apart by the colour-blind; markers and styles tell relatives apart.
LINES = {
    "MultiscaleEmbedding": ("#000000", "o", "-"),
    "SDPEmbedding, overlap": ("#000000", "s", "--"),
    "SDPEmbedding, neighbors": ("#000000", "v", ":"),
    "SDPEmbedding": ("#000000", "^", ":"),
    "RKHSEmbedding": ("#000000", "x", ":"),
    "DiffusionMap": ("#E69F00", "v", "-"),
    "UMAP": ("#009E73", "*", "-"),
    "UMAP, tuned": ("#009E73", "*", ":"),
    "t-SNE": ("#CC79A7", "<", "-"),
    "PaCMAP": ("#CC79A7", ">", "--"),
    "SpectralEmbedding": ("#D55E00", "D", "-"),
    "SpectralEmbedding, tuned": ("#D55E00", "D", ":"),
    "KernelPCA": ("#56B4E9", "P", "-"),
    "PCA": ("#0072B2", "X", "-"),
    "no embedding": ("#777777", ".", "--"),
}

RULES = """\
**Data.** {n_sets} labelled sets. Those for *development* served to choose our defaults; those *held out* were run once, with
the defaults chosen. Columns of tables and generated sets are z-scored before outliers are added; pixels lie between 0 and 1;
series are as they come; texts are TF-IDF, reduced to 50 columns by latent semantic analysis, rows of unit length; blood
cells are given by their principal components. A seed fixes rows, 70/30 split, outliers and the method's randomness.

**Outliers.** Rows uniform in a box of three times the range of every column, as many as the given percentage of the training
rows. They take part in the fit and are left out of every score.

**Scores.** *NMI* and *ARI*: k-means (k = number of classes, 10 starts) on all rows of the embedding, outliers included,
compared with the classes of the other rows. *HDBSCAN*: the same with its clusters (at least 15 rows), noise as one of them.
*NMI, outliers known*: k-means on the other rows alone. *5-NN*: accuracy of five nearest neighbours on the embedded training
rows, five-fold cross-validation. *New rows*: accuracy on the 30 % held out, embedded by `transform`. *Displacement*:
distance of a row embedded by `transform` from where a fit that includes it puts it, after the best similarity, as a part of
the size of the picture; without outliers. *Trust*: trustworthiness (scikit-learn, 5 neighbours) of the picture in two
dimensions: of the two columns, or, for embeddings of ours with more, of a t-SNE layout of our coordinates; without outliers.

**Settings.** The defaults of each library; two columns where a number must be given; `normalize="unit"` for SDPEmbedding and
RKHSEmbedding. *tuned*: the best of six candidates by NMI + 5-NN on other seeds of the same data *without* outliers, with the
classes known. A dash: there is no `transform`, or no picture, or not every set has been run.

A cell is the mean over sets and seeds ± the standard deviation over seeds of the mean over sets."""


def write(folder: Path, rows: list[Row]) -> None:
    parts = ["# Embeddings side by side", RULES.format(n_sets=len(SETS)), "## The sets", _sets()]
    parts += ["\n".join(f"- {line}" for line in machine.describe())]
    for title, names in GROUPS.items():
        found = [row for row in rows if row["data"] in names]
        if found:
            parts += _group(title, found)
    parts += ["![NMI against the part of outliers](quality.png)", "## Parameters of the tuned methods", _chosen(rows)]
    (folder / "quality.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    _figure(folder, rows)


def _sets() -> str:
    lines = [
        [name, one.kind, "development" if one.development else "held out", one.source or "-"] for name, one in SETS.items()
    ]
    return table(["set", "kind", "group", "from"], lines)


def _group(title: str, rows: list[Row]) -> list[str]:
    names = _distinct(rows, "data")
    levels = sorted({int(row["outliers"]) for row in rows})
    said = f"{len(names)} sets: {', '.join(names)}."
    parts = [f"## {title}", said, summary(rows), "### Clusters", _means(rows, _cluster_columns(levels))]
    parts += ["### Neighbours and pictures", _means(rows, _neighbour_columns(levels))]
    parts += [f"### NMI by set, 0 → {levels[-1]} % outliers", by_set(rows), "### Certificates", certificates(rows)]
    return parts


def summary(rows: list[Row]) -> str:
    """The scores by which methods are chosen, without standard deviations; for the page that compares methods."""
    return re.sub(r" ± [0-9.]+", "", _means(rows, SUMMARY))


def _cluster_columns(levels: Sequence[int]) -> list[tuple[str, str, int]]:
    ends = dict.fromkeys((levels[0], levels[-1]))
    columns = [("nmi", "NMI", level) for level in levels] + [("ari", "ARI", level) for level in ends]
    columns += [("nmi_hdbscan", "HDBSCAN NMI", level) for level in ends] + [
        ("ari_hdbscan", "HDBSCAN ARI", level) for level in ends
    ]
    return [*columns, ("nmi_inliers", "NMI, outliers known", levels[-1])]


def _neighbour_columns(levels: Sequence[int]) -> list[tuple[str, str, int]]:
    columns = [("accuracy", "5-NN", level) for level in dict.fromkeys((levels[0], levels[-1]))]
    columns += [("new_rows", "new rows", level) for level in levels]
    return [*columns, ("displacement", "displacement", levels[0]), ("trustworthiness", "trust", levels[0])]


def _means(rows: list[Row], columns: list[tuple[str, str, int]]) -> str:
    names = _distinct(rows, "data")
    lines = []
    for method in _distinct(rows, "method"):
        found = [row for row in rows if row["method"] == method]
        cells = (cell(found, score, level, len(names)) for score, _, level in columns)
        lines.append([method, str(_complete_seeds(found, len(names))), *cells])
    return table(["method", "seeds", *(f"{title} {level}%" for _, title, level in columns)], lines)


def _complete_seeds(rows: list[Row], n_sets: int) -> int:
    """How many seeds have been run on every set, without outliers."""
    counts = Counter(row["seed"] for row in rows if int(row["outliers"]) == 0)
    return sum(count == n_sets for count in counts.values())


def cell(rows: list[Row], score: str, level: int, n_sets: int) -> str:
    """Mean over sets and seeds, ± standard deviation over seeds; only seeds for which every set is there count."""
    found = [row for row in rows if int(row["outliers"]) == level]
    by_seed = {seed: [row[score] for row in found if row["seed"] == seed] for seed in {row["seed"] for row in found}}
    means = [float(np.mean(values)) for values in by_seed.values() if len(values) == n_sets]
    if not means or not np.isfinite(means).all():
        return "-"
    spread = f" ± {np.std(means, ddof=1):.3f}" if len(means) > 1 else ""
    return f"{np.mean(means):.3f}{spread}"


def by_set(rows: list[Row]) -> str:
    names = _distinct(rows, "data")
    levels = sorted({int(row["outliers"]) for row in rows})
    lines = []
    for method in _distinct(rows, "method"):
        cells = []
        for name in names:
            found = [row for row in rows if row["method"] == method and row["data"] == name]
            cells.append(" → ".join(_mean(found, "nmi", level) for level in dict.fromkeys((levels[0], levels[-1]))))
        lines.append([method, *cells])
    return table(["method", *names], lines)


def _mean(rows: list[Row], score: str, level: int) -> str:
    values = [row[score] for row in rows if int(row["outliers"]) == level]
    return number(float(np.mean(values)), ".2f") if values else "-"


def certificates(rows: list[Row]) -> str:
    """Fits of our estimators: how many of which grade and status, the largest gap and deviation of ``transform``."""
    lines = []
    for method in _distinct(rows, "method"):
        found = [row for row in rows if row["method"] == method and row["grade"]]
        if found:
            counts = [_counts(row[key] for row in found) for key in ("grade", "status")]
            largest = [f"{max(row[key] for row in found):.1e}" for key in ("gap", "deviation")]
            lines.append([method, str(len(found)), *counts, *largest])
    return table(["method", "fits", "grades", "status", "largest gap", "largest deviation of transform"], lines)


def _counts(values: Iterable[str]) -> str:
    return ", ".join(f"{count} {value}" for value, count in Counter(values).most_common())


def _chosen(rows: list[Row]) -> str:
    names = _distinct(rows, "data")
    lines = []
    for method in _distinct(rows, "method"):
        if len(METHODS[method].candidates) > 1:
            found = {row["data"]: row["parameters"] for row in rows if row["method"] == method}
            lines.append([method, *(found.get(name, "-").strip("{}").replace('"', "") for name in names)])
    return table(["method", *names], lines)


def _distinct(rows: Iterable[Row], key: str) -> list[str]:
    values = {row[key] for row in rows}
    return [value for value in (SETS if key == "data" else METHODS) if value in values]


def _figure(folder: Path, rows: list[Row]) -> None:
    """Mean NMI of k-means and accuracy of new rows against the part of outliers, one row of panels per group of sets."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(12, 9), sharex=True)
    titles = {"nmi": "NMI of k-means", "new_rows": "5-NN accuracy of new rows"}
    for line, (group, names) in zip(axes, GROUPS.items(), strict=True):
        for panel, (score, title) in zip(line, titles.items(), strict=True):
            for method in _distinct(rows, "method"):
                _curve(panel, method, [r for r in rows if r["method"] == method and r["data"] in names], score)
            panel.set(title=f"{group}: {title}", xlabel="outliers, %")
            panel.grid(alpha=0.3)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.savefig(folder / "quality.png", dpi=130)
    plt.close(figure)


def _curve(panel: Any, method: str, rows: list[Row], score: str) -> None:
    levels = sorted({int(row["outliers"]) for row in rows})
    means = [np.mean([row[score] for row in rows if int(row["outliers"]) == level]) for level in levels]
    if levels and np.isfinite(means).all():
        colour, marker, style = LINES[method]
        width = 3.0 if method == "MultiscaleEmbedding" else 1.3
        panel.plot(levels, means, color=colour, marker=marker, linestyle=style, linewidth=width, label=method)
