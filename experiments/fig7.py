"""Figure 7: two moons and their SDP embedding at a small bandwidth."""

from __future__ import annotations

import numpy as np

from elliptope.datasets import two_moons

from . import style
from .common import Options, certificate, certified, run_alone, spectrum
from .moons import score
from .results import Result, Verdict

ITEM, TITLE = "fig7", "Figure 7: two moons"
BANDWIDTH = 0.1
LABELS = {0: "bottom moon", 1: "top moon"}


def run(options: Options) -> Result:
    X, y = two_moons(random_state=options.seed)
    raw, _ = two_moons(random_state=options.seed, standardize=False)
    sdp = certified(X, BANDWIDTH, options.seed)
    Z = np.column_stack([sdp.embedding_, np.zeros((len(X), 2))])[:, :2]
    fit = certificate("400 points", sdp)
    draw(options, raw, Z, y)
    found = {"nmi": score(Z, y, options.seed), "nmi_raw": score(X, y, options.seed)}
    return Result(
        ITEM,
        TITLE,
        setting=f"200 + 200 points, radius 1 + N(0, 1/6²), z-scored, σ = {BANDWIDTH}",
        ours={**found, "rank": fit["rank"], "spectrum": spectrum(sdp, 4)},
        certificates=[fit],
        verdicts=[
            Verdict(
                "k-means separates the moons in the embedding, not in the plane",
                "pictures only; numbers in Figure 8",
                f"NMI {found['nmi']:.2f} against {found['nmi_raw']:.2f}",
                None,
            )
        ],
        notes=["The moons are random and the paper's are not in its source: the pictures can only be of the same kind."],
        figures={"fig7": f"Raw data (left) and SDP embedding of the standardised data (right), seed {options.seed}."},
        seeds=[options.seed],
    )


def draw(options: Options, raw: np.ndarray, Z: np.ndarray, y: np.ndarray) -> None:
    fig, axes = style.figure(1, 2, width=9, height=3.4)
    style.scatter(axes[0], raw, y, LABELS)
    axes[0].set(title="Original data", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    axes[0].legend(fontsize=8)
    style.scatter(axes[1], Z, y, LABELS)
    axes[1].set(title=f"SDP embedding, σ = {BANDWIDTH}", xlabel=r"$\chi_1$", ylabel=r"$\chi_2$")
    style.save(fig, options.output, "fig7")


if __name__ == "__main__":
    run_alone(ITEM, TITLE, run)
