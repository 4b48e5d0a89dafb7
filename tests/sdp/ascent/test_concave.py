"""Columns that a factor lacks where the program has a quadratic term: all of them are found at once."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.spread_programs import weights
from scipy.linalg import null_space

from elliptope.operators import as_operator
from elliptope.sdp import Spread, solve
from elliptope.sdp.ascent.concave import missing_columns
from elliptope.sdp.problem import Meter, Problem
from elliptope.sdp.tuning import TUNING
from sdp.costs import psd, unit_rows

S = 0.1


@pytest.mark.parametrize(("n", "escape_products"), [(52, 40), (148, 40), (148, TUNING.escape_products)])
def test_directions_of_negative_curvature(n, escape_products):
    """Against the dense eigenvalues on the complement of H, all of which the largest Krylov space has."""
    J = psd(n) + np.eye(n)
    meter = Meter(Problem(as_operator(J), replace(TUNING, escape_products=escape_products), S))
    iterate = meter.evaluate(unit_rows(solve(J, spread=Spread(0.01), rng=0, tol=1e-2).factor[:, :4]))
    e, M, H = weights(J, S), iterate.scale, iterate.H
    root = np.sqrt(M)
    whitened = (J - np.diag(np.diag(J)) - (e[:, None] * (H @ H.T) * e) + np.diag(e**2)) / (root[:, None] * root)
    complement = null_space((root[:, None] * H).T)
    values, vectors = np.linalg.eigh(complement.T @ whitened @ complement)
    expected = values[values > 1]
    assert len(expected) >= 3
    direction = complement @ vectors[:, -1] / root
    Z = missing_columns(meter, iterate, direction, np.random.default_rng(0))
    np.testing.assert_allclose(Z.T @ (M[:, None] * H), 0, atol=1e-9)
    np.testing.assert_allclose(Z.T @ (M[:, None] * Z), np.eye(Z.shape[1]), atol=1e-9)
    found = np.diag((root[:, None] * Z).T @ whitened @ (root[:, None] * Z))
    if escape_products == 40:
        np.testing.assert_allclose(np.sort(found), expected, rtol=1e-9)
    else:
        assert 1 <= len(found) <= len(expected)
        assert (found > 1).all()
    assert meter.count <= 1 + 2 * n / TUNING.escape_block + 2
