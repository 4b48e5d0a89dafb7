"""Cholesky factorisations by panels are those of LAPACK, and leave alone what is not theirs."""

import numpy as np
import pytest

from elliptope.operators import factorization
from elliptope.operators.factorization import cholesky
from elliptope.sdp.ascent import linalg

PANELS = (1, 7, 16, 50, 64)


def definite(n=50, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, n))
    return X @ X.T + np.eye(n)


def by_panels(A, panel):
    return cholesky(np.array(A, order="F"), largest_whole=0, panel=panel)


@pytest.mark.parametrize("panel", PANELS)
def test_factor_by_panels(panel):
    A = definite()
    T = np.asfortranarray(np.tril(A) + np.triu(np.full_like(A, np.nan), 1))  # what belongs to others is never read
    L = cholesky(T, largest_whole=0, panel=panel)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-11, atol=1e-12)
    assert np.isnan(T[np.triu_indices(50, 1)]).all()
    assert np.shares_memory(L, T)


@pytest.mark.parametrize("panel", PANELS)
def test_not_definite(panel):
    A = definite()
    lowest = np.linalg.eigvalsh(A)[0]
    assert by_panels(A - 0.999 * lowest * np.eye(50), panel) is not None
    assert by_panels(A - 1.001 * lowest * np.eye(50), panel) is None
    for row in (0, 1, 20, 49):
        B = A.copy()
        B[row, row] = -1.0
        assert by_panels(B, panel) is None


def test_large_ones_go_by_panels(monkeypatch):
    """The whole is not handed to LAPACK, whose parallel version is not to be trusted with it."""
    sizes, dpotrf = [], factorization.dpotrf

    def watched(A, **options):
        sizes.append(len(A))
        return dpotrf(A, **options)

    monkeypatch.setattr(factorization, "dpotrf", watched)
    for n in (40, 50):
        cholesky(np.asfortranarray(definite(n)), largest_whole=40, panel=20)
    assert sizes == [40, 20, 20, 10]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_not_definite(value):
    """LAPACK's own check does not notice."""
    for n in (1, 2, 50, 300):
        A = definite(n)
        A[-1, 0] = A[0, -1] = value
        assert cholesky(np.array(A, order="F")) is None
        assert np.isinf(value) or by_panels(A, 20) is None  # the product of infinities warns
        assert linalg.cholesky(A) is None
