"""Figure 5: Wine. Spectra along the bandwidth, of the SDP and of the diffusion map, and embeddings at two bandwidths."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine

from elliptope import DiffusionMap

from . import algorithm1, fig5_pictures
from . import fig5_compare as compare
from .common import (
    Options,
    certified,
    certified_path,
    path_certificates,
    progress,
    published,
    published_spectrum,
    run_alone,
    standardize,
)  # fmt: skip
from .fig5_compare import Curves
from .results import Result

ITEM, TITLE = "fig5", "Figure 5: Wine along the bandwidth"
EMBEDDED = (10.0, 1.5)
QUICK_SDP = (0.6, 0.9, 1.0, 1.5, 3.0, 6.0)
QUICK_DM = (1.5, 2.3, 5.0, 11.0)
FIGURES = {
    "fig5": "Embeddings at σ = 10 and 1.5, and the spectra: lines are ours, circles are published.",
    "fig5_algorithm1": "Small bandwidths: certified optimum, published, and Algorithm 1 as its authors stop it.",
}


def run(options: Options) -> Result:
    X, y = load_wine(return_X_y=True)
    X = standardize(X)
    sigma, theirs = published_spectrum("fig5_sdp_spectrum", QUICK_SDP if options.quick else None)
    path = certified_path(X, sigma, options.seed)
    k = theirs.shape[1]
    sdp = Curves(sigma, theirs, np.pad(path.spectra, ((0, 0), (0, k)))[:, :k])
    stopped = [algorithm1.run(X, s, algorithm1.WINE, options.seed) for s in progress("Wine, Algorithm 1", sigma)]
    sigma, theirs = published_spectrum("fig5_diffusion_spectrum", QUICK_DM if options.quick else None)
    dm = Curves(sigma, theirs, np.array([DiffusionMap(theirs.shape[1], bandwidth=s).fit(X).eigenvalues_ for s in sigma]))
    stale, stale_difference = stale_deflation(X, dm)
    embedded = {s: (certified(X, s, options.seed), DiffusionMap(2, bandwidth=s, diffusion_time=0).fit(X)) for s in EMBEDDED}
    fig5_pictures.draw(options, embedded, y, sdp, dm, stopped)
    return Result(
        ITEM,
        TITLE,
        setting=f"178 wines, 13 features, z-scored (ddof = 1); SDP at {len(sdp.sigma)} bandwidths from {sdp.sigma[0]:g} to "
        f"{sdp.sigma[-1]:g}, diffusion map at {len(dm.sigma)} from {dm.sigma[0]:g} to {dm.sigma[-1]:g}. "
        f"Algorithm 1: {algorithm1.WINE}",
        published={name: {"sigma": c.sigma, "spectrum": c.published} for name, c in (("sdp", sdp), ("dm", dm))},
        ours={
            "sdp": sdp.ours,
            "dm": dm.ours,
            "algorithm1": [stop.spectrum[: sdp.ours.shape[1]] for stop in stopped],
            "algorithm1_gap": [stop.certificate.relative_gap for stop in stopped],
            "stale_bandwidth": stale,
            "stale_difference": stale_difference,
        },
        certificates=path_certificates(path),
        verdicts=[*compare.sdp_verdicts(sdp), *compare.dm_verdicts(dm, stale, stale_difference)],
        tables=[
            compare.stopping_table(sdp, stopped),
            compare.embedding_table(embedded, y),
            compare.spectrum_table("SDP", sdp, compare.TOLERANCE),
            compare.spectrum_table("diffusion map", dm, compare.SAME),
        ],
        notes=compare.notes(path, sdp, stopped, dm),
        figures=FIGURES,
        seeds=[options.seed],
    )


def stale_deflation(X: np.ndarray, dm: Curves) -> tuple[float, float]:
    """The bandwidth σ' for which A(σ) - v0(σ')v0(σ')ᵀ is nearest to all published spectra, and its largest difference."""
    k = dm.published.shape[1]

    def difference(stale: float, rows: np.ndarray) -> float:
        spectra = [np.linalg.eigvalsh(algorithm1.normalized_kernel(X, dm.sigma[i], stale))[: -k - 1 : -1] for i in rows]
        return float(np.abs(np.array(spectra) - dm.published[rows]).max())

    some = np.array([len(dm.sigma) // 2, len(dm.sigma) - 1])
    best = min(published("fig5_diffusion_spectrum")["sigma"], key=lambda stale: difference(stale, some))
    return float(best), difference(best, np.arange(len(dm.sigma)))


if __name__ == "__main__":
    run_alone(ITEM, TITLE, run)
