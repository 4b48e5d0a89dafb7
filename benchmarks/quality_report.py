"""The report of the quality benchmark: tables and a figure, from the rows of its CSV file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import machine
import numpy as np
from quality_data import DATA
from quality_methods import METHODS

from report import number, table

Row = dict[str, Any]
# Okabe and Ito's colours (grey for their yellow), told apart by the colour-blind; markers and styles tell relatives apart.
LINES = {
    "SDPEmbedding": ("#000000", "o", "-"),
    "SDPEmbedding, neighbors": ("#000000", "s", "--"),
    "RKHSEmbedding": ("#000000", "s", ":"),
    "DiffusionMap": ("#E69F00", "v", "-"),
    "DiffusionMap, unit rows": ("#E69F00", "^", ":"),
    "SpectralEmbedding": ("#D55E00", "D", "-"),
    "KernelPCA": ("#56B4E9", "P", "-"),
    "PCA": ("#0072B2", "X", "-"),
    "t-SNE": ("#CC79A7", "<", "-"),
    "UMAP": ("#009E73", "*", "-"),
    "no embedding": ("#777777", ".", "--"),
}
MEASURES = ("nmi", "nmi_inliers", "accuracy", "new_rows", "displacement")

RULES = """\
**Data.** Wine (178 rows), breast cancer (569), digits (60 rows per digit), HTRU2 (300 rows per class; in the survey one
candidate in eleven is a pulsar), blobs (400 rows, 4 Gaussian clusters in 10 columns) and two moons (400 rows). Columns are
z-scored before outliers are added (digits: pixels/16). A seed fixes rows, 70/30 split, outliers and the method's randomness.

**Outliers.** Rows uniform in a box of three times the range of every column, as many as the given percentage of the training
rows. They take part in the fit and are left out of every score.

**Scores.** *NMI*: k-means (k = number of classes, 10 starts) on all rows of the embedding, outliers included, compared with
the classes of the other rows. *NMI, outliers known*: k-means on the other rows alone. *5-NN*: accuracy of five nearest
neighbours on the embedded training rows, five-fold cross-validation. *New rows*: accuracy on the 30 % held out, embedded by
`transform`. *Displacement*: distance of a row embedded by `transform` from where a fit that includes it puts it, after the
best similarity, as a part of the size of the picture; without outliers.

**Settings.** *default*: the library's own defaults; two columns where a number must be given; `normalize="unit"` for
SDPEmbedding and RKHSEmbedding. *tuned*: the best of six candidates, the same number for every method, by NMI + 5-NN on other
seeds of the same data *without* outliers, with the classes known. Candidates are in `benchmarks/quality_methods.py`."""


def write(folder: Path, rows: list[Row]) -> None:
    evaluated = [row for row in rows if row["setting"] != "tuning"]
    parts = [
        "# Embeddings side by side",
        RULES,
        f"**Seeds.** {_seeds(evaluated)} A cell is the mean ± standard deviation over them.",
        "\n".join(f"- {line}" for line in machine.describe()),
        "## All data sets together",
        f"Means over the data sets that every method has run on: {', '.join(_complete(evaluated))}.",
        _details([row for row in evaluated if row["data"] in _complete(evaluated)]),
        "## NMI by data set, tuned",
        by_data(evaluated, "tuned"),
        "## NMI by data set, defaults",
        by_data(evaluated, "default"),
        "![NMI against the part of outliers](quality.png)",
    ]
    for name in _distinct(evaluated, "data"):
        parts += [f"## {name}", _details([row for row in evaluated if row["data"] == name])]
    parts += ["## Parameters chosen", _chosen(evaluated)]
    (folder / "quality.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    _figure(folder, evaluated)


def _seeds(rows: list[Row]) -> str:
    """How many seeds which methods had."""
    counts: dict[int, list[str]] = {}
    for method in _distinct(rows, "method"):
        counts.setdefault(len(_distinct((row for row in rows if row["method"] == method), "seed")), []).append(method)
    return " ".join(f"{count} for {'; '.join(methods)}." for count, methods in counts.items())


def _complete(rows: list[Row]) -> list[str]:
    """Data sets that every method has run on: means over others could not be compared."""
    methods = set(_distinct(rows, "method"))
    return [name for name in _distinct(rows, "data") if {r["method"] for r in rows if r["data"] == name} == methods]


def by_data(rows: list[Row], setting: str) -> str:
    """NMI with no outliers → with the most of them, per data set."""
    chosen = [row for row in rows if row["setting"] in (setting, _only_setting(rows, row["method"]))]
    names = _distinct(chosen, "data")
    shares = sorted({row["outliers"] for row in chosen})
    lines = []
    for method in _distinct(chosen, "method"):
        cells = []
        for name in names:
            found = [row for row in chosen if row["method"] == method and row["data"] == name]
            cells.append(" → ".join(_mean(found, "nmi", share) for share in (shares[0], shares[-1])))
        lines.append([method, *cells])
    return table(["NMI, 0 → " + f"{shares[-1]:.0%} outliers", *names], lines)


def _only_setting(rows: list[Row], method: str) -> str:
    """A method without parameters has its defaults alone."""
    settings = {row["setting"] for row in rows if row["method"] == method}
    return settings.pop() if len(settings) == 1 else ""


def _mean(rows: list[Row], measure: str, share: float) -> str:
    values = [row[measure] for row in rows if row["outliers"] == share]
    return number(float(np.mean(values)), ".2f") if values else "-"


def _details(rows: list[Row]) -> str:
    shares = sorted({row["outliers"] for row in rows})
    ends = (shares[0], shares[-1])
    columns = [("nmi", "NMI", share) for share in shares]
    columns += [("nmi_inliers", "NMI, outliers known", shares[-1])]
    columns += [("accuracy", "5-NN", share) for share in ends] + [("new_rows", "new rows", share) for share in ends]
    lines = []
    for method in _distinct(rows, "method"):
        for setting in ("default", "tuned"):
            found = [row for row in rows if row["method"] == method and row["setting"] == setting]
            if found:
                cells = [_cell(found, measure, share) for measure, _, share in columns]
                lines.append([method, setting, *cells, _cell(found, "displacement", shares[0])])
    header = [f"{title} {share:.0%}" for _, title, share in columns]
    return table(["method", "setting", *header, "displacement"], lines)


def _cell(rows: list[Row], measure: str, share: float) -> str:
    """Mean over data sets and seeds, ± standard deviation over seeds of the mean over data sets."""
    found = [row for row in rows if row["outliers"] == share]
    means = [np.mean([row[measure] for row in found if row["seed"] == seed]) for seed in _distinct(found, "seed")]
    if not means or not np.isfinite(means).all():
        return "-"
    spread = f" ± {np.std(means, ddof=1):.2f}" if len(means) > 1 else ""
    return f"{np.mean(means):.2f}{spread}"


def _chosen(rows: list[Row]) -> str:
    names = _distinct(rows, "data")
    lines = []
    for method in _distinct(rows, "method"):
        found = {row["data"]: row["parameters"] for row in rows if row["method"] == method and row["setting"] == "tuned"}
        if found:
            lines.append([method, *(found.get(name, "-").strip("{}").replace('"', "") for name in names)])
    return table(["method", *names], lines)


def _distinct(rows: Iterable[Row], key: str) -> list[str]:
    values = {str(row[key]) for row in rows}
    order = {"data": list(DATA), "method": list(METHODS)}.get(key)
    return [value for value in order if value in values] if order else sorted(values)


def _figure(folder: Path, rows: list[Row]) -> None:
    """NMI against the part of outliers, tuned parameters: one panel per data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names, methods = _distinct(rows, "data"), _distinct(rows, "method")
    width = min(3, len(names))
    figure, axes = plt.subplots(-(-len(names) // width), width, figsize=(12, 7), squeeze=False, sharey=True)
    for panel, name in zip(axes.flat, names, strict=False):
        for method in methods:
            _curve(panel, method, [row for row in rows if (row["data"], row["method"]) == (name, method)])
        panel.set(title=name, ylim=(-0.03, 1.03), xlabel="outliers, %")
        panel.grid(alpha=0.3)
    for panel in axes.flat[len(names) :]:
        panel.set_visible(False)
    for panel in axes[:, 0]:
        panel.set_ylabel("NMI of k-means")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.savefig(folder / "quality.png", dpi=130)
    plt.close(figure)


def _curve(panel: Any, method: str, rows: list[Row]) -> None:
    if not rows:
        return
    setting = max(row["setting"] for row in rows)  # "tuned" where there is one
    shares = sorted({row["outliers"] for row in rows})
    means = [np.mean([r["nmi"] for r in rows if r["setting"] == setting and r["outliers"] == share]) for share in shares]
    colour, marker, style = LINES[method]
    width = 3.0 if method.startswith("SDPEmbedding") else 1.3
    percent = [100 * share for share in shares]
    panel.plot(percent, means, color=colour, marker=marker, linestyle=style, linewidth=width, label=method)
