"""The neighbour kernel written out with (n, n) arrays, points to try it on, and searches that find too little."""

import warnings

import numpy as np

from common import Naive, fit

RNG = np.random.default_rng(0)
# Distances within a scale may exceed it by rounding.
RIM = 1 + 1e-9

BLOBS = np.vstack([np.random.default_rng(7).standard_normal((25, 3)) + shift for shift in (0.0, 3.0)])
NEW = np.random.default_rng(8).standard_normal((12, 3)) + 1.5


def solve(X, sample_weight=None, k=6, **parameters):
    """To more digits than are compared; what the graph and the status are like is the business of the test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Your data form")
        return fit(X, sample_weight, **{"kernel": "neighbors", "n_neighbors": k, "tol": 1e-8, **parameters})


def distances(X, Y):
    return np.sqrt(((X[:, None] - Y) ** 2).sum(axis=-1))


class NaiveNeighbors(Naive):
    """The formulas of the paper for the neighbour kernel of the distinct points X, with any function for distances."""

    def __init__(self, X, k, w=None, metric=distances):
        self.k, self.metric = k, metric
        self.s = self.scales(metric(X, X))
        super().__init__(X, None, w)

    def scales(self, D):
        return np.array([self.reach(np.sort(row)[: self.k]) for row in D])

    @staticmethod
    def reach(d):
        """The last distance before the first that is more than twice as large, from the fourth on."""
        for j in range(3, len(d) - 1):
            if d[j + 1] > 2 * (1 + 1e-9) * d[j]:
                return d[j]
        return d[-1]

    def kernel(self, Y):
        D = self.metric(Y, self.X)
        s = self.scales(D)
        return np.where(RIM * np.maximum(s[:, None], self.s) >= D, np.exp(-(D / s[:, None]) * (D / self.s)), 0.0)


class NaiveOverlap(NaiveNeighbors):
    """The same for the overlap kernel: sets of neighbours, pair by pair."""

    exponent = 2.0

    def kernel(self, Y):
        D, T = self.metric(Y, self.X), self.metric(self.X, self.X)
        s = self.scales(D)
        new = [set(np.flatnonzero(d <= RIM * r)) for d, r in zip(D, s, strict=True)]
        old = [set(np.flatnonzero(d <= RIM * r)) for d, r in zip(T, self.s, strict=True)]
        K = np.zeros(D.shape)
        for i, a in enumerate(new):
            for j, b in enumerate(old):
                if D[i, j] <= RIM * max(s[i], self.s[j]):
                    K[i, j] = (len(a & b) / len(a | b)) ** self.exponent
        return K


def block(kernel, X):
    """k(x_i, y_j) for rows of X and the training points, in full."""
    rows = kernel.log_rows(X).tocoo()
    out = np.zeros(rows.shape)
    out[rows.row, rows.col] = np.exp(rows.data)
    return out


def lattice(side, p):
    return np.stack(np.meshgrid(*[np.arange(float(side))] * p), axis=-1).reshape(-1, p)


def far_clusters(X):
    """Half of the points moved so far away that squares of coordinates have lost all distances among them."""
    X = X.copy()
    X[: len(X) // 2] += 2.0**27
    return X


# Distinct points. The lattices have many ties, which all ways of computing distances resolve alike.
POINTS = {
    **{f"{p} columns": RNG.standard_normal((60, p)) for p in (1, 2, 3, 7, 15, 16, 31, 64)},
    "plane lattice": lattice(7, 2),
    "cubic lattice": lattice(4, 3),
    "corners of a cube": lattice(2, 6),
    "binary, many columns": np.unique(RNG.integers(0, 2, (60, 20)).astype(float), axis=0),
    "far from the origin": RNG.standard_normal((60, 3)) + 1e8,
    "far from the origin, many columns": RNG.standard_normal((60, 20)) + 1e8,
    "outliers": np.vstack([RNG.standard_normal((50, 3)), 1e3 * np.eye(3), -1e9 * np.eye(3)]),
    "outliers, many columns": np.vstack([RNG.standard_normal((50, 20)), 1e3 * np.eye(20)[:3], -1e9 * np.eye(20)[:3]]),
    "far clusters": far_clusters(RNG.standard_normal((60, 3))),
    "far clusters, many columns": far_clusters(RNG.standard_normal((60, 20))),
    "far lattices": far_clusters(lattice(7, 2)),
    "far lattices, many columns": far_clusters(np.unique(RNG.integers(0, 2, (60, 20)).astype(float), axis=0)),
    "small": 2.0**-300 * RNG.standard_normal((60, 3)),
    "large": 2.0**300 * RNG.standard_normal((60, 20)),
    "close pairs": np.vstack([lattice(5, 2), lattice(5, 2) + 2.0**-40]),
}
