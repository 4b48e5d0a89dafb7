"""The interior-point method: how far its steps may go, and how few they are."""

import numpy as np
import pytest

from common import WINE
from elliptope.sdp import solve
from elliptope.sdp.ascent.interior_point import _advance, _longest_step, _times, interior_point
from elliptope.sdp.ascent.linalg import cholesky, inverse_from_cholesky
from elliptope.sdp.factors import random_start
from sdp.costs import kernel_cost, meter_of

PART = 0.9


def definite(n, rng):
    A = rng.standard_normal((n, n))
    return A @ A.T + np.eye(n)


def test_lengths_are_exact_where_lanczos_is():
    for n in (1, 2, 5, 8):
        for scale in (0.1, 3.0, 30.0):
            rng = np.random.default_rng(n)
            P, D = definite(n, rng), rng.standard_normal((n, n))
            D = scale * (D + D.T)
            C = np.linalg.cholesky(P)
            lowest = np.linalg.eigvalsh(np.linalg.solve(C, np.linalg.solve(C, D).T))[0]
            expected = min(1.0, PART / -lowest) if lowest < 0 else 1.0
            assert _longest_step(cholesky(P), D.dot, PART, rng) == pytest.approx(expected, rel=1e-6)


def test_a_direction_along_the_matrix_itself_ends_lanczos_early():
    rng = np.random.default_rng(0)
    P = definite(6, rng)
    assert _longest_step(cholesky(P), (-2 * P).dot, PART, rng) == pytest.approx(PART / 2)


def test_diagonal_directions():
    rng = np.random.default_rng(0)
    P, d = definite(6, rng), rng.standard_normal(6) * 20
    one, other = (_longest_step(cholesky(P), D, PART, np.random.default_rng(1)) for D in (_times(d), np.diag(d).dot))
    assert one == pytest.approx(other)


def test_a_step_that_is_too_long_is_made_shorter():
    P, D = np.eye(3), -np.eye(3)
    new, factor = _advance(P, D, 1.5)
    assert factor is not None
    np.testing.assert_allclose(new, (1 - 1.5 * 0.8**2) * np.eye(3))
    assert _advance(P, -1e12 * np.eye(3), 1.0)[1] is None


def test_inverse():
    for n in (1, 7):
        A = definite(n, np.random.default_rng(0))
        np.testing.assert_allclose(inverse_from_cholesky(cholesky(A)) @ A, np.eye(n), atol=1e-10)


def test_the_conditioning_does_not_matter():
    """Wine at σ = 0.6: first-order methods take thousands of products, this one a few dozen steps."""
    meter, rng = meter_of(kernel_cost(WINE, 0.6)), np.random.default_rng(0)
    steps = list(interior_point(meter, random_start(len(WINE), 5, rng), rng))
    assert len(steps) < 40
    reference = solve(meter.problem.operator, rng=3, tol=1e-8)
    assert reference.certificate.objective - steps[-1].objective < 1e-5 * reference.certificate.gain
