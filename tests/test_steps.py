"""The steps of the extension against those in NumPy, and what it refuses."""

import numpy as np
import pytest

from elliptope.sdp import solve, steps

needs_extension = pytest.mark.skipif(steps.compiled is None, reason="the extension was not built")
SHAPES = [(1, 1), (2, 3), (7, 1), (40, 5), (1000, 8)]


def factors(shape, count):
    rng = np.random.default_rng(shape)
    return [np.asfortranarray(rng.standard_normal(shape)) for _ in range(count)]


def without_extension(monkeypatch):
    monkeypatch.setattr(steps, "compiled", None)


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_are_what_they_say(shape):
    H, P = factors(shape, 2)
    rows = steps.measure(H, P)
    slack = (H * P).sum(axis=1)
    residual = slack[:, None] * H - P
    inverse = 1 / np.sqrt((P**2).sum(axis=1))
    np.testing.assert_allclose(rows.slack, slack, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.residual, residual, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.inverse, inverse, rtol=1e-12)
    np.testing.assert_allclose(rows[3:], [slack.sum(), abs(slack).sum(), inverse @ (residual**2).sum(axis=1)], rtol=1e-11)


@needs_extension
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("step", [1.0, 0.3])
def test_the_same_with_and_without_extension(shape, step, monkeypatch):
    H, P = factors(shape, 2)
    rng = np.random.default_rng(0)
    found = *steps.measure(H, P), steps.retract(H, P, step, rng), steps.project(H, P)
    without_extension(monkeypatch)
    expected = *steps.measure(H, P), steps.retract(H, P, step, rng), steps.project(H, P)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_a_row_that_vanishes_is_drawn_at_random():
    H, D = factors((6, 3), 2)
    D[2] = -H[2]
    V = steps.retract(H, D, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose((V**2).sum(axis=1), 1)


def test_a_row_that_is_not_held_by_any_other():
    H, P = factors((6, 3), 2)
    P[2] = 0
    rows = steps.measure(H, P)
    assert rows.inverse[2] > 1e300
    assert np.isfinite(rows.square)


@needs_extension
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_any_order_are_taken(order):
    H, P = (np.array(V, order=order) for V in factors((5, 3), 2))
    np.testing.assert_allclose(steps.project(H, P), H - (H * P).sum(axis=1, keepdims=True) * P)


@needs_extension
@pytest.mark.parametrize(
    "arrays",
    [
        (np.ones((4, 2), order="F"), np.ones((4, 2), order="F")),
        (np.ones((4, 2)), np.ones((4, 2)), np.ones((4, 2))),
        (np.ones((4, 2), np.float32, order="F"),) * 3,
        (np.ones((4, 2), order="F"), np.ones((4, 3), order="F"), np.ones((4, 2), order="F")),
        (np.ones(8), np.ones(8), np.ones(8)),
        (np.ones((4, 2), order="F"), None, np.ones((4, 2), order="F")),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays):
    with pytest.raises((TypeError, ValueError, BufferError)):
        steps.compiled.project(*arrays)


@needs_extension
def test_memories_that_do_not_fit_are_refused():
    H = np.ones((4, 2), order="F")
    S, inverse, curvatures = np.ones((3, 8)), np.ones((3, 3)), np.ones(3)
    right = (S, S, inverse, curvatures, H, np.ones(4), H, H.copy(order="F"), 3, 2)
    steps.compiled.direction(*right)
    wrong_ones = S[:2], S[:, :6].copy(), inverse[:2], curvatures[:2], H[:3], np.ones(3), H[:, :1], H[:2], 4, 3
    for place, wrong in enumerate(wrong_ones):
        arguments = *right[:place], wrong, *right[place + 1 :]
        with pytest.raises((TypeError, ValueError, BufferError)):
            steps.compiled.direction(*arguments)


def test_a_solve_without_the_extension_ends_at_the_same_optimum(monkeypatch):
    J = np.random.default_rng(0).standard_normal((60, 60))
    J += J.T
    with_it = solve(J, rng=0)
    without_extension(monkeypatch)
    monkeypatch.setattr("elliptope.sdp.ascent.quasi_newton.compiled", None)
    without = solve(J, rng=0)
    assert with_it.status == without.status == "optimal"
    assert with_it.certificate.objective == pytest.approx(without.certificate.objective, rel=1e-6)
