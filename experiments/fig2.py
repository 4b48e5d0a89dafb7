"""Figure 2: the interval, finely sampled. The normalised kernel and the solution of the program on [-1, 1]²."""

from __future__ import annotations

import numpy as np

from elliptope.datasets import interval_grid
from elliptope.kernels import Gaussian

from . import style
from .common import Options, certificate, certified, run_alone, spectrum
from .results import Result, Verdict

ITEM, TITLE = "fig2", "Figure 2: the interval, finely sampled"
BANDWIDTH = 0.1
CELLS, QUICK_CELLS = 2000, 400
# Pixels per side of the pictures; the program is solved on all cells.
_PIXELS = 400


def run(options: Options) -> Result:
    n = QUICK_CELLS if options.quick else CELLS
    X, w = interval_grid(n)
    sdp = certified(X, BANDWIDTH, options.seed, weights=w)
    fit = certificate(f"n = {n}", sdp)
    draw(options, X, w, sdp.embedding_)
    solved = fit["grade"] == "proved" and fit["relative_gap"] <= sdp.tol
    return Result(
        ITEM,
        TITLE,
        setting=f"midpoints of {n} cells of [-1, 1], weights dx, σ = {BANDWIDTH}",
        published={"cells": CELLS},
        ours={"cells": n, "rank": fit["rank"], "spectrum": spectrum(sdp, 4)},
        certificates=[fit],
        verdicts=[
            Verdict(
                f"the program with {n} × {n} unknowns is solved and certified",
                "pictures only",
                f"{fit['status']}, {fit['grade']} relative gap {fit['relative_gap']:.1e}, rank {fit['rank']}",
                solved or None,
            )
        ],
        notes=[
            "The paper gives no numbers for this figure. Its text speaks of a grid of 2001² points, the code that it links "
            "to takes the midpoints of 2000 cells; Figure 3, which comes with digits, pins midpoints and weights down."
        ],
        figures={"fig2": "The normalised kernel (left) and the solution (right)."},
        seeds=[options.seed],
    )


def draw(options: Options, X: np.ndarray, w: np.ndarray, Xi: np.ndarray) -> None:
    every = max(1, len(X) // _PIXELS)
    K = Gaussian(BANDWIDTH)(X[::every], X)
    m_all = Gaussian(BANDWIDTH)(X) @ w
    m = m_all[::every]
    root = np.sqrt(np.outer(m, m))
    pictures = {
        r"$\bar a(x, y)$": K[:, ::every] / root - root / (w @ m_all),
        r"$b_\star(x, y)$": Xi[::every] @ Xi[::every].T,
    }
    fig, axes = style.figure(1, 2, width=9, height=3.9)
    for ax, (title, values) in zip(axes, pictures.items(), strict=True):
        size = np.abs(values).max()
        # Blue over white to red, white at zero: told apart by the colour-blind, and the sign shows.
        image = ax.imshow(values, extent=(-1, 1, -1, 1), origin="lower", cmap="RdBu_r", vmin=-size, vmax=size)
        ax.set(title=title, xlabel="$x$", ylabel="$y$")
        ax.grid(visible=False)
        fig.colorbar(image, ax=ax)
    style.save(fig, options.output, "fig2")


if __name__ == "__main__":
    run_alone(ITEM, TITLE, run)
