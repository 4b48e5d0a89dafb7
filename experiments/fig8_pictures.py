"""The picture of Figure 8."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import style
from .common import Options

GREY = "0.6"


def draw(
    options: Options,
    sigma: np.ndarray,
    theirs: dict[str, np.ndarray],
    scores: dict[str, np.ndarray],
    spectra: dict[str, np.ndarray],
    ours: dict[str, np.ndarray],
) -> None:
    fig, axes = style.figure(2, 2, width=11, height=7.4)
    for ax, suffix, title in zip(axes, ("", "_projected"), ("embedding", "projected embedding"), strict=False):
        clustering(ax, sigma, theirs, scores, suffix)
        ax.set(title=f"Clustering on {title}", xlabel="$\\sigma$", ylabel="NMI", ylim=(-0.02, 1.05))
    axes[0].legend(fontsize=8)
    panels = [("sdp", r"$B_\star/\mathrm{Tr}(B_\star)$", 0.0), ("diffusion", r"$\bar A$", 0.5)]
    for ax, (name, title, lowest) in zip(axes[2:], panels, strict=True):
        for k in range(spectra[name].shape[1]):
            mean = ours[name].mean(axis=0)[:, k]
            ax.plot(sigma, mean, ".-", color=style.EIGENVALUES[k], label=rf"$\lambda_{k + 1}$")
            ax.plot(sigma, spectra[name][:, k], "o", color=style.EIGENVALUES[k], markerfacecolor="none", markersize=5)
        ax.plot([], [], "o", color="0.4", markerfacecolor="none", label="published")
        ax.set(title=f"Spectrum of {title}", xlabel="$\\sigma$", ylim=(lowest - 0.02, 1.02))
        ax.legend(fontsize=8, ncols=2)
    style.save(fig, options.output, "fig8")


def clustering(
    ax: Any, sigma: np.ndarray, theirs: dict[str, np.ndarray], scores: dict[str, np.ndarray], suffix: str
) -> None:
    """Mean NMI with standard deviations: published curves in grey behind ours, a little to the left."""
    raw = scores["kmeans"]
    ax.axhspan(raw.mean() - raw.std(ddof=1), raw.mean() + raw.std(ddof=1), color=style.BLACK, alpha=0.12, linewidth=0)
    ax.axhline(raw.mean(), color=style.BLACK, linewidth=0.9, label="k-means on raw data")
    for name, marker in (("sdp" + suffix, "o"), ("dm" + suffix, "s")):
        label = {"label": "published"} if marker == "o" else {}
        ax.errorbar(
            sigma - 0.008, theirs[name], theirs[f"{name}_sd"], color=GREY, fmt=f"{marker}:", markerfacecolor="none",
            elinewidth=0.8, linewidth=0.8, **label,
        )  # fmt: skip
    curves = [("sdp" + suffix, "SDP", style.BLUE, "o-"), ("dm" + suffix, "DM", style.VERMILION, "s-")]
    for name, title, colour, form in curves:
        values = scores[name]
        ax.errorbar(
            sigma, values.mean(axis=0), values.std(axis=0, ddof=1), color=colour, fmt=form, elinewidth=1, label=title
        )
    power = scores["algorithm1" + suffix].mean(axis=0)
    ax.plot(sigma, power, "x", color=style.GREEN, markersize=5, label="SDP by Algorithm 1, authors' rule")
