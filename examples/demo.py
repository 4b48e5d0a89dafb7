"""Embed Wine and three clusters with outliers; print what the solver proved and draw the results.

Run with ``make demo``, or ``python examples/demo.py`` where elliptope and matplotlib are installed. The
pictures go to ``demo_output/`` in the current folder.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import zscore
from sklearn.datasets import load_wine

from elliptope import DiffusionMap, SDPEmbedding
from elliptope.datasets import clusters_with_outliers

OUTPUT = Path("demo_output")

# Okabe and Ito's palette, told apart by all common kinds of colour vision; a marker each, for print.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
CLASS_STYLES = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "^")]
OUTLIER_STYLE = (VERMILION, "*")


def main():
    wine = load_wine()
    demonstrate(
        "Wine",
        zscore(wine.data, axis=0, ddof=1),
        wine.target,
        bandwidth=1.5,
        labels={c: f"cultivar {c + 1}" for c in range(3)},
        path=OUTPUT / "wine.png",
    )
    X, y = clusters_with_outliers(random_state=0)
    demonstrate(
        "Clusters with outliers",
        X,
        y,
        bandwidth=1.2,
        labels={**{c: f"cluster {c + 1}" for c in range(3)}, -1: "outliers"},
        path=OUTPUT / "clusters_with_outliers.png",
    )


def demonstrate(title, X, y, *, bandwidth, labels, path):
    """Fit both embeddings, print the SDP's spectrum and certificate, and draw the two side by side."""
    sdp = SDPEmbedding(bandwidth=bandwidth, random_state=0).fit(X)
    diffusion = DiffusionMap(n_components=2, bandwidth=bandwidth, diffusion_time=0).fit(X)
    report(title, X, sdp)
    draw(title, [sdp, diffusion], y, labels, path)
    print(f"  picture      {path}\n")


def report(title, X, sdp):
    spectrum = sdp.eigenvalues_ / sdp.eigenvalues_.sum()
    n, p = X.shape
    print(f"{title}: {n} points in dimension {p}, σ = {sdp.bandwidth_:g}")
    print(f"  status       {sdp.status_}, {sdp.n_iter_} iterations, {sdp.n_products_} products with J")
    print(f"  rank         {sdp.eigenvalues_.size}")
    print(f"  spectrum     {np.array2string(spectrum, precision=6, suppress_small=True)} (of B⋆ / Tr B⋆)")
    print(f"  certificate  {indented(sdp.certificate_)}")


def indented(value):
    """Text of a value, with its later lines under the first."""
    return repr(value).replace("\n", "\n" + " " * 15)


def draw(title, estimators, y, labels, path):
    names = ["SDP embedding", "Diffusion map"]
    symbols = [r"\chi", r"\psi"]
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for ax, estimator, name, symbol in zip(axes, estimators, names, symbols, strict=True):
        Xi = plane(estimator.embedding_)
        for value, label in labels.items():
            colour, marker = OUTLIER_STYLE if value == -1 else CLASS_STYLES[value]
            style = {"c": colour, "marker": marker, "s": 90 if value == -1 else 22}
            ax.scatter(*Xi[y == value].T, label=label, edgecolors="black", linewidths=0.3, **style)
        ax.set(title=name, xlabel=f"${symbol}_1$", ylabel=f"${symbol}_2$")
    axes[0].legend(frameon=False)
    fig.suptitle(f"{title}, σ = {estimators[0].bandwidth_:g}")
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def plane(Xi):
    """The two leading coordinates; an embedding of rank one is drawn on a line."""
    return Xi[:, :2] if Xi.shape[1] > 1 else np.column_stack([Xi[:, 0], np.zeros(len(Xi))])


if __name__ == "__main__":
    main()
