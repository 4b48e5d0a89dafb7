"""Cholesky factorisations by panels are those of LAPACK, and leave alone what is not theirs."""

import numpy as np
import pytest
from scipy.linalg import cholesky

from elliptope.operators import factorization
from elliptope.operators.factorization import factorize_lower, upper_cholesky
from elliptope.sdp.ascent.linalg import cholesky as lower_cholesky


@pytest.fixture(params=[1, 7, 16, 50, 64])
def panels(request, monkeypatch):
    monkeypatch.setattr(factorization, "_LARGEST_WHOLE", 0)
    monkeypatch.setattr(factorization, "_PANEL", request.param)


def definite(n=50, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, n))
    return X @ X.T + np.eye(n)


@pytest.mark.usefixtures("panels")
class TestPanels:
    def test_factor(self):
        A = definite()
        T = np.tril(A) + np.triu(np.full_like(A, np.nan), 1)  # what belongs to others is never read
        U = upper_cholesky(T.T)
        np.testing.assert_allclose(np.triu(U), cholesky(A), rtol=1e-11, atol=1e-12)
        assert np.isnan(T[np.triu_indices(50, 1)]).all()
        assert np.shares_memory(U, T)

    @pytest.mark.parametrize("row", [0, 1, 20, 49])
    def test_not_definite(self, row):
        A = definite()
        A[row, row] = -1.0
        assert upper_cholesky(A.T) is None

    def test_barely_definite(self):
        A = definite()
        lowest = np.linalg.eigvalsh(A)[0]
        assert upper_cholesky((A - 0.999 * lowest * np.eye(50)).T) is not None
        assert upper_cholesky((A - 1.001 * lowest * np.eye(50)).T) is None


def test_large_ones_go_by_panels(monkeypatch):
    """The whole is not handed to LAPACK, whose parallel version is not to be trusted with it."""
    sizes, dpotrf = [], factorization.dpotrf

    def watched(A, **options):
        sizes.append(len(A))
        return dpotrf(A, **options)

    monkeypatch.setattr(factorization, "dpotrf", watched)
    monkeypatch.setattr(factorization, "_LARGEST_WHOLE", 40)
    monkeypatch.setattr(factorization, "_PANEL", 20)
    upper_cholesky(definite(40).T)
    upper_cholesky(definite(50).T)
    assert sizes == [40, 20, 20, 10]


@pytest.mark.parametrize("n", [1, 2, 50, 300])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_not_definite(n, value):
    """LAPACK's own check does not notice."""
    A = definite(n)
    A[-1, 0] = A[0, -1] = value
    for order in "CF":
        assert factorize_lower(A.copy(order=order)) is None
    assert upper_cholesky(A.copy(order="F")) is None
    assert lower_cholesky(A) is None


@pytest.mark.usefixtures("panels")
def test_nor_is_it_by_panels():
    A = definite()
    A[-1, 0] = np.nan
    assert upper_cholesky(A.T) is None
