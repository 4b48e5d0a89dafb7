"""The pictures of the study, drawn from its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elliptope.theory import least_regularization

from .classification import TASKS
from .drawing import BLACK, MARKERS, SERIES, figure, save
from .rows import Row
from .violation import DELTA, Setting


def _select(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if wanted.items() <= row.items() and row.get("status") != "singular"]


def _medians(rows: list[Row], x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
    """Median of ``y`` for every n, at the median of ``x``."""
    groups = [[row for row in rows if row["n"] == n] for n in sorted({row["n"] for row in rows})]
    return tuple(np.array([np.median([row[key] for row in group]) for group in groups]) for key in (x, y))  # type: ignore


def _power(ax: Any, x: np.ndarray, y: np.ndarray, exponent: float, label: str, colour: str) -> None:
    """A power law through the last point."""
    ax.plot(x, y[-1] * (x / x[-1]) ** exponent, label=label, color=colour, linewidth=1, linestyle="--")


def draw_violation(rows: list[Row], folder: Path) -> None:
    """Against n for three orders; against h in three norms; against n for several λ."""
    fig, axes = figure(1, 3)
    orders = sorted({row["nu"] for row in rows if row["p"] == 2 and row["design"] == "random"})
    for nu, colour, marker in zip(orders, SERIES, MARKERS, strict=False):
        setting = Setting(2, "random", nu)
        chosen = _select(rows, **setting.row())
        axes[0].scatter([r["n"] for r in chosen], [r["sup"] for r in chosen], s=6, color=colour, alpha=0.4)
        x, y = _medians(chosen, "n", "sup")
        axes[0].plot(x, y, color=colour, marker=marker, label=f"ν = {nu:g}")
        if setting.m > 0:
            _power(axes[0], x, y, -setting.m / 2, f"$n^{{-{setting.m}/2}}$, the theorem's rate", colour)
    axes[0].set(title="Disc, random points, λ = 0.001", xlabel="n", ylabel="sup |d(x) - b(x, x)|")
    spread = _select(rows, p=2, design="spread", nu=1.5) or _select(rows, p=1, design="spread", nu=1.5)
    s = spread[0]["s"]
    norms = [("sup", "sup, ball", s), ("mean", "mean, ball", s + 1), ("sup_inner", "sup, radius ≤ 0.8", 2 * s)]
    for (key, label, exponent), colour, marker in zip(norms, SERIES, MARKERS, strict=False):
        x, y = _medians(spread, "fill_distance", key)
        axes[1].plot(x, y, color=colour, marker=marker, label=label)
        _power(axes[1], x, y, exponent, f"$h^{{{exponent:g}}}$", colour)
    title = f"Spread points, p = {spread[0]['p']}, s = {s:g}"
    axes[1].set(title=title, xlabel="fill distance h", ylabel="|d(x) - b(x, x)|")
    family = [row for row in _select(rows, p=2, design="random", nu=1.5, d="constant") if row["regularization"] != "theory"]
    for value, colour, marker in zip(sorted({r["regularization"] for r in family}), SERIES, MARKERS, strict=False):
        x, y = _medians(_select(family, regularization=value), "n", "sup")
        axes[2].plot(x, y, color=colour, marker=marker, label=f"λ = {value:g}")
    axes[2].set(title="Disc, random points, ν = 1.5", xlabel="n", ylabel="sup |d(x) - b(x, x)|")
    for ax in axes:
        ax.set(xscale="log", yscale="log")
        ax.legend()
    save(fig, folder, "violation")


def draw_regularization(path: list[Row], thresholds: list[Row], folder: Path) -> None:
    """The parts of the objective, the trace, and the theory's λ beside the collapse."""
    fig, axes = figure(1, 3)
    largest = _select(path, n=max(row["n"] for row in path))
    x = [row["regularization"] for row in largest]
    parts = [("f_n", "$f_n$"), ("penalty", "λ Tr B"), ("objective", "$f_n$ - λ Tr B")]
    for (key, label), colour, marker in zip(parts, SERIES, MARKERS, strict=False):
        axes[0].plot(x, [row[key] for row in largest], color=colour, marker=marker, label=label)
    axes[0].axvline(largest[0]["collapse"], label=r"$\lambda_c$", color=BLACK, linewidth=1, linestyle="--")
    axes[0].set(title=f"Objective, disc, n = {largest[0]['n']}", xlabel="λ", xscale="log", ylim=(-0.15, 0.2))
    for n, colour, marker in zip(sorted({row["n"] for row in path}), SERIES, MARKERS, strict=False):
        chosen = _select(path, n=n)
        x, y = ([row[key] for row in chosen] for key in ("regularization", "trace"))
        axes[1].plot(x, y, color=colour, marker=marker, label=f"n = {n}")
        axes[1].axvline(chosen[0]["collapse"], color=colour, linewidth=0.8, linestyle="--")
    axes[1].set(title=r"Trace; dashed: $\lambda_c$", xlabel="λ", ylabel="Tr B", xscale="log", yscale="log")
    balls = [row for row in _select(thresholds, nu=1.5) if row["data"].startswith("ball")]
    sizes = np.logspace(1.7, 6, 30)
    for name, colour, marker in zip(sorted({row["data"] for row in balls}), SERIES, MARKERS, strict=False):
        chosen = _select(balls, data=name)
        axes[2].plot(*_medians(chosen, "n", "theory"), color=colour, marker=marker, linestyle="", label=f"2C, {name}")
        last = chosen[-1]
        formula = [least_regularization(int(n), DELTA, last["lambda_max"]) for n in sizes]
        axes[2].plot(sizes, formula, color=colour, linewidth=0.8)
        axes[2].axhline(last["collapse"], color=colour, linestyle="--", label=rf"$\lambda_c$, {name}")
    axes[2].set(title="What the theorem asks for, ν = 1.5", xlabel="n", ylabel="λ", xscale="log", yscale="log")
    for ax in axes:
        ax.legend()
    save(fig, folder, "regularization")


def draw_spectrum(rows: list[Row], folder: Path) -> None:
    """Shares of the eigenvalues against λ above, ranks for every ν below."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    orders = sorted({row["nu"] for row in rows})
    fig, axes = figure(2, len(names), height=6.2, sharex=True)
    middle = 1.5 if 1.5 in orders else orders[-1]
    for name, top, bottom in zip(names, axes[: len(names)], axes[len(names) :], strict=True):
        chosen = _select(rows, data=name, nu=middle)
        for k in range(4):
            shares = [row[f"share_{k + 1}"] for row in chosen]
            top.plot([r["regularization"] for r in chosen], shares, color=SERIES[k], marker=MARKERS[k], label=f"{k + 1}")
        top.set(title=f"{name}, n = {chosen[0]['n']}", xscale="log", ylabel=f"eigenvalue / sum, ν = {middle:g}")
        for place, (nu, colour, marker) in enumerate(zip(orders, SERIES, MARKERS, strict=False)):
            line = _select(rows, data=name, nu=nu)
            # Ranks are integers: a little offset keeps lines apart that coincide.
            ranks = [row["rank"] + 0.05 * (place - 2) for row in line]
            bottom.plot([r["regularization"] for r in line], ranks, color=colour, marker=marker, label=f"ν = {nu:g}")
        bottom.set(xlabel="λ", ylabel="rank", yticks=range(1, max(row["rank"] for row in _select(rows, data=name)) + 1))
    axes[0].legend(title="eigenvalue")
    axes[len(names)].legend()
    save(fig, folder, "spectrum")


def draw_classification(rows: list[Row], folder: Path) -> None:
    """Mean accuracy with its standard deviation over the splits, parameters selected, one panel per data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    fig, axes = figure(1, len(names), height=3.4)
    for name, ax in zip(names, axes, strict=True):
        for place, (method, colour, marker) in enumerate(zip(("RKHS", "SDP", "DM"), SERIES, MARKERS, strict=False)):
            for k, task in enumerate(TASKS):
                chosen = _select(rows, data=name, method=method, parameters_by="selection", task=str(task))
                values = [row["accuracy"] for row in chosen]
                ax.errorbar(
                    k + 0.2 * (place - 1), np.mean(values), np.std(values, ddof=1), color=colour, marker=marker, capsize=2,
                    label=method if k == 0 else None,
                )  # fmt: skip
        ax.set(title=name, xticks=range(len(TASKS)), xticklabels=[str(task) for task in TASKS], ylabel="test accuracy")
    axes[0].legend(loc="lower left")
    save(fig, folder, "classification")
