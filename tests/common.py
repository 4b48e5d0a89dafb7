"""Data, and the formulas of the paper written out, for the tests of the estimators."""

import warnings

import numpy as np
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from elliptope import SDPEmbedding, bandwidth_path
from elliptope.datasets import clusters_with_outliers, two_moons

WINE, WINE_CLASS = load_wine(return_X_y=True)
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0, ddof=1)
MOONS = two_moons(100, random_state=0)[0]
CLUSTERS, CLUSTER = clusters_with_outliers(random_state=0)
# A small instance whose optimum at σ = 2 has rank 4, all four eigenvalues large: truncation has something to cut.
RANK_4 = np.random.default_rng(1).standard_normal((40, 12))
# Bandwidths, in no order, at which WINE has a unique optimum.
PATH = [3.0, 1.5, 6.0, 2.0, 4.0]


class Naive:
    """The formulas of the paper as they stand, with weights and (n, n) arrays, for the Gaussian kernel."""

    def __init__(self, X, sigma, w=None):
        self.X, self.sigma = X, sigma
        self.w = np.ones(len(X)) if w is None else w
        self.K = self.kernel(X)
        self.m = (self.K * self.w).sum(axis=1)
        self.M = (self.w * self.m).sum()
        root = np.sqrt(self.m[:, None] * self.m)
        self.Abar = self.K / root - root / self.M
        self.d = 1 / self.m - self.m / self.M

    def kernel(self, Y):
        return np.exp(-((Y[:, None, :] - self.X) ** 2).sum(axis=-1) / self.sigma**2)

    def extend(self, Y, Xi):
        """Eq. (7) of the paper, without logarithms: only good near the sample."""
        k = self.kernel(Y)
        m = (k * self.w).sum(axis=1)
        abar = k / np.sqrt(m[:, None] * self.m) - np.sqrt(m[:, None] * self.m) / self.M
        direction = (abar * self.w) @ Xi
        radius = np.sqrt(1 / m - m / self.M)
        return radius[:, None] * direction / np.linalg.norm(direction, axis=1, keepdims=True)


def fit(X, sample_weight=None, **parameters):
    """Fit with a fixed seed; what the status says is the business of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SDPEmbedding(**{"random_state": 0, **parameters}).fit(X, sample_weight=sample_weight)


def gram(est):
    return est.embedding_ @ est.embedding_.T


def row_error(Z, reference):
    """Largest error of a row, relative to that row's length."""
    return (np.linalg.norm(Z - reference, axis=1) / np.linalg.norm(reference, axis=1)).max()


def weights(n, zeros=0):
    w = np.random.default_rng(5).uniform(0.2, 3.0, n)
    w[:: n // zeros if zeros else n + 1] = 0.0
    return w


def fit_path(X=WINE, bandwidths=PATH, **options):
    """A path with a fixed seed; what the statuses say is the business of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return bandwidth_path(X, bandwidths, **{"random_state": 0, **options})


def assert_same_path(one, two):
    """Equal to the last bit, times apart."""
    assert len(one.records) == len(two.records)
    for a, b in zip(one.records, two.records, strict=True):
        for name in ("embedding", "factor", "eigenvalues"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for name in ("bandwidth", "certificate", "status", "n_iter", "n_products"):
            assert getattr(a, name) == getattr(b, name)
