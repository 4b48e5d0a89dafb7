"""Figure 3: fifteen points of the interval and the extension to a hundred others, to the digits of the paper."""

from __future__ import annotations

import numpy as np

from elliptope.datasets import interval_grid

from . import style
from .common import Options, certificate, certified, published, run_alone
from .results import Result, Table, Verdict

ITEM, TITLE = "fig3", "Figure 3: out-of-sample extension on the interval"
BANDWIDTH = 0.1
TOLERANCE = 1e-6


def run(options: Options) -> Result:
    X, w = interval_grid(15)
    X_new, _ = interval_grid(100)
    sdp = certified(X, BANDWIDTH, options.seed, weights=w)
    ours = {"training": sdp.embedding_, "extension": sdp.transform(X_new)}
    rows, verdicts = [], []
    for points, Xi in ours.items():
        digits = published(f"fig3_{points}")
        for panel in ("left", "right"):
            theirs = np.column_stack([digits[f"{panel}_chi_1"], digits[f"{panel}_chi_2"]])
            error = np.abs(up_to_sign(Xi, theirs) - theirs).max(axis=0)
            rows.append([f"{points}, {panel} panel", str(len(theirs)), *(f"{e:.1e}" for e in error)])
            verdicts.append(
                Verdict(
                    f"{points} points, {panel} panel",
                    f"{len(theirs)} points to 14 digits",
                    f"largest difference {error.max():.1e}",
                    bool(error.max() <= TOLERANCE),
                )
            )
    draw(options, X[:, 0], X_new[:, 0], ours)
    return Result(
        ITEM,
        TITLE,
        setting=f"midpoints of 15 cells of [-1, 1], weights dx = 2/15, σ = {BANDWIDTH}; extended to midpoints of 100 cells",
        ours={**ours, "largest_difference": max(float(cell) for row in rows for cell in row[2:])},
        certificates=[certificate("15 points", sdp)],
        verdicts=verdicts,
        tables=[Table("Largest difference to the published digits", ["points", "number", "χ₁", "χ₂"], rows)],
        notes=[
            "Eigenvectors have no sign; the paper's two panels themselves are opposite in both.",
            "The caption swaps the colours of the right panel: in the data, blue is ℓ = 1 (odd in x) and red is ℓ = 2.",
        ],
        figures={"fig3": "Training points in black, their extension in colour, the published points as circles."},
        seeds=[options.seed],
    )


def up_to_sign(Xi: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Each of our columns with the sign of the published one."""
    return Xi * np.sign(np.einsum("ij,ij->j", Xi, theirs))


def draw(options: Options, x: np.ndarray, x_new: np.ndarray, ours: dict[str, np.ndarray]) -> None:
    digits = published("fig3_extension")
    circles = {"facecolors": "none", "edgecolors": "0.55", "s": 26, "linewidths": 0.7, "label": "published"}
    points = {"color": style.BLACK, "s": 34, "zorder": 3}
    fig, (left, right) = style.figure(1, 2)
    theirs = np.column_stack([digits["left_chi_1"], digits["left_chi_2"]])
    Xi = {name: up_to_sign(ours["extension"], theirs)[0] / ours["extension"][0] * Z for name, Z in ours.items()}
    left.scatter(*theirs.T, **circles)
    left.scatter(*Xi["extension"].T, color=style.VERMILION, s=6, label="extension")
    left.scatter(*Xi["training"].T, label="training", **points)
    left.set(title="SDP embedding", xlabel=r"$\chi_1(x)$", ylabel=r"$\chi_2(x)$")
    left.legend(fontsize=8)
    for k, colour in enumerate((style.BLUE, style.VERMILION)):
        theirs = digits[f"right_chi_{k + 1}"]
        sign = np.sign(ours["extension"][:, k] @ theirs)
        right.scatter(x_new, theirs, **{**circles, "label": None})
        right.scatter(x_new, sign * ours["extension"][:, k], color=colour, s=6, label=rf"$\ell = {k + 1}$")
        right.scatter(x, sign * ours["training"][:, k], **points)
    right.set(title="Out-of-sample extension", xlabel="$x$", ylabel=r"$\chi_\ell(x)$")
    right.legend(fontsize=8)
    style.save(fig, options.output, "fig3")


if __name__ == "__main__":
    run_alone(ITEM, TITLE, run)
