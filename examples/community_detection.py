r"""
Community detection
===================

Find two communities in a stochastic block model with the solver of the embeddings.

With :math:`\bar A = A - \frac{\mathbf 1^\top A \mathbf 1}{n^2} \mathbf 1 \mathbf 1^\top`, the centred adjacency matrix, the
partition of largest modularity maximises sᵀĀs over signs. Ā is applied as a linear operator: sparse plus rank one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from elliptope.sdp import Solution, solve


class Communities(NamedTuple):
    truth: np.ndarray
    labels: np.ndarray
    accuracy: float
    solution: Solution


def block_model(n: int, inside: float, across: float, rng: np.random.Generator) -> tuple[sparse.csr_array, np.ndarray]:
    """Adjacency matrix with edge probabilities ``inside``/n within and ``across``/n between two equal blocks."""
    truth = np.repeat([0, 1], [n // 2, n - n // 2])
    probability = np.where(truth[:, None] == truth, inside / n, across / n)
    upper = np.triu(rng.random((n, n)) < probability, k=1)
    return sparse.csr_array((upper + upper.T).astype(float)), truth


class CentredAdjacency(LinearOperator):
    """A less its mean. Its diagonal is given, so that the solver need not compute it by products."""

    def __init__(self, A: sparse.csr_array) -> None:
        super().__init__(np.float64, A.shape)
        self.A = A
        self.mean = A.sum() / A.shape[0] ** 2

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return self.A @ V - self.mean * V.sum(axis=0)

    def diagonal(self) -> np.ndarray:
        return self.A.diagonal() - self.mean


def main(n: int = 1000, inside: float = 20.0, across: float = 4.0, seed: int = 0) -> Communities:
    rng = np.random.default_rng(seed)
    A, truth = block_model(n, inside, across, rng)
    # A linear operator cannot be factorised: the bound is probabilistic and coarser than a proof, hence the large tol.
    solution = solve(CentredAdjacency(A), rng=rng, tol=1e-2)
    U, _, _ = np.linalg.svd(solution.factor, full_matrices=False)
    labels = (U[:, 0] > 0).astype(int)
    agreement = float((labels == truth).mean())
    result = Communities(truth, labels, max(agreement, 1 - agreement), solution)
    print(f"{n} nodes: {result.accuracy:.1%} of the labels recovered")
    print(solution.certificate)
    return result


def draw(A: sparse.csr_array, labels: np.ndarray, rng: np.random.Generator) -> None:
    """Edges between nodes in a random order, and in the order of the communities that were found."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    orders = {"in random order": rng.permutation(len(labels)), "ordered by community": np.argsort(labels)}
    for ax, (title, order) in zip(axes, orders.items(), strict=True):
        ax.spy(A[order][:, order], markersize=0.5, color="#0072b2")
        ax.set(title=title, xticks=[], yticks=[])


if __name__ == "__main__":
    found = main()
    graph, _ = block_model(1000, 20.0, 4.0, np.random.default_rng(0))
    draw(graph, found.labels, np.random.default_rng(0))
