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
from elliptope.plotting import EmbeddingDisplay

OUTPUT = Path("demo_output")


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
    draw(f"{title}, σ = {bandwidth:g}", X, y, {"SDP embedding": sdp, "Diffusion map": diffusion}, labels, path)
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


def draw(title, X, y, estimators, labels, path):
    fig, axes = plt.subplots(1, len(estimators), figsize=(10, 4.6), layout="constrained")
    for ax, (name, estimator) in zip(axes, estimators.items(), strict=True):
        EmbeddingDisplay.from_estimator(estimator, X, y, labels=labels, name=name, ax=ax, legend=ax is axes[0])
    fig.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)
    plt.close(fig)


if __name__ == "__main__":
    main()
