"""The memory of L-BFGS against the two loops that it stands for."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from elliptope.sdp.ascent.quasi_newton import Pairs
from elliptope.sdp.factors import random_start
from elliptope.sdp.tuning import TUNING
from sdp.costs import indefinite, meter_of

N, RANK, SIZE = 12, 3, 4
SMALL = replace(TUNING, memory=SIZE, memory_growth=4, memory_columns=10 * RANK)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def iterate(rng):
    return meter_of(indefinite(N)).evaluate(np.asfortranarray(random_start(N, RANK, rng)))


@pytest.fixture
def memory(iterate):
    return Pairs(iterate.H, SMALL)


def two_loops(iterate, pairs):
    """Nocedal 1980, with the diagonal of pulls, times the usual scalar, in the middle; projected, and its slope."""
    q, weights = iterate.residual.ravel(order="F"), []
    inverse = np.tile(1 / iterate.pull, RANK)
    for s, y in reversed(pairs):
        weights.append(s @ q / (s @ y))
        q = q - weights[-1] * y
    z = inverse * q
    if pairs:
        s, y = pairs[-1]
        z *= (s @ y) / (y @ (inverse * y))
    for (s, y), a in zip(pairs, reversed(weights), strict=True):
        z = z + (a - y @ z / (s @ y)) * s
    Z = z.reshape((N, RANK), order="F")
    D = (Z * iterate.H).sum(axis=1, keepdims=True) * iterate.H - Z
    return D, -2 * (iterate.residual * D).sum()


def remember(memory, iterate, rng, count, curvature=1.0):
    """Pairs of random steps to random points, which a memory is given and which it should remember."""
    pairs = []
    for _ in range(count):
        D, old = (np.asfortranarray(rng.standard_normal((N, RANK))) for _ in range(2))
        H = np.asfortranarray(random_start(N, RANK, rng))
        step = rng.choice([1.0, 0.3])
        moved = old - (old * H).sum(axis=1, keepdims=True) * H
        change = curvature * step * D + 0.1 * rng.standard_normal((N, RANK))
        points = SimpleNamespace(residual=old), SimpleNamespace(residual=np.asfortranarray(moved + change), H=H)
        memory.append(step, D, *points)
        pairs.append((step * D.ravel(order="F"), change.ravel(order="F")))
    return pairs


def check(memory, iterate, pairs):
    (D, slope), (expected, expected_slope) = memory.direction(iterate), two_loops(iterate, pairs)
    np.testing.assert_allclose(D, expected, rtol=1e-8, atol=1e-10)
    assert slope == pytest.approx(expected_slope, rel=1e-9)


def test_same_as_two_loops_over_the_last_pairs(memory, iterate, rng):
    for count in (0, 1, 2, SIZE, SIZE + 1, 3 * SIZE + 2):
        memory.clear()
        check(memory, iterate, remember(memory, iterate, rng, count)[-SIZE:])


@pytest.mark.parametrize(
    ("count", "kept"),
    [(4 * SIZE, SIZE), (4 * SIZE + 1, SIZE + 1), (5 * SIZE, 2 * SIZE), (6 * SIZE + 3, 2 * SIZE), (40 * SIZE, 10)],
)
def test_the_memory_grows_when_many_steps_have_not_sufficed(memory, iterate, rng, count, kept):
    check(memory, iterate, remember(memory, iterate, rng, count)[-kept:])


def test_the_memory_does_not_grow_beyond_what_it_may_take(iterate, rng):
    memory = Pairs(iterate.H, replace(SMALL, memory_numbers=2 * N * RANK * (SIZE + 1)))
    remember(memory, iterate, rng, 20 * SIZE)
    assert memory.steps.shape == (SIZE + 1, N * RANK)
    columns = replace(SMALL, memory_columns=256)
    assert [Pairs(np.ones((10, r)), columns).limit for r in (1, 4, 20, 100)] == [256, 64, 12, SIZE]


def test_a_pair_without_curvature_is_not_kept(memory, iterate, rng):
    pairs = remember(memory, iterate, rng, SIZE)
    remember(memory, iterate, rng, 3, curvature=-1.0)
    assert memory.count == SIZE
    check(memory, iterate, pairs)
