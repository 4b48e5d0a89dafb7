"""The pictures of Figure 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from elliptope import DiffusionMap, SDPEmbedding

from . import style
from .algorithm1 import Stopped
from .common import Options
from .fig5_compare import SMALL, Curves

LABELS = {0: "cultivar 1", 1: "cultivar 2", 2: "cultivar 3"}


def draw(
    options: Options,
    embedded: dict[float, tuple[SDPEmbedding, DiffusionMap]],
    y: np.ndarray,
    sdp: Curves,
    dm: Curves,
    stopped: list[Stopped],
) -> None:
    fig, axes = style.figure(3, 2, width=10, height=9.5)
    panels = [(s, fit, name) for s, fits in embedded.items() for fit, name in zip(fits, ("SDP", "DM"), strict=True)]
    for ax, (s, fit, name) in zip(axes, panels, strict=False):
        style.scatter(ax, fit.embedding_, y, LABELS)
        symbol = r"\chi" if name == "SDP" else r"\psi"
        ax.set(title=f"{name} embedding, σ = {s:g}", xlabel=f"${symbol}_1$", ylabel=f"${symbol}_2$")
    axes[0].legend(fontsize=8)
    curves(axes[4], sdp, r"Spectrum of $B_\star/\mathrm{Tr}(B_\star)$")
    curves(axes[5], dm, r"Spectrum of $\bar A$")
    style.save(fig, options.output, "fig5")
    draw_small(options, sdp, stopped)


def curves(ax: Any, data: Curves, title: str) -> None:
    """Our eigenvalues as lines, the published ones as circles."""
    for k, colour in enumerate(style.EIGENVALUES[: data.ours.shape[1]]):
        ax.plot(data.sigma, data.ours[:, k], color=colour, linewidth=1.6, label=rf"$\lambda_{k + 1}$")
        ax.plot(
            data.sigma, data.published[:, k], "o", color=colour, markerfacecolor="none", markersize=3.5, markeredgewidth=0.7
        )
    ax.plot([], [], "o", color="0.4", markerfacecolor="none", markersize=3.5, label="published")
    ax.set(title=title, xlabel="$\\sigma$", ylim=(-0.02, 1.02))
    ax.legend(fontsize=8, ncols=2)


def draw_small(options: Options, sdp: Curves, stopped: list[Stopped]) -> None:
    rows = sdp.sigma <= SMALL + 1e-9
    fig, axes = style.figure(1, 2, width=9, height=3.6, sharex=True, sharey=True)
    power = np.array([stop.spectrum[:2] for stop in stopped])
    for k, ax in enumerate(axes):
        ax.plot(sdp.sigma[rows], sdp.ours[rows, k], color=style.BLUE, label="certified optimum")
        ax.plot(sdp.sigma[rows], power[rows, k], "s--", color=style.VERMILION, label="Algorithm 1, authors' rule")
        ax.plot(sdp.sigma[rows], sdp.published[rows, k], "o", color=style.BLACK, markerfacecolor="none", label="published")
        ax.set(title=rf"$\lambda_{k + 1}$ of $B_\star/\mathrm{{Tr}}(B_\star)$", xlabel="$\\sigma$", ylim=(-0.02, 1.02))
    axes[0].legend(fontsize=8)
    style.save(fig, options.output, "fig5_algorithm1")
