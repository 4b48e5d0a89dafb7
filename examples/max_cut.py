r"""
Max-cut
=======

Bound the largest cut of a random graph, with a proof, and find a cut close to the bound.

With the Laplacian L of a graph, a cut with signs s ∈ {±1}^n has weight sᵀLs/4. Relaxing ssᵀ to the elliptope gives the bound
of Goemans and Williamson; the signs of Hg, for a Gaussian vector g, give a cut of at least 0.878 of it on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from elliptope.sdp import Solution, solve


class Cut(NamedTuple):
    signs: np.ndarray
    weight: float
    solution: Solution


def random_graph(n: int, n_edges: int, rng: np.random.Generator) -> sparse.csr_array:
    """Adjacency matrix of a simple graph drawn uniformly among those with ``n_edges`` edges."""
    chosen = rng.choice(n * (n - 1) // 2, n_edges, replace=False)
    i, j = np.triu_indices(n, k=1)
    A = sparse.coo_array((np.ones(n_edges), (i[chosen], j[chosen])), shape=(n, n))
    return sparse.csr_array(A + A.T)


def max_cut(A: sparse.csr_array, rng: np.random.Generator, roundings: int = 200, tol: float = 1e-6) -> Cut:
    """Solve the relaxation and keep the best of ``roundings`` random hyperplanes."""
    laplacian = sparse.diags_array(A.sum(axis=1)) - A
    solution = solve(laplacian / 4, rng=rng, tol=tol)
    H = solution.factor
    signs = np.where(H @ rng.standard_normal((H.shape[1], roundings)) >= 0, 1.0, -1.0)
    weights = np.einsum("ik,ik->k", signs, laplacian @ signs) / 4
    best = int(weights.argmax())
    return Cut(signs[:, best], float(weights[best]), solution)


def main(n: int = 2000, n_edges: int = 20_000, seed: int = 0) -> Cut:
    rng = np.random.default_rng(seed)
    cut = max_cut(random_graph(n, n_edges, rng), rng)
    bound = cut.solution.certificate.upper_bound
    print(f"{n} nodes, {n_edges} edges: cut {cut.weight:.0f}, no cut exceeds {bound:.4f} ({cut.weight / bound:.4f} of it)")
    print(cut.solution.certificate)
    return cut


def draw(A: sparse.csr_array, cut: Cut) -> None:
    """The adjacency matrix, with the nodes of either side together: most edges are in the two blocks beside the diagonal."""
    import matplotlib.pyplot as plt

    order = np.argsort(cut.signs)
    _, ax = plt.subplots(figsize=(5, 5), layout="constrained")
    ax.spy(A[order][:, order], markersize=1.5, color="#0072b2")
    for line in (ax.axhline, ax.axvline):
        line(np.sum(cut.signs < 0) - 0.5, color="#d55e00", linewidth=2)
    within = (A.sum() / 2 - cut.weight) / (A.sum() / 2)
    ax.set(title=f"{1 - within:.0%} of the edges are cut", xlabel="nodes, by side", xticks=[], yticks=[])


if __name__ == "__main__":
    main()
    graph = random_graph(200, 800, np.random.default_rng(0))
    draw(graph, max_cut(graph, np.random.default_rng(0)))
