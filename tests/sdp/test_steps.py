"""What steps compute of rows, against its definition."""

import numpy as np
import pytest

from elliptope.operators import Operator
from elliptope.sdp import solve, steps

SHAPES = [(1, 1), (2, 3), (7, 1), (40, 5), (1000, 8)]


def factors(shape):
    rng = np.random.default_rng(shape)
    return [np.asfortranarray(rng.standard_normal(shape)) for _ in range(2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_are_what_they_say(shape):
    H, P = factors(shape)
    rows = steps.measure(H, P)
    slack = (H * P).sum(axis=1)
    residual = slack[:, None] * H - P
    inverse = 1 / np.sqrt((P**2).sum(axis=1))
    np.testing.assert_allclose(rows.slack, slack, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.residual, residual, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.inverse, inverse, rtol=1e-12)
    np.testing.assert_allclose(rows[3:], [slack.sum(), abs(slack).sum(), inverse @ (residual**2).sum(axis=1)], rtol=1e-11)


def test_a_row_that_vanishes_is_drawn_at_random():
    H, D = factors((6, 3))
    D[2] = -H[2]
    V = steps.retract(H, D, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose((V**2).sum(axis=1), 1)


def test_a_row_that_is_not_held_by_any_other():
    H, P = factors((6, 3))
    P[2] = 0
    rows = steps.measure(H, P)
    assert rows.inverse[2] > 1e300
    assert np.isfinite(rows.square)


def test_arrays_in_any_order_are_taken():
    for order in "CF":
        H, P = (np.array(V, order=order) for V in factors((5, 3)))
        np.testing.assert_allclose(steps.project(H, P), H - (H * P).sum(axis=1, keepdims=True) * P)


class SinglePrecision(Operator):
    """An operator whose products come in single precision."""

    def __init__(self, C):
        self.n, self.C = len(C), C

    def core_matmat(self, V):
        return (self.C @ V).astype(np.float32)

    def offset(self):
        return np.zeros(self.n)


def test_products_in_single_precision_are_taken():
    C = np.random.default_rng(0).standard_normal((30, 30))
    C += C.T
    np.fill_diagonal(C, 0)
    found, expected = solve(SinglePrecision(C), tol=1e-4, rng=0), solve(C, rng=0)
    assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-4)
