"""The memory of L-BFGS against the two loops that it stands for."""

import numpy as np
import pytest

from elliptope.operators import as_operator
from elliptope.sdp.ascent import quasi_newton
from elliptope.sdp.ascent.quasi_newton import _Pairs
from elliptope.sdp.problem import Problem, random_start

N, RANK, SIZE = 12, 3, 4


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def iterate(rng):
    J = rng.standard_normal((N, N))
    return Problem(as_operator(J + J.T)).evaluate(np.asfortranarray(random_start(N, RANK, rng)))


def two_loops(iterate, pairs):
    """Nocedal 1980, with the diagonal of pulls, times the usual scalar, in the middle."""
    q, weights = iterate.residual.ravel(order="F"), []
    inverse = np.tile(1 / iterate.pull, RANK)
    for s, y in reversed(pairs):
        weights.append(s @ q / (s @ y))
        q = q - weights[-1] * y
    s, y = pairs[-1]
    z = (s @ y) / (y @ (inverse * y)) * inverse * q
    for (s, y), a in zip(pairs, reversed(weights), strict=True):
        z = z + (a - y @ z / (s @ y)) * s
    return z


def random_pair(rng):
    step = rng.standard_normal(N * RANK)
    change = step + 0.3 * rng.standard_normal(N * RANK)
    assert step @ change > 0
    return step, change


@pytest.mark.parametrize("count", [1, 2, SIZE, SIZE + 1, 3 * SIZE + 2])
def test_same_as_two_loops_over_the_last_pairs(iterate, rng, count):
    memory, pairs = _Pairs(iterate.H, SIZE), [random_pair(rng) for _ in range(count)]
    for pair in pairs:
        memory.append(*pair)
    np.testing.assert_allclose(memory.apply(iterate), two_loops(iterate, pairs[-SIZE:]), rtol=1e-10)


@pytest.mark.parametrize(
    ("count", "kept"),
    [(4 * SIZE, SIZE), (4 * SIZE + 1, SIZE + 1), (5 * SIZE, 2 * SIZE), (6 * SIZE + 3, 2 * SIZE), (40 * SIZE, 10)],
)
def test_the_memory_grows_when_many_steps_have_not_sufficed(iterate, rng, count, kept, monkeypatch):
    monkeypatch.setattr(quasi_newton, "_LARGEST_MEMORY", 10)
    memory, pairs = _Pairs(iterate.H, SIZE), [random_pair(rng) for _ in range(count)]
    for pair in pairs:
        memory.append(*pair)
    np.testing.assert_allclose(memory.apply(iterate), two_loops(iterate, pairs[-kept:]), rtol=1e-9)


def test_the_memory_does_not_grow_beyond_what_it_may_take(iterate, rng, monkeypatch):
    monkeypatch.setattr(quasi_newton, "_MOST_NUMBERS", 2 * N * RANK * (SIZE + 1))
    memory = _Pairs(iterate.H, SIZE)
    for _ in range(20 * SIZE):
        memory.append(*random_pair(rng))
    assert memory.steps.shape == (SIZE + 1, N * RANK)


def test_a_pair_without_curvature_is_not_kept(iterate, rng):
    memory, (step, change) = _Pairs(iterate.H, SIZE), random_pair(rng)
    memory.append(step, change)
    memory.append(change, -step)
    assert memory.count == 1


def test_cleared_memory_starts_anew(iterate, rng):
    memory = _Pairs(iterate.H, SIZE)
    for _ in range(SIZE + 2):
        memory.append(*random_pair(rng))
    memory.clear()
    pairs = [random_pair(rng) for _ in range(2)]
    for pair in pairs:
        memory.append(*pair)
    np.testing.assert_allclose(memory.apply(iterate), two_loops(iterate, pairs), rtol=1e-10)
